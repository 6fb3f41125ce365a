//! A store that other processes write to, as it is now.

use crate::reader::{FindError, Reader};
use annals_projections::Catalogue;
use annals_store::cache::ViewCache;
use annals_store::{OpenMode, Ownership, SharedError, SharedLog};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, OnceCell};

/// How old what is answered may be. A store without an owner is read as it was when it was opened.
const FRESH: Duration = Duration::from_millis(250);

/// A store that is only read, opened again whenever what is known of it is old. A process that writes to it is asked instead.
pub struct LiveStore {
    dir: PathBuf,
    /// Its name for people.
    name: String,
    cache: Arc<ViewCache>,
    current: Mutex<Option<Arc<StoreSnapshot>>>,
    is_stale: AtomicBool,
    source: StoreSource,
}

/// Where a store is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StoreSource {
    /// In its folder, opened again and again.
    Folder,
    /// From a file: nothing changes it.
    File,
    /// In a log that this process has open to write: it has everything at any time.
    Writer,
}

/// A store as it was at one moment.
pub struct StoreSnapshot {
    /// Where sessions are read.
    pub reader: Reader,
    log: Option<SharedLog>,
    opened: Instant,
    catalogue: OnceCell<Arc<Catalogue>>,
}

impl StoreSnapshot {
    /// The list of all sessions, folded once.
    pub async fn catalogue(&self) -> Result<Arc<Catalogue>, FindError> {
        let folded = async { Ok::<_, FindError>(Arc::new(self.reader.catalogue().await?)) };
        self.catalogue.get_or_try_init(|| folded).await.cloned()
    }
}

impl LiveStore {
    /// The store in a folder. Views are kept in memory above those that are saved.
    ///
    /// # Errors
    /// When there is no store, or it cannot be opened.
    pub async fn open(dir: &Path) -> Result<Self, SharedError> {
        let cache = Arc::new(ViewCache::above(dir));
        let (current, is_stale) = (Mutex::default(), AtomicBool::new(false));
        let name = dir.display().to_string();
        let store = Self { dir: dir.to_owned(), name, cache, current, is_stale, source: StoreSource::Folder };
        store.now().await?;
        Ok(store)
    }

    /// A log that was read whole, such as that of a file.
    pub fn of(reader: &Reader) -> Self {
        Self::over(reader, Arc::new(ViewCache::above(reader.store())), StoreSource::File)
    }

    /// A store that this process has open to write.
    pub fn written(reader: &Reader) -> Self {
        Self::over(reader, Arc::new(ViewCache::above(reader.store())), StoreSource::Writer)
    }

    fn over(reader: &Reader, cache: Arc<ViewCache>, source: StoreSource) -> Self {
        let (dir, opened) = (reader.store().clone(), Instant::now());
        let reader = Reader::new(reader.log().clone(), Some(cache.clone()), dir.clone());
        let snapshot = StoreSnapshot { reader, log: None, opened, catalogue: OnceCell::new() };
        let (current, is_stale) = (Mutex::new(Some(Arc::new(snapshot))), AtomicBool::new(false));
        let name = dir.display().to_string();
        Self { dir, name, cache, current, is_stale, source }
    }

    /// The same under another name than that of its folder, which may be one of this machine alone.
    #[must_use]
    pub fn named(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// Its name for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder, or the file.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The next question is answered with everything that was written until now.
    pub fn expire(&self) {
        self.is_stale.store(true, Ordering::Release);
    }

    /// The store as it is now, or was a quarter of a second ago.
    pub async fn now(&self) -> Result<Arc<StoreSnapshot>, SharedError> {
        let mut current = self.current.lock().await;
        let is_stale = self.is_stale.swap(false, Ordering::AcqRel);
        let fresh = |opened: &&Arc<StoreSnapshot>| {
            self.source == StoreSource::File || (!is_stale && opened.opened.elapsed() < FRESH)
        };
        if let Some(opened) = current.as_ref().filter(fresh) {
            return Ok(opened.clone());
        }
        let opened = Instant::now();
        if let Some(before) = current.as_ref().filter(|_| self.source == StoreSource::Writer) {
            let reader = before.reader.clone();
            let opened = Arc::new(StoreSnapshot { reader, log: None, opened, catalogue: OnceCell::new() });
            *current = Some(opened.clone());
            return Ok(opened);
        }
        // The owner of a store gives what is there now; a snapshot has to be taken again.
        let log = current.as_ref().and_then(|opened| opened.log.as_ref());
        let log = match log.filter(|log| log.ownership() == Ownership::Guest) {
            Some(log) => log.clone(),
            None => SharedLog::open(&self.dir, OpenMode::ReadOnly).await?,
        };
        let reader = Reader::new(Arc::new(log.clone()), Some(self.cache.clone()), self.dir.clone());
        let opened = Arc::new(StoreSnapshot { reader, log: Some(log), opened, catalogue: OnceCell::new() });
        *current = Some(opened.clone());
        Ok(opened)
    }
}
