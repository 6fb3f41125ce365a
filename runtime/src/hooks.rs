//! Hooks: what a host does around calls of tools, and at boundaries (`docs/extending.md#hooks`).

use crate::Boxed;
use crate::tools::{CallInput, ToolOutput};
use annals_core::{AgentName, CallId, SessionId};

/// A call as hooks learn of it.
#[derive(Clone, Debug)]
pub struct HookedCall {
    /// The session.
    pub session: SessionId,
    /// The directory of its location.
    pub directory: String,
    /// The agent of the turn.
    pub agent: AgentName,
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The input of the call.
    pub input: CallInput,
}

/// What a host does around calls and at boundaries. Nothing of it is a fact by itself: a refusal and a remark are part of
/// the result of the call.
pub trait Hooks: Send + Sync {
    /// Before a call that is allowed runs.
    ///
    /// # Errors
    /// Why it must not run, for the model.
    fn before_tool<'a>(&'a self, call: &'a HookedCall) -> Boxed<'a, Result<(), String>> {
        let _ = call;
        Box::pin(async { Ok(()) })
    }

    /// After a call ended, with its output or the text of its error; returns what is added to the result for the model.
    fn after_tool<'a>(
        &'a self,
        call: &'a HookedCall,
        ended: Result<&'a ToolOutput, &'a str>,
    ) -> Boxed<'a, Option<String>> {
        let _ = (call, ended);
        Box::pin(async { None })
    }

    /// Before the context sources of a boundary are read.
    fn at_boundary<'a>(&'a self, session: SessionId, directory: &'a str) -> Boxed<'a, ()> {
        let _ = (session, directory);
        Box::pin(async {})
    }
}
