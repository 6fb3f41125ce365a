//! A damaged segment: written again, the damaged one set aside; or, when nothing may be written, put together in memory.

use super::scanned::ScannedSegment;
use super::{Pieces, Recovery, SegmentPiece, free_name};
use crate::disk::folder::files::{ReadOnlyBytes, write_whole};
use crate::disk::journal::SegmentWriter;
use crate::disk::journal::frame::{self, FrameKind, GapCause};
use crate::disk::journal::segment;
use crate::disk::maintenance::report::{Copy, Remark};
use crate::disk::reading::decode;
use crate::log::Position;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Recovery<'_> {
    /// Replaces a damaged segment by its pieces. `cut`: the last bytes of the journal are an unfinished write.
    pub(super) fn mend(
        &self,
        scanned: ScannedSegment,
        pieces: &Pieces,
        cut: bool,
        last: bool,
        remarks: &mut Vec<Remark>,
    ) -> io::Result<Option<SegmentWriter>> {
        let out = self.written_again(&scanned, pieces);
        if !self.writes {
            Self::report_unwritten(&scanned, pieces, remarks);
            let path = scanned.segment.path();
            scanned.segment.replace(false, path, Arc::new(ReadOnlyBytes::of(out)), None);
            return Ok(None);
        }
        let set_aside = self.set_aside(&scanned)?;
        Self::report(&scanned, pieces, &set_aside, cut, remarks);
        scanned.segment.write_again(self.disk, &self.layout.journal(), self.tuning.segment_bytes, &out)?;
        let room = scanned.segment.file().len()?;
        Ok(last.then(|| SegmentWriter::resume(scanned.segment, out.len() as u64, room)))
    }

    /// The bytes of a whole segment: every frame that was found, what sled had, and a gap frame where nothing is left.
    fn written_again(&self, scanned: &ScannedSegment, pieces: &Pieces) -> Vec<u8> {
        let mut out = segment::header(scanned.segment.first, self.identity.id).to_vec();
        for (position, piece) in pieces {
            match piece {
                SegmentPiece::Found(range) => {
                    out.extend_from_slice(scanned.bytes.get(range.clone()).unwrap_or_default());
                }
                SegmentPiece::Restored(bytes) => out.extend_from_slice(bytes),
                SegmentPiece::Missing(gap) => frame::write(&mut out, FrameKind::Gap, 0, *position, &gap.encode()),
            }
        }
        out
    }

    fn set_aside(&self, scanned: &ScannedSegment) -> io::Result<PathBuf> {
        let folder = self.layout.damaged();
        self.disk.create_dir(&folder)?;
        let path = free_name(self.disk, &folder, &format!("{:020}.seg", scanned.segment.first))?;
        let used = scanned.bad.last().map_or(scanned.used, |(range, _)| scanned.used.max(range.end));
        write_whole(self.disk, &path, scanned.bytes.get(..used).unwrap_or(&scanned.bytes))?;
        self.disk.sync_dir(&self.layout.dir)?;
        Ok(path)
    }

    fn report(scanned: &ScannedSegment, pieces: &Pieces, set_aside: &Path, cut: bool, remarks: &mut Vec<Remark>) {
        let segment = scanned.segment.path();
        if !scanned.header_holds {
            remarks.push(Remark::Header { segment: segment.clone() });
        }
        let only_torn = pieces.iter().all(|(_, piece)| match piece {
            SegmentPiece::Found(_) => true,
            SegmentPiece::Restored(_) => false,
            SegmentPiece::Missing(gap) => gap.cause == GapCause::Torn,
        });
        for (range, followed) in &scanned.bad {
            let (segment, set_aside, from) = (segment.clone(), set_aside.to_owned(), range.start as u64);
            remarks.push(if only_torn && (*followed || cut) {
                Remark::Torn { segment, at: from, bytes: range.len() as u64, set_aside }
            } else {
                Remark::Damaged { segment, from, to: range.end as u64, set_aside }
            });
        }
        for (_, piece) in pieces {
            if let SegmentPiece::Restored(frame) = piece
                && let Some(stored) = decode(frame)
            {
                let (session, seq) = (stored.batch.session, stored.batch.first);
                remarks.push(Remark::Mended { session, seq, damaged: Copy::Journal });
            }
        }
        Self::report_lost(pieces, remarks);
    }

    fn report_lost(pieces: &Pieces, remarks: &mut Vec<Remark>) {
        // The first position of a gap is a gap frame of its own: one remark for both unless it is known whose it was.
        for (position, piece) in pieces {
            let SegmentPiece::Missing(gap) = piece else { continue };
            if gap.cause != GapCause::Lost {
                continue;
            }
            match (remarks.last_mut(), gap.whose) {
                (Some(Remark::Lost { position: first, count, whose: None }), None)
                    if first.0.saturating_add(*count) == *position =>
                {
                    *count = count.saturating_add(gap.count);
                }
                (_, whose) => remarks.push(Remark::Lost { position: Position(*position), count: gap.count, whose }),
            }
        }
    }

    /// The same when nothing was written.
    fn report_unwritten(scanned: &ScannedSegment, pieces: &Pieces, remarks: &mut Vec<Remark>) {
        let segment = scanned.segment.path();
        let missing = pieces.iter().map(|(_, piece)| match piece {
            SegmentPiece::Found(_) => (0, 0),
            SegmentPiece::Restored(_) => (1, 1),
            SegmentPiece::Missing(gap) if gap.cause == GapCause::Lost => (gap.count, 0),
            SegmentPiece::Missing(_) => (0, 0),
        });
        let (missing, in_sled) = missing
            .fold((0u64, 0u64), |(missing, in_sled), (m, s)| (missing.saturating_add(m), in_sled.saturating_add(s)));
        if missing > 0 || !scanned.header_holds {
            remarks.push(Remark::SegmentDamaged { segment, missing, in_sled });
            return Self::report_lost(pieces, remarks);
        }
        let bytes = scanned.bad.iter().map(|(range, _)| range.len() as u64).sum();
        remarks.push(Remark::TailIgnored { segment, bytes });
    }
}
