//! Remarks as lines for the user.

use super::report::Remark;

/// How many remarks of one kind are shown one by one.
const SHOWN: usize = 3;

/// Remarks as lines for the user: a few of each kind, then how many more there are.
pub fn summary(remarks: &[Remark]) -> Vec<String> {
    let mut kinds: Vec<(&'static str, Vec<&Remark>)> = Vec::new();
    for remark in remarks {
        match kinds.iter_mut().find(|(kind, _)| *kind == remark.kind()) {
            Some((_, found)) => found.push(remark),
            None => kinds.push((remark.kind(), vec![remark])),
        }
    }
    let mut lines = Vec::new();
    for (kind, found) in kinds {
        // One more is shown rather than counted.
        let shown = if found.len() <= SHOWN + 1 { found.len() } else { SHOWN };
        lines.extend(found.iter().take(shown).map(ToString::to_string));
        if found.len() > shown {
            lines.push(format!("and {} more {kind}", thousands(found.len() - shown)));
        }
    }
    lines
}

/// A number with commas between its thousands.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl Remark {
    /// What many of its kind are called.
    fn kind(&self) -> &'static str {
        match self {
            Self::Torn { .. } | Self::TailIgnored { .. } => "unfinished writes",
            Self::Header { .. } | Self::SegmentDamaged { .. } | Self::Damaged { .. } => "damaged places in segments",
            Self::Stray { .. } => "files that are not part of the store",
            Self::Mended { .. } => "batches that were restored from the other copy",
            Self::Hurt { .. } => "batches that are damaged in the journal and were read from sled",
            Self::Lost { .. } => "lost places",
            Self::Unread { .. } => "files that cannot be read",
            Self::Unchained { .. } => "batches that do not continue their sessions",
            Self::SledRebuilt { .. } | Self::SledOut { .. } | Self::SledBlobs | Self::CopyUnchecked { .. } => {
                "remarks about the second copy"
            }
            Self::EraseUnfinished { .. } => "unfinished erasures",
            Self::FillUnfinished { .. } => "unfinished imports of withheld texts",
            Self::Reread { .. } => "files that were read again",
            Self::Blob { .. } => "damaged blobs",
            Self::Moved { .. } => "moves of the store",
            Self::FormatRestored { .. } => "repairs of the file FORMAT",
        }
    }
}
