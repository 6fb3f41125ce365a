//! Pinned messages: every compaction leaves them in the history.

use super::{MessagePlace, SessionEditor};
use crate::lane::Decision;
use crate::outcome::Refusal;
use annals_core::event::{MessagePinned, MessageUnpinned};

impl SessionEditor {
    /// Pins a message, or ends its pin. Gives whether that changed anything.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when there is no such message; or the log refuses.
    pub async fn pin(&self, message: MessagePlace, pinned: bool) -> Result<bool, Refusal> {
        self.lane
            .decide(|view| {
                let message = message.find(view)?;
                if view.history.is_pinned(message) == pinned {
                    return Ok(Decision::nothing(false));
                }
                let event = match pinned {
                    true => MessagePinned { message }.into(),
                    false => MessageUnpinned { message }.into(),
                };
                Ok(Decision::append(vec![event], true))
            })
            .await
    }
}
