//! The inbox: what was admitted, promoted and withdrawn (`docs/reference/inbox.md`).

use super::{payload, words};
use crate::id::InputId;
use crate::text::{Text, as_text, from_text};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

words! {
    /// When a waiting input joins.
    Delivery {
        /// At the next Safe Provider-Turn Boundary, together with all other steers.
        Steer = "steer",
        /// At an idle moment, one at a time.
        Queue = "queue",
    }
}

payload! {
    /// A file or image given with an input or by a tool. Never bounded or cut.
    Attachment {
        /// Media type.
        mime: String,
        /// File name, if it has one.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        name: Option<String>,
        /// A `data:` URI or the path or address of the file.
        uri: Text,
    } texts { uri }
}

payload! {
    /// An input was accepted. Durable before anything runs; its id cannot be used again.
    ///
    /// The message made from it carries the time of this event.
    InputAdmitted {
        /// Chosen by the caller, or by the id port.
        input: InputId,
        /// What the user wrote.
        text: Text,
        /// What came with it.
        attachments: Vec<Attachment>,
        /// When it joins.
        delivery: Delivery,
    } texts { text, attachments }
}

payload! {
    /// A waiting input joined the session at a Safe Provider-Turn Boundary: from here on it is a user message.
    ///
    /// Precedes any context message admitted at the same boundary.
    InputPromoted {
        /// Which; its text is in its admission.
        input: InputId,
    } texts {}
}

payload! {
    /// A waiting input was taken back. It never joins, and its id stays used up.
    InputWithdrawn {
        /// The input.
        input: InputId,
    } texts {}
}

payload! {
    /// A waiting input changes when it joins; it keeps its place in the order of admission.
    InputDeliveryChanged {
        /// The input.
        input: InputId,
        /// When it joins now.
        delivery: Delivery,
    } texts {}
}

payload! {
    /// An input has a system text and a choice of tools of its own. In the batch of its admission.
    ///
    /// Both shape the turns that answer it (`docs/reference/inbox.md#system-text-and-tools-of-an-input`).
    InputConfigured {
        /// The input.
        input: InputId,
        /// Follows the system text of the agent.
        system: Option<Text>,
        /// Whether a tool is offered, by its name or a pattern.
        tools: BTreeMap<String, bool>,
    } texts { system }
}
