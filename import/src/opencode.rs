//! OpenCode: V2 event rows, V1 event rows and exports, and the database with both.

mod content;
#[cfg(feature = "sqlite")]
mod database;
mod epochs;
mod fork_source;
mod info;
#[cfg(not(feature = "sqlite"))]
mod no_database;
mod projection;
mod rows;
mod storage;
mod v1;
mod v1_answer;
mod v1_export;
mod v1_rows;
mod v1_user;
mod v2;
mod v2_rows;
mod v2_tools;

#[cfg(feature = "sqlite")]
pub use database::{is_database, list, read as read_database};
#[cfg(not(feature = "sqlite"))]
pub use no_database::{is_database, list, read as read_database};
pub use projection::is_projection;
pub use rows::read as read_rows;
pub use storage::{is_stored_session, read as read_storage, stored_session};
pub use v1_export::{header as export_header, read as read_export};

/// The name of the agent in every `origin`.
pub const AGENT: &str = "opencode";

/// The name of Kilo, which has the same database.
pub const KILO: &str = "kilo";

/// Whether a file has the name of a database of OpenCode or Kilo: `opencode.db`, or `opencode-CHANNEL.db`.
pub fn is_database_name(name: &str) -> bool {
    let rest = [AGENT, KILO].iter().find_map(|program| name.strip_prefix(program)?.strip_suffix(".db"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}
