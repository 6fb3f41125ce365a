//! The files of the project at every request of a turn.

use super::RecordedThreads;
use annals_core::event::Purpose;
use annals_runtime::worktree::{Files, FilesError, Tree};

/// The files when a request was recorded.
#[derive(Clone, Debug)]
pub(crate) struct RecordedFiles {
    /// Names the capture.
    pub(crate) tree: Tree,
    /// What differs from the capture before it in the same conversation.
    pub(crate) changed: Vec<String>,
}

impl RecordedThreads {
    /// Captures the files for a request of a conversation. A failure concerns this capture alone.
    pub(super) async fn files(&self, at: usize, purpose: Purpose) -> Option<RecordedFiles> {
        let files = self.settings.files.as_deref().filter(|_| purpose == Purpose::Turn)?;
        let before = self.threads.get(at)?.thread.files.clone();
        match captured(files, before).await {
            Ok(recorded) => Some(recorded),
            Err(error) => {
                tracing::warn!(%error, "the files were not captured");
                None
            }
        }
    }
}

async fn captured(files: &dyn Files, before: Option<Tree>) -> Result<RecordedFiles, FilesError> {
    let tree = files.capture().await?.tree;
    let changed = match before {
        Some(before) if before != tree => {
            let changes = files.changes(&before, Some(&tree)).await?;
            changes.files.into_iter().map(|file| file.path).collect()
        }
        _ => Vec::new(),
    };
    Ok(RecordedFiles { tree, changed })
}
