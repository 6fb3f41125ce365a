//! The tabs of a session, and what is loaded for one.

use annals_core::{Seq, SessionId};

/// A tab: a question about a session at a cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TuiTab {
    /// What the model saw with the last request.
    #[default]
    Seen,
    /// What changed in the views.
    Changes,
    /// The messages that the next request would carry.
    History,
    /// The system prompt and the updates since.
    Context,
    /// Tokens and cost.
    Usage,
    /// What a prompt cache can reuse.
    Cache,
    /// What compactions removed.
    Compactions,
    /// The events of the cut, and those before.
    Events,
    /// The files that events name.
    Files,
}

impl TuiTab {
    /// Every tab, in the order of the keys 1 to 9.
    pub const ALL: [Self; 9] = [
        Self::Seen,
        Self::Changes,
        Self::History,
        Self::Context,
        Self::Usage,
        Self::Cache,
        Self::Compactions,
        Self::Events,
        Self::Files,
    ];

    /// The name in the row of tabs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seen => "Seen",
            Self::Changes => "Changes",
            Self::History => "History",
            Self::Context => "Context",
            Self::Usage => "Usage",
            Self::Cache => "Cache",
            Self::Compactions => "Compact",
            Self::Events => "Events",
            Self::Files => "Files",
        }
    }

    /// Its place among all, from 0.
    pub fn place(self) -> usize {
        Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0)
    }

    /// The tab so many places further, beginning anew at the ends.
    pub fn next(self, by: usize) -> Self {
        Self::ALL.get((self.place() + by) % Self::ALL.len()).copied().unwrap_or_default()
    }
}

/// The events that were written together, and where what follows begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TuiCut {
    /// The first of them.
    pub first: Seq,
    /// The first event that is not in view.
    pub until: Seq,
}

/// What a tab shows: the page that is loaded for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TuiPageKey {
    /// The tab.
    pub tab: TuiTab,
    /// An event of the cut.
    pub seq: Seq,
    /// The event that changes are counted from; the cut before if there is none.
    pub since: Option<Seq>,
    /// Whether texts are whole.
    pub full: bool,
    /// Columns of a line.
    pub width: u16,
}

/// What is shown and therefore loaded. Only the newest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TuiWanted {
    /// The session.
    pub session: SessionId,
    /// The page, once the timeline is there.
    pub page: Option<TuiPageKey>,
}
