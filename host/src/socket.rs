//! Sockets in a folder of a store, named after the process that listens: for the user alone, and reachable however long the folder's
//! path is.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The longest path that the system takes for a socket everywhere (104 bytes on some systems), with its ending zero.
const PATH_MAX: usize = 100;

/// Listens under a name in the folder, which is made if it is missing. Sockets of processes that are gone are removed.
pub(crate) fn listen(folder: &Path, name: &str) -> io::Result<UnixListener> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for other in names(folder) {
        let refused = connect(folder, &other).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if refused && !is_alive(&other) {
            fs::remove_file(folder.join(&other)).ok();
        }
    }
    let listener = with_short_path(folder, name, |path| UnixListener::bind(path))?;
    fs::set_permissions(folder.join(name), Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to a process.
pub(crate) fn connect(folder: &Path, name: &str) -> io::Result<UnixStream> {
    with_short_path(folder, name, |path| UnixStream::connect(path))
}

/// The sockets in the folder; none if there is no folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Whether the process that a socket is named after still runs: it may not listen yet.
fn is_alive(name: &str) -> bool {
    let process = name.split('-').next().filter(|process| process.bytes().all(|byte| byte.is_ascii_digit()));
    process.is_some_and(|process| Path::new("/proc").join(process).exists())
}

/// Calls with a path that is short enough: the real one, or one through the open folder.
fn with_short_path<T>(folder: &Path, name: &str, call: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let path = folder.join(name);
    if path.as_os_str().len() < PATH_MAX {
        return call(&path);
    }
    let open = File::open(folder)?;
    call(&PathBuf::from(format!("/proc/self/fd/{}/{name}", open.as_raw_fd())))
}
