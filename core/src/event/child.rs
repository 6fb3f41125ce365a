//! Child sessions (`docs/reference/turn.md#children`).

use super::{payload, words};
use crate::id::{AgentName, CallId, SessionId};
use crate::text::Text;

payload! {
    /// A child session began, or was resumed. The child's own first event names this session as its parent.
    ChildStarted {
        /// The child.
        child: SessionId,
        /// The call that began it.
        call: Option<CallId>,
        /// Its agent.
        agent: AgentName,
        /// Whether this session continues without waiting for it.
        background: bool,
    } texts {}
}

words! {
    /// How a child ended.
    ChildOutcome {
        /// With a result.
        Completed = "completed",
        /// With an error.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

payload! {
    /// A child session gave its result.
    ChildSettled {
        /// The child.
        child: SessionId,
        /// The result.
        outcome: ChildOutcome,
        /// Its last text, or what went wrong.
        result: Text,
    } texts { result }
}
