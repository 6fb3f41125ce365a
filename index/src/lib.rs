//! The index of a store: a file of SQLite with what search and SQL need (`docs/sql.md`).
//!
//! A cache, like saved views: it is made from the log alone, deleting it changes no answer, and a file that is damaged or of another
//! version is made again by the next command that writes to the store. It follows the store by [`Position`]: filling it costs what
//! was appended since.
//!
//! ```text
//! EventLog ── follow from the position ──► IndexWriter ─► index.sqlite ─► IndexReader (read-only, without a lock)
//!                                          folds of annals-projections          ├─► SearchIndex: candidates, verified in the log
//!                                          per session, kept between fills      └─► SqlTables: sessions, turns, messages, ...
//! ```
//! A reader opens the file as immutable: it takes no lock and writes nothing. [`IndexReader`] notices when a writer changed the file
//! meanwhile, and reads again. What the index does not cover yet is scanned by a search, and added to a private copy for SQL.
//!
//! [`Position`]: annals_store::Position
#![warn(missing_docs)]

mod error;
mod fill;
mod indexed_session;
#[cfg(test)]
mod laws;
mod matching;
mod place;
mod reader;
mod rows;
mod schema;
mod sql;
mod tables;
mod trigrams;
mod writer;

pub use error::IndexError;
pub use fill::{FillReport, fill};
pub use place::IndexPlace;
pub use reader::IndexReader;
pub use sql::{SqlError, SqlTables, SqlValue};
pub use tables::{TABLE_NOTES, TableNote};
