//! The files of the project when a request was recorded.

use annals_runtime::worktree::{Files, FilesError, Tree};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Captures the files as soon as a request arrives, without the request waiting for it.
#[derive(Clone, Debug)]
pub(crate) struct FileCaptures(mpsc::UnboundedSender<oneshot::Sender<Tree>>);

impl FileCaptures {
    /// Captures on a task of its own, one capture at a time: requests that arrive during one share the next.
    pub(crate) fn of(files: Arc<dyn Files>) -> Self {
        let (sender, mut receiver) = mpsc::unbounded_channel::<oneshot::Sender<Tree>>();
        tokio::spawn(async move {
            while let Some(first) = receiver.recv().await {
                let mut waiting = vec![first];
                waiting.extend(std::iter::from_fn(|| receiver.try_recv().ok()));
                match files.capture().await {
                    // A request that is not recorded does not wait any more.
                    Ok(capture) => waiting.into_iter().for_each(|one| drop(one.send(capture.tree.clone()))),
                    Err(error) => tracing::warn!(%error, "the files were not captured"),
                }
            }
        });
        Self(sender)
    }

    /// Begins a capture; without an answer there is none.
    pub(crate) fn begin(&self) -> oneshot::Receiver<Tree> {
        let (sender, receiver) = oneshot::channel();
        if self.0.send(sender).is_err() {
            tracing::debug!("the task that captures files has ended");
        }
        receiver
    }
}

/// The files when a request was recorded.
#[derive(Clone, Debug)]
pub(crate) struct RecordedFiles {
    /// Names the capture.
    pub(crate) tree: Tree,
    /// What differs from the capture before it in the same conversation.
    pub(crate) changed: Vec<String>,
}

impl RecordedFiles {
    /// A capture, and what changed since the one before.
    pub(crate) async fn since(before: Option<Tree>, tree: Tree, files: &dyn Files) -> Result<Self, FilesError> {
        let changed = match before {
            Some(before) if before != tree => {
                let changes = files.changes(&before, Some(&tree)).await?;
                changes.files.into_iter().map(|file| file.path).collect()
            }
            _ => Vec::new(),
        };
        Ok(Self { tree, changed })
    }
}
