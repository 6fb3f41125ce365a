//! Keeps the index of search and sql up to date while something runs for long.

use crate::context::HostContext;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How often what was appended is added.
const ROUND: Duration = Duration::from_secs(10);

/// Adds to the index while it exists.
#[derive(Debug)]
pub struct IndexKeeper(JoinHandle<()>);

impl Drop for IndexKeeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl HostContext {
    /// Adds to the index of the store that is opened to be written, from time to time.
    pub fn keep_indexed(&self) -> IndexKeeper {
        let context = self.clone();
        IndexKeeper(tokio::spawn(async move {
            loop {
                tokio::time::sleep(ROUND).await;
                context.index_now().await;
            }
        }))
    }
}
