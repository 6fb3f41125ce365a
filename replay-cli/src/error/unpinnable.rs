//! Why a message cannot be pinned.

/// Why a message cannot be pinned or unpinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpinnable {
    /// It is pinned already.
    Pinned,
    /// It is not pinned.
    NotPinned,
    /// It is neither a prompt nor an answer, or it is not in the history.
    OfAnotherKind,
}

impl Unpinnable {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Pinned => "is pinned already",
            Self::NotPinned => "is not pinned",
            Self::OfAnotherKind => "cannot be pinned: it is not a prompt or an answer in the history",
        }
    }
}
