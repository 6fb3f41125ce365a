//! What is appended to the session that is open, and what a model is still sending.

use crate::error::TerminalError;
use annals_core::{Seq, SessionId};
use annals_host::live::{LiveContent, LiveCursor, LiveFragment, LiveReader, LiveUpdate};
use annals_inspect::live_store::LiveStore;
use annals_inspect::reader::Reader;
use annals_store::{Followed, Following, Scope};
use futures_util::StreamExt;
use std::path::Path;
use std::time::Duration;

/// What is appended within this time is shown at once.
const PAUSE: Duration = Duration::from_millis(150);
/// How many characters of what is on its way are kept: its end.
const SHOWN: usize = 500;

/// Where sessions are read.
pub enum TuiSource {
    /// A store in a folder, which may grow.
    Store(LiveStore),
    /// A file, or a cluster, whose log is read as it is now.
    Fixed(Reader),
}

impl TuiSource {
    /// The store in a folder.
    pub async fn store(dir: &Path) -> Result<Self, TerminalError> {
        Ok(Self::Store(LiveStore::open(dir).await?))
    }

    /// Reads what is there now.
    pub async fn reader(&self) -> Result<Reader, TerminalError> {
        match self {
            Self::Store(store) => Ok(store.now().await?.reader.clone()),
            Self::Fixed(reader) => Ok(reader.clone()),
        }
    }
}

/// What happened in the session that is open.
pub enum TuiNews {
    /// Events were appended.
    Grown,
    /// A model sends this; empty: nothing any more.
    Arriving(String),
}

/// Follows a session.
pub struct TuiFollower {
    batches: Following,
    ended: bool,
    /// Whether something was appended that is not shown yet.
    grown: bool,
    cursor: LiveCursor,
    _live: LiveReader,
    arriving: Vec<(LiveFragment, String)>,
}

impl TuiFollower {
    /// Follows a session from an event on.
    pub fn new(reader: &Reader, session: SessionId, from: Seq) -> Self {
        let live = LiveReader::start(reader.folder());
        let cursor = live.follow(session);
        let batches = reader.log().follow(Scope::Session { session, from });
        Self { batches, ended: false, grown: false, cursor, _live: live, arriving: Vec::new() }
    }

    /// Waits until something happens; may be given up at any time. A log that can be followed no more is shown as it is.
    pub async fn next(&mut self, source: &TuiSource) -> TuiNews {
        loop {
            if self.grown {
                tokio::time::sleep(PAUSE).await;
                if let TuiSource::Store(store) = source {
                    store.expire();
                }
                return TuiNews::Grown;
            }
            tokio::select! {
                batch = self.batches.next(), if !self.ended => match batch {
                    Some(Ok(Followed::Batch { .. })) => self.grown = true,
                    Some(Ok(Followed::Synced)) => {}
                    Some(Err(_)) | None => self.ended = true,
                },
                updates = self.cursor.next() => return TuiNews::Arriving(self.arrive(updates)),
            }
        }
    }

    /// What was appended is shown.
    pub fn shown(&mut self) {
        self.grown = false;
    }

    /// Takes in what arrived; returns the end of what is on its way.
    fn arrive(&mut self, updates: Vec<LiveUpdate>) -> String {
        for update in updates {
            match update {
                LiveUpdate::Settled { fragment } => self.arriving.retain(|(known, _)| *known != fragment),
                LiveUpdate::Delta { fragment, text } => match self.arriving.iter_mut().find(|one| one.0 == fragment) {
                    Some((_, whole)) => whole.push_str(&text),
                    None => self.arriving.push((fragment, text)),
                },
            }
        }
        for (_, text) in &mut self.arriving {
            if let Some((at, _)) = text.char_indices().rev().nth(SHOWN) {
                text.drain(..at);
            }
        }
        let Some((fragment, text)) = self.arriving.last() else { return String::new() };
        let what = match fragment.of {
            LiveContent::Text => "answers",
            LiveContent::Reasoning => "thinks",
            LiveContent::ToolInput => "calls a tool",
            LiveContent::Summary => "summarizes",
        };
        format!("{what}: {}", text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}
