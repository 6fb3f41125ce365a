//! Large texts: in a stream of their own, in chunks, and on this machine by their hash.

use super::api::{ApiError, GetMessage, GotMessage, NO_MESSAGE, WRONG_LAST, WRONG_LAST_PENDING};
use super::connection::{NatsConnection, Patience};
use super::message::{EXPECTED_LAST, EXPECTED_STREAM, StreamMessage, from_leader};
use annals_core::{BlobHash, Blobs, Digest};
use async_nats::HeaderMap;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The bytes of a chunk.
const CHUNK: usize = 512 * 1024;
/// How many chunks or blobs are on their way at a time.
const AT_A_TIME: usize = 16;
/// How many bytes of texts are kept in memory.
const MEMORY: usize = 64 << 20;
/// How long a reader waits for a text that is not on this machine.
const WAIT: Duration = Duration::from_secs(30);
const CHUNKS: &str = "Blob-Chunks";

/// The texts of a store in a cluster.
#[derive(Debug)]
pub struct NatsBlobs {
    connection: Arc<NatsConnection>,
    stream: String,
    /// The beginning of every subject.
    prefix: String,
    cache: BlobCache,
    /// Those that are known to be durable, after so many erasures.
    durable: Mutex<(u64, BTreeSet<BlobHash>)>,
}

#[derive(Debug)]
struct BlobCache {
    folder: Option<PathBuf>,
    /// Whether texts are added to the folder.
    writes: bool,
    memory: Mutex<(usize, HashMap<BlobHash, Arc<str>>)>,
}

impl BlobCache {
    fn get(&self, hash: &BlobHash) -> Option<Arc<str>> {
        if let Some(text) = self.memory.lock().unwrap_or_else(PoisonError::into_inner).1.get(hash) {
            return Some(text.clone());
        }
        let text = fs::read_to_string(self.path(hash)?).ok()?;
        // A file that was cut off is as good as none.
        (Digest::of(text.as_bytes()) == *hash).then(|| {
            let text: Arc<str> = text.into();
            self.remember(*hash, text.clone());
            text
        })
    }

    fn has(&self, hash: &BlobHash) -> bool {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).1.contains_key(hash)
            || self.path(hash).is_some_and(|path| path.exists())
    }

    fn path(&self, hash: &BlobHash) -> Option<PathBuf> {
        let name = hash.to_string();
        Some(self.folder.as_ref()?.join(name.get(..2)?).join(name))
    }

    fn remember(&self, hash: BlobHash, text: Arc<str>) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.0 > MEMORY && self.folder.is_some() {
            *memory = (0, HashMap::new());
        }
        memory.0 += text.len();
        memory.1.insert(hash, text);
    }

    fn put(&self, hash: BlobHash, text: &str) {
        self.remember(hash, text.into());
        let Some(path) = self.path(&hash).filter(|_| self.writes) else { return };
        let write = || -> io::Result<()> {
            let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
            fs::create_dir_all(folder)?;
            let file = tempfile_in(folder, &hash);
            fs::write(&file, text)?;
            fs::rename(&file, &path)
        };
        if let Err(error) = write() {
            tracing::debug!(%error, "a text was not kept on this machine");
        }
    }
}

fn tempfile_in(folder: &std::path::Path, hash: &BlobHash) -> PathBuf {
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    folder.join(format!("{hash}.{}-{number}.tmp", std::process::id()))
}

impl NatsBlobs {
    pub fn new(
        connection: Arc<NatsConnection>,
        stream: String,
        name: &str,
        folder: Option<PathBuf>,
        writes: bool,
    ) -> Self {
        let cache = BlobCache { folder, writes, memory: Mutex::default() };
        Self { connection, stream, prefix: format!("{name}.blob"), cache, durable: Mutex::default() }
    }

    fn is_durable(&self, hash: &BlobHash) -> bool {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner).1.contains(hash)
    }

    /// What was durable before an erasure may be gone, and so may be what a pending one removes.
    pub fn doubt(&self, erasures: u64, removed: &BTreeSet<BlobHash>) {
        let mut durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        if durable.0 != erasures {
            *durable = (erasures, BTreeSet::new());
        }
        durable.1.retain(|hash| !removed.contains(hash));
    }

    /// A text that this machine has.
    pub fn kept(&self, hash: &BlobHash) -> Option<Arc<str>> {
        self.cache.get(hash)
    }

    /// The subject of a text; its chunks are below it.
    pub fn subject(&self, hash: &BlobHash) -> String {
        format!("{}.{hash}", self.prefix)
    }

    /// Forgets a text that was erased, here and on this machine.
    pub fn forget(&self, hash: &BlobHash) {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner).1.remove(hash);
        self.cache.memory.lock().unwrap_or_else(PoisonError::into_inner).1.remove(hash);
        if let Some(path) = self.cache.path(hash)
            && let Err(error) = fs::remove_file(path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "an erased text is still in the cache of this machine");
        }
    }

    fn note_durable(&self, hash: BlobHash) {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner).1.insert(hash);
    }

    /// Makes a text durable.
    pub async fn put(&self, hash: BlobHash, text: &str) -> Result<(), ApiError> {
        // Of a small one the stream itself says whether it is there.
        let is_there = if text.len() <= CHUNK { self.is_durable(&hash) } else { self.has(&hash).await? };
        if !is_there {
            self.store_text(hash, text, Some("0")).await?;
        }
        self.cache.put(hash, text);
        Ok(())
    }

    /// Stores a text once more, behind one that is about to be removed.
    pub async fn store_again(&self, hash: BlobHash, text: &str) -> Result<(), ApiError> {
        self.store_text(hash, text, None).await?;
        self.cache.put(hash, text);
        Ok(())
    }

    async fn store_text(&self, hash: BlobHash, text: &str, behind: Option<&str>) -> Result<(), ApiError> {
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        let chunks = if bytes.len() <= CHUNK { 0 } else { bytes.len().div_ceil(CHUNK) };
        stream::iter(0..chunks)
            .map(|at| {
                let chunk = bytes.slice(at * CHUNK..bytes.len().min((at + 1) * CHUNK));
                self.store(format!("{}.{hash}.{at}", self.prefix), chunks, chunk, behind)
            })
            .buffer_unordered(AT_A_TIME)
            .try_collect::<Vec<()>>()
            .await?;
        // Last: a reader that finds it finds the chunks.
        let whole = if chunks == 0 { bytes } else { Bytes::new() };
        self.store(self.subject(&hash), chunks, whole, behind).await?;
        self.note_durable(hash);
        Ok(())
    }

    async fn store(
        &self,
        subject: String,
        chunks: usize,
        payload: Bytes,
        behind: Option<&str>,
    ) -> Result<(), ApiError> {
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED_STREAM, self.stream.as_str());
        behind.into_iter().for_each(|number| headers.insert(EXPECTED_LAST, number));
        headers.insert(CHUNKS, chunks.to_string().as_str());
        let mut patience = Patience::new(&self.connection);
        loop {
            match self.connection.publish(subject.clone(), headers.clone(), payload.clone()).await {
                Ok(_) => return Ok(()),
                // It is there: what has this hash is this text.
                Err(error) if error.is(WRONG_LAST) => return Ok(()),
                Err(error) if (error.is_passing() || error.is(WRONG_LAST_PENDING)) && patience.again(&error).await => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether a text is durable. The leader is asked: a replica that lags has what was erased.
    pub async fn has(&self, hash: &BlobHash) -> Result<bool, ApiError> {
        if self.is_durable(hash) {
            return Ok(true);
        }
        let found = self.last_of_leader(self.subject(hash)).await?.is_some();
        if found {
            self.note_durable(*hash);
        }
        Ok(found)
    }

    async fn last(&self, subject: String) -> Result<Option<StreamMessage>, ApiError> {
        let get = GetMessage { last_by_subj: Some(subject.clone()), ..GetMessage::default() };
        if let Ok(found) = self.connection.direct(&self.stream, &get).await
            && let Some(message) = found.into_iter().next()
        {
            return Ok(Some(message));
        }
        // A replica may lag; the leader does not.
        self.last_of_leader(subject).await
    }

    async fn last_of_leader(&self, subject: String) -> Result<Option<StreamMessage>, ApiError> {
        let get = GetMessage { last_by_subj: Some(subject), ..GetMessage::default() };
        let subject = format!("$JS.API.STREAM.MSG.GET.{}", self.stream);
        match self.connection.ask::<GotMessage>(&subject, &get).await {
            Ok(got) => from_leader(got.message).map(Some),
            Err(error) if error.is(NO_MESSAGE) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Brings texts to this machine. One that is nowhere is left out: what names it shows that.
    pub async fn bring(&self, hashes: impl IntoIterator<Item = BlobHash>) -> Result<(), ApiError> {
        let missing: BTreeSet<BlobHash> = hashes.into_iter().filter(|hash| !self.cache.has(hash)).collect();
        stream::iter(missing)
            .map(|hash| async move { self.fetch(hash).await.map(drop) })
            .buffer_unordered(AT_A_TIME)
            .try_collect::<Vec<()>>()
            .await
            .map(drop)
    }

    async fn fetch(&self, hash: BlobHash) -> Result<Option<Arc<str>>, ApiError> {
        let Some(whole) = self.last(format!("{}.{hash}", self.prefix)).await? else { return Ok(None) };
        let chunks: usize = whole.header(CHUNKS).and_then(|chunks| chunks.parse().ok()).unwrap_or_default();
        let bytes = match chunks {
            0 => whole.payload.to_vec(),
            _ => {
                let parts: Vec<Option<StreamMessage>> = stream::iter(0..chunks)
                    .map(|at| self.last(format!("{}.{hash}.{at}", self.prefix)))
                    .buffered(AT_A_TIME)
                    .try_collect()
                    .await?;
                parts.into_iter().flatten().flat_map(|part| part.payload.to_vec()).collect()
            }
        };
        let text = String::from_utf8(bytes).ok().filter(|text| Digest::of(text.as_bytes()) == hash);
        let Some(text) = text else {
            tracing::warn!(%hash, "a text in the cluster is damaged");
            return Ok(None);
        };
        // From a replica, which may have what was erased: not known to be durable.
        self.cache.put(hash, &text);
        Ok(Some(text.into()))
    }
}

/// Texts as folds and readers ask for them: nearly always on this machine, since reading a batch brings them.
#[derive(Debug)]
pub struct LocalBlobs(pub Arc<NatsBlobs>);

impl Blobs for LocalBlobs {
    fn text(&self, hash: &BlobHash) -> Option<String> {
        if let Some(text) = self.0.cache.get(hash) {
            return Some(text.to_string());
        }
        let (blobs, hash) = (self.0.clone(), *hash);
        let (send, receive) = std::sync::mpsc::sync_channel(1);
        self.0.connection.spawn(async move {
            let fetched = blobs.fetch(hash).await.ok().flatten();
            drop(send.send(fetched));
        });
        let wait = || receive.recv_timeout(WAIT).ok().flatten().map(|text| text.to_string());
        let flavor = tokio::runtime::Handle::try_current().map(|handle| handle.runtime_flavor());
        match flavor {
            // Other tasks continue meanwhile.
            Ok(tokio::runtime::RuntimeFlavor::MultiThread) => tokio::task::block_in_place(wait),
            _ => wait(),
        }
    }
}
