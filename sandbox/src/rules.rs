//! The file rules of Landlock. They only ever add: hidden places are left out, entry by entry.

use crate::policy::SandboxPolicy;
use crate::trouble::EnforceError;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, RestrictionStatus, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use std::fs;
use std::path::{Path, PathBuf};

/// The newest interface whose rights are used; an older kernel enforces what it knows of them.
const NEWEST: ABI = ABI::V6;

/// Devices that a command may use. The terminal, disks and memory are not among them.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm", "/dev/fd"];

/// Restricts the current thread; gives the version of the kernel's interface, 0 without one.
pub(crate) fn restrict(policy: &SandboxPolicy, mounted: bool) -> Result<u32, EnforceError> {
    let status = apply(policy, mounted).map_err(|error| EnforceError::Landlock(error.to_string()))?;
    Ok(match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    })
}

fn apply(policy: &SandboxPolicy, mounted: bool) -> Result<RestrictionStatus, RulesetError> {
    let mut handled = Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?.scope(Scope::from_all(NEWEST))?;
    if !policy.network {
        handled = handled.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut rules = handled.create()?;
    let read = AccessFs::from_read(NEWEST);
    for (path, whole) in readable(Path::new("/"), &policy.hides()) {
        rules = allow(rules, &path, if whole { read } else { AccessFs::ReadDir.into() })?;
    }
    for device in DEVICES {
        rules = allow(rules, Path::new(device), read | AccessFs::WriteFile)?;
    }
    // With bubblewrap, closed places that exist are mounted so.
    let closed = policy.closed().into_iter().filter(|place| !mounted || place.symlink_metadata().is_err());
    let closed: Vec<PathBuf> = closed.collect();
    for (path, whole) in policy.writes().iter().flat_map(|place| writable(place, &closed)) {
        let change = AccessFs::from_all(NEWEST) & !devices();
        rules = allow(rules, &path, if whole { change } else { AccessFs::ReadDir.into() })?;
    }
    rules = allow(rules, Path::new("/dev/shm"), AccessFs::from_all(NEWEST) & !devices())?;
    rules.restrict_self()
}

/// Nodes of devices are never made, and not controlled.
fn devices() -> BitFlags<AccessFs> {
    AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev
}

/// Allows something below a place, if it can be opened: others may have removed it.
fn allow(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    let Ok(place) = PathFd::new(path) else { return Ok(rules) };
    let is_folder = path.is_dir();
    let access = if is_folder { access } else { access & AccessFs::from_file(NEWEST) };
    if access.is_empty() {
        return Ok(rules);
    }
    rules.add_rule(PathBeneath::new(place, access))
}

/// The places below a writable folder that may be changed: it, or what it holds, if something in it stays closed. Then no file can be made
/// directly in it.
fn writable(place: &Path, closed: &[PathBuf]) -> Vec<(PathBuf, bool)> {
    if closed.iter().any(|closed| place.starts_with(closed)) {
        return Vec::new();
    }
    let holds = closed.iter().any(|closed| closed.starts_with(place));
    if holds { readable(place, closed) } else { vec![(place.to_owned(), true)] }
}

/// The places below a folder that may be read: whole ones, and folders of which only the names are shown, since
/// something in them is hidden.
fn readable(folder: &Path, hidden: &[PathBuf]) -> Vec<(PathBuf, bool)> {
    let mut all = vec![(folder.to_owned(), false)];
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if is_link || path == Path::new("/dev") || hidden.contains(&path) {
            continue;
        }
        if hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            all.extend(readable(&path, hidden));
        } else {
            all.push((path, true));
        }
    }
    all
}
