//! Temporary files of changes. A file is written next to its target and renamed; a process that is killed in between leaves
//! it there. Each such file is recorded in a folder outside the project first, under a lock that ends with the process, so that
//! a later process removes exactly what was left.

use annals_runtime::ports::StorePath;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How the name of a temporary file begins.
pub(super) const PREFIX: &str = ".annals-";

/// The longest record that is read, in bytes: the path of one file.
const LONGEST: u64 = 16 * 1024;

/// The record of one temporary file, removed when this is dropped.
pub(super) struct TempFileRecord {
    records: StorePath,
    name: String,
    // Held for its lock.
    _file: File,
}

impl Drop for TempFileRecord {
    fn drop(&mut self) {
        let removed = self.records.reach().and_then(|records| fs::remove_file(records.join(&self.name)));
        if let Err(error) = removed {
            let path = self.records.shown().join(&self.name);
            tracing::warn!(path = %path.display(), %error, "the record of a temporary file could not be removed");
        }
    }
}

/// Records a temporary file that is about to be made in a folder; gives its name, which no other file has.
pub(super) fn record(records: &StorePath, folder: &Path) -> io::Result<(TempFileRecord, String)> {
    let inside = records.reach()?;
    fs::create_dir_all(&inside)?;
    let mut random = [0; 12];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!("{PREFIX}{random}");
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(inside.join(&random))?;
    let recorded = TempFileRecord { records: records.clone(), name: random, _file: file.try_clone()? };
    file.lock()?;
    file.write_all(folder.join(&name).as_os_str().as_bytes())?;
    Ok((recorded, name))
}

/// Removes the temporary files of processes that were killed; gives how many there were.
///
/// # Errors
/// When the folder of the records cannot be read. What cannot be removed stays recorded and is logged.
pub fn remove_leftovers(records: &StorePath) -> io::Result<usize> {
    let entries = match fs::read_dir(records.reach()?) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut removed = 0;
    for entry in entries {
        let record = entry?.path();
        match remove(&record) {
            Ok(gone) => removed += usize::from(gone),
            Err(error) => {
                tracing::warn!(record = %record.display(), %error, "a temporary file could not be removed");
            }
        }
    }
    Ok(removed)
}

/// Removes the file of one record, then the record, unless its process still runs.
fn remove(record: &Path) -> io::Result<bool> {
    let mut options = fs::OpenOptions::new();
    options
        .read(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32 | rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = match options.open(record) {
        Ok(file) => file,
        // Another process removed it first.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() || file.try_lock().is_err() {
        return Ok(false);
    }
    let mut path = Vec::new();
    file.take(LONGEST).read_to_end(&mut path)?;
    let path = Path::new(OsStr::from_bytes(&path));
    // Only a file that this record made: its name is that of the record.
    let ours = path.is_absolute()
        && path.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_prefix(PREFIX))
            == record.file_name().and_then(OsStr::to_str);
    let there = ours && fs::symlink_metadata(path).is_ok_and(|there| there.is_file());
    if there {
        fs::remove_file(path)?;
    }
    fs::remove_file(record)?;
    Ok(there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    /// What a killed process leaves: a record without a lock, and perhaps the file.
    fn left(records: &Path, path: &Path) -> io::Result<PathBuf> {
        fs::create_dir_all(records)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().replace(PREFIX, "");
        let record = records.join(name);
        fs::write(&record, path.as_os_str().as_bytes())?;
        Ok(record)
    }

    #[test]
    fn files_of_killed_processes_are_removed_and_no_others() -> Tested {
        let here = tempfile::tempdir()?;
        let (records, project) = (here.path().join("records"), here.path().join("project"));
        assert_eq!(remove_leftovers(&records.as_path().into())?, 0, "no folder yet");
        fs::create_dir_all(&project)?;
        let (of_living, name) = record(&records.as_path().into(), &project)?;
        let living = project.join(name);
        let killed = project.join(".annals-0123");
        let mine = project.join(".annals-mine");
        for path in [&living, &killed, &mine] {
            fs::write(path, "half")?;
        }
        let records_left = [
            left(&records, &killed)?,
            // Its file is gone, it names one that is not its own, and it is empty.
            left(&records, &project.join(".annals-4567"))?,
            records.join("89ab"),
            records.join("cdef"),
        ];
        fs::write(&records_left[2], mine.as_os_str().as_bytes())?;
        fs::write(&records_left[3], "")?;
        assert_eq!(remove_leftovers(&records.as_path().into())?, 1);
        assert!(!killed.exists() && living.exists() && mine.exists());
        assert!(records_left.iter().all(|record| !record.exists()));
        drop(of_living);
        assert_eq!(fs::read_dir(&records)?.count(), 0);
        Ok(())
    }
}
