//! The files of the project when a request was recorded.

use annals_runtime::worktree::{Files, FilesError, Tree};

/// The files when a request was recorded.
#[derive(Clone, Debug)]
pub(crate) struct RecordedFiles {
    /// Names the capture.
    pub(crate) tree: Tree,
    /// What differs from the capture before it in the same conversation.
    pub(crate) changed: Vec<String>,
}

impl RecordedFiles {
    /// Captures the files, and what changed since the capture before.
    pub(crate) async fn captured(files: &dyn Files, before: Option<Tree>) -> Result<Self, FilesError> {
        let tree = files.capture().await?.tree;
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
