//! What errors list: sessions that a name matches, and reasons.

use crate::style::Style;
use annals_core::{SessionId, Time};

/// A session that a name matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its id.
    pub session: SessionId,
    /// Its title.
    pub title: String,
    /// Its directory.
    pub directory: String,
    /// Time of its last event.
    pub updated: Time,
}

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

/// The sessions that a name matches: id, age, directory and title of each.
pub(super) fn ambiguous(name: &str, count: u64, newest: &[Candidate], style: Option<&Style>) -> String {
    let when = |at: Time| style.map_or_else(|| at.to_string(), |style| style.short_age(at));
    let listed = newest.iter().map(|one| {
        let place = one.directory.rsplit('/').find(|name| !name.is_empty()).unwrap_or("-");
        format!("\n  {}  {:>10}  {place}  {}", one.session, when(one.updated), one.title)
    });
    let more = match count.saturating_sub(newest.len() as u64) {
        0 => String::new(),
        more => format!("\n  and {more} older; `annals sessions` lists them"),
    };
    format!("{name:?} matches {count} sessions; use more of the id or title:{}{more}", listed.collect::<String>())
}

pub(super) fn meant_by(meant: &[String]) -> String {
    match meant {
        [] => "; `annals sessions` lists them".to_owned(),
        meant => format!("; did you mean\n{}", listed(meant)),
    }
}

pub(super) fn listed(lines: &[String]) -> String {
    lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
