//! Why a name, an event or a message was not found.

use crate::format::counted;
use crate::recorded_path::last_name;
use annals_core::{Seq, SessionId, Time};
use annals_store::ReadError;
use std::path::PathBuf;

/// A Session that a name fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The session.
    pub session: SessionId,
    /// Its title.
    pub title: String,
    /// Where it works.
    pub directory: String,
    /// Time of its last event.
    pub updated: Time,
}

/// Nothing was found, or too much. Each message says what to ask instead.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The store has no such session: one of `meant`, perhaps.
    #[error("no session matches {name:?} in {}{}", store.display(), meant_by(.meant))]
    NoSession {
        /// What was asked for.
        name: String,
        /// The store's folder.
        store: PathBuf,
        /// What was perhaps meant: an id and a title each.
        meant: Vec<String>,
    },
    /// Several sessions fit the name: take more of it.
    #[error("{}", ambiguous(name, *count, newest, |at| at.to_string()))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// How many fit.
        count: u64,
        /// The newest of them.
        newest: Vec<Candidate>,
    },
    /// The store holds no session yet.
    #[error("the store in {} is empty; `annals import` imports what it finds (--dry-run lists it)", store.display())]
    NoSessions {
        /// Which store.
        store: PathBuf,
    },
    /// No other session is of the same session of its agent.
    #[error("session {0} is not a recording with an imported transcript; annals import imports those that agents keep")]
    NoTranscript(SessionId),
    /// The session ends earlier.
    #[error("there is no event {seq}: session {session} ends at event {last}")]
    PastTheEnd {
        /// The session.
        session: SessionId,
        /// What was asked for.
        seq: Seq,
        /// Its last event.
        last: Seq,
    },
    /// The session began later.
    #[error("session {session} has no event at or before that time")]
    NothingSoEarly {
        /// The session.
        session: SessionId,
    },
    /// The session has fewer user messages.
    #[error("there is no turn {wanted}: session {session} has {}", counted(*count, "user message"))]
    NoUserMessage {
        /// The session.
        session: SessionId,
        /// What was asked for, from 1.
        wanted: u64,
        /// How many there are.
        count: u64,
    },
    /// The file holds several sessions.
    #[error("{} holds {} sessions; name one after `--in {}`:\n{}", file.display(), .sessions.len(), file.display(), listed(.sessions))]
    Several {
        /// Which file.
        file: PathBuf,
        /// An id and a title each.
        sessions: Vec<String>,
    },
    /// The event belongs to no message: name another one.
    #[error("event {seq} is not in a message{}", .nearest.map(|near| format!("; nearest: {near}")).unwrap_or_default())]
    NotInAMessage {
        /// Which session.
        session: SessionId,
        /// What was asked for.
        seq: Seq,
        /// The message that is nearest to it, by the event that made it.
        nearest: Option<Seq>,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl FindError {
    /// The message with times as `age` writes them.
    pub fn shown(&self, age: impl Fn(Time) -> String) -> String {
        match self {
            Self::Ambiguous { name, count, newest } => ambiguous(name, *count, newest, age),
            other => other.to_string(),
        }
    }
}

/// The sessions that a name fits: id, age, directory and title of each.
fn ambiguous(name: &str, count: u64, newest: &[Candidate], when: impl Fn(Time) -> String) -> String {
    let rows: Vec<(String, &str, &Candidate)> = newest
        .iter()
        .map(|one| {
            let place = Some(last_name(&one.directory)).filter(|name| !name.is_empty()).unwrap_or("-");
            (when(one.updated), place, one)
        })
        .collect();
    let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
    let age = widest(&mut rows.iter().map(|(age, ..)| age.as_str()));
    let place = widest(&mut rows.iter().map(|(_, place, _)| *place));
    let listed = rows
        .iter()
        .map(|(when, name, one)| format!("\n  {}  {when:>age$}  {name:<place$}  {}", one.session, one.title));
    let more = match count.saturating_sub(newest.len() as u64) {
        0 => String::new(),
        more => format!("\n  and {more} older; `annals sessions` lists them"),
    };
    format!("{name:?} matches {count} sessions; use more of the id or title:{}{more}", listed.collect::<String>())
}

fn meant_by(meant: &[String]) -> String {
    match meant {
        [] => "; `annals sessions` lists them".to_owned(),
        meant => format!("; did you mean\n{}", listed(meant)),
    }
}

fn listed(lines: &[String]) -> String {
    lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
