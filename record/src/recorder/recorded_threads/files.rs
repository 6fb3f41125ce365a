//! The files of the project at every request of a turn.

use super::RecordedThreads;
use crate::files::RecordedFiles;
use annals_core::event::Purpose;

impl RecordedThreads {
    /// Captures the files for a request of a conversation. A failure concerns this capture alone.
    pub(super) async fn files(&self, at: usize, purpose: Purpose) -> Option<RecordedFiles> {
        let files = self.settings.files.as_deref().filter(|_| purpose == Purpose::Turn)?;
        let before = self.threads.get(at)?.thread.files.clone();
        match RecordedFiles::captured(files, before).await {
            Ok(recorded) => Some(recorded),
            Err(error) => {
                tracing::warn!(%error, "the files were not captured");
                None
            }
        }
    }
}
