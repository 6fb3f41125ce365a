//! The arguments of bubblewrap: a file system that is read-only but for the writable places, without the hidden ones.

use crate::SandboxPolicy;
use crate::git;
use crate::policy::real;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where bubblewrap is installed: never a folder that the project could have put on the path.
const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/// The program, if it is installed. Whether it can be used is found out by trying.
pub(crate) fn program() -> Option<PathBuf> {
    PLACES.iter().map(PathBuf::from).find(|path| path.is_file())
}

/// Its arguments up to the command.
pub(crate) fn arguments(policy: &SandboxPolicy) -> Vec<OsString> {
    let mut all: Vec<OsString> = Vec::new();
    let mut add = |words: &[&str]| all.extend(words.iter().map(OsString::from));
    add(&["--die-with-parent", "--unshare-pid", "--unshare-ipc"]);
    if !policy.network {
        add(&["--unshare-net"]);
    }
    add(&["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    let mut bind = |how: &str, from: &Path, to: &Path| all.extend([how.into(), from.into(), to.into()]);
    for place in policy.writes() {
        bind("--bind", &place, &place);
    }
    for (place, writable) in mounts(policy) {
        bind(if writable { "--bind" } else { "--ro-bind" }, &place, &place);
    }
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = policy.hides().into_iter().partition(|path| path.is_dir());
    for file in files {
        bind("--ro-bind", Path::new("/dev/null"), &file);
    }
    for folder in folders {
        all.extend(["--tmpfs".into(), folder.into()]);
    }
    all.push("--".into());
    all
}

/// Places that are mounted on themselves, and whether they are writable: those that are not, and the folders in which they lie. A place
/// where something is mounted can be neither moved nor removed, so nothing else takes its place.
fn mounts(policy: &SandboxPolicy) -> BTreeMap<PathBuf, bool> {
    let writes = policy.writes();
    let root_of = |place: &Path| writes.iter().find(|root| place.starts_with(root) && place != root.as_path());
    let own = git::git_folders(&policy.project);
    let entered = git::entered_repositories(&policy.project);
    let mut gits: Vec<PathBuf> = own.into_iter().chain(entered).collect();
    let nested: Vec<PathBuf> = gits.iter().flat_map(|git| git::nested(git)).collect();
    gits.extend(nested);
    let obeyed = gits.iter().flat_map(|git| git::OBEYED.map(|name| git.join(name)));
    // A `.git` that is a file.
    let leading = [policy.project.join(".git")].into_iter().filter(|git| git.is_file());
    let read_only = policy.read_only.iter().map(|place| real(place));
    let kept = gits.iter().flat_map(|git| git::REQUIRED_FOLDERS.map(|name| git.join(name))).chain(gits.iter().cloned());
    let closed = obeyed.chain(leading).chain(policy.protect.iter().cloned()).chain(read_only);
    let mut all = BTreeMap::new();
    for (place, writable) in kept.map(|place| (place, true)).chain(closed.map(|place| (place, false))) {
        let itself = place.canonicalize().is_ok_and(|real| real == place);
        let Some(root) = root_of(&place).filter(|_| itself) else { continue };
        let between = place.ancestors().skip(1).take_while(|folder| folder != root);
        for folder in between {
            all.entry(folder.to_owned()).or_insert(true);
        }
        let known = all.entry(place).or_insert(writable);
        *known &= writable;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::arguments;
    use crate::SandboxPolicy;

    #[test]
    fn what_is_protected_and_hidden_comes_after_what_is_writable() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().canonicalize()?;
        for path in ["project/.git/hooks", "home/.ssh"] {
            std::fs::create_dir_all(root.join(path))?;
        }
        std::fs::write(root.join("home/.netrc"), "")?;
        let mut policy = SandboxPolicy::of_project(root.join("project"), Some(&root.join("home")), &[]);
        policy.write.clear();
        policy.hide.retain(|path| path.starts_with(&root));
        let words: Vec<String> = arguments(&policy).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let text = words.join(" ").replace(&*root.to_string_lossy(), "");
        assert_eq!(
            text,
            "--die-with-parent --unshare-pid --unshare-ipc --unshare-net --ro-bind / / --dev /dev --proc /proc \
             --bind /project /project --bind /project/.git /project/.git \
             --ro-bind /project/.git/hooks /project/.git/hooks \
             --ro-bind /dev/null /home/.netrc --tmpfs /home/.ssh --"
        );
        Ok(())
    }
}
