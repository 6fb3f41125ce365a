//! The agent side of the Agent Client Protocol, version 1, over stdin and stdout (`docs/acp.md`): editors run sessions through it.
//!
//! ```text
//! stdin ─► line ─► AcpServer ─► AcpSession (a HostedSession) ─► notices ─► Updates ─► session/update ─► stdout
//!                                    └─► questions ─► session/request_permission
//! ```
//!
//! The messages are written here and checked against the published schema in `tests/tests/run/acp.rs`: the crate with their types
//! switches on `serde_json/preserve_order`, which would change the order of every JSON object of this program.

mod connection;
mod content;
mod diffs;
mod editor;
mod options;
mod permissions;
mod prompt;
mod replay;
mod requests;
mod server;
mod session;
mod updates;

pub use server::serve;
