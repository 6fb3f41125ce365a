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

#[cfg(not(feature = "sqlite"))]
mod absent;
mod error;
#[cfg(feature = "sqlite")]
mod fill;
mod fill_report;
#[cfg(feature = "sqlite")]
mod indexed_session;
#[cfg(all(test, feature = "sqlite"))]
mod laws;
#[cfg(feature = "sqlite")]
mod matching;
mod place;
#[cfg(feature = "sqlite")]
mod reader;
#[cfg(feature = "sqlite")]
mod rows;
#[cfg(feature = "sqlite")]
mod schema;
#[cfg(feature = "sqlite")]
mod sql;
mod sql_value;
mod tables;
#[cfg(feature = "sqlite")]
mod trigrams;
#[cfg(feature = "sqlite")]
mod writer;

#[cfg(not(feature = "sqlite"))]
pub use absent::{NoIndexReader as IndexReader, NoSqlTables as SqlTables, fill};
pub use error::IndexError;
#[cfg(feature = "sqlite")]
pub use fill::fill;
pub use fill_report::FillReport;
pub use place::IndexPlace;
#[cfg(feature = "sqlite")]
pub use reader::IndexReader;
#[cfg(feature = "sqlite")]
pub use sql::SqlTables;
pub use sql_value::{SqlError, SqlValue};
pub use tables::{TABLE_NOTES, TableNote};

/// Whether this build has an index.
pub const IS_BUILT: bool = cfg!(feature = "sqlite");
