//! What the index keeps of a session between fills: its folds, without what no later event can change.

use annals_core::event::{CompactionEvent, Purpose, SessionEvent, StepEvent, Usage};
use annals_core::{CallId, Event, Record, Seq, SessionId};
use annals_projections::{Body, Catalogue, CatalogueEntry, Content, Messages};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The state of a session's rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IndexedSession {
    /// Its key in the tables.
    pub key: i64,
    pub id: SessionId,
    /// Its entry in the list of sessions.
    pub catalogue: Catalogue,
    /// Its messages that may change, and those that were not written yet.
    pub messages: Messages,
    /// The number and the event of the user message in force; 0 before the first.
    pub turn: (u64, Seq),
    pub requests: OpenRequests,
    /// Messages to write, each with its turn.
    #[serde(skip)]
    pub unwritten: BTreeMap<Seq, (u64, Seq)>,
}

impl IndexedSession {
    pub fn new(key: i64, id: SessionId) -> Self {
        Self {
            key,
            id,
            catalogue: Catalogue::default(),
            messages: Messages::default(),
            turn: (0, Seq::ZERO),
            requests: OpenRequests::default(),
            unwritten: BTreeMap::new(),
        }
    }

    /// Its entry in the list of sessions.
    pub fn entry(&self) -> CatalogueEntry {
        self.catalogue.sessions.get(&self.id).cloned().unwrap_or_default()
    }

    /// The tool of an open call.
    pub fn tool_of(&self, call: &CallId) -> Option<String> {
        let mut newest = self.messages.list().iter().rev();
        newest.find_map(|message| match &message.body {
            Body::Assistant(assistant) => assistant.content.iter().rev().find_map(|content| match content {
                Content::Tool(tool) if tool.call == *call => Some(tool.name.clone()),
                _ => None,
            }),
            _ => None,
        })
    }
}

/// Which requests an answer may still end, as [`annals_projections::RequestIndex`] numbers them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct OpenRequests {
    /// How many there were.
    count: u64,
    /// A turn's request was sent, and its step has not started.
    waits: bool,
    /// The newest of each purpose, oldest first, and whether it is answered.
    newest: Vec<(Purpose, Seq, bool)>,
}

/// What an event does to the requests of its session.
pub(crate) enum RequestChange {
    /// There is a new one, with this number.
    Begins(u64),
    /// The one at this event is answered.
    Ends { request: Seq, usage: Option<Usage>, cost: u64 },
}

impl OpenRequests {
    pub fn apply(&mut self, record: &Record<'_>) -> Option<RequestChange> {
        use Purpose::{Summary, Title, Turn};
        match record.event {
            Event::Session(SessionEvent::Forked(_)) => {
                *self = Self::default();
                None
            }
            Event::Session(SessionEvent::Titled(titled)) if titled.request.is_some() => {
                self.end(&[Title], titled.usage, titled.cost)
            }
            Event::Session(SessionEvent::TitleFailed(failed)) => self.end(&[Title], failed.usage, failed.cost),
            Event::Step(StepEvent::RequestSent(sent)) => {
                if sent.purpose != Title {
                    self.waits = sent.purpose == Turn;
                }
                Some(self.begin(sent.purpose, record.seq))
            }
            Event::Step(StepEvent::Started(_)) => match std::mem::take(&mut self.waits) {
                true => None,
                false => Some(self.begin(Turn, record.seq)),
            },
            Event::Step(StepEvent::Ended(ended)) => self.end(&[Turn], ended.usage, ended.cost),
            Event::Step(StepEvent::Failed(failed)) => self.end(&[Turn], failed.usage, failed.cost),
            Event::Step(StepEvent::RetryScheduled(retry)) => self.end(&[Turn, Summary], retry.usage, retry.cost),
            Event::Compaction(CompactionEvent::Ended(ended)) => self.end(&[Summary], ended.usage, ended.cost),
            Event::Compaction(CompactionEvent::Completed(ended)) => self.end(&[Summary], ended.usage, ended.cost),
            Event::Compaction(CompactionEvent::Failed(failed)) => self.end(&[Summary], failed.usage, failed.cost),
            _ => None,
        }
    }

    fn begin(&mut self, purpose: Purpose, seq: Seq) -> RequestChange {
        self.count += 1;
        self.newest.retain(|(other, ..)| *other != purpose);
        self.newest.push((purpose, seq, false));
        RequestChange::Begins(self.count)
    }

    fn end(&mut self, purposes: &[Purpose], usage: Option<Usage>, cost: u64) -> Option<RequestChange> {
        let newest = self.newest.iter_mut().rev().find(|(purpose, ..)| purposes.contains(purpose));
        let (_, request, answered) = newest.filter(|(_, _, answered)| !answered)?;
        *answered = true;
        Some(RequestChange::Ends { request: *request, usage, cost })
    }
}
