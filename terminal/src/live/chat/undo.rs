//! Undo and redo in a conversation: a staged revert, moved by one user message at a time. The next prompt commits it.

use super::Chat;
use crate::error::TerminalError;
use crate::style::counted;
use annals_core::Seq;
use annals_inspect::timeline::one_line;
use annals_projections::{Body, SessionView};
use annals_runtime::{Extent, MessagePlace, Refusal, RevertFiles, Session, next_redo, next_undo};

impl Chat<'_> {
    pub(super) async fn undo(&mut self, session: &Session) -> Result<(), TerminalError> {
        let view = session.view().await?;
        match next_undo(&view) {
            Some(seq) => self.stage_at(session, &view, seq).await,
            None => {
                self.aside("there is nothing more to undo");
                Ok(())
            }
        }
    }

    pub(super) async fn redo(&mut self, session: &Session) -> Result<(), TerminalError> {
        let view = session.view().await?;
        if view.session.revert.is_none() {
            self.aside("nothing to redo");
            return Ok(());
        }
        match next_redo(&view) {
            Some(seq) => self.stage_at(session, &view, seq).await,
            None => {
                match session.clear_revert().await {
                    Ok(_) => self.aside("everything is restored"),
                    Err(refusal) => self.refused(refusal)?,
                }
                Ok(())
            }
        }
    }

    /// Stages a revert from a user message on, and says what it did.
    async fn stage_at(&mut self, session: &Session, view: &SessionView, seq: Seq) -> Result<(), TerminalError> {
        let staged = async {
            let plan = session.plan_revert(MessagePlace::Seq(seq), Extent::ConversationAndFiles).await?;
            session.stage(&plan).await?;
            Ok::<_, Refusal>(plan)
        };
        let plan = match staged.await {
            Ok(plan) => plan,
            Err(refusal) => return self.refused(refusal),
        };
        let prompt = view.history.message(seq).and_then(|message| match &message.body {
            Body::User { text, .. } => Some(one_line(&text.resolve(&*session.blobs()))),
            _ => None,
        });
        let what = prompt
            .map(|prompt| format!("undone from {prompt:?} on"))
            .unwrap_or_else(|| format!("undone: event {seq} and later"));
        self.aside(&format!("{what}; the next prompt makes it final, /redo reverts it"));
        match &plan.files {
            RevertFiles::Untouched => {}
            RevertFiles::ConversationOnly { why } => self.aside(&format!("files are unchanged: {why}")),
            RevertFiles::Restored(files) => {
                let count = counted(files.restores.len() as u64, "file");
                self.aside(&format!("{count} restored"));
                for left in &files.left {
                    self.warn(&format!("{} stays as it is: {}", left.path, left.why));
                }
            }
        }
        Ok(())
    }

    /// Shows a refusal; only an error of the log ends the conversation.
    fn refused(&self, refusal: Refusal) -> Result<(), TerminalError> {
        match refusal {
            Refusal::Log(error) => Err(error.into()),
            refusal => {
                self.warn(&refusal.to_string());
                Ok(())
            }
        }
    }
}
