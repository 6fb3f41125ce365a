//! The files of the project at every request of a turn.

use super::RecordedThreads;
use crate::files::RecordedFiles;
use annals_runtime::worktree::Tree;

impl RecordedThreads {
    /// What changed in the files since the request before of a conversation. A failure concerns this capture alone.
    pub(super) async fn files(&self, at: usize, tree: Tree) -> Option<RecordedFiles> {
        let files = self.settings.files.as_deref()?;
        let before = self.threads.get(at)?.thread.files.clone();
        match RecordedFiles::since(before, tree, files).await {
            Ok(recorded) => Some(recorded),
            Err(error) => {
                tracing::warn!(%error, "what changed in the files is not known");
                None
            }
        }
    }

    /// The files at the end of the recording: what the last calls changed.
    pub(super) async fn last_files(&mut self) {
        let Some(files) = self.settings.files.clone() else { return };
        let tree = match files.capture().await {
            Ok(capture) => capture.tree,
            Err(error) => {
                tracing::warn!(%error, "the files were not captured");
                return;
            }
        };
        for at in 0..self.threads.len() {
            if let Some(recorded) = self.files(at, tree.clone()).await
                && let Some(known) = self.threads.get_mut(at)
            {
                known.thread.files_are(recorded);
            }
        }
    }
}
