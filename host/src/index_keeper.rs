//! Keeps the index of search and sql up to date while something runs for long.

use crate::context::HostContext;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How often what was appended is added.
const ROUND: Duration = Duration::from_secs(10);

/// How often it is while much is appended.
const ROUND_OF_IMPORT: Duration = Duration::from_secs(1);

/// Adds to the index while it exists.
#[derive(Debug)]
pub struct IndexKeeper {
    task: JoinHandle<()>,
    /// Dropped to stop it.
    stop: Option<oneshot::Sender<()>>,
}

impl Drop for IndexKeeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl IndexKeeper {
    /// Ends it once it has added what it began with.
    pub async fn finish(mut self) {
        self.stop = None;
        if let Err(error) = (&mut self.task).await {
            tracing::warn!(%error, "the index was not kept up to date");
        }
    }
}

impl HostContext {
    /// Adds to the index of the store that is opened to be written, from time to time.
    pub fn keep_indexed(&self) -> IndexKeeper {
        self.keep_indexed_each(ROUND)
    }

    /// The same while an import appends: the index is filled at the same time.
    pub fn keep_indexed_in_import(&self) -> IndexKeeper {
        self.keep_indexed_each(ROUND_OF_IMPORT)
    }

    fn keep_indexed_each(&self, round: Duration) -> IndexKeeper {
        let context = self.clone();
        let (stop, mut stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            while tokio::time::timeout(round, &mut stopped).await.is_err() {
                context.index_now().await;
            }
        });
        IndexKeeper { task, stop: Some(stop) }
    }
}
