//! Sessions that this server runs for its clients: opened with their first prompt, kept until they have been idle for long or the
//! server ends.
//!
//! ```text
//! prompt ─► HostedSessions ─► HostedEntry (a HostedSession) ─► its task: runs while a prompt waits
//!                                         └─► waiting questions ◄─ answer
//! ```

mod elsewhere;
mod entry;
mod shown;
mod user_questions;

pub(crate) use elsewhere::AskedElsewhere;
pub use entry::{AskedPermission, HostedEntry};
pub use shown::PermissionShown;
pub use user_questions::QuestionShown;

use crate::problem::ApiProblem;
use annals_core::SessionId;
use annals_host::asked::AskedPrompts;
use annals_host::{EditorServices, ExistingSession, HostContext, HostedSession, RunOptions};
use annals_inspect::reader::Reader;
use annals_runtime::host::PromptSender;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Mutex;

/// How many sessions are kept open: the one that has been idle for longest is closed for another one.
const OPEN: usize = 32;

/// The sessions that a server runs.
pub struct HostedSessions {
    context: HostContext,
    reader: Reader,
    /// By the session itself, and by the imported session that it continues.
    entries: Mutex<BTreeMap<SessionId, Arc<HostedEntry>>>,
    asked: AskedElsewhere,
    prompts: AskedPrompts,
    max_steps: Option<u32>,
}

impl HostedSessions {
    /// Runs sessions of the store that `reader` has open to write, with the configuration that `context` finds in each session's
    /// directory.
    pub fn new(context: HostContext, reader: Reader) -> Self {
        let asked = AskedElsewhere::of(&reader);
        let prompts = AskedPrompts::of(reader.folder());
        Self { context, reader, entries: Mutex::default(), asked, prompts, max_steps: None }
    }

    /// The same, ending each prompt after so many steps instead of as configured.
    #[must_use]
    pub fn with_max_steps(self, max_steps: Option<u32>) -> Self {
        Self { max_steps, ..self }
    }

    /// Where sessions are read and written.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The store and the configuration.
    pub fn context(&self) -> &HostContext {
        &self.context
    }

    /// Starts a session.
    pub(crate) async fn create(&self, options: &RunOptions) -> Result<Arc<HostedEntry>, ApiProblem> {
        let entry = self.start(options.clone(), None).await?;
        self.keep(entry.id(), &entry).await;
        Ok(entry)
    }

    /// A session that is to be run here: the one that is open already, or it is opened. An imported one is continued in a fork.
    pub(crate) async fn open(&self, session: SessionId) -> Result<Arc<HostedEntry>, ApiProblem> {
        let mut entries = self.entries.lock().await;
        if let Some(entry) = entries.get(&session) {
            return Ok(entry.clone());
        }
        // Opened under the lock: two prompts at once must not open a session twice.
        let found = ExistingSession::of(self.reader.clone(), session).await?;
        let started = self.start(RunOptions::default(), Some(found)).await?;
        let continued = started.id();
        let entry = match entries.get(&continued) {
            Some(entry) => entry.clone(),
            None => started,
        };
        entries.insert(continued, entry.clone());
        entries.insert(session, entry.clone());
        let closed = make_room(&mut entries);
        drop(entries);
        close(closed).await;
        Ok(entry)
    }

    async fn start(&self, options: RunOptions, found: Option<ExistingSession>) -> Result<Arc<HostedEntry>, ApiProblem> {
        let (user, prompts) = PromptSender::channel();
        let editor = EditorServices { user: Some(Arc::new(user)), ..options.editor };
        let options = RunOptions { editor, max_steps: self.max_steps, ..options };
        let (hosted, questions) = HostedSession::open_in(&self.context, self.reader.clone(), &options, found).await?;
        Ok(HostedEntry::start(hosted, questions, prompts))
    }

    /// A session that is run here; `None` when it is not.
    pub(crate) async fn known(&self, session: SessionId) -> Option<Arc<HostedEntry>> {
        self.entries.lock().await.get(&session).cloned()
    }

    /// The permission questions of sessions that other processes run.
    pub(crate) fn asked_elsewhere(&self) -> &AskedElsewhere {
        &self.asked
    }

    /// The questions of models that wait in a terminal.
    pub(crate) fn prompts_elsewhere(&self) -> &AskedPrompts {
        &self.prompts
    }

    /// Those that are run here, each once.
    pub(crate) async fn all(&self) -> Vec<Arc<HostedEntry>> {
        distinct(&*self.entries.lock().await)
    }

    async fn keep(&self, session: SessionId, entry: &Arc<HostedEntry>) {
        let mut entries = self.entries.lock().await;
        entries.insert(session, entry.clone());
        let closed = make_room(&mut entries);
        drop(entries);
        close(closed).await;
    }

    /// Stops everything that runs, and signs what was appended if that is configured. Logs what went wrong.
    pub async fn close(&self) {
        let entries = std::mem::take(&mut *self.entries.lock().await);
        close(distinct(&entries)).await;
    }
}

/// Each entry once: a continued one is known by two sessions.
fn distinct(entries: &BTreeMap<SessionId, Arc<HostedEntry>>) -> Vec<Arc<HostedEntry>> {
    entries.iter().filter(|(session, entry)| **session == entry.id()).map(|(_, entry)| entry.clone()).collect()
}

/// Takes out those that have been idle for longest, until few enough are left. Those that run stay, however many.
fn make_room(entries: &mut BTreeMap<SessionId, Arc<HostedEntry>>) -> Vec<Arc<HostedEntry>> {
    let mut idle: Vec<_> = distinct(entries).into_iter().filter(|entry| entry.is_idle()).collect();
    idle.sort_by_key(|entry| entry.last_used());
    let excess = distinct(entries).len().saturating_sub(OPEN);
    idle.truncate(excess);
    entries.retain(|_, entry| !idle.iter().any(|closed| Arc::ptr_eq(closed, entry)));
    idle
}

async fn close(entries: Vec<Arc<HostedEntry>>) {
    for entry in entries {
        entry.close().await;
    }
}
