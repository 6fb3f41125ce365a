//! What `doctor` does: a thorough examination, repair, collecting blobs, compaction. Each says first what it will do.

use super::open_error::OpenError;
use super::report::{Copy, OpeningReport, Remark};
use super::unmatched::{InJournal, Unmatched};
use super::usage::{DiskUsage, usage};
use crate::disk::blobs::Listing;
use crate::disk::folder::Folder;
use crate::disk::folder::files::RealDisk;
use crate::disk::folder::layout::Layout;
use crate::disk::journal::frame::{self, FrameKind, Gap, GapCause, Scan};
use crate::disk::journal::segment;
use crate::disk::reading::decode;
use crate::disk::recovery::restore::FormatRepair;
use crate::disk::state::{StoreState, Tuning};
use crate::disk::{DiskLog, OpenMode, Purpose};
use crate::log::Position;
use annals_core::{BlobHash, Blobs};
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

/// What a thorough examination found. Nothing was changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examination {
    /// Batches in the journal.
    pub batches: u64,
    /// Places in the journal that hold no batch: cut off or lost earlier.
    pub gaps: Vec<(Position, Gap)>,
    /// Everything that is damaged, and what a repair does about it.
    pub findings: Vec<Finding>,
    /// Why sled was not compared, if it was not.
    pub unchecked: Option<String>,
}

/// What of sled is due in an examination.
#[derive(Clone, Copy, Debug)]
pub(in crate::disk) struct SledExpectation {
    /// sled must have every batch before this position.
    pub before: u64,
    /// Whether this process may write: a blob that is looked at counts as new again.
    pub owned: bool,
}

/// Something damaged, and what a repair does about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// A segment cannot be read in part.
    #[error("{}: {missing} batches cannot be read, {in_sled} of them are in sled: the segment will be written again, the damaged one set aside", segment.display())]
    Segment {
        /// Which.
        segment: PathBuf,
        /// How many positions.
        missing: u64,
        /// How many of them sled has.
        in_sled: u64,
    },
    /// A segment's header, or the directory of a packed one, is damaged.
    #[error("{}: a header is damaged: it will be written again", segment.display())]
    Header {
        /// Which.
        segment: PathBuf,
    },
    /// sled lacks batches or holds damaged ones.
    #[error("{batches} batches are missing or damaged in sled; they can be restored from the journal")]
    Sled {
        /// How many.
        batches: u64,
    },
    /// sled is not there.
    #[error("sled is missing: it will be rebuilt from the journal")]
    SledMissing,
    /// The end of the journal is missing.
    #[error("the journal lacks the last {batches} batches, which sled has: they will be written to it again")]
    JournalShort {
        /// How many.
        batches: u64,
    },
    /// What opening found: a file that does not belong to the store, a small file that is damaged.
    #[error("{remark}")]
    Noted {
        /// Which, and why.
        remark: Remark,
    },
    /// sled cannot be read to its end.
    #[error("sled cannot be read to its end ({reason}): it will be rebuilt from the journal")]
    SledBroken {
        /// What it said.
        reason: String,
    },
    /// A Batch names a blob that is not there or is damaged. No repair brings it back; putting it again does.
    #[error("blob {blob} is missing or damaged; import its session again")]
    Blob {
        /// Which.
        blob: BlobHash,
    },
}

/// What collecting would remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnusedBlobs {
    /// Blobs that no batch names, and their lengths.
    pub blobs: Vec<(BlobHash, u64)>,
    /// Files that a stopped writer left unfinished.
    pub unfinished: Vec<(PathBuf, u64)>,
}

/// Blobs cannot be collected.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// A Batch that cannot be read may name any blob: repair the store first.
    #[error("the store is damaged, and what cannot be read may name any blob; run a repair first")]
    Damaged,
    /// A batch that only the second copy has may name any blob, and that copy cannot be opened, for example on a full disk.
    #[error(
        "blobs cannot be searched while the second copy (sled) cannot be used; free disk space and try again, or repair it: annals doctor --repair"
    )]
    SecondCopy,
    /// The disk refused.
    #[error("blobs could not be collected: {0}")]
    Io(#[from] io::Error),
}

impl DiskLog {
    /// Reads both copies whole and compares them. `progress` hears how many segments are done, of how many.
    ///
    /// # Errors
    /// When the journal's files cannot be read.
    pub fn examine(&self, progress: impl FnMut(usize, usize)) -> io::Result<Examination> {
        // What sled was not given yet it need not have.
        let before = self.shared.filled.load(Ordering::Acquire);
        self.shared.examine(SledExpectation { before, owned: true }, progress)
    }

    /// What [`DiskLog::repair`] would write as the file `FORMAT` of the store in a folder; `None` when the file is whole. Changes
    /// nothing.
    ///
    /// # Errors
    /// When the store is of another format, or the disk refuses.
    pub fn lost_format(dir: &Path) -> Result<Option<FormatRepair>, OpenError> {
        let layout = Layout::new(dir);
        let Err(OpenError::FormatFile { state, .. }) = layout.identity(&RealDisk) else { return Ok(None) };
        let folder = Folder::open(dir).map_err(|source| OpenError::Io { path: dir.to_owned(), source })?;
        FormatRepair::plan(&layout, &RealDisk, &folder, state).map(Some)
    }

    /// Repairs everything that [`DiskLog::examine`] found and that can be repaired; the store must not be open.
    pub fn repair(dir: &Path, tuning: Tuning) -> Result<OpeningReport, OpenError> {
        let (log, report) = Self::open_for(dir, OpenMode::Existing, tuning, Arc::new(RealDisk), Purpose::Repair)?;
        drop(log);
        Ok(report)
    }

    /// Writes sled anew without the space that it no longer uses, and packs what waits to be packed; the store must not
    /// be open. Gives how much the store took before and takes now.
    pub fn compact(dir: &Path, tuning: Tuning) -> Result<(DiskUsage, DiskUsage), OpenError> {
        let failed = |source| OpenError::Io { path: dir.to_owned(), source };
        let before = usage(dir).map_err(failed)?;
        let (log, report) = Self::open_for(dir, OpenMode::Existing, tuning, Arc::new(RealDisk), Purpose::Compact)?;
        let packed = crate::disk::threads::sealer::pack(&log.shared, usize::MAX);
        let folder = log.shared.folder.clone();
        drop(log);
        packed.map_err(failed)?;
        let not_rebuilt = report.remarks.iter().find_map(|remark| match remark {
            Remark::SledOut { reason } => Some(io::Error::other(format!("the index could not be rebuilt: {reason}"))),
            _ => None,
        });
        if let Some(source) = not_rebuilt {
            return Err(failed(source));
        }
        // Only what this call set aside on purpose goes; damaged things stay.
        let asked = report.remarks.iter().find_map(|remark| match remark {
            Remark::SledRebuilt { reason, set_aside: Some(old), .. }
                if reason == crate::disk::index::rebuild::COMPACTED =>
            {
                Some(old)
            }
            _ => None,
        });
        let removed = asked.map_or(Ok(()), |old| std::fs::remove_dir_all(folder.reach_inside(old)?));
        removed.map_err(failed)?;
        Ok((before, usage(dir).map_err(failed)?))
    }

    /// What no batch names and is older than `age`: the blobs that [`DiskLog::collect`] would remove.
    ///
    /// # Errors
    /// When the store is damaged or cannot be read.
    pub fn garbage(&self, age: Duration, progress: impl FnMut(usize, usize)) -> Result<UnusedBlobs, CollectError> {
        self.shared.garbage(age, progress)
    }

    /// Removes what [`DiskLog::garbage`] found, except what was put again since.
    pub fn collect(&self, garbage: &UnusedBlobs, age: Duration) -> Result<DiskUsage, CollectError> {
        let mut removed = DiskUsage::default();
        for (hash, length) in &garbage.blobs {
            self.shared.check()?;
            if self.shared.blobs.remove_if(hash, |path| self.shared.older(path, age))? {
                removed = DiskUsage { files: removed.files + 1, bytes: removed.bytes + length };
            }
        }
        for (path, length) in &garbage.unfinished {
            self.shared.disk.remove(path)?;
            removed = DiskUsage { files: removed.files + 1, bytes: removed.bytes + length };
        }
        Ok(removed)
    }
}

impl StoreState {
    /// See [`DiskLog::examine`].
    pub(in crate::disk) fn examine(
        &self,
        due: SledExpectation,
        mut progress: impl FnMut(usize, usize),
    ) -> io::Result<Examination> {
        let mut seen = self.survey(&mut progress)?;
        let next = self.lock().sessions.next;
        let mut examination = Examination { batches: seen.batches, gaps: seen.gaps, ..Examination::default() };
        let findings = &mut examination.findings;
        let mut only_in_sled = BTreeSet::new();
        let sled = self.sled();
        let broken = sled.as_ref().and_then(|sled| {
            sled.every(|key, frame| {
                if let Some((frame, header)) = crate::disk::index::sled_tree::checked(key, frame)
                    && seen.unmatched.take(frame.position, header.digest) == InJournal::Missing
                {
                    only_in_sled.insert(frame.position);
                }
            })
        });
        for (segment, header_holds, gaps) in seen.segments {
            if !header_holds {
                findings.push(Finding::Header { segment: segment.clone() });
            }
            let missing = gaps.iter().fold(0u64, |sum, gap| sum.saturating_add(gap.end - gap.start));
            if missing > 0 {
                let found: usize = gaps.into_iter().map(|gap| only_in_sled.range(gap).count()).sum();
                findings.push(Finding::Segment { segment, missing, in_sled: found as u64 });
            }
        }
        let beyond = only_in_sled.range(next..).count() as u64;
        if beyond > 0 {
            findings.push(Finding::JournalShort { batches: beyond });
        }
        let unwritten = if due.owned || sled.is_some() { seen.unmatched.before(due.before) } else { 0 };
        if let Some(error) = broken {
            findings.push(Finding::SledBroken { reason: error.to_string() });
        } else if unwritten > 0 {
            findings.push(Finding::Sled { batches: unwritten as u64 });
        }
        let holds = |blob: &BlobHash| match due.owned {
            true => self.blobs.holds(blob),
            false => self.blobs.text(blob).is_some(),
        };
        seen.blobs.retain(|blob| !holds(blob));
        findings.extend(seen.blobs.into_iter().map(|blob| Finding::Blob { blob }));
        Ok(examination)
    }

    /// See [`DiskLog::garbage`].
    pub(in crate::disk) fn garbage(
        &self,
        age: Duration,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<UnusedBlobs, CollectError> {
        let seen = self.survey(&mut progress)?;
        if seen.segments.iter().any(|(_, _, missing)| !missing.is_empty())
            || seen.gaps.iter().any(|(_, gap)| gap.cause == GapCause::Lost)
        {
            return Err(CollectError::Damaged);
        }
        let mut named = seen.blobs;
        // Archive segments may have been dropped: then only sled knows what their batches name.
        let broken = self.sled().and_then(|sled| {
            sled.every(|_, frame| {
                named.extend(decode(frame).into_iter().flat_map(|stored| stored.batch.blobs()).map(|blob| blob.blob));
            })
        });
        if broken.is_some() || self.sled().is_none() {
            return Err(CollectError::SecondCopy);
        }
        let Listing { blobs, unfinished } = self.blobs.list()?;
        let mut garbage = UnusedBlobs::default();
        for (hash, length) in blobs {
            if !named.contains(&hash) && self.older(&self.blobs.path(&hash), age)? {
                garbage.blobs.push((hash, length));
            }
        }
        for (path, length) in unfinished {
            if self.older(&path, age)? {
                garbage.unfinished.push((path, length));
            }
        }
        Ok(garbage)
    }

    /// Whether a file was last written to so long ago.
    fn older(&self, path: &Path, age: Duration) -> io::Result<bool> {
        let modified = self.folder.reach_inside(path)?.symlink_metadata()?.modified()?;
        Ok(SystemTime::now().duration_since(modified).is_ok_and(|since| since >= age))
    }

    /// Reads every segment.
    fn survey(&self, progress: &mut dyn FnMut(usize, usize)) -> io::Result<JournalScan> {
        let mut seen = JournalScan::default();
        let segments = self.journal.segments();
        seen.unmatched.begins = segments.first().map_or(0, |(segment, _)| segment.first);
        let next = self.lock().sessions.next;
        for (index, (segment, end)) in segments.iter().enumerate() {
            progress(index, segments.len());
            let (bytes, header_holds) = segment.load_checked()?;
            let end = (*end).min(next);
            let (mut gaps, mut at) = (Vec::new(), segment.first);
            for found in frame::scan(&bytes, segment::HEADER) {
                let Scan::Frame(_, frame) = found else { continue };
                if frame.position < at || frame.position >= end {
                    continue;
                }
                let behind = frame.next().min(end);
                if frame.kind == FrameKind::Gap {
                    seen.gaps.push((Position(frame.position), Gap::decode(frame.payload)));
                } else if let Some(stored) = decode(frame.bytes) {
                    seen.batches += 1;
                    seen.unmatched.put(frame.position, stored.batch.digest);
                    seen.blobs.extend(stored.batch.blobs().into_iter().map(|blob| blob.blob));
                } else {
                    continue;
                }
                if at < frame.position {
                    gaps.push(at..frame.position);
                }
                at = behind;
            }
            if at < end {
                gaps.push(at..end);
            }
            seen.segments.push((segment.path(), header_holds, gaps));
        }
        progress(segments.len(), segments.len());
        Ok(seen)
    }
}

/// What reading every segment gave.
#[derive(Debug, Default)]
struct JournalScan {
    batches: u64,
    gaps: Vec<(Position, Gap)>,
    unmatched: Unmatched,
    blobs: BTreeSet<BlobHash>,
    /// Path, whether the header holds, the positions that cannot be read.
    segments: Vec<(PathBuf, bool, Vec<Range<u64>>)>,
}

impl Finding {
    /// The copy that is damaged, if one of the two is.
    pub fn copy(&self) -> Option<Copy> {
        match self {
            Self::Segment { .. } | Self::Header { .. } | Self::JournalShort { .. } | Self::Noted { .. } => {
                Some(Copy::Journal)
            }
            Self::Sled { .. } | Self::SledBroken { .. } | Self::SledMissing => Some(Copy::Sled),
            Self::Blob { .. } => None,
        }
    }
}
