//! Which files of `journal/` are segments of this store. A name alone proves nothing: a file may be a stray copy, come from
//! another store, or be empty.
//!
//! ```text
//! header is whole, and names another store ─► stray, unless FORMAT is of another store (then: the list of heads names a session)
//! header holds ─┬─ it begins below the list of heads, and no Batch of it belongs to a Session of that list ─► stray
//!               └─ else ─► segment
//! header does not hold ─┬─ it has frames of its own positions, other than the one before ─► segment, its header is damaged
//!                       ├─ it begins where the one before ends, or below what heads or sled prove ─► segment, destroyed
//!                       └─ else ─► stray
//! ```
//! A stray is set aside by a writer, and ignored by a reader.

use super::scanned::{ScannedSegment, scan};
use super::{POSITION_MAX, Recovery, free_name};
use crate::disk::folder::files::{ReadOnlyBytes, write_whole};
use crate::disk::journal::frame::{self, FrameKind, Scan};
use crate::disk::journal::segment::{self, Segment};
use crate::disk::maintenance::report::Remark;
use annals_core::codec;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How often a reader lists the folder again when a file that was listed is gone: the store's owner packs segments.
const TRIES: u32 = 16;

/// Whether each frame of a segment is in the one before as well.
fn repeats(scanned: &ScannedSegment, before: &ScannedSegment) -> bool {
    scanned.frames.iter().all(|(position, frame)| {
        let other = before.frames.get(position);
        other.is_some_and(|other| scanned.bytes.get(frame.bytes.clone()) == before.bytes.get(other.bytes.clone()))
    })
}

impl Recovery<'_> {
    /// The segments there are, oldest first; what an interrupted call left unfinished goes.
    pub(super) fn segments(&self, remarks: &mut Vec<Remark>) -> io::Result<Vec<Arc<Segment>>> {
        let mut tries = 0;
        let found = loop {
            match self.candidates() {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !self.writes && tries < TRIES => tries += 1,
                found => break found?,
            }
        };
        let named = OnceCell::new();
        let is_named = || *named.get_or_init(|| found.iter().any(|segment| self.is_own(segment)));
        let mut segments: Vec<Arc<Segment>> = Vec::with_capacity(found.len());
        let mut unjudged = BTreeSet::new();
        for (index, segment) in found.iter().enumerate() {
            // What is sealed below the list of heads is read when it is needed, or by a repair.
            if segment.is_packed() && segment.first <= self.sessions.next && !self.thorough {
                unjudged.insert(segment.first);
                segments.push(segment.clone());
                continue;
            }
            let next = found.get(index + 1).map_or(POSITION_MAX, |next| next.first);
            match self.stray(segment, segments.last(), next, &is_named) {
                // One that cannot be read now is not judged.
                Ok(None) | Err(_) => segments.push(segment.clone()),
                Ok(Some(reason)) => remarks.push(self.set_stray_aside(&segment.path(), reason)?),
            }
        }
        // The last of them is read from here on.
        while let Some(at) = segments.iter().rposition(|segment| segment.first <= self.sessions.next)
            && let Some(segment) = segments.get(at).cloned()
            && unjudged.remove(&segment.first)
        {
            let before = at.checked_sub(1).and_then(|before| segments.get(before));
            let next = segments.get(at + 1).map_or(POSITION_MAX, |next| next.first);
            let Ok(Some(reason)) = self.stray(&segment, before, next, &is_named) else { break };
            segments.remove(at);
            remarks.push(self.set_stray_aside(&segment.path(), reason)?);
        }
        for name in self.disk.irregular(&self.layout.journal())? {
            let file = self.layout.journal().join(name);
            remarks.push(self.set_stray_aside(&file, "it is not a regular file")?);
        }
        if segments.is_empty() && self.evidence > 0 {
            // The journal is gone and sled is not: an empty segment replaces it, and is repaired like a damaged one.
            segments.push(Arc::new(self.stand_in()?));
        }
        Ok(segments)
    }

    /// The files that have a segment's name, by their first positions.
    fn candidates(&self) -> io::Result<Vec<Arc<Segment>>> {
        let journal = self.layout.journal();
        let mut forms: BTreeMap<u64, bool> = BTreeMap::new();
        for listed in self.disk.list(&journal)? {
            match segment::read_name(&listed.name) {
                // Both forms: packing was interrupted before the plain one went.
                Some((first, packed)) => *forms.entry(first).or_insert(packed) &= packed,
                None if self.writes && (listed.name.ends_with(".new") || listed.name.ends_with(".tmp")) => {
                    self.disk.remove(&journal.join(&listed.name))?;
                }
                None => {}
            }
        }
        let open = |(first, packed)| Segment::open(self.disk, &journal, first, packed, self.writes).map(Arc::new);
        forms.into_iter().map(open).collect()
    }

    fn stand_in(&self) -> io::Result<Segment> {
        let journal = self.layout.journal();
        let path = segment::raw_path(&journal, 0);
        if !self.writes {
            return Ok(Segment::new(0, false, path, Arc::new(ReadOnlyBytes::of(Vec::new()))));
        }
        write_whole(self.disk, &path, &[])?;
        Segment::open(self.disk, &journal, 0, false, true)
    }

    /// Whether the header of a segment is whole and names this store, or one that it was copied from.
    fn is_own(&self, segment: &Segment) -> bool {
        matches!(segment.read_header(), Ok(Some(header)) if self.identity.wrote(&header))
    }

    /// Why a file is not a segment of this store; `None` if it is one. `before` is the segment before it, `is_named` whether
    /// any segment names this store.
    fn stray(
        &self,
        segment: &Arc<Segment>,
        before: Option<&Arc<Segment>>,
        next: u64,
        is_named: &dyn Fn() -> bool,
    ) -> io::Result<Option<&'static str>> {
        let first = segment.first;
        if first >= POSITION_MAX {
            return Ok(Some("no journal reaches its number"));
        }
        let header = segment.read_header()?;
        if header.is_some_and(|header| !self.identity.wrote(&header))
            && (is_named() || self.connects(&segment.begin()?, first..next) != Some(true))
        {
            return Ok(Some("it belongs to another store"));
        }
        let end = || before.map_or(Ok(0), |before| Ok::<_, io::Error>(scan(before.clone(), POSITION_MAX)?.end()));
        if header.is_some_and(|header| header.first == first) {
            // After the list of heads nothing is known that the segment could contradict.
            if before.is_none() || first >= self.sessions.next {
                return Ok(None);
            }
            let bytes = if self.thorough { segment.load()? } else { segment.begin()? };
            let connects = self.connects(&bytes, first..next).unwrap_or(true);
            return Ok((!connects).then_some("its sessions are not of this store"));
        }
        let scanned = scan(segment.clone(), next)?;
        if !scanned.frames.is_empty() {
            let before = before.map(|before| scan(before.clone(), POSITION_MAX)).transpose()?;
            let copied = before.is_some_and(|before| repeats(&scanned, &before));
            return Ok(copied.then_some("it is a copy of another segment"));
        }
        let end = end()?;
        let continues = first == end || (end < first && first < self.evidence);
        Ok((!continues).then_some("it does not continue the journal"))
    }

    /// Whether a segment below the list of heads, which names every session there, has something of one; `None` when it has no
    /// batch there.
    fn connects(&self, bytes: &[u8], positions: Range<u64>) -> Option<bool> {
        let mut found_any = None;
        for found in frame::scan(bytes, segment::HEADER) {
            let Scan::Frame(_, frame) = found else { continue };
            // What came after the list of heads may be of a session that it does not name.
            let known = positions.contains(&frame.position) && frame.position < self.sessions.next;
            if frame.kind != FrameKind::Batch || !known {
                continue;
            }
            let Ok(header) = codec::decode_header(frame.payload) else { continue };
            if self.sessions.own.contains_key(&header.session) {
                return Some(true);
            }
            found_any = Some(false);
        }
        found_any
    }

    fn set_stray_aside(&self, file: &Path, reason: &'static str) -> io::Result<Remark> {
        let stray = |set_aside: Option<PathBuf>| Remark::Stray { file: file.to_owned(), reason, set_aside };
        if !self.writes {
            return Ok(stray(None));
        }
        let folder = self.layout.damaged();
        self.disk.create_dir(&folder)?;
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let place = free_name(self.disk, &folder, &name)?;
        self.disk.rename(file, &place)?;
        for folder in [folder, self.layout.journal(), self.layout.dir.clone()] {
            self.disk.sync_dir(&folder)?;
        }
        Ok(stray(Some(place)))
    }
}
