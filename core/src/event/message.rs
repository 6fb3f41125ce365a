//! Messages and notes that are neither input nor answer.

use super::{FileChange, payload};
use crate::Seq;
use crate::text::{Text, as_text, from_text};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

payload! {
    /// A message survives every compaction verbatim, in order, before the summary
    /// (`docs/reference/compaction.md#pins`).
    MessagePinned {
        /// The Seq of the event that made the message.
        message: Seq,
    } texts {}
}

payload! {
    /// A pinned message is an ordinary one again.
    MessageUnpinned {
        /// The Seq of the event that made the message.
        message: Seq,
    } texts {}
}

payload! {
    /// The runtime added a message in the user's place.
    SyntheticAdded {
        /// The exact text.
        text: Text,
    } texts { text }
}

payload! {
    /// The user ran a shell command inside the session.
    ShellRan {
        /// The command line.
        command: Text,
        /// What it printed.
        output: Text,
        /// Its exit status, if it ended by itself.
        exit: Option<i32>,
    } texts { command, output }
}

payload! {
    /// One line of a todo list.
    Todo {
        /// The task.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        content: String,
        /// `pending`, `in_progress`, `completed`, `cancelled`, or a foreign agent's word.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        status: String,
        /// `high`, `medium`, `low`, if given.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        priority: Option<String>,
    } texts {}
}

payload! {
    /// The whole todo list, as it is from here on.
    TodoUpdated {
        /// In order.
        items: Vec<Todo>,
    } texts {}
}

payload! {
    /// The agent changed what it sends of the conversation: from here on, the model reads these parts otherwise, or not at all. What
    /// happened stays what happened: turns, prompts and calls are those of the events.
    MessagesEdited {
        /// In order of their places.
        edits: Vec<PartEdit>,
    } texts { edits }
}

payload! {
    /// What is sent of a part from here on.
    PartEdit {
        /// The event that made the message that has the part.
        message: Seq,
        /// The event that has the part: of a message (all of it), a fragment, a call, or the result of one.
        place: Seq,
        /// The text that is sent, of a call its input; `None` where the part, or only its media, are left out.
        text: Option<Text>,
        /// Whether media that came with it are left out. Without a text, the text stays.
        without_media: bool,
    } texts { text }
}

payload! {
    /// A part of a recorded request that no reader of its protocol knows.
    PartUnknown {
        /// Where it is in the body, as a JSON Pointer.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        pointer: String,
        /// Its text, or its JSON.
        text: Text,
    } texts { text }
}

payload! {
    /// Secrets were replaced by placeholders before they reached the log or a request.
    RedactionApplied {
        /// How often, by kind of secret.
        counts: BTreeMap<String, u64>,
    } texts {}
}

payload! {
    /// A snapshot of the files was taken.
    FilesCaptured {
        /// Git tree id in the shadow repository.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        tree: String,
    } texts {}
}

payload! {
    /// What the session changed in its project so far: from the files before its first step at this location to those
    /// after its last one, including changes by others in between (`docs/reference/revert.md#files`). Replaces the
    /// one before it.
    FilesSummarised {
        /// Git tree of the files before the first step.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        from: String,
        /// Git tree of the files now.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        to: String,
        /// What differs, in order of paths.
        files: Vec<FileChange>,
    } texts {}
}
