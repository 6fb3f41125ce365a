//! Writing the file `FORMAT` again from the headers of segments.

use super::files::Disk;
use super::folder::Folder;
use super::identity::{FORMAT, Identity};
use super::layout::Layout;
use super::report::{FormatFile, OpenError, Remark};
use super::segment::{self, Segment};
use std::collections::BTreeSet;
use std::io;

/// What is known of a store whose file `FORMAT` is damaged or missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restoring {
    /// What is written.
    pub identity: Identity,
    /// What is wrong with the file that is there.
    pub state: FormatFile,
    /// How many segments have the id; 0 when it is a new one.
    pub segments: usize,
}

impl Restoring {
    /// Reads the headers of all segments. The newest one has the id; the others name stores that it was copied from.
    ///
    /// # Errors
    /// When a segment is of another format, or the disk refuses.
    pub fn plan(layout: &Layout, disk: &dyn Disk, folder: &Folder, state: FormatFile) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io { path: layout.journal(), source };
        let mut ids = Vec::new();
        for header in headers(layout, disk).map_err(io)? {
            if header.format != FORMAT {
                let found = format!("annals store {}", header.format);
                return Err(OpenError::Format { dir: layout.dir.clone(), found, supported: FORMAT });
            }
            ids.push(header.store);
        }
        let mut identity = Identity::new(folder.inode()).map_err(io)?;
        for id in ids.iter().rev() {
            if Some(id) == ids.last() {
                identity.id = *id;
            } else if !identity.copied_from.contains(id) {
                identity.copied_from.push(*id);
            }
        }
        identity.copied_from.truncate(super::identity::FORMER);
        let segments = ids.iter().filter(|id| **id == identity.id).count();
        Ok(Self { identity, state, segments })
    }

    /// Writes it. The process must own the store.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, layout: &Layout, disk: &dyn Disk) -> Result<Remark, OpenError> {
        layout.write_identity(disk, &self.identity)?;
        Ok(Remark::FormatRestored { state: self.state, id: self.identity.id, from: self.segments })
    }
}

/// The headers of the segments, oldest first, without damaged ones.
fn headers(layout: &Layout, disk: &dyn Disk) -> io::Result<Vec<segment::Header>> {
    let journal = layout.journal();
    let names = disk.list(&journal)?;
    let forms: BTreeSet<(u64, bool)> = names.iter().filter_map(|listed| segment::read_name(&listed.name)).collect();
    let mut headers = Vec::new();
    for (first, packed) in forms {
        let header = Segment::open(disk, &journal, first, packed)?.read_header()?;
        // One with another position in its name was renamed.
        headers.extend(header.filter(|header| header.format != FORMAT || header.first == first));
    }
    Ok(headers)
}
