//! The blobs that an export brings along.

use annals_core::{BlobHash, Blobs};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Blobs of an export that the store does not hold, and behind them those of the store. A blob is stored only when a batch that is
/// appended or filled in names it: it may be the text of one that was erased here.
pub(crate) struct ExportBlobs {
    texts: BTreeMap<BlobHash, String>,
    stored: Arc<dyn Blobs + Send + Sync>,
}

impl ExportBlobs {
    /// No blobs but those of the store.
    pub fn new(stored: Arc<dyn Blobs + Send + Sync>) -> Self {
        Self { texts: BTreeMap::new(), stored }
    }

    /// Keeps a blob in memory that the store does not hold.
    pub fn take(&mut self, hash: BlobHash, text: String) {
        if self.stored.text(&hash).is_none() {
            self.texts.insert(hash, text);
        }
    }

    /// Forgets the blobs that were not stored.
    pub fn clear(&mut self) {
        self.texts.clear();
    }

    /// Gives a blob that the store does not hold, to be stored.
    pub fn give(&mut self, hash: &BlobHash) -> Option<String> {
        self.texts.remove(hash)
    }
}

impl Blobs for ExportBlobs {
    fn text(&self, hash: &BlobHash) -> Option<String> {
        self.texts.get(hash).cloned().or_else(|| self.stored.text(hash))
    }
}
