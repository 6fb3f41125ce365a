//! Answers to permission questions that another process asked.

use super::SessionEditor;
use crate::lane::Decision;
use crate::outcome::LogError;
use crate::permission::Answered;
use annals_core::{PermissionId, Seq};
use annals_projections::SessionView;

impl SessionEditor {
    /// Records the answer to a permission question of this session, also while another process runs it: that one takes the answer
    /// from the log. Returns the number of the event; `None` when the question does not wait, or was answered already.
    ///
    /// # Errors
    /// When the session is imported, or the log refuses.
    pub async fn answer_permission(
        &self,
        permission: &PermissionId,
        answered: &Answered,
    ) -> Result<Option<Seq>, LogError> {
        let decide = |view: &SessionView| {
            let Some(asked) = view.permissions.waiting.get(permission) else { return Ok(Decision::nothing(None)) };
            let replied = answered.clone().recorded(permission, &asked.action, &asked.resources);
            Ok(Decision::append(vec![replied.into()], Some(view.cut().next)))
        };
        self.lane.decide(decide).await
    }
}
