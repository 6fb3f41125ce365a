//! Attributes of a file besides its content, copied to the file that replaces it.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

/// The bits of a mode that make a program run as the file's owner or group.
const RUNS_AS: u32 = 0o6000;

/// Gives a fresh file the owner, group, mode, access control list and user's attributes of another. What the system does
/// not let be given is named: it is lost.
///
/// # Errors
/// When the mode cannot be set: a file that more users may read than before must not be used.
pub(super) fn over(old: &File, found: &Metadata, fresh: &File) -> io::Result<Vec<&'static str>> {
    let mut lost = Vec::new();
    let made = fresh.metadata()?;
    let owner = found.uid() == made.uid() || fchown(fresh, Some(found.uid()), None).is_ok();
    let group = found.gid() == made.gid() || fchown(fresh, None, Some(found.gid())).is_ok();
    lost.extend((!owner).then_some("its owner"));
    lost.extend((!group).then_some("its group"));
    // With another owner, the file must not run with rights that it did not have before. After the owner: changing the owner
    // clears these bits.
    let mode = found.permissions().mode();
    let mode = if owner && group { mode } else { mode & !RUNS_AS };
    fresh.set_permissions(Permissions::from_mode(mode))?;
    lost.extend(attributes::over(old, fresh));
    Ok(lost)
}

#[cfg(target_os = "linux")]
mod attributes {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    use std::fs::File;

    /// The attribute that holds the access control list.
    const ACL: &str = "system.posix_acl_access";

    /// The longest list of names, and the longest value, that Linux keeps, in bytes.
    const LONGEST: usize = 64 * 1024;

    /// Copies the access control list and what users attached; names what could not be.
    pub(super) fn over(old: &File, fresh: &File) -> Option<&'static str> {
        let mut names = vec![0; LONGEST];
        // A file system that knows no attributes has lost none.
        let length = flistxattr(old, &mut names[..]).unwrap_or(0);
        let names = names.get(..length).unwrap_or_default();
        let names = names.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
        let mut kept = names.filter(|name| *name == ACL || name.starts_with("user."));
        let missed = kept.find(|name| {
            let mut value = vec![0; LONGEST];
            let copied = fgetxattr(old, *name, &mut value[..])
                .map(|length| fsetxattr(fresh, *name, value.get(..length).unwrap_or_default(), XattrFlags::empty()));
            !matches!(copied, Ok(Ok(())))
        });
        missed.map(|name| if name == ACL { "its access control list" } else { "its extended attributes" })
    }
}

#[cfg(not(target_os = "linux"))]
mod attributes {
    use std::fs::File;

    /// Other systems have only owner and mode.
    pub(super) fn over(_: &File, _: &File) -> Option<&'static str> {
        None
    }
}
