//! Appends the batches of a reader and reports what happened to them.

use super::changed::{changed_here, is_of};
use super::known_context::{first_model, first_prompt, recall};
use super::recognise::RecogniseError;
use super::report::{ImportOutcome, ImportReport, SessionReport};
use super::sink::{ForkPoint, ImportSink, ReadSourceError, ReceiverGone, SourceItem};
use super::{ImportOptions, ImportProgress, ImportSource};
use annals_core::event::SessionEvent;
use annals_core::text::Texts;
use annals_core::{Event, ImportSecret, Seq, SessionId};
use annals_store::{AppendError, Appended, Boxed, Draft, EventLog, ReadError, exchange};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// How many batches may wait for the log: enough to append the sessions of a database concurrently.
const WAITING: usize = 4096;

/// The most batches of one session in one append.
const TOGETHER: usize = 256;

/// The most text between the reader and the log, in KiB.
const TEXT_MAX: u32 = 64 * 1024;

/// An import stopped. What was appended before it remains; import again to continue.
#[derive(Debug, thiserror::Error)]
pub enum SourceImportError {
    /// The source cannot be read.
    #[error(transparent)]
    Source(#[from] ReadSourceError),
    /// The file is not recognised, or its sessions cannot be listed.
    #[error(transparent)]
    Recognise(#[from] RecogniseError),
    /// An export of Annals cannot be imported: it cannot be read, does not verify (nothing was appended), or the log refused it.
    #[error("{}: {source}", path.display())]
    Export {
        /// The export.
        path: PathBuf,
        /// The error that caused it.
        #[source]
        source: Box<exchange::ImportError>,
    },
    /// The log cannot be read.
    #[error("the log could not be read: {0}")]
    Log(#[from] ReadError),
    /// A record that loses something could not be stored as a blob.
    #[error("an original could not be stored: {0}")]
    Keep(#[source] AppendError),
    /// The thread that reads the source panicked.
    #[error("reading the source ended unexpectedly: {0}")]
    Reader(String),
}

impl SourceImportError {
    /// Whether only this source is at fault, so that others can still be imported.
    pub fn is_of_source(&self) -> bool {
        match self {
            Self::Source(_) | Self::Recognise(_) => true,
            Self::Export { source, .. } => !matches!(**source, exchange::ImportError::Append { .. }),
            Self::Log(_) | Self::Keep(_) | Self::Reader(_) => false,
        }
    }
}

/// Reads a source once; `only` chooses sessions of it, with their branches.
pub(super) async fn once(
    log: &Arc<dyn EventLog>,
    source: &ImportSource,
    options: &ImportOptions,
    only: Option<&[SessionReport]>,
    progress: &mut (dyn FnMut(ImportProgress<'_>) + Send),
) -> Result<ImportReport, SourceImportError> {
    let (sender, mut items) = mpsc::channel::<(SourceItem, TextPermit)>(WAITING);
    let room = Arc::new(Semaphore::new(TEXT_MAX as usize));
    let reader = tokio::task::spawn_blocking({
        let (log, source, options) = (Arc::clone(log), source.clone(), options.clone());
        let handle = Handle::current();
        move || {
            let mut send = |mut item| {
                let wanted = weight(&mut item);
                let held = handle.block_on(Arc::clone(&room).acquire_many_owned(wanted)).map_err(|_| ReceiverGone)?;
                sender.blocking_send((item, held)).map_err(|_| ReceiverGone)
            };
            let recall = |session| handle.block_on(recall(&*log, session));
            let first_model = |session| handle.block_on(first_model(&*log, session));
            let mut sink = ImportSink {
                send: &mut send,
                recall: &recall,
                editions: &options.editions,
                keep_originals: options.keep_originals,
                prompts: options.prompts,
                first_model: &first_model,
            };
            source.read(&mut sink)
        }
    });
    let mut driver = Driver::new(log, source, only, options.secret);
    loop {
        // Both at once: the reader waits for permits that only finished appends release.
        tokio::select! {
            received = items.recv(), if driver.waiting < WAITING => match received {
                Some((item, held)) => driver.take(item, held, progress).await?,
                None => break,
            },
            Some(sent) = driver.in_flight.next(), if !driver.in_flight.is_empty() => {
                driver.settle(sent, progress).await;
            }
        }
    }
    driver.settle_all(progress).await;
    match reader.await {
        Ok(Ok(())) => Ok(driver.finish()),
        Ok(Err(error)) => Err(error.into()),
        Err(error) => Err(SourceImportError::Reader(error.to_string())),
    }
}

/// The share of `TEXT_MAX` that an item takes; dropped when the item is appended.
type TextPermit = OwnedSemaphorePermit;

/// The share of `TEXT_MAX` that an item takes, in KiB; a larger item takes all of it.
fn weight(item: &mut SourceItem) -> u32 {
    let mut bytes = 0;
    match item {
        SourceItem::Batch { draft, .. } => {
            draft.events.iter_mut().for_each(|event| event.texts(&mut |text| bytes += text.bytes()));
        }
        SourceItem::Lost { original: Some(original), .. } => bytes = original.len() as u64,
        SourceItem::Started { .. }
        | SourceItem::Lost { .. }
        | SourceItem::Damaged { .. }
        | SourceItem::Progress { .. } => {}
    }
    u32::try_from(bytes / 1024).unwrap_or(TEXT_MAX).min(TEXT_MAX)
}

struct RunningSession {
    report: SessionReport,
    /// The end of the log when the import started: batches below it are compared, not appended.
    head: Seq,
    /// The sequence number after the last batch of the source.
    reached: Seq,
    /// Batches that wait until the current append finishes, in order.
    queue: VecDeque<WaitingBatch>,
    busy: bool,
}

struct WaitingBatch {
    line: u64,
    draft: Draft,
    held: TextPermit,
}

struct SentBatches {
    session: SessionId,
    /// The line and the first sequence number of each batch.
    lines: Vec<(u64, Seq)>,
    appended: Appended,
}

struct Driver<'a> {
    log: &'a Arc<dyn EventLog>,
    source: &'a ImportSource,
    /// Only these sessions are appended, with their branches; `None` for all.
    only: Option<&'a [SessionReport]>,
    /// What the keys of new sessions are derived from.
    secret: ImportSecret,
    running: HashMap<SessionId, RunningSession>,
    order: Vec<SessionId>,
    in_flight: FuturesUnordered<Boxed<'a, SentBatches>>,
    /// Batches that are queued or being appended.
    waiting: usize,
    report: ImportReport,
}

impl<'a> Driver<'a> {
    fn new(
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

    async fn take(
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
                    new: 0,
                    events: 0,
                    lost: 0,
                    known: 0,
                    outcome: ImportOutcome::Imported,
                    losses: Default::default(),
                    damage: Default::default(),
                };
                if let Entry::Vacant(place) = self.running.entry(session) {
                    progress(ImportProgress::Session(&report));
                    place.insert(RunningSession {
                        report,
                        head,
                        reached: Seq::ZERO,
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
                    running.report.lost += u64::from(running.reached > running.head || running.head == Seq::ZERO);
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
        if let Some(cut) = fork {
            // The inherited batches must be appended first.
            self.settle_all(progress).await;
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

    /// Gives the first batch of a session its key: the one that the session has in the log, or else the one that follows from the
    /// import secret, the foreign id and the first record (the first event as the importer makes it).
    async fn set_key(&self, draft: &mut Draft) {
        let Some(event) = draft.events.first_mut().filter(|event| event.stored_key().is_some()) else { return };
        let Some(running) = self.running.get(&draft.session) else { return };
        let stored = match running.head {
            Seq::ZERO => None,
            // An error of reading is reported where the batch is appended.
            _ => self.log.read(draft.session, draft.expected, 1).await.ok().and_then(|page| page.into_iter().next()),
        };
        let stored = stored.and_then(|slice| slice.batch.session_key());
        let first = event.to_canonical().unwrap_or_default();
        event.set_key(stored.unwrap_or_else(|| self.secret.session_key(&running.report.foreign, first.as_bytes())));
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

    async fn settle_all(&mut self, progress: &mut (dyn FnMut(ImportProgress<'_>) + Send)) {
        while let Some(sent) = self.in_flight.next().await {
            self.settle(sent, progress).await;
        }
    }

    async fn settle(&mut self, sent: SentBatches, progress: &mut (dyn FnMut(ImportProgress<'_>) + Send)) {
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

    fn finish(mut self) -> ImportReport {
        for session in &self.order {
            self.report.sessions.extend(self.running.remove(session).map(|running| running.report));
        }
        self.report
    }
}
