//! The entries of git's index that are repositories of their own.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The largest index that is read, in bytes.
const LARGEST: u64 = 256 << 20;

/// The mode of an entry that is a commit of another repository.
const REPOSITORY: u32 = 0o160_000;

/// Bytes of an entry before its object id: times, device, inode, mode, owner, size.
const STAT: usize = 40;

/// The paths of the entries that are repositories. Ends early where the index cannot be read further.
pub(super) fn repositories(index: &Path) -> Vec<PathBuf> {
    let mut bytes = Vec::new();
    let read = File::open(index).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
    if read.is_err() {
        return Vec::new();
    }
    // The length of object ids is that of the checksum at the end, which is not said in the index itself.
    let found = entries(&bytes, 20);
    if found.complete { found.repositories } else { [found.repositories, entries(&bytes, 32).repositories].concat() }
}

#[derive(Default)]
struct IndexEntries {
    repositories: Vec<PathBuf>,
    complete: bool,
}

fn entries(bytes: &[u8], hash: usize) -> IndexEntries {
    let mut found = IndexEntries::default();
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (Some(b"DIRC"), Some(version @ 2..=4), Some(count)) = (bytes.get(..4), number(4), number(8)) else {
        return found;
    };
    let (mut at, mut path) = (12, Vec::new());
    for _ in 0..count {
        let (Some(mode), Some(flags)) = (number(at + 24), bytes.get(at + STAT + hash..at + STAT + hash + 2)) else {
            return found;
        };
        let extended = version >= 3 && flags.first().is_some_and(|high| high & 0x40 != 0);
        let mut name = at + STAT + hash + 2 + if extended { 2 } else { 0 };
        if version == 4 {
            let Some((cut, after)) = varint(bytes, name) else { return found };
            path.truncate(path.len().saturating_sub(cut));
            name = after;
        } else {
            path.clear();
        }
        let Some(length) = bytes.get(name..).and_then(|rest| rest.iter().position(|byte| *byte == 0)) else {
            return found;
        };
        path.extend_from_slice(&bytes[name..name + length]);
        if mode == REPOSITORY {
            found.repositories.push(PathBuf::from(OsStr::from_bytes(&path)));
        }
        // Entries are padded to eight bytes, with one NUL at least; those of version 4 are not.
        at = if version == 4 { name + length + 1 } else { at + (name + length - at + 8) / 8 * 8 };
    }
    found.complete = at <= bytes.len();
    found
}

/// A number of git's offset encoding, and where it ends.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at + 1))
}

#[cfg(test)]
mod tests {
    use super::entries;

    #[test]
    fn a_damaged_index_lists_what_can_be_read() {
        let mut index = b"DIRC\0\0\0\x02\0\0\0\x02".to_vec();
        let mut entry = vec![0; 62];
        entry[24..28].copy_from_slice(&0o160_000_u32.to_be_bytes());
        entry.extend(b"sub\0\0\0\0\0\0\0");
        index.extend(entry);
        let found = entries(&index, 20);
        assert_eq!((found.repositories, found.complete), (vec!["sub".into()], false));
        for length in 0..index.len() {
            entries(&index[..length], 20);
        }
        assert!(entries(b"DIRC\0\0\0\x04\0\0\0\x01", 20).repositories.is_empty());
    }
}
