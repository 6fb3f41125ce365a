//! Appends the batches of a reader and reports what happened to them.

use super::erased::{ErasureEvents, disclose};
use super::{SourceImportError, TextPermit};
use crate::changed::{changed_here, is_of};
use crate::known_context::first_prompt;
use crate::report::{ImportOutcome, ImportReport, LossKind, SessionReport};
use crate::sink::{ForkPoint, SourceItem};
use crate::{ImportProgress, ImportSource};
use annals_core::event::SessionEvent;
use annals_core::{Event, ImportSecret, Seq, SessionId, SessionKey};
use annals_store::{AppendError, Appended, Boxed, Draft, EventLog};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The most batches of one session in one append.
const TOGETHER: usize = 256;

struct RunningSession {
    report: SessionReport,
    /// The end of the log when the import started: batches below it are compared, not appended.
    head: Seq,
    /// The sequence number after the last batch of the source.
    reached: Seq,
    /// The events of the log that the source does not know.
    erased: ErasureEvents,
    /// Where its own events begin, and the key that it had before texts were erased: it follows from the import secret.
    lost_key: Option<(Seq, SessionKey)>,
    /// Batches that wait until the current append finishes, in order.
    queue: VecDeque<WaitingBatch>,
    busy: bool,
}

struct WaitingBatch {
    line: u64,
    draft: Draft,
    held: TextPermit,
}

pub(super) struct SentBatches {
    session: SessionId,
    /// The line and the first sequence number of each batch.
    lines: Vec<(u64, Seq)>,
    appended: Appended,
}

/// Appends what a reader sends, several sessions at a time, and keeps the report.
pub(super) struct Driver<'a> {
    log: &'a Arc<dyn EventLog>,
    source: &'a ImportSource,
    /// Only these sessions are appended, with their branches; `None` for all.
    only: Option<&'a [SessionReport]>,
    /// What the keys of new sessions are derived from.
    secret: ImportSecret,
    running: HashMap<SessionId, RunningSession>,
    order: Vec<SessionId>,
    pub(super) in_flight: FuturesUnordered<Boxed<'a, SentBatches>>,
    /// Batches that are queued or being appended.
    pub(super) waiting: usize,
    report: ImportReport,
}

impl<'a> Driver<'a> {
    pub(super) fn new(
        log: &'a Arc<dyn EventLog>,
        source: &'a ImportSource,
        only: Option<&'a [SessionReport]>,
        secret: ImportSecret,
    ) -> Self {
        Self {
            log,
            source,
            only,
            secret,
            running: HashMap::new(),
            order: Vec::new(),
            in_flight: FuturesUnordered::new(),
            waiting: 0,
            report: ImportReport::default(),
        }
    }

    pub(super) async fn take(
        &mut self,
        item: SourceItem,
        held: TextPermit,
        progress: &mut (dyn FnMut(ImportProgress<'_>) + Send),
    ) -> Result<(), SourceImportError> {
        match item {
            SourceItem::Started { origin, .. }
                if self.only.is_some_and(|only| !only.iter().any(|it| is_of(it, &origin.agent, &origin.id))) => {}
            SourceItem::Started { session, title, origin } => {
                let head = self.log.head(session).await?.map_or(Seq::ZERO, |head| head.next);
                let report = SessionReport {
                    session,
                    agent: origin.agent,
                    foreign: origin.id,
                    form: origin.form,
                    title,
                    instead_of: None,
                    former: None,
                    new: 0,
                    events: 0,
                    lost: 0,
                    known: 0,
                    outcome: ImportOutcome::Imported,
                    losses: Default::default(),
                    damage: Default::default(),
                };
                let erased = match head {
                    Seq::ZERO => ErasureEvents::default(),
                    _ => ErasureEvents::of(&**self.log, session, head).await?,
                };
                if let Entry::Vacant(place) = self.running.entry(session) {
                    progress(ImportProgress::Session(&report));
                    place.insert(RunningSession {
                        report,
                        head,
                        reached: Seq::ZERO,
                        erased,
                        lost_key: None,
                        queue: VecDeque::new(),
                        busy: false,
                    });
                    self.order.push(session);
                }
            }
            SourceItem::Batch { line, draft, fork } => self.batch(line, draft, fork, held, progress).await,
            SourceItem::Lost { session, line, what, original } => {
                let blob = match original {
                    Some(text) => Some(self.log.put_blob(text).await.map_err(SourceImportError::Keep)?),
                    None => None,
                };
                if let Some(running) = self.running.get_mut(&session) {
                    let is_new = running.reached > running.head || running.head == Seq::ZERO;
                    running.report.lost += u64::from(is_new && LossKind::of(&what) != LossKind::Display);
                    running.report.losses.entry(what).or_default().at(line, blob);
                }
            }
            SourceItem::Damaged { session, line, what } => {
                match session.and_then(|session| self.running.get_mut(&session)) {
                    Some(running) => running.report.damage.entry(what).or_default(),
                    None => self.report.damage.entry((self.source.path.clone(), what)).or_default(),
                }
                .at(line, None);
            }
            SourceItem::Progress { done, total } => progress(ImportProgress::Bytes { done, total: Some(total) }),
        }
        Ok(())
    }

    async fn batch(
        &mut self,
        line: u64,
        mut draft: Draft,
        fork: Option<ForkPoint>,
        held: TextPermit,
        progress: &mut (dyn FnMut(ImportProgress<'_>) + Send),
    ) {
        let session = draft.session;
        let fork = fork.map(|cut| self.renumbered(session, cut));
        if let Some(running) = self.running.get(&session) {
            running.erased.renumber(&mut draft);
        }
        if let Some(cut) = fork {
            // The inherited batches must be appended first.
            self.settle_all(progress).await;
            if let Some(parent) = self.running.get(&cut.parent)
                && parent.report.outcome != ImportOutcome::Imported
            {
                let reason = format!("its parent {} is not imported", cut.parent);
                self.end(session, ImportOutcome::Failed { line, reason });
            }
            let parent = self.log.read_back(cut.parent, cut.cut, 1).await;
            match (parent.ok().and_then(|slices| slices.into_iter().next()), draft.events.first_mut()) {
                (Some(slice), Some(Event::Session(SessionEvent::Forked(forked)))) => {
                    forked.parent_digest = slice.batch.digest;
                }
                _ => {
                    let reason = format!("its parent {} is not imported up to event {}", cut.parent, cut.cut);
                    self.end(session, ImportOutcome::Failed { line, reason });
                }
            }
        }
        self.set_key(&mut draft).await;
        let Some(running) = self.running.get_mut(&session) else { return };
        if let Some((start, key)) = running.lost_key.filter(|_| draft.expected < running.head)
            && !running.erased.any_in(start..draft.expected)
        {
            disclose(&mut draft, &key, &*self.log.blobs());
        }
        if running.report.title.is_none() {
            running.report.title = draft.events.iter().find_map(first_prompt);
        }
        running.reached = draft.expected.plus(draft.events.len() as u64);
        if running.report.outcome == ImportOutcome::Imported {
            running.queue.push_back(WaitingBatch { line, draft, held });
            self.waiting += 1;
            self.start(session);
        }
    }

    /// A fork point in the numbers of the log. A fork that is not in the log yet inherits the erasures of its parent.
    fn renumbered(&mut self, session: SessionId, cut: ForkPoint) -> ForkPoint {
        let Some(parent) = self.running.get(&cut.parent).map(|parent| parent.erased.clone()) else { return cut };
        let at = parent.number(cut.cut);
        if let Some(fork) = self.running.get_mut(&session).filter(|fork| fork.head == Seq::ZERO) {
            fork.erased = parent.before(at);
        }
        ForkPoint { cut: at, ..cut }
    }

    /// Gives the first batch of a session its key: the one that the session has in the log, or else the one that follows from the
    /// import secret, the foreign id and the first record (the first event as the importer makes it).
    async fn set_key(&mut self, draft: &mut Draft) {
        let Some(event) = draft.events.first_mut().filter(|event| event.stored_key().is_some()) else { return };
        let Some(running) = self.running.get_mut(&draft.session) else { return };
        let stored = match running.head {
            Seq::ZERO => None,
            // An error of reading is reported where the batch is appended.
            _ => self.log.read(draft.session, draft.expected, 1).await.ok().and_then(|page| page.into_iter().next()),
        };
        let stored = stored.and_then(|slice| slice.batch.events.first()?.stored_key().copied());
        let first = event.to_canonical().unwrap_or_default();
        let derived = self.secret.session_key(&running.report.foreign, first.as_bytes());
        running.lost_key = stored
            .filter(|stored| stored.key.is_none() && stored.hash == derived.hash())
            .map(|_| (draft.expected, derived));
        event.set_key(stored.unwrap_or_else(|| derived.into()));
    }

    /// Starts to append the queued batches of a session, unless an append is running.
    fn start(&mut self, session: SessionId) {
        let Some(running) = self.running.get_mut(&session) else { return };
        if running.busy {
            return;
        }
        if running.queue.is_empty() {
            return;
        }
        running.busy = true;
        let together = running.queue.len().min(TOGETHER);
        let (mut lines, mut drafts, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for waiting in running.queue.drain(..together) {
            lines.push((waiting.line, waiting.draft.expected));
            drafts.push(waiting.draft);
            held.push(waiting.held);
        }
        let log = self.log;
        self.in_flight.push(Box::pin(async move {
            let appended = log.append_all(drafts).await;
            drop(held);
            SentBatches { session, lines, appended }
        }));
    }

    pub(super) async fn settle_all(&mut self, progress: &mut (dyn FnMut(ImportProgress<'_>) + Send)) {
        while let Some(sent) = self.in_flight.next().await {
            self.settle(sent, progress).await;
        }
    }

    pub(super) async fn settle(&mut self, sent: SentBatches, progress: &mut (dyn FnMut(ImportProgress<'_>) + Send)) {
        let SentBatches { session, lines, appended: Appended { committed, refused } } = sent;
        self.waiting -= lines.len();
        let head = self.running.get(&session).map_or(Seq::ZERO, |it| it.head);
        for ((line, _), committed) in lines.iter().zip(&committed) {
            if let Some(running) = self.running.get_mut(&session) {
                match committed.known {
                    true => running.report.known += 1,
                    false => {
                        running.report.new += 1;
                        running.report.events += committed.batch.events.len() as u64;
                    }
                }
                progress(ImportProgress::Batch { session, line: *line, known: committed.known });
            }
        }
        match (lines.get(committed.len()).copied(), refused) {
            (Some((line, expected)), Some(AppendError::Conflict { .. } | AppendError::Misplaced { .. }))
                if expected < head =>
            {
                let outcome = self.differs(session, line, expected).await;
                self.end(session, outcome);
            }
            (Some((line, _)), Some(error)) => {
                self.end(session, ImportOutcome::Failed { line, reason: error.to_string() });
            }
            _ => {}
        }
        if let Some(running) = self.running.get_mut(&session) {
            running.busy = false;
        }
        self.start(session);
    }

    /// Why a source does not continue the log from `seq` on.
    async fn differs(&self, session: SessionId, line: u64, seq: Seq) -> ImportOutcome {
        let other_form = self.other_form(session).await;
        if other_form.is_some() {
            return ImportOutcome::Diverged { line, other_form };
        }
        let form = self.running.get(&session).map(|it| it.report.form.as_str()).unwrap_or_default();
        let keeps_states = matches!(form, "v1-export" | "v1-rows");
        match changed_here(&**self.log, session, seq, keeps_states).await {
            Ok(true) => ImportOutcome::ChangedHere { seq },
            Ok(false) => ImportOutcome::Diverged { line, other_form: None },
            Err(error) => ImportOutcome::Failed { line, reason: error.to_string() },
        }
    }

    /// The form of the earlier import, if it is another one.
    async fn other_form(&self, session: SessionId) -> Option<String> {
        let first = self.log.batch_at(session, Seq::ZERO).await.ok()??;
        let Some(Event::Session(SessionEvent::Created(created))) = first.batch.events.first() else {
            return None;
        };
        let form = &created.origin.as_ref()?.form;
        (*form != self.running.get(&session)?.report.form).then(|| form.clone())
    }

    fn end(&mut self, session: SessionId, outcome: ImportOutcome) {
        if let Some(running) = self.running.get_mut(&session)
            && running.report.outcome == ImportOutcome::Imported
        {
            running.report.outcome = outcome;
            // Nothing may follow a batch that was refused.
            self.waiting -= running.queue.len();
            running.queue.clear();
        }
    }

    pub(super) fn finish(mut self) -> ImportReport {
        for session in &self.order {
            self.report.sessions.extend(self.running.remove(session).map(|running| running.report));
        }
        self.report
    }
}
