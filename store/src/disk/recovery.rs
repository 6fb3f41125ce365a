//! Opening the journal: read what came after the list of heads, restore each damaged segment with what sled still has, and keep
//! every position dense. A reader that must not write does the same in memory.
//!
//! ```text
//! files of journal/ ─► segments.rs: which of them are segments of this store
//!   each one from the list of heads on ─► scan ─► gaps ─► sled ─► pieces ─► sessions
//!                                                               └─► written again: frames found, frames of sled, gap frames
//! ```
//!
//! The states of a position when its segment has been read:
//!
//! ```text
//! frame whole ──────────────► its batch continues its session? ─ yes ─► found
//!    │                                      └─ no ─► the last group is torn? ─ yes ─► gap, torn
//!    │                                                                       └─ no ─► gap, lost (remark `Unchained`)
//!    └ no ─► sled has the batch ─► restored
//!               └ no ─► in the last group of the journal, and nothing proves that it was acknowledged ─► gap, torn
//!                         └ no ─► gap, lost (the end of a session: nothing more can be appended to it)
//! ```
//!
//! Writing a segment again, with what a crash at each step leaves:
//!
//! ```text
//! damaged N.seg ──1──► copy in damaged/ ──2──► N.new, flushed ──3──► N.seg (renamed) ──4──► N.pack removed, if it was packed
//!
//! 1, 2  the damaged segment is still in its place: recovery starts again and makes another copy
//! 3     N.new is removed at the next opening, and recovery starts again
//! 4     both forms: the raw one, which is the restored one, is read
//! ```

pub(in crate::disk) mod restore;

mod mending;
mod scanned;
mod segments;

use crate::disk::folder::files::Disk;
use crate::disk::folder::identity::Identity;
use crate::disk::folder::layout::Layout;
use crate::disk::index::sled_tree::SledTree;
use crate::disk::journal::SegmentWriter;
use crate::disk::journal::frame::{self, FrameKind, Gap, GapCause};
use crate::disk::journal::segment::{self, Segment};
use crate::disk::maintenance::report::Remark;
use crate::disk::sessions::SessionHeads;
use crate::disk::state::Tuning;
use crate::lineage::Birth;
use crate::log::Position;
use annals_core::codec::{self, BatchHeader};
use annals_core::event::SessionEvent;
use annals_core::{Event, Seq, SessionId};
use scanned::{FramePlace, ScannedSegment, scan};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// No segment begins at this position or behind it, and no frame of one is read: what says so is not ours.
pub const POSITION_MAX: u64 = 1 << 53;

/// What reading the journal gave.
#[derive(Debug)]
pub struct Recovered {
    /// Oldest first.
    pub segments: Vec<Arc<Segment>>,
    /// Where the journal continues; `None`: the next batch begins a segment.
    pub writer: Option<SegmentWriter>,
    /// Every session.
    pub sessions: SessionHeads,
    /// What was found.
    pub remarks: Vec<Remark>,
}

/// Reads the journal of a store.
pub struct Recovery<'a> {
    /// The file layer.
    pub disk: &'a dyn Disk,
    /// Where things lie.
    pub layout: &'a Layout,
    /// The id of the store: rewritten segments get it, and segments of other stores are foreign.
    pub identity: &'a Identity,
    /// Sizes.
    pub tuning: &'a Tuning,
    /// Gives the other copy, if it can be opened; asked only when something is missing in the journal.
    pub sled: &'a dyn Fn() -> Option<SledTree>,
    /// Lower bound of the durable end, from heads, checkpoint and sled.
    pub evidence: u64,
    /// The sessions at the last rotation or shutdown.
    pub sessions: SessionHeads,
    /// Whether every segment is read, also those whose batches the list of heads covers.
    pub thorough: bool,
    /// Whether files may be written. Otherwise what is damaged is restored in memory.
    pub writes: bool,
}

/// The content of some positions of a segment.
enum SegmentPiece {
    /// A frame of the segment.
    Found(Range<usize>),
    /// A frame that sled had.
    Restored(Vec<u8>),
    /// Nothing is left.
    Missing(Gap),
}

/// The pieces of a segment, each with its first position, in order.
type Pieces = Vec<(u64, SegmentPiece)>;

impl Recovery<'_> {
    /// Reads what came after the list of heads.
    pub fn run(mut self) -> io::Result<Recovered> {
        let known = self.sessions.next;
        let mut remarks = Vec::new();
        let segments = self.segments(&mut remarks)?;
        let covers = |segment: &Arc<Segment>| segment.first <= known;
        let start = segments.iter().rposition(covers).filter(|_| !self.thorough).unwrap_or(0);
        let mut writer = None;
        for (index, segment) in segments.iter().enumerate().skip(start) {
            let next = segments.get(index + 1);
            // What its owner closed, and has nothing behind the list of heads, is nothing new for a reader.
            let only_read = !self.writes && !self.thorough && next.is_none() && self.evidence <= known;
            if only_read && segment.closed_at(self.disk, &self.layout.journal(), known)? {
                continue;
            }
            let scanned = scan(segment.clone(), next.map_or(u64::MAX, |next| next.first))?;
            let end = next.map_or_else(|| scanned.end().max(self.evidence), |next| next.first);
            writer = self.take(scanned, end, next.is_none(), known, &mut remarks)?;
        }
        let (last, first) = (self.sessions.next, segments.last().map_or(0, |segment| segment.first));
        self.sessions.next = last.max(first).max(if segments.is_empty() { self.evidence } else { 0 });
        Ok(Recovered { segments, writer, sessions: self.sessions, remarks })
    }

    /// Takes in one segment, repaired if necessary.
    fn take(
        &mut self,
        scanned: ScannedSegment,
        end: u64,
        last: bool,
        known: u64,
        remarks: &mut Vec<Remark>,
    ) -> io::Result<Option<SegmentWriter>> {
        let gaps = scanned.gaps(end);
        // Bytes at the very end that do not parse as a frame: a write that a crash cut off, or that failed. Nothing is missing
        // then, but the segment is written again, so that the next frames do not follow bytes that a later scan would report as
        // damage.
        let cut = last && scanned.bad.last().is_some_and(|(_, followed)| !followed);
        let restored = self.look_in_sled(&gaps);
        let torn_from = torn_from(&scanned, &restored, last, self.evidence);
        let is_torn = torn_from.is_some_and(|from| gaps.last().is_some_and(|gap| gap.end > from));
        let mut pieces = self.pieces(&scanned, end, &gaps, restored, torn_from);
        for (position, piece) in &mut pieces {
            let bytes = match piece {
                SegmentPiece::Found(range) => scanned.bytes.get(range.clone()).unwrap_or_default(),
                SegmentPiece::Restored(bytes) => bytes.as_slice(),
                SegmentPiece::Missing(gap) => {
                    // Guessing whose it was needs the sessions before it.
                    if gap.cause == GapCause::Lost && gap.count == 1 {
                        gap.whose = self.guess(&scanned, *position);
                    }
                    self.mark(gap);
                    continue;
                }
            };
            // Only whole frames are pieces.
            let Ok(frame) = frame::parse(bytes) else { continue };
            let gap = match frame.kind {
                FrameKind::Gap => {
                    self.mark(&Gap::decode(frame.payload));
                    None
                }
                FrameKind::Batch if *position >= known => self.apply(frame, is_torn, remarks),
                // Below the list of heads: heads already say where its session ends.
                FrameKind::Batch => None,
            };
            if let Some(gap) = gap {
                self.mark(&gap);
                *piece = SegmentPiece::Missing(gap);
            }
        }
        self.sessions.next = self.sessions.next.max(end);
        // A segment is written again only when something in it changed: a repair must not risk what is whole.
        let untouched = pieces.iter().all(|(_, piece)| matches!(piece, SegmentPiece::Found(_)));
        if untouched && !cut && scanned.header_holds {
            if !last || scanned.segment.is_packed() || !self.writes {
                return Ok(None);
            }
            let file = scanned.segment.file();
            let room = file.len()?;
            // Closing gave back what was unused. Without room now, the next writes are refused as on any full disk.
            if let Err(error) = file.allocate(room) {
                tracing::debug!(%error, "no room is reserved for the growing segment");
            }
            return Ok(Some(SegmentWriter::resume(scanned.segment, scanned.used as u64, room)));
        }
        self.mend(scanned, &pieces, cut, last, remarks)
    }

    /// The content of each position from the segment's first to `end`.
    fn pieces(
        &self,
        scanned: &ScannedSegment,
        end: u64,
        gaps: &[Range<u64>],
        mut restored: BTreeMap<u64, Vec<u8>>,
        torn_from: Option<u64>,
    ) -> Pieces {
        let found = scanned.frames.range(..end);
        let mut pieces: Pieces =
            found.map(|(position, frame)| (*position, SegmentPiece::Found(frame.bytes.clone()))).collect();
        for gap in gaps {
            let mut next = gap.start;
            let mut behind = restored.split_off(&gap.start);
            restored = behind.split_off(&gap.end);
            for (position, bytes) in behind {
                pieces.extend(gap_pieces(next..position, torn_from));
                pieces.push((position, SegmentPiece::Restored(bytes)));
                next = position + 1;
            }
            pieces.extend(gap_pieces(next..gap.end, torn_from));
        }
        pieces.sort_by_key(|(position, _)| *position);
        pieces
    }

    /// Applies a frame's batch. Returns what replaces it when it follows a batch that was cut off.
    fn apply(&mut self, frame: frame::Frame<'_>, is_torn: bool, remarks: &mut Vec<Remark>) -> Option<Gap> {
        let gone = |cause| Some(Gap { cause, whose: None, count: 1 });
        // The checksum holds, but the content cannot be decoded. Not torn: a frame that was cut off has no valid checksum.
        let Ok(header) = codec::decode_header(frame.payload) else { return gone(GapCause::Lost) };
        let own = self.sessions.own.get(&header.session);
        let begins = own.is_none().then(|| birth(frame.payload, &header)).flatten();
        let continues = match own {
            Some(own) => header.first == own.head.next && header.prev == Some(own.head.digest),
            None => begins.is_some(),
        };
        // Torn: it does not continue its session, and the last group lacks an earlier frame. A group is written in one write that
        // may reach the device in any order, so this frame may have arrived without the batch that it follows. None of them was
        // acknowledged.
        if !continues && is_torn {
            return gone(GapCause::Torn);
        }
        // Unchained: the session is known, and it already has a batch there, or one whose digest this batch does not name. No crash
        // of this program leaves that (heads decide before anything is written), so it is reported as lost, with its place.
        // A batch *beyond* the head is kept: what is between them is lost, and reading reports where.
        if own.is_some_and(|own| header.first < own.head.next || (header.first == own.head.next && !continues)) {
            let (session, seq, position) = (header.session, header.first, Position(frame.position));
            remarks.push(Remark::Unchained { session, seq, position });
            return gone(GapCause::Lost);
        }
        // A session whose first batch is lost begins, as far as is known, at 0: reading reports the missing part.
        let birth = begins.unwrap_or(Birth { first: Seq::ZERO, parent: None });
        self.sessions.take(&header, frame.position, || birth);
        None
    }

    /// A lost batch at the end of a session: nothing may be appended to that session any more, because it would take the place of
    /// an acknowledged batch. A lost batch in the middle needs no mark: the one after it shows the gap.
    fn mark(&mut self, gap: &Gap) {
        if let (GapCause::Lost, Some((session, first))) = (gap.cause, gap.whose)
            && let Some(own) = self.sessions.own.get_mut(&session)
            && own.head.next == first
        {
            own.lost = true;
        }
    }

    /// Whose batch a damaged place held, if enough of it is left and it fits the end of that session.
    fn guess(&self, scanned: &ScannedSegment, position: u64) -> Option<(SessionId, Seq)> {
        let before = position.checked_sub(1).and_then(|before| scanned.frames.range(..=before).next_back());
        let before = before.filter(|(_, frame)| frame.until == position);
        let at = before.map_or(segment::HEADER, |(_, frame)| frame.bytes.end);
        let header = codec::decode_header(scanned.bytes.get(at + frame::HEADER..)?).ok()?;
        let own = self.sessions.own.get(&header.session)?;
        (own.head.next == header.first).then_some((header.session, header.first))
    }

    /// What sled has of the missing positions.
    fn look_in_sled(&self, gaps: &[Range<u64>]) -> BTreeMap<u64, Vec<u8>> {
        if gaps.is_empty() {
            return BTreeMap::new();
        }
        let Some(sled) = (self.sled)() else { return BTreeMap::new() };
        let (found, broken) = sled.at_positions(gaps);
        if let Some(error) = broken {
            tracing::warn!(%error, "sled could not be read to its end");
        }
        found
    }
}

/// Gap frames for positions of which nothing is left: one for the first, of which something may show whose it was, and one for all
/// others; those from `torn_from` on were never acknowledged.
fn gap_pieces(positions: Range<u64>, torn_from: Option<u64>) -> Pieces {
    let torn = torn_from.unwrap_or(u64::MAX).clamp(positions.start, positions.end.max(positions.start));
    let first = positions.start.saturating_add(1).min(torn);
    let parts = [
        (positions.start..first, GapCause::Lost),
        (first..torn, GapCause::Lost),
        (torn..positions.end, GapCause::Torn),
    ];
    let parts = parts.into_iter().filter(|(part, _)| !part.is_empty());
    let gap = |part: &Range<u64>, cause| Gap { cause, whose: None, count: part.end - part.start };
    parts.map(|(part, cause)| (part.start, SegmentPiece::Missing(gap(&part, cause)))).collect()
}

/// The position from which missing frames were never acknowledged: that of the very last group, or `None` if other
/// evidence shows that it was acknowledged.
fn torn_from(scanned: &ScannedSegment, restored: &BTreeMap<u64, Vec<u8>>, last: bool, evidence: u64) -> Option<u64> {
    // Only the last group of the last segment can be unacknowledged: the committer writes one group at a time, and answers it
    // before it writes the next one.
    let (position, FramePlace { in_group, .. }) = scanned.frames.last_key_value().filter(|_| last)?;
    let group = position.saturating_sub(u64::from(*in_group));
    // What is listed in heads or the checkpoint, or has reached sled, was flushed before; sled gets a group only after its answer.
    // Then a missing frame of the group is damage, not an unfinished write.
    let acknowledged = evidence > group || restored.range(group..).next().is_some();
    (!acknowledged).then_some(group)
}

/// How a session begins that is seen for the first time; `None` when its first batch is not this one.
fn birth(payload: &[u8], header: &BatchHeader) -> Option<Birth> {
    let batch = codec::decode(payload).ok()?;
    let first = matches!(
        batch.events.first(),
        Some(Event::Session(SessionEvent::Forked(_)) | Event::Session(SessionEvent::Created(_)))
    );
    (first && (header.prev.is_none() || header.first > Seq::ZERO)).then(|| Birth::of(&batch))
}

/// A name in `folder` that nothing has yet.
pub(super) fn free_name(disk: &dyn Disk, folder: &Path, name: &str) -> io::Result<PathBuf> {
    let mut taken: BTreeSet<String> = disk.list(folder)?.into_iter().map(|listed| listed.name).collect();
    taken.extend(disk.irregular(folder)?);
    let mut free = name.to_owned();
    let mut number = 0;
    while taken.contains(&free) {
        number += 1;
        free = format!("{name}.{number}");
    }
    Ok(folder.join(free))
}
