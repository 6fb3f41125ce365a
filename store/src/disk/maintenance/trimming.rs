//! Room at the end of files that reads as zeros: given back to the file system when a store closes, so that a small store is small.

use crate::disk::folder::files::{Access, DiskFile};
use crate::disk::state::StoreState;
use std::io;

/// How far from its end a file is looked at; more than a segment of the journal or of sled.
const TAIL: u64 = 16 << 20;

/// How much is compared in one step.
const STEP: usize = 64 << 10;

static ZEROS: [u8; STEP] = [0; STEP];

/// The growing segment of the journal and sled's last one end in reserved room: it becomes a hole, which reads the same. What
/// cannot be given back stays.
pub fn trim(shared: &StoreState) {
    let growing = shared.journal.growing().map(|segment| Ok(segment.file()));
    let sled = shared.disk.open(&shared.layout.sled().join("db"), Access::Write);
    for file in growing.into_iter().chain([sled]) {
        if let Err(error) = file.and_then(|file| trim_file(&*file)) {
            tracing::debug!(%error, "unused room of the store was not given back");
        }
    }
}

fn trim_file(file: &dyn DiskFile) -> io::Result<()> {
    let end = file.len()?;
    let from = zeros_from(file, end)?.next_multiple_of(STEP as u64);
    if from < end { file.release(from, end - from) } else { Ok(()) }
}

/// From where on the file holds zeros only, as far as [`TAIL`] goes.
fn zeros_from(file: &dyn DiskFile, end: u64) -> io::Result<u64> {
    let least = end.saturating_sub(TAIL);
    let (mut at, mut buffer) = (end, vec![0; STEP]);
    while at > least {
        let size = STEP.min(usize::try_from(at - least).unwrap_or(STEP));
        let part = buffer.get_mut(..size).unwrap_or_default();
        let from = at - size as u64;
        let read = file.read_at(part, from)?;
        let part = part.get(..read).unwrap_or_default();
        // Whole blocks are compared, since a search byte by byte takes a hundred times as long.
        if !ZEROS.starts_with(part) {
            let last = part.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            return Ok(from + last as u64);
        }
        at = from;
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::folder::files::RealFile;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_file_loses_the_room_of_its_zeros_and_no_byte() {
        for (used, size) in [(0, 1 << 20), (1, 1 << 20), (70_000, 1 << 20), (1 << 20, 1 << 20), (3, 10 << 20), (5, 5)] {
            let file = tempfile::tempfile().unwrap();
            let real = RealFile(file.try_clone().unwrap());
            real.allocate(size).unwrap();
            real.write_at(&vec![7; used], 0).unwrap();
            trim_file(&real).unwrap();
            assert_eq!(real.len().unwrap(), size);
            let mut bytes = vec![1; used + 10];
            let read = real.read_at(&mut bytes, 0).unwrap();
            let wanted: Vec<u8> = [vec![7; used], vec![0; 10]].concat().into_iter().take(read).collect();
            assert_eq!(bytes.get(..read), Some(&wanted[..]), "{used} of {size}");
            let data = real.data_end().unwrap();
            assert!(used as u64 <= data && data <= (used as u64).next_multiple_of(STEP as u64), "{used} of {size}");
            let looked_at = size.saturating_sub(TAIL).max(used as u64).next_multiple_of(STEP as u64);
            assert!(file.metadata().unwrap().blocks() * 512 <= looked_at + 4096, "{used} of {size}");
        }
    }
}
