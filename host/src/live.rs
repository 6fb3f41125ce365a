//! What is on its way: pieces of answers that are not in the log yet, from the process that runs a session to those that show it.
//!
//! ```text
//! runtime ─► Bus ─► LiveSender (texts by fragment) ─► a socket in STORE/live ─► LiveReader ─► LiveCursor, one for each who shows it
//! ```
//!
//! Nothing of it is a fact: the log gets each fragment whole. A reader that is slow gets larger pieces later; it delays neither the
//! writer nor another reader, and a process that cannot be reached is simply not shown. Readers write nothing into the store.

mod fragment;
mod reader;
mod sender;
mod texts;

pub use fragment::{LiveContent, LiveFragment, LivePlace, LiveUpdate};
pub use reader::LiveReader;
pub use sender::LiveSender;
pub use texts::LiveCursor;

#[cfg(test)]
mod tests;
