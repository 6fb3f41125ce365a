//! Why a report was not written.

use annals_core::Seq;
use annals_store::exchange::ImportError;

/// A report was not written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The range is empty.
    #[error("--at {from}..{until}: the first event is after the last")]
    Backwards { from: Seq, until: Seq },
    /// A page of HTML is for a browser.
    #[error("a report is a page for a browser; name its file with -o FILE.html, or print --markdown")]
    Terminal,
    /// What is exported cannot be read back.
    #[error("the export of this session cannot be read back (see annals verify): {0}")]
    ReadBack(#[from] Box<ImportError>),
}

impl ReportError {
    /// The exit status.
    pub const fn status(&self) -> u8 {
        match self {
            Self::Backwards { .. } | Self::Terminal => 2,
            Self::ReadBack(_) => 1,
        }
    }
}
