//! OpenCode: V2 event rows, V1 event rows and exports, and the database with both.

mod content;
#[cfg(feature = "sqlite")]
mod database;
mod epochs;
mod info;
#[cfg(not(feature = "sqlite"))]
mod no_database;
mod projection;
mod rows;
mod v1;
mod v1_answer;
mod v1_export;
mod v1_rows;
mod v2;
mod v2_rows;
mod v2_tools;

#[cfg(feature = "sqlite")]
pub use database::{list, read as read_database};
#[cfg(not(feature = "sqlite"))]
pub use no_database::{list, read as read_database};
pub use projection::is_projection;
pub use rows::read as read_rows;
pub use v1_export::{header as export_header, read as read_export};

/// The name of the agent in every `origin`.
pub const AGENT: &str = "opencode";
