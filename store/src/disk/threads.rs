//! The threads of an open store. A process that only reads starts none of them.
//!
//! ```text
//! callers ──Order──► committer ──Fill──► sled writer (`index::sled_writer`) ──► sled, checkpoint
//!    ▲                  │  └────Upkeep──► sealer ──► reserved.new, heads, N.pack
//!    └──────reply───────┘
//!    └ a writer that is alone takes the committer's place: it frames, flushes and answers on its own thread (`commit_queue`)
//! readers ──request──► read-ahead ──► blocks in memory
//! ```
//!
//! A batch passes these states. Only the flush makes it durable; a crash before it loses the batch, which was not acknowledged:
//!
//! ```text
//! sealed, place reserved ──► queued ──► framed ──► written ──FLUSH──► readable ──► heads advance, place freed ──► answered
//!                                                     │                                                              │
//!                                                     └─ write or flush fails ──► new segment at the same position,  ▼
//!                                                        or the bytes erased: `Io`; neither: `Unknown`           queued for sled
//! ```
//!
//! Shutdown runs in the order of the arrows: the committer answers what is queued and stops, then the sled writer empties its
//! queue and writes a checkpoint, then sealer and read-ahead stop, `heads` is written, and the lock is released. A crash on
//! the way leaves a store that opens with more to compare.

pub(in crate::disk) mod commit_queue;
pub(in crate::disk) mod committer;
pub(in crate::disk) mod read_ahead;
pub(in crate::disk) mod running;
pub(in crate::disk) mod sealer;
