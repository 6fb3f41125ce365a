//! Writing the file `FORMAT` again from the headers of segments.

use super::POSITION_MAX;
use crate::disk::folder::Folder;
use crate::disk::folder::files::Disk;
use crate::disk::folder::identity::{FORMAT, Identity};
use crate::disk::folder::layout::Layout;
use crate::disk::journal::frame::{self, FrameKind};
use crate::disk::journal::segment::{self, Segment};
use crate::disk::maintenance::open_error::{FormatFile, OpenError};
use crate::disk::maintenance::report::Remark;
use crate::disk::sessions::SessionHeads;
use crate::store_id::StoreId;
use annals_core::{SessionId, codec};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// What is known of a store whose file `FORMAT` is damaged or missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatRepair {
    /// What is written.
    pub identity: Identity,
    /// What is wrong with the file that is there.
    pub state: FormatFile,
    /// How many segments have the id; 0 when it is a new one.
    pub segments: usize,
}

impl FormatRepair {
    /// Reads all segments. The newest one that belongs to the store has the id; the others name stores that it was copied from.
    ///
    /// # Errors
    /// When the segments are of another format, or the disk refuses.
    pub fn plan(layout: &Layout, disk: &dyn Disk, folder: &Folder, state: FormatFile) -> Result<Self, OpenError> {
        let io = |source| OpenError::at(&layout.journal(), source);
        let SegmentHeaders { ids, other_format } = SegmentHeaders::read(layout, disk).map_err(io)?;
        if let (Some(format), true) = (other_format, ids.is_empty()) {
            let found = format!("annals store {format}");
            return Err(OpenError::Format { dir: layout.dir.clone(), found, supported: FORMAT });
        }
        let mut identity = Identity::new(folder.inode()).map_err(io)?;
        for id in ids.iter().rev() {
            if Some(id) == ids.last() {
                identity.id = *id;
            } else if !identity.copied_from.contains(id) {
                identity.copied_from.push(*id);
            }
        }
        identity.copied_from.truncate(crate::disk::folder::identity::FORMER);
        let segments = ids.iter().filter(|id| **id == identity.id).count();
        Ok(Self { identity, state, segments })
    }

    /// Writes it. The process must own the store.
    pub fn write(&self, layout: &Layout, disk: &dyn Disk) -> Result<Remark, OpenError> {
        layout.write_identity(disk, &self.identity)?;
        Ok(Remark::FormatRestored { state: self.state, id: self.identity.id, from: self.segments })
    }
}

/// What the headers of the segments say.
#[derive(Default)]
struct SegmentHeaders {
    /// The ids in the segments that belong to the store, oldest first.
    ids: Vec<StoreId>,
    /// The format of a segment of another format, if there is one.
    other_format: Option<u32>,
}

/// The part of the log that the segments read so far show.
struct KnownSessions {
    sessions: BTreeSet<SessionId>,
    /// The position behind its last frame.
    end: u64,
}

impl SegmentHeaders {
    /// Reads the segments, one at a time. A segment that was copied into the folder must not name the store, so one belongs to
    /// it only if it continues the one before, has the id of one that does, or holds batches of a session that is known.
    fn read(layout: &Layout, disk: &dyn Disk) -> io::Result<Self> {
        let journal = layout.journal();
        let heads = SessionHeads::load(disk, &layout.heads())?.unwrap_or_default();
        let mut known = KnownSessions { sessions: heads.own.into_keys().collect(), end: 0 };
        let mut found = Self::default();
        let mut forms: BTreeMap<u64, bool> = BTreeMap::new();
        for (first, packed) in disk.list(&journal)?.iter().filter_map(|listed| segment::read_name(&listed.name)) {
            *forms.entry(first).or_insert(packed) &= packed;
        }
        for (first, packed) in forms {
            let segment = Segment::open(disk, &journal, first, packed, false)?;
            let header = segment.read_header()?;
            if let Some(header) = header.filter(|header| header.format != FORMAT) {
                found.other_format = Some(header.format);
                continue;
            }
            // One with another position in its name was renamed.
            let id = header.filter(|header| header.first == first).map(|header| header.store);
            if known.takes(first, &segment.load()?, id.is_some_and(|id| found.ids.contains(&id))) {
                found.ids.extend(id);
            }
        }
        Ok(found)
    }
}

impl KnownSessions {
    /// Adds a segment if it belongs to what is known; `is_named`: its id does.
    fn takes(&mut self, first: u64, bytes: &[u8], is_named: bool) -> bool {
        let (mut end, mut sessions) = (first, BTreeSet::new());
        for found in frame::scan(bytes, segment::HEADER) {
            let frame::Scan::Frame(_, frame) = found else { continue };
            if frame.position < end || frame.position >= POSITION_MAX {
                continue;
            }
            end = frame.next();
            if frame.kind == FrameKind::Batch
                && let Ok(header) = codec::decode_header(frame.payload)
            {
                sessions.insert(header.session);
            }
        }
        let begins = self.end == 0 && self.sessions.is_empty();
        let belongs = begins || first == self.end || is_named || !self.sessions.is_disjoint(&sessions);
        if belongs {
            self.end = end;
            self.sessions.append(&mut sessions);
        }
        belongs
    }
}
