//! Undo: staged, cleared, committed (spec 11 with its ruling).

use super::payload;
use crate::Seq;
use crate::text::Text;
use alloc::string::String;
use alloc::vec::Vec;

payload! {
    /// One file that a revert changes.
    FileChange {
        /// Path below the project.
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
    /// An undo was prepared. Files may be restored; history, requests and context stay as they are.
    RevertStaged {
        /// The Seq of the first message that goes, with all that follows it.
        first_removed: Seq,
        /// Git tree of the files as they were before anything was restored, if they were.
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
    /// The message `first_removed` and all that followed it left the Session. The transcript keeps them, marked; the
    /// Context Epoch ended; inputs admitted after that message are gone; usage stays.
    RevertCommitted {
        /// The Seq of the first message that is gone.
        first_removed: Seq,
    } texts {}
}
