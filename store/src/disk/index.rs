//! sled, the second copy: a complete index of every batch by session and sequence number. The journal acknowledges; sled
//! follows, and each of the two is rebuilt from the other (`docs/reference/store.md#sled`).
//!
//! States of sled in a process that owns the store, and of its folder while it is rebuilt:
//!
//! ```text
//!             compare: agrees                     an operation fails
//!   closed ──────────────────► in use ──────────────────────────────► out of use (the journal serves every read)
//!     │                          ▲                                        │ idle, or 16,384 batches later:
//!     │ compare: missing,        │ finish, open, refill from checkpoint   │ reopen
//!     │ damaged, lacks records   └────────────────────────────────────────┘
//!     ▼
//!   rebuild:  sled.new ──1──► sled.new, complete, flushed ──2──► sled.whole ──3──► damaged/sled ──4──► sled
//!             (from the journal, then what                       (renamed)        (the old one)       (renamed)
//!              only the old one has)
//!
//! 1, 2  the old one is still `sled`: the new one is removed at the next opening, and rebuilding starts again
//! 3, 4  `sled.whole` is complete: while `sled` exists, it is removed; then `sled.whole` is renamed to `sled`
//! ```
//!
//! Checkpoint: `flush()` and a flush of sled's file, then the file `checkpoint`. After a crash in between, the old checkpoint
//! is in force: more of the journal is compared, nothing is lost.
//!
//! - [`sled_tree`]: sled behind a fence against its faults; [`record`]: what it stores per batch.
//! - [`sled_writer`]: the thread that brings sled up to the journal; [`rebuild`]: comparing and rebuilding at opening.
//! - [`private_copy`]: sled for a process that must not write.

pub(in crate::disk) mod private_copy;
pub(in crate::disk) mod rebuild;
pub(in crate::disk) mod record;
pub(in crate::disk) mod sled_tree;
pub(in crate::disk) mod sled_writer;
