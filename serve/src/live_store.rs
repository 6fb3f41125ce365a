//! A store that other processes write to, as it is now.

use annals_inspect::reader::{FindError, Reader};
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
    cache: Arc<ViewCache>,
    current: Mutex<Option<Arc<StoreSnapshot>>>,
    is_stale: AtomicBool,
}

/// A store as it was at one moment.
pub struct StoreSnapshot {
    /// Where sessions are read.
    pub reader: Reader,
    log: SharedLog,
    opened: Instant,
    catalogue: OnceCell<Arc<Catalogue>>,
}

impl StoreSnapshot {
    /// The list of all sessions, folded once.
    ///
    /// # Errors
    /// When the log cannot be read.
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
        let store = Self { dir: dir.to_owned(), cache, current: Mutex::default(), is_stale: AtomicBool::new(false) };
        store.now().await?;
        Ok(store)
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The next question is answered with everything that was written until now.
    pub fn expire(&self) {
        self.is_stale.store(true, Ordering::Release);
    }

    /// The store as it is now, or was a quarter of a second ago.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn now(&self) -> Result<Arc<StoreSnapshot>, SharedError> {
        let mut current = self.current.lock().await;
        let is_stale = self.is_stale.swap(false, Ordering::AcqRel);
        if let Some(opened) = current.as_ref().filter(|opened| !is_stale && opened.opened.elapsed() < FRESH) {
            return Ok(opened.clone());
        }
        let opened = Instant::now();
        // The owner of a store gives what is there now; a snapshot has to be taken again.
        let guest = current.as_ref().filter(|opened| opened.log.ownership() == Ownership::Guest);
        let log = match guest {
            Some(opened) => opened.log.clone(),
            None => SharedLog::open(&self.dir, OpenMode::ReadOnly).await?,
        };
        let reader = Reader::new(Arc::new(log.clone()), Some(self.cache.clone()), self.dir.clone());
        let opened = Arc::new(StoreSnapshot { reader, log, opened, catalogue: OnceCell::new() });
        *current = Some(opened.clone());
        Ok(opened)
    }
}
