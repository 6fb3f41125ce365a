//! The texts that are on their way, by fragment, and how far each reader has read them.

use super::fragment::{LiveFragment, LiveUpdate};
use annals_core::SessionId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// The longest text of a fragment, in bytes: what follows is in the log only.
const LONGEST: usize = 1 << 20;
/// How many fragments are kept.
const FRAGMENTS: usize = 1_000;
/// The shortest time between two answers of a cursor: what arrives meanwhile is one piece.
const PAUSE: Duration = Duration::from_millis(40);

/// The texts that are on their way.
#[derive(Debug)]
pub(super) struct LiveTexts {
    texts: Mutex<PendingTexts>,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct PendingTexts {
    next: u64,
    fragments: BTreeMap<LiveFragment, LiveText>,
}

#[derive(Debug)]
struct LiveText {
    /// Distinguishes it from an earlier one of the same fragment, as after a retry.
    id: u64,
    text: String,
}

impl Default for LiveTexts {
    fn default() -> Self {
        Self { texts: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl LiveTexts {
    /// Appends a piece.
    pub fn push(&self, fragment: LiveFragment, piece: &str) {
        let mut texts = self.texts();
        if texts.fragments.len() >= FRAGMENTS && !texts.fragments.contains_key(&fragment) {
            return;
        }
        texts.next += 1;
        let id = texts.next;
        let entry = texts.fragments.entry(fragment).or_insert(LiveText { id, text: String::new() });
        let room = LONGEST.saturating_sub(entry.text.len()).min(piece.len());
        let end = (0..=room).rev().find(|at| piece.is_char_boundary(*at)).unwrap_or_default();
        entry.text.push_str(piece.get(..end).unwrap_or_default());
        drop(texts);
        self.notify();
    }

    /// Removes the fragments that are complete or were given up.
    pub fn settle(&self, is_settled: impl Fn(&LiveFragment) -> bool) {
        let mut texts = self.texts();
        let before = texts.fragments.len();
        texts.fragments.retain(|fragment, _| !is_settled(fragment));
        let settled = before != texts.fragments.len();
        drop(texts);
        if settled {
            self.notify();
        }
    }

    /// Reads from now on, beginning with what has arrived of each fragment.
    pub fn read(self: &Arc<Self>, session: Option<SessionId>) -> LiveCursor {
        let mut changed = self.changed.subscribe();
        changed.mark_changed();
        LiveCursor { texts: self.clone(), session, changed, pending: false, sent: BTreeMap::new() }
    }

    fn notify(&self) {
        self.changed.send_modify(|version| *version = version.wrapping_add(1));
    }

    fn texts(&self) -> MutexGuard<'_, PendingTexts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the texts that are on their way.
#[derive(Debug)]
pub struct LiveCursor {
    texts: Arc<LiveTexts>,
    /// Only fragments of this session.
    session: Option<SessionId>,
    changed: watch::Receiver<u64>,
    /// Something changed since the last answer.
    pending: bool,
    /// Progress of each fragment: the number of its text, and the bytes that were sent.
    sent: BTreeMap<LiveFragment, (u64, usize)>,
}

impl LiveCursor {
    /// What happened since the last call, once something did: a fragment that changed often is one update.
    pub async fn next(&mut self) -> Vec<LiveUpdate> {
        loop {
            if !self.pending {
                if self.changed.changed().await.is_err() {
                    // Unreachable while the cursor has the texts; never busy.
                    std::future::pending::<()>().await;
                }
                self.pending = true;
            }
            // Nothing is lost when this is given up meanwhile.
            tokio::time::sleep(PAUSE).await;
            self.pending = false;
            let updates = self.updates();
            if !updates.is_empty() {
                return updates;
            }
        }
    }

    fn updates(&mut self) -> Vec<LiveUpdate> {
        let texts = self.texts.texts();
        let mut updates = Vec::new();
        let same = |fragment: &LiveFragment, id: u64| texts.fragments.get(fragment).is_some_and(|text| text.id == id);
        self.sent.retain(|fragment, (id, _)| {
            let stays = same(fragment, *id);
            if !stays {
                updates.push(LiveUpdate::Settled { fragment: fragment.clone() });
            }
            stays
        });
        let wanted = |fragment: &LiveFragment| self.session.is_none_or(|session| fragment.session == session);
        for (fragment, LiveText { id, text }) in texts.fragments.iter().filter(|(fragment, _)| wanted(fragment)) {
            let (_, sent) = self.sent.entry(fragment.clone()).or_insert((*id, 0));
            if let Some(text) = text.get(*sent..).filter(|rest| !rest.is_empty()) {
                *sent += text.len();
                updates.push(LiveUpdate::Delta { fragment: fragment.clone(), text: text.to_owned() });
            }
        }
        updates
    }
}
