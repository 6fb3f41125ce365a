//! The side of the process that runs sessions.

use super::fragment::{LiveContent, LiveFragment, LivePlace, LiveUpdate};
use super::texts::{LiveCursor, LiveTexts};
use crate::socket;
use annals_core::event::{StepEvent, ToolEvent};
use annals_core::{Batch, CallId, Event, SessionId, kinds};
use annals_runtime::bus::{Bus, Listening, Notice};
use annals_store::disk::StorePath;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, JoinSet};

/// The folder of a store with the sockets.
pub(super) const FOLDER: &str = "live";
/// How many readers a process serves at a time; another one is turned away.
const READERS: usize = 64;
/// How long a reader may take for one write before it is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Distinguishes the senders of one process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Sends what is on its way to all who ask, until it is dropped.
#[derive(Debug)]
pub struct LiveSender {
    state: Arc<SenderState>,
    _listening: Listening,
}

#[derive(Debug)]
struct SenderState {
    texts: Arc<LiveTexts>,
    folder: StorePath,
    name: String,
    serving: Mutex<Option<JoinHandle<()>>>,
}

impl LiveSender {
    /// Sends the pieces that a bus publishes, through a socket in the store's folder. The socket is made with the first piece: who runs
    /// no model makes none.
    pub fn start(store: &StorePath, bus: &Bus) -> Self {
        let name = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let (texts, folder, serving) = (Arc::default(), store.join(FOLDER), Mutex::default());
        let state = Arc::new(SenderState { texts, folder, name, serving });
        let weak = Arc::downgrade(&state);
        let listening = bus.observe(move |notice: &Notice| {
            if let Some(state) = weak.upgrade() {
                state.notice(notice);
            }
        });
        Self { state, _listening: listening }
    }

    /// Sends what a program learns elsewhere than from a bus.
    pub fn notice(&self, notice: &Notice) {
        self.state.notice(notice);
    }
}

impl Drop for LiveSender {
    fn drop(&mut self) {
        let mut serving = self.state.serving.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(serving) = serving.take() {
            serving.abort();
            let path = self.state.folder.join(&self.state.name);
            drop(path.reach().and_then(std::fs::remove_file));
        }
    }
}

impl SenderState {
    fn notice(self: &Arc<Self>, notice: &Notice) {
        match notice {
            Notice::Delta(delta) => {
                self.serve();
                self.texts.push(delta.into(), &delta.text);
            }
            Notice::Committed(batch) => self.committed(batch),
            Notice::Idle { session, .. } | Notice::Busy(session) => self.end(*session),
            Notice::ToolsReduced { .. } => {}
        }
    }

    /// The log has what became of these fragments.
    fn committed(&self, batch: &Batch) {
        let session = batch.session;
        for event in &batch.events {
            match event {
                Event::Step(StepEvent::TextEnded(ended)) => self.settle(session, LiveContent::Text, ended.index),
                Event::Step(StepEvent::ReasoningEnded(ended)) => {
                    self.settle(session, LiveContent::Reasoning, ended.index);
                }
                Event::Tool(ToolEvent::Called(called)) => self.settle_call(session, &called.call),
                kinds!(Step(Ended, Failed, RetryScheduled), Compaction(Ended, Failed, Completed)) => self.end(session),
                _ => {}
            }
        }
    }

    fn settle(&self, session: SessionId, of: LiveContent, index: u32) {
        let place = Some(LivePlace::Index(index));
        self.texts.settle(|one| one.session == session && one.of == of && one.place == place);
    }

    fn settle_call(&self, session: SessionId, call: &CallId) {
        let is_call = |one: &LiveFragment| matches!(&one.place, Some(LivePlace::Call(id)) if id == call.as_str());
        self.texts.settle(|one| one.session == session && is_call(one));
    }

    fn end(&self, session: SessionId) {
        self.texts.settle(|one| one.session == session);
    }

    /// Listens, if that is not tried yet.
    fn serve(&self) {
        let mut serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        if serving.is_some() {
            return;
        }
        let Ok(handle) = Handle::try_current() else { return };
        let (texts, folder, name) = (self.texts.clone(), self.folder.clone(), self.name.clone());
        *serving = Some(handle.spawn(async move {
            let listened = tokio::task::spawn_blocking(move || listen(&folder, &name)).await;
            match listened.map_err(io::Error::other).and_then(|listened| UnixListener::from_std(listened?)) {
                Ok(listener) => accept(&listener, &texts).await,
                Err(error) => tracing::debug!(%error, "what is on its way cannot be shown elsewhere"),
            }
        }));
    }
}

fn listen(folder: &StorePath, name: &str) -> io::Result<std::os::unix::net::UnixListener> {
    let listener = socket::listen(&folder.reach()?, name)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

async fn accept(listener: &UnixListener, texts: &Arc<LiveTexts>) {
    let mut readers = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                while readers.try_join_next().is_some() {}
                if readers.len() < READERS {
                    readers.spawn(send(stream, texts.read(None)));
                }
            }
            // As when this process has too many files open.
            Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
        }
    }
}

/// Sends until the reader is gone.
async fn send(stream: UnixStream, mut cursor: LiveCursor) {
    let (mut reading, mut writing) = stream.into_split();
    let mut nothing = [0; 1];
    loop {
        let updates: Vec<LiveUpdate> = tokio::select! {
            updates = cursor.next() => updates,
            _ = reading.read(&mut nothing) => return,
        };
        let mut lines = Vec::new();
        for update in &updates {
            if serde_json::to_writer(&mut lines, update).is_ok() {
                lines.push(b'\n');
            }
        }
        match tokio::time::timeout(PATIENCE, writing.write_all(&lines)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}
