//! Permissions: rules, questions, answers (`docs/reference/permissions.md`).

use super::{payload, words};
use crate::id::{AgentName, CallId, PermissionId};
use crate::text::{Text, as_text, from_text};
use alloc::string::String;
use alloc::vec::Vec;

words! {
    /// What a rule says.
    Effect {
        /// The call runs.
        Allow = "allow",
        /// Is refused.
        Deny = "deny",
        /// The user is asked.
        Ask = "ask",
    }
}

payload! {
    /// `[action, resource, effect]`: of the rules whose patterns match (`*` any run, `?` one), the last one counts.
    Rule {
        /// Pattern of actions.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        action: String,
        /// Pattern of resources.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        resource: String,
        /// What it says.
        effect: Effect,
    } texts {}
}

payload! {
    /// A call needs a permission. Asked under the agent of the turn that made the call.
    PermissionAsked {
        /// The question.
        permission: PermissionId,
        /// The call that waits.
        call: Option<CallId>,
        /// Whose rules were asked.
        agent: AgentName,
        /// What it wants to do.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        action: String,
        /// The resources that the action concerns.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        resources: Vec<String>,
    } texts {}
}

words! {
    /// An answer to a permission question.
    Reply {
        /// This time.
        Once = "once",
        /// For the rest of the session.
        Always = "always",
        /// No; the turn ends. With feedback: no, and the model reads why and continues.
        Reject = "reject",
    }
}

payload! {
    /// A permission question was answered.
    PermissionReplied {
        /// The question.
        permission: PermissionId,
        /// The reply.
        reply: Reply,
        /// What the model reads with a rejection.
        feedback: Option<Text>,
        /// Who answered: `user`, or the name of what answered in the user's place.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        by: String,
        /// Rules that hold for the rest of the session.
        rules: Vec<Rule>,
    } texts { feedback }
}
