//! The import secret in a file, which is made when it is first needed.

use annals_core::ImportSecret;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// The longest file that is read, in bytes.
const FILE_MAX: u64 = 4096;

/// The secret in the file at `path`, readable by this user alone; `make` gives a new one where the file is missing. Of
/// several processes that make it at once one wins.
///
/// # Errors
/// When the file holds something else, or cannot be read or created.
pub fn kept_secret(path: &Path, make: impl FnOnce() -> io::Result<ImportSecret>) -> io::Result<ImportSecret> {
    if let Some(secret) = read(path)? {
        return Ok(secret);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let secret = make()?;
    // Readable by this user alone.
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(format!("{}\n", secret.hex()).as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(refused) if refused.error.kind() != io::ErrorKind::AlreadyExists => return Err(refused.error),
        _ => File::open(folder)?.sync_all()?,
    }
    read(path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn read(path: &Path) -> io::Result<Option<ImportSecret>> {
    // Opening a pipe would wait for its writer.
    let found = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not an import secret: not a regular file"));
    }
    let file = File::open(path)?;
    let mut text = String::new();
    file.take(FILE_MAX).read_to_string(&mut text)?;
    let refused =
        || io::Error::new(io::ErrorKind::InvalidData, "not an import secret: expected 64 lower-case hex digits");
    text.trim().parse().map(Some).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_is_made_once_and_for_the_user_alone() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("annals/import-secret");
        let first = kept_secret(&path, || Ok(ImportSecret([1; 32])))?;
        let again = kept_secret(&path, || Err(io::Error::other("made twice")))?;
        assert!(first == again && first.0 == [1; 32]);
        assert_eq!(path.metadata()?.permissions().mode() & 0o777, 0o600);
        let files = path.parent().map(Path::read_dir).transpose()?.map_or(0, Iterator::count);
        assert_eq!(files, 1, "nothing but the file is left");
        Ok(())
    }

    #[test]
    fn processes_that_make_it_at_once_have_the_same() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("import-secret");
        let obtained: Vec<_> = std::thread::scope(|scope| {
            let make = |n: u8| kept_secret(&path, || Ok(ImportSecret([n; 32])));
            let threads: Vec<_> = (0..8).map(|n| scope.spawn(move || make(n).map(|secret| secret.0))).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()?.ok()).collect()
        });
        assert!(!obtained.is_empty() && obtained.windows(2).all(|pair| pair[0] == pair[1]));
        Ok(())
    }

    #[test]
    fn a_pipe_in_its_place_is_refused_and_not_waited_for() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("import-secret");
        assert!(std::process::Command::new("mkfifo").arg(&path).status()?.success());
        let refused = kept_secret(&path, || Ok(ImportSecret([1; 32]))).map(|_| ()).unwrap_err();
        assert_eq!(refused.to_string(), "not an import secret: not a regular file");
        Ok(())
    }

    #[test]
    fn a_damaged_file_is_not_replaced() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("import-secret");
        std::fs::write(&path, "damaged")?;
        assert!(kept_secret(&path, || Ok(ImportSecret([1; 32]))).is_err());
        assert_eq!(std::fs::read_to_string(&path)?, "damaged");
        Ok(())
    }
}
