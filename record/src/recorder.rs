//! The recorder: takes what passed through the proxy, in order, and appends it to the log.

mod live_answers;
mod recorded_threads;
mod redacted_answer;

use crate::capture::{CaptureQueue, Captured};
use crate::files::FileCaptures;
use crate::proxy::{Proxy, ProxyError, Upstream};
use annals_core::SessionId;
use annals_core::event::{Location, ProcessInfo, Usage};
use annals_guard::redaction::Redactor;
use annals_runtime::bus::Observer;
use annals_runtime::host::Leases;
use annals_runtime::ports::{Clock, Ids};
use annals_runtime::worktree::Files;
use annals_store::EventLog;
use annals_store::views::Views;
pub(crate) use recorded_threads::RecordedThreads;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// What a recording needs.
#[derive(Clone)]
pub struct RecorderSettings {
    /// The name of the agent: `claude-code`, `codex`, `opencode`, `gemini`, or that of another program.
    pub agent: String,
    /// Where the agent works.
    pub location: Location,
    /// The process that records.
    pub process: Option<ProcessInfo>,
    /// Replaces secrets.
    pub redactor: Arc<Redactor>,
    /// Whether answers are kept as they were received, in addition to what they say.
    pub keep_answers: bool,
    /// Captures the files of the project at every request, if they are wanted.
    pub files: Option<Arc<dyn Files>>,
    /// Where requests go.
    pub upstreams: Vec<Upstream>,
    /// The sessions of the log, among which are those of earlier recordings.
    pub views: Views,
    /// Who may extend which session: two recorders never continue one.
    pub leases: Option<Arc<Leases>>,
    /// Hears pieces of answers while they arrive, where they are shown.
    pub observer: Option<Arc<dyn Observer>>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The ids.
    pub ids: Arc<dyn Ids>,
}

/// A session that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecording {
    /// Its id.
    pub session: SessionId,
    /// The session that started it, for a subagent.
    pub parent: Option<SessionId>,
    /// How many requests were recorded.
    pub requests: u64,
    /// What the provider reported, in total.
    pub usage: Usage,
    /// In nano-dollars.
    pub cost: u64,
    /// How many parts the bodies and the events of the log do not have in common.
    pub differing: u64,
}

/// What a recording gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingReport {
    /// The sessions, in the order in which they began.
    pub sessions: Vec<SessionRecording>,
    /// How many requests passed without being recorded.
    pub missed: u64,
    /// The first reason for that, in words.
    pub why: Option<String>,
}

/// A recording that runs.
pub struct Recorder {
    proxy: Proxy,
    queue: CaptureQueue,
    task: JoinHandle<RecordingReport>,
}

impl Recorder {
    /// Listens on an address of this machine and records what passes. `token` is the first part of every local path.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn start(
        address: &str,
        token: String,
        log: Arc<dyn EventLog>,
        settings: RecorderSettings,
    ) -> Result<Self, ProxyError> {
        let (queue, received) = CaptureQueue::new();
        let clock = settings.clock.clone();
        let now = Arc::new(move || clock.now());
        let files = settings.files.clone().map(FileCaptures::of);
        let proxy = Proxy::listen(
            address,
            token,
            settings.upstreams.clone(),
            queue.clone(),
            files,
            settings.observer.is_some(),
            now,
        )
        .await?;
        // A thread of its own: reading and appending never delay the bytes that pass.
        let runtime = tokio::runtime::Handle::current();
        let task =
            tokio::task::spawn_blocking(move || runtime.block_on(RecordedThreads::new(log, settings).run(received)));
        Ok(Self { proxy, queue, task })
    }

    /// The proxy.
    pub fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    /// Ends the recording: what passed is appended, and nothing stays open.
    pub async fn finish(self) -> RecordingReport {
        let Self { proxy, queue, task } = self;
        proxy.stop().await;
        let missed = queue.missed();
        queue.send(Captured::End);
        drop(queue);
        let mut report = match task.await {
            Ok(report) => report,
            Err(error) => RecordingReport { why: Some(error.to_string()), missed: 1, ..RecordingReport::default() },
        };
        report.missed += missed;
        if missed > 0 {
            report.why.get_or_insert_with(|| "requests broke off, or were too large to be kept".to_owned());
        }
        report
    }
}
