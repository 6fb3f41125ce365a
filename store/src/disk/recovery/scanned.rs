//! A segment as recovery finds it: its frames by position, and the bytes that are not frames.

use super::POSITION_MAX;
use crate::disk::journal::frame::{self, Scan};
use crate::disk::journal::segment::{self, Segment};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The place of a frame.
#[derive(Clone, Debug)]
pub(super) struct FramePlace {
    /// Its bytes in the unpacked segment.
    pub bytes: Range<usize>,
    pub in_group: u16,
    /// The position behind it.
    pub until: u64,
}

/// One segment as it was found.
pub(super) struct ScannedSegment {
    pub segment: Arc<Segment>,
    pub bytes: Vec<u8>,
    /// Whether its header holds, and the directories of a packed one.
    pub header_holds: bool,
    /// The place of each frame, by its position.
    pub frames: BTreeMap<u64, FramePlace>,
    /// Bytes that do not parse as a frame, and whether a frame follows them.
    pub bad: Vec<(Range<usize>, bool)>,
    /// Where the last frame ends.
    pub used: usize,
}

impl ScannedSegment {
    /// The position behind the last frame.
    pub fn end(&self) -> u64 {
        self.frames.last_key_value().map_or(self.segment.first, |(_, frame)| frame.until)
    }

    /// The positions before `end` that no frame covers.
    pub fn gaps(&self, end: u64) -> Vec<Range<u64>> {
        let (mut gaps, mut next) = (Vec::new(), self.segment.first);
        for (position, frame) in self.frames.range(..end) {
            if next < *position {
                gaps.push(next..*position);
            }
            next = next.max(frame.until);
        }
        if next < end {
            gaps.push(next..end);
        }
        gaps
    }
}

/// Reads a segment whose positions end before `end`.
pub(super) fn scan(segment: Arc<Segment>, end: u64) -> io::Result<ScannedSegment> {
    let (bytes, header_holds) = segment.load_checked()?;
    let (mut frames, mut bad, mut used) = (BTreeMap::<u64, FramePlace>::new(), Vec::new(), segment::HEADER);
    let end = end.min(POSITION_MAX);
    for found in frame::scan(&bytes, segment::HEADER) {
        match found {
            Scan::Frame(at, frame) if frame.position >= segment.first && frame.position < end => {
                let bytes = at..at + frame.bytes.len();
                used = bytes.end;
                let until = frame.next().min(end);
                // Each position is written once: of two frames with one position the first counts.
                frames.entry(frame.position).or_insert(FramePlace { bytes, in_group: frame.in_group, until });
            }
            // Outside the segment's own range: a failed write leaves frames at and after the first position of the next
            // segment, which was begun to supersede them.
            Scan::Frame(..) => {}
            Scan::Bad { from, to, followed } => bad.push((from..to, followed)),
        }
    }
    Ok(ScannedSegment { segment, bytes, header_holds, frames, bad, used })
}
