//! Undo: staged, cleared, committed (`docs/reference/revert.md`).

use super::{Failure, Location, payload};
use crate::Seq;
use crate::text::{Text, as_text, from_text};
use alloc::string::String;
use alloc::vec::Vec;

payload! {
    /// One file that a revert changes.
    FileChange {
        /// Path below the project.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        path: String,
        /// `added`, `modified`, `deleted`.
        status: String,
        /// Lines added.
        additions: u64,
        /// Lines removed.
        deletions: u64,
    } texts {}
}

payload! {
    /// Files are about to be restored: durable before the first of them changes, so that a restart knows.
    ///
    /// Its end is the event that it was begun for (`revert.staged`, `revert.cleared` or `session.moved`), or
    /// [`RestoreAbandoned`]. One that its process did not survive is undone by the next process that runs the session.
    RestoreBegun {
        /// Where the files are: for a move, the destination.
        location: Location,
        /// Git tree of the files as they are.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        from: String,
        /// Git tree of the files as they will be.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        to: String,
    } texts {}
}

payload! {
    /// A restore that was begun was taken back: the files are as they were before it.
    RestoreAbandoned {
        /// The error.
        error: Failure,
    } texts { error }
}

payload! {
    /// A move took uncommitted changes along: they are at the destination, and are about to be removed from the source.
    /// Recorded in the batch of its `session.moved`: after a crash the next process that runs the session finishes the
    /// departure, as far as the files are still as the move found them.
    DepartureBegun {
        /// Where they leave: where the session was.
        location: Location,
        /// Git tree of the files there as they are.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        from: String,
        /// Git tree of the files there as they will be.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        to: String,
    } texts {}
}

payload! {
    /// Changes that a move took along have left the source, or stay there, too.
    DepartureEnded {
        /// What keeps them there, if anything does.
        error: Option<Failure>,
    } texts { error }
}

payload! {
    /// An undo was prepared. Files may be restored; history, requests and context stay as they are.
    RevertStaged {
        /// The Seq of the first message that goes, with all that follows it.
        first_removed: Seq,
        /// Git tree of the files as they were before anything was restored, if they were.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        original: Option<String>,
        /// What changes between that and now, as a unified diff.
        diff: Option<Text>,
        /// The same, in brief.
        files: Vec<FileChange>,
    } texts { diff }
}

payload! {
    /// A staged undo was dropped; restored files are again as they were.
    RevertCleared {} texts {}
}

payload! {
    /// The message `first_removed` and all that followed it left the session. The transcript keeps them, marked; the
    /// Context Epoch ended; inputs admitted after that message are gone; usage stays.
    RevertCommitted {
        /// The Seq of the first message that is gone.
        first_removed: Seq,
    } texts {}
}
