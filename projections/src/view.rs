//! All views of a session at one cut.

use crate::anomaly::Anomaly;
use crate::{
    Anomalies, Calls, Epochs, History, Inbox, Permissions, Profiles, Projection, Requests, SessionInfo, Transcript,
    UsageTotals,
};
use alloc::vec::Vec;
use annals_core::{Cut, Record, Seq};
use serde::{Deserialize, Serialize};

/// How many messages and requests a view for looking keeps.
const SCREENS: usize = 512;

/// All views of a session at one cut: what a turn is decided from, and what a saved view holds.
///
/// ```
/// use annals_core::event::{InputAdmitted, InputPromoted};
/// use annals_core::{Batch, NoBlobs, Seq, SessionId, SessionKey, Time};
/// use annals_projections::{Projection, SessionView};
///
/// # use annals_core::event::Delivery;
/// let session = SessionId::from_parts(1_780_488_000_000, 1);
/// let events = vec![
///     InputAdmitted { input: "one".into(), text: "Hello".into(), attachments: vec![], delivery: Delivery::Steer }.into(),
///     InputPromoted { input: "one".into() }.into(),
/// ];
/// let (key, at) = (SessionKey([7; 32]), Time(1_780_488_000_000));
/// let batch = Batch::seal(&key, &NoBlobs, session, Seq::ZERO, at, None, events)?.batch;
///
/// let mut view = SessionView::default();
/// for record in batch.records() {
///     view.apply(&record);
/// }
/// assert_eq!(view.history.selected().count(), 1, "the message of the user");
/// assert_eq!(view.cut().next, Seq(2), "both events are folded");
/// # Ok::<(), annals_core::SealError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    /// Agent, model, location, title, revert.
    pub session: SessionInfo,
    /// What the model would see next.
    pub history: History,
    /// What the user was shown.
    pub transcript: Transcript,
    /// Baseline, Context Snapshot, epochs.
    pub epochs: Epochs,
    /// What waits.
    pub inbox: Inbox,
    /// Open calls.
    pub calls: Calls,
    /// Open questions and approvals in force.
    pub permissions: Permissions,
    /// Tokens and cost.
    pub usage: UsageTotals,
    /// What shapes requests.
    pub profiles: Profiles,
    /// What was sent.
    pub requests: Requests,
}

impl SessionView {
    /// The cut that this view is of.
    pub fn cut(&self) -> Cut {
        Cut { next: self.session.next }
    }

    /// Whether something that was evicted from a saved view is needed again: fold from an earlier place (see [`History`]).
    pub fn is_stale(&self) -> bool {
        self.history.is_stale()
    }

    /// Evicts what grows with the log and is not shown on a first screen: the form for reading. Its size is bounded
    /// by what is shown. A writer resumes from the whole view.
    pub fn evict(&mut self) {
        self.history.evict();
        // What the model sees keeps its items: the summary in force and inputs that it replays, too.
        let seen = self.history.compaction().into_iter().chain(self.history.replayed());
        let seen = seen.chain(self.history.kept().next());
        let covered = seen.map(|message| message.seq).min().unwrap_or(Seq::ZERO);
        let items = &self.transcript.items;
        let seen = items.len() - items.partition_point(|item| item.seq < covered);
        self.transcript.evict(SCREENS.max(seen));
        self.requests.evict(SCREENS);
        self.inbox.evict();
        self.calls.evict();
    }

    /// Every anomaly, by Seq.
    pub fn anomalies(&self) -> Vec<&Anomaly> {
        let all: [&Anomalies; 6] = [
            &self.session.anomalies,
            &self.epochs.anomalies,
            &self.inbox.anomalies,
            &self.calls.anomalies,
            &self.permissions.anomalies,
            &self.profiles.anomalies,
        ];
        let mut list: Vec<&Anomaly> = all.into_iter().flat_map(|anomalies| &anomalies.list).collect();
        list.sort_by_key(|anomaly| anomaly.seq);
        list
    }
}

impl Projection for SessionView {
    const NAME: &'static str = "view";
    const VERSION: u32 = 7;

    fn apply(&mut self, record: &Record<'_>) {
        self.take(record);
    }
}

impl SessionView {
    /// Applies a record; returns from where on the history changed, as [`History::take`] does.
    pub fn take(&mut self, record: &Record<'_>) -> Option<Seq> {
        self.session.apply(record);
        let changed = self.history.take(record);
        self.transcript.apply(record);
        self.epochs.apply(record);
        self.inbox.apply(record);
        self.calls.apply(record);
        self.permissions.apply(record);
        self.usage.apply(record);
        self.profiles.apply(record);
        self.requests.apply(record);
        changed
    }
}
