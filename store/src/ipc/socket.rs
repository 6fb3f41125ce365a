//! The socket in a store's folder: for its user alone, and reachable however long the folder's path is.

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The name of the socket in a store's folder.
pub const SOCKET: &str = "socket";

/// The longest path that the system takes for a socket everywhere (104 bytes on some systems), with its ending zero.
const PATH_MAX: usize = 100;

/// Listens in a folder, in place of the former socket. Only the owner of the store may do this.
///
/// The folder is made private first, so that no other user can reach the socket before it is private itself.
pub(super) fn listen(dir: &Path) -> io::Result<UnixListener> {
    std::fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    let path = dir.join(SOCKET);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = with_short_path(dir, |socket| UnixListener::bind(socket))?;
    std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to the owner of the store in a folder, without waiting: `WouldBlock` when the owner accepts no connection and
/// the queue of the system is full, as when the owner was stopped. The stream does not block.
pub(super) fn connect(dir: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    with_short_path(dir, |path| Ok(rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?))?;
    Ok(UnixStream::from(socket))
}

/// How long who waits to be let in waits between two looks.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// The same, waiting up to `patience`; the stream blocks, and no call on it waits longer. `TimedOut` without a connection.
pub(super) fn connect_within(dir: &Path, patience: Duration) -> io::Result<UnixStream> {
    let began = Instant::now();
    let stream = loop {
        match connect(dir) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) if began.elapsed() >= patience => return Err(io::ErrorKind::TimedOut.into()),
            Err(_) => std::thread::sleep(LOOK),
            Ok(stream) => break stream,
        }
    };
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    Ok(stream)
}

/// Calls with a path of the socket that is short enough: the real one, or one through a link that lives as long as the
/// call.
fn with_short_path<T>(dir: &Path, call: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let path = dir.join(SOCKET);
    if path.as_os_str().len() < PATH_MAX {
        return call(&path);
    }
    let link = LinkFolder::to(&std::path::absolute(dir)?)?;
    call(&link.folder.join("s").join(SOCKET))
}

/// A short-lived private folder with a link `s` in it.
struct LinkFolder {
    folder: PathBuf,
}

impl LinkFolder {
    fn to(dir: &Path) -> io::Result<Self> {
        let temporary = std::env::temp_dir();
        let base = if temporary.as_os_str().len() > PATH_MAX / 2 { PathBuf::from("/tmp") } else { temporary };
        let process = std::process::id();
        for n in 0..1_000 {
            let folder = base.join(format!("annals-{process}-{n}"));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => {
                    let link = Self { folder };
                    symlink(dir, link.folder.join("s"))?;
                    return Ok(link);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name for a temporary folder"))
    }
}

impl Drop for LinkFolder {
    fn drop(&mut self) {
        for removed in [std::fs::remove_file(self.folder.join("s")), std::fs::remove_dir(&self.folder)] {
            if let Err(error) = removed {
                tracing::debug!(folder = %self.folder.display(), %error, "a temporary link was not removed");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SOCKET, connect, connect_within, listen};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_socket_and_its_folder_are_for_the_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let _listener = listen(folder.path()).unwrap();
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(folder.path()), mode(&folder.path().join(SOCKET))), (0o700, 0o600));
    }

    #[test]
    fn nobody_waits_for_ever_to_be_let_in() {
        let folder = tempfile::tempdir().unwrap();
        let listener = listen(folder.path()).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let _waiting = connect(folder.path()).unwrap();
        let patience = std::time::Duration::from_millis(50);
        assert_eq!(connect(folder.path()).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
        assert_eq!(connect_within(folder.path(), patience).unwrap_err().kind(), std::io::ErrorKind::TimedOut);
        listener.accept().unwrap();
        connect_within(folder.path(), patience).unwrap();
    }

    #[test]
    fn a_long_path_is_no_obstacle() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d".repeat(120)).join("e".repeat(120));
        std::fs::create_dir_all(&deep).unwrap();
        assert!(connect(&deep).is_err());
        let listener = listen(&deep).unwrap();
        connect(&deep).unwrap();
        listener.accept().unwrap();
        drop(listener);
        assert!(connect(&deep).is_err());
        listen(&deep).unwrap();
    }
}
