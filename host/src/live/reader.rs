//! The side of a process that shows sessions of others.

use super::fragment::{LiveFragment, LiveUpdate};
use super::sender::FOLDER;
use super::texts::{LiveCursor, LiveTexts};
use crate::socket;
use annals_core::SessionId;
use annals_store::disk::StorePath;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::task::{JoinHandle, JoinSet};

/// How often processes that began to run are looked for.
const LOOK: Duration = Duration::from_millis(300);
/// The longest line: a piece has at most a mebibyte, and JSON may need six bytes for one.
const LINE: u64 = 8 << 20;

/// Reads what is on its way in all processes that run sessions of a store, until it is dropped. It writes nothing.
#[derive(Debug)]
pub struct LiveReader {
    texts: Arc<LiveTexts>,
    looking: JoinHandle<()>,
}

impl LiveReader {
    /// Begins to read.
    pub fn start(store: &StorePath) -> Self {
        let texts = Arc::<LiveTexts>::default();
        let looking = tokio::spawn(look(store.join(FOLDER), texts.clone()));
        Self { texts, looking }
    }

    /// What is on its way of one session, from its beginning.
    pub fn follow(&self, session: SessionId) -> LiveCursor {
        self.texts.read(Some(session))
    }
}

impl Drop for LiveReader {
    fn drop(&mut self) {
        self.looking.abort();
    }
}

/// Connects to each process once, and again to none that ended.
async fn look(folder: StorePath, texts: Arc<LiveTexts>) {
    let mut known: BTreeMap<String, tokio::task::Id> = BTreeMap::new();
    let mut reading = JoinSet::new();
    loop {
        let place = folder.clone();
        let found = tokio::task::spawn_blocking(move || place.reach().map(|dir| socket::names(&dir))).await;
        let names = found.ok().and_then(Result::ok).unwrap_or_default();
        while let Some(ended) = reading.try_join_next_with_id() {
            let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
            known.retain(|_, task| *task != id);
        }
        for name in names {
            if let Entry::Vacant(entry) = known.entry(name) {
                let task = reading.spawn(read(folder.clone(), entry.key().clone(), texts.clone()));
                entry.insert(task.id());
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Reads from one process until it ends, or says what cannot be understood.
async fn read(folder: StorePath, name: String, texts: Arc<LiveTexts>) {
    let connected = tokio::task::spawn_blocking(move || {
        let stream = socket::connect(&folder.reach()?, &name)?;
        stream.set_nonblocking(true)?;
        Ok::<_, io::Error>(stream)
    });
    let Ok(Ok(stream)) = connected.await else { return };
    let Ok(stream) = UnixStream::from_std(stream) else { return };
    let mut lines = BufReader::new(stream);
    let mut seen = Seen { texts: &texts, fragments: BTreeSet::new() };
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut lines).take(LINE).read_until(b'\n', &mut line).await {
            Ok(1..) if line.ends_with(b"\n") => {}
            _ => return,
        }
        let Ok(update) = serde_json::from_slice(&line) else { return };
        seen.update(update);
    }
}

/// The fragments of one process: they are given up with its connection.
struct Seen<'a> {
    texts: &'a LiveTexts,
    fragments: BTreeSet<LiveFragment>,
}

impl Seen<'_> {
    fn update(&mut self, update: LiveUpdate) {
        match update {
            LiveUpdate::Delta { fragment, text } => {
                self.texts.push(fragment.clone(), &text);
                self.fragments.insert(fragment);
            }
            LiveUpdate::Settled { fragment } => {
                self.texts.settle(|one| *one == fragment);
                self.fragments.remove(&fragment);
            }
        }
    }
}

impl Drop for Seen<'_> {
    fn drop(&mut self) {
        self.texts.settle(|one| self.fragments.contains(one));
    }
}
