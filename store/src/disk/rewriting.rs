//! Writing segments of the journal again with other forms of the same batches: some texts erased, or filled in.
//!
//! The digest of a batch is the same before and after, and so is its place. What is derived from the journal is removed and made
//! again: sled and the saved views.

use super::folder::Folder;
use super::folder::files::Disk;
use super::folder::identity::Identity;
use super::folder::layout::Layout;
use super::index::rebuild;
use super::journal::SegmentWriter;
use super::journal::frame::{self, FrameKind, Scan};
use super::journal::segment::{self, Segment};
use super::state::Tuning;
use crate::text_removal::ErasedSession;
use annals_core::{Batch, SessionId, SessionKey, codec};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// A batch in its other form, and its codec form.
pub(in crate::disk) type RewrittenBatch = (Batch, Vec<u8>);

/// What changes batches.
pub(in crate::disk) trait BatchRewrite {
    /// Whether what failed writes left in a segment goes too: it may hold any text.
    const REMOVES_STRAYS: bool;

    /// The batch in its other form; `None` when it stays as it is.
    ///
    /// # Errors
    /// When it cannot be changed: then the whole work stops.
    fn rewrite(&mut self, batch: &Batch) -> io::Result<Option<RewrittenBatch>>;

    /// Receives each batch as the journal has it afterwards.
    fn after(&mut self, batch: &Batch);
}

/// Writes segments again in a store that is being opened.
pub(in crate::disk) struct Rewriter<'a> {
    /// The file layer.
    pub disk: &'a Arc<dyn Disk>,
    /// Where things lie.
    pub layout: &'a Layout,
    /// The folder, held open.
    pub folder: &'a Folder,
    /// Which store it is.
    pub identity: &'a Identity,
    /// Sizes.
    pub tuning: &'a Tuning,
    /// Hears how many segments are done, of how many.
    pub progress: &'a dyn Fn(usize, usize),
}

impl Rewriter<'_> {
    /// Writes every segment again that holds a batch which changes. Returns how many. `writer` is where the journal continues.
    /// Everything in the journal must be whole, as a thorough recovery leaves it.
    ///
    /// # Errors
    /// When the disk refuses, or a batch cannot be changed; the segments before it are written.
    pub fn run<R: BatchRewrite>(
        &self,
        segments: &[Arc<Segment>],
        writer: &mut Option<SegmentWriter>,
        rewrite: &mut R,
    ) -> io::Result<u64> {
        let mut written = 0;
        for (index, (segment, end)) in with_ends(segments).enumerate() {
            (self.progress)(index, segments.len());
            let Some(out) = self.rewritten(segment, end, rewrite)? else { continue };
            segment.write_again(&**self.disk, &self.layout.journal(), self.tuning.segment_bytes, &out)?;
            written += 1;
            if end == u64::MAX && writer.is_some() {
                let room = segment.file().len()?;
                *writer = Some(SegmentWriter::resume(segment.clone(), out.len() as u64, room));
            }
        }
        (self.progress)(segments.len(), segments.len());
        Ok(written)
    }

    /// The bytes of a segment with its changed batches; `None` when nothing changes.
    fn rewritten<R: BatchRewrite>(&self, segment: &Segment, end: u64, rewrite: &mut R) -> io::Result<Option<Vec<u8>>> {
        let bytes = segment.load()?;
        let mut out = segment::header(segment.first, self.identity.id).to_vec();
        let (mut changed, mut next) = (false, segment.first);
        for found in frame::scan(&bytes, segment::HEADER) {
            let Scan::Frame(_, frame) = found else { continue };
            if frame.position < next || frame.position >= end {
                changed |= R::REMOVES_STRAYS;
                continue;
            }
            next = frame.next();
            let decoded = match frame.kind {
                FrameKind::Batch => codec::decode(frame.payload).ok(),
                FrameKind::Gap => None,
            };
            let Some(batch) = decoded else {
                out.extend_from_slice(frame.bytes);
                continue;
            };
            match rewrite.rewrite(&batch)? {
                Some((again, encoded)) => {
                    frame::write(&mut out, FrameKind::Batch, frame.in_group, frame.position, &encoded);
                    changed = true;
                    rewrite.after(&again);
                }
                None => {
                    out.extend_from_slice(frame.bytes);
                    rewrite.after(&batch);
                }
            }
        }
        Ok(changed.then_some(out))
    }

    /// Removes what is derived from the journal: sled and saved views.
    pub fn remove_derived(&self) -> io::Result<()> {
        for path in std::iter::once(self.layout.cache()).chain(rebuild::folders(self.layout)) {
            rebuild::remove_folder(self.folder, &path)?;
        }
        match self.disk.remove(&self.layout.checkpoint()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.disk.sync_dir(&self.layout.dir)
    }
}

/// The texts that the log says are erased.
pub(in crate::disk) fn erased_texts(segments: &[Arc<Segment>]) -> io::Result<BTreeMap<SessionId, ErasedSession>> {
    let mut sessions: BTreeMap<SessionId, ErasedSession> = BTreeMap::new();
    let mut keys: BTreeMap<SessionId, SessionKey> = BTreeMap::new();
    for (segment, end) in with_ends(segments) {
        let bytes = segment.load()?;
        for batch in batches(segment, &bytes, end) {
            ErasedSession::note(&mut sessions, &mut keys, &batch);
        }
    }
    Ok(sessions)
}

/// Segments with the position behind each.
fn with_ends(segments: &[Arc<Segment>]) -> impl Iterator<Item = (&Arc<Segment>, u64)> {
    segments.iter().zip(segments.iter().skip(1).map(|next| next.first).chain([u64::MAX]))
}

/// The batches of a segment, in order.
fn batches<'a>(segment: &Segment, bytes: &'a [u8], end: u64) -> impl Iterator<Item = Batch> + use<'a> {
    let mut next = segment.first;
    frame::scan(bytes, segment::HEADER).filter_map(move |found| {
        let Scan::Frame(_, frame) = found else { return None };
        if frame.position < next || frame.position >= end {
            return None;
        }
        next = frame.next();
        (frame.kind == FrameKind::Batch).then(|| codec::decode(frame.payload).ok()).flatten()
    })
}
