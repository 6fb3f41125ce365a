//! What each message of a session says, as a digest: an index, so that two sessions are compared without reading them.

use super::sessions::{TurnEntry, entries};
use crate::SessionAt;
use annals_core::event::{FilesEvent, InputEvent, SessionEvent};
use annals_core::{Blobs, Digest, Event, InputId, Record, Seq, kinds};
use annals_projections::{Body, Messages};
use annals_store::ReadError;
use annals_store::views::{Leaf, Page};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A message and what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Item {
    /// The event that made it.
    pub seq: Seq,
    /// The first event that it is made of: for a user message, its input's admission.
    pub first: Seq,
    /// The last event that it is made of.
    pub last: Seq,
    /// Whether it is a user message, with which a turn begins.
    user: bool,
    /// Over its entries, without their places.
    digest: Digest,
}

/// The messages of a turn.
pub(super) type IndexedTurn = Vec<Item>;

/// Whether two turns hold the same messages. If not, they may still say the same.
pub(super) fn say_the_same(a: &IndexedTurn, b: &IndexedTurn) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.digest == b.digest)
}

/// Messages that some records made or changed, and what reverts removed.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Said {
    /// As they are at the page's end: a later page may contain them again, changed.
    items: Vec<Item>,
    /// Ranges `[from, until)` that committed reverts removed.
    removed: Vec<(Seq, Seq)>,
    open: OpenMessages,
    #[serde(skip)]
    changed: BTreeSet<Seq>,
}

/// What later records may change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct OpenMessages {
    messages: Messages,
    waiting: Vec<(InputId, Seq)>,
    items: Vec<Item>,
}

impl Page for Said {
    const NAME: &'static str = "said";
    const VERSION: u32 = 2;

    fn next(&self) -> Self {
        Self { open: self.open.clone(), ..Self::default() }
    }

    fn apply(&mut self, record: &Record<'_>, _: &dyn Blobs) {
        let (seq, open) = (record.seq, &mut self.open);
        let mut first = None;
        match record.event {
            Event::Input(event) => match event {
                InputEvent::Admitted(admitted) => open.waiting.push((admitted.input.clone(), seq)),
                InputEvent::Withdrawn(withdrawn) => open.waiting.retain(|(input, _)| *input != withdrawn.input),
                InputEvent::Promoted(promoted) => {
                    let at = open.waiting.iter().position(|(input, _)| *input == promoted.input);
                    first = at.map(|at| open.waiting.remove(at).1);
                }
                InputEvent::DeliveryChanged(_) | InputEvent::Configured(_) => {}
            },
            Event::Files(event) => match event {
                FilesEvent::RevertCommitted(committed) => self.removed.push((committed.first_removed, seq)),
                FilesEvent::Captured(_)
                | FilesEvent::Summarised(_)
                | FilesEvent::RevertStaged(_)
                | FilesEvent::RevertCleared(_)
                | FilesEvent::RestoreBegun(_)
                | FilesEvent::RestoreAbandoned(_)
                | FilesEvent::DepartureBegun(_)
                | FilesEvent::DepartureEnded(_) => {}
            },
            // Messages are what the fold of messages makes of the rest.
            kinds!(Session, Context, Profile, Step, Tool, Permission, Compaction, Message, Child, Erasure) => {}
        }
        let mut changed = Vec::new();
        if matches!(record.event, Event::Session(SessionEvent::Forked(_))) {
            // A fork inherits no waiting input, and settles what was open in its parent.
            open.waiting.clear();
            changed.extend(open.messages.open());
        }
        changed.extend(open.messages.apply(record));
        for message in changed {
            match open.items.binary_search_by_key(&message, |item| item.seq) {
                Ok(at) => open.items.iter_mut().skip(at).take(1).for_each(|item| item.last = seq),
                Err(at) => {
                    let first = first.unwrap_or(message);
                    let digest = Digest([0; 32]);
                    open.items.insert(at, Item { seq: message, first, last: seq, user: false, digest });
                }
            }
            self.changed.insert(message);
        }
    }

    fn close(&mut self, blobs: &dyn Blobs) {
        let OpenMessages { messages, items, .. } = &mut self.open;
        for item in items.iter_mut().filter(|item| self.changed.contains(&item.seq)) {
            // Messages for the model alone are in no transcript.
            let Some(message) = messages.get(item.seq).filter(|it| !matches!(it.body, Body::System { .. })) else {
                continue;
            };
            let mut list = Vec::new();
            entries(message, blobs, &mut list);
            item.user = matches!(message.body, Body::User { .. });
            item.digest = digest(&list);
            self.items.push(*item);
        }
        messages.evict();
        items.retain(|item| messages.get(item.seq).is_some());
        self.changed.clear();
    }
}

/// Over what entries say.
fn digest(entries: &[TurnEntry]) -> Digest {
    let each: Vec<Digest> =
        entries.iter().flat_map(|it| [Digest::of(it.label.as_bytes()), Digest::of(it.text.as_bytes())]).collect();
    Digest::of_all(&each)
}

/// Makes the index, where pages are kept.
pub(super) async fn index(past: &SessionAt) -> Result<(), ReadError> {
    past.pages(|_: Leaf<Said>| {}).await
}

/// The turns of a session, without what committed reverts removed; the first contains everything before the first user
/// message.
pub(super) async fn turns(past: &SessionAt) -> Result<Vec<IndexedTurn>, ReadError> {
    let (mut items, mut removed) = (BTreeMap::new(), Vec::new());
    past.pages(|leaf: Leaf<Said>| {
        items.extend(leaf.page.items.into_iter().map(|item| (item.seq, item)));
        removed.extend(leaf.page.removed);
    })
    .await?;
    let mut turns = vec![IndexedTurn::new()];
    let stays = |item: &Item| !removed.iter().any(|(from, until)| item.seq >= *from && item.seq < *until);
    for item in items.into_values().filter(stays) {
        if item.user {
            turns.push(IndexedTurn::new());
        }
        if let Some(turn) = turns.last_mut() {
            turn.push(item);
        }
    }
    Ok(turns)
}
