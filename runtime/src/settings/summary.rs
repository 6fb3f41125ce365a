//! What shapes summary requests.

use crate::Boxed;
use annals_core::SessionId;

/// Shapes summary requests.
pub trait SummaryHook: Send + Sync {
    /// What is added to the conversation that is summarised.
    fn context(&self, session: SessionId) -> Boxed<'_, Option<String>> {
        let _ = session;
        Box::pin(async { None })
    }

    /// What takes the place of the instructions at the end of the prompt.
    fn instructions(&self, session: SessionId) -> Boxed<'_, Option<String>> {
        let _ = session;
        Box::pin(async { None })
    }
}
