//! What of an answer waits to be appended with what follows: finished fragments
//! (`docs/reference/turn.md#answer`).

use super::super::files::FilesAfter;
use super::{AnswerRecorder, Stop};
use annals_core::Event;
use tokio::time::Instant;

impl AnswerRecorder<'_> {
    /// Begins the step: its event precedes the parts of the answer that are shown while they arrive.
    pub(super) async fn begin(&mut self) -> Result<(), Stop> {
        self.begun = true;
        self.append(|_| Vec::new()).await.map(drop)
    }

    /// Keeps finished fragments for the next append, or appends them at once.
    pub(super) async fn hold(&mut self, finished: Vec<Event>) -> Result<(), Stop> {
        let gather = self.runner.shared.settings.gather;
        self.begun = true;
        self.held.extend(finished);
        if gather.is_zero() {
            return self.append(|_| Vec::new()).await.map(drop);
        }
        self.due.get_or_insert_with(|| Instant::now() + gather);
        Ok(())
    }

    /// Appends what is held.
    pub(super) async fn append_held(&mut self) -> Result<(), Stop> {
        if self.due.is_some() { self.append(|_| Vec::new()).await.map(drop) } else { Ok(()) }
    }

    /// The files after the step. What is held does not wait for long ones.
    pub(super) async fn files_after(&mut self) -> Result<FilesAfter, Stop> {
        let (runner, before) = (self.runner, self.files.clone());
        let files = runner.files_after(before.as_ref());
        tokio::pin!(files);
        tokio::select! {
            biased;
            after = &mut files => return Ok(after),
            () = until(self.due) => {}
        }
        self.append_held().await?;
        Ok(files.await)
    }
}

/// Waits for a moment, for ever without one.
pub(super) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
