//! Queries in SQL over the tables of a store (`docs/sql.md`).

use crate::fill::holds;
use crate::reader::ChangeGuard;
use crate::writer::{IndexContent, IndexWriter, covered};
use crate::{IndexError, IndexPlace, SqlError, SqlValue, schema};
use annals_store::{EventLog, Followed, Scope};
use futures_util::StreamExt;
use rusqlite::backup::Backup;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Connection, ErrorCode};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// How many rows are read before the first is given.
const CHUNK: usize = 10_000;
/// And how many bytes of them.
const CHUNK_BYTES: usize = 16 << 20;
/// How many steps SQLite makes before it looks whether a query is to stop: some tenths of a millisecond.
const STEPS: i32 = 10_000;
/// The longest value of a query that is limited, in bytes: SQLite holds a value in memory, and makes it in one step.
const LONGEST: i32 = 64 << 20;
/// How many pages are copied at a time.
const PAGES: i32 = 1_000;

impl SqlValue {
    fn of(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(text) => Self::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

/// The tables of a store, complete up to the end of its log when they were opened.
#[derive(Debug)]
pub struct SqlTables {
    connection: Connection,
    /// Watches the file of the index, unless the tables are a private copy.
    guard: Option<ChangeGuard>,
}

impl SqlTables {
    /// Opens the tables of a log: the index, if `place` has a usable one, and otherwise a private copy of it to which is added what it
    /// lacks. Nothing is written to the store. `usable`: whether an index may be used at all.
    ///
    /// # Errors
    /// When the log cannot be read, or there is no room for a copy.
    pub async fn open(log: &dyn EventLog, place: Option<&IndexPlace>) -> Result<Self, IndexError> {
        let base = place.and_then(Base::open);
        let Some(base) = base else { return Self::copied(log, None).await };
        let (upto, _) = base.covered.clone();
        if !holds(log, &upto).await? {
            return Self::copied(log, None).await;
        }
        let mut following = log.follow(Scope::All { from: upto.cursor });
        match following.next().await.transpose()? {
            Some(Followed::Batch { .. }) => Self::copied(log, Some(base)).await,
            Some(Followed::Synced) | None => {
                let tables = Self { connection: base.connection, guard: Some(base.guard) };
                tables.protect()
            }
        }
    }

    /// A private copy of an index, or of nothing, with all that it lacks.
    async fn copied(log: &dyn EventLog, base: Option<Base>) -> Result<Self, IndexError> {
        let failed = |source| IndexError::of(PathBuf::from("(a temporary copy)"), source);
        // Kept in memory as far as its cache goes, otherwise in a file without a name.
        let mut connection = Connection::open("").map_err(failed)?;
        if let Some(base) = &base {
            let copy = Backup::new(&base.connection, &mut connection);
            copy.and_then(|copy| copy.run_to_completion(PAGES, Duration::ZERO, None)).map_err(failed)?;
        }
        // A copy of a file that changed meanwhile is worth nothing.
        if base.is_some_and(|base| !base.guard.holds()) {
            connection = Connection::open("").map_err(failed)?;
        }
        let path = PathBuf::from("(a temporary copy)");
        let Some(mut writer) = IndexWriter::in_connection(connection, path.clone(), IndexContent::Tables)? else {
            return Err(IndexError::Busy { path });
        };
        let blobs = log.blobs();
        let mut following = log.follow(Scope::All { from: writer.covered().cursor });
        while let Some(followed) = following.next().await.transpose()? {
            let Followed::Batch { slice, place: Some(place) } = followed else { break };
            writer.take(&slice.batch, place, &*blobs)?;
        }
        writer.commit(&*blobs)?;
        Self { connection: writer.into_connection(), guard: None }.protect()
    }

    /// Leaves only the sessions that work in one of these directories.
    pub fn of_directories(mut self, directories: &BTreeSet<String>) -> Result<Self, IndexError> {
        let mut limit = || {
            self.connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
            self.connection.pragma_update(None, "query_only", false)?;
            self.connection.execute_batch("create temp table _chosen (id text primary key) without rowid")?;
            let mut choose =
                self.connection.prepare("insert into _chosen select id from main._session where directory = ?")?;
            for directory in directories {
                choose.execute([directory])?;
            }
            for view in schema::VIEW_NAMES {
                let id = if view == "sessions" { "id" } else { "session" };
                self.connection.execute_batch(&format!(
                    "create temp view {view} as select * from main.{view} where {id} in (select id from _chosen)"
                ))?;
            }
            Ok(())
        };
        limit().map_err(|source| IndexError::of(PathBuf::from("(sql)"), source))?;
        self.protect()
    }

    /// Queries stop when `is_due` says so, and make no value that is longer than 64 MiB.
    pub fn limited(mut self, is_due: impl FnMut() -> bool + Send + 'static) -> Result<Self, IndexError> {
        let limited = self.connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST);
        let limited = limited.and_then(|_| self.connection.progress_handler(STEPS, Some(is_due)));
        limited.map_err(|source| IndexError::of(PathBuf::from("(sql)"), source))?;
        Ok(self)
    }

    /// Allows nothing but reading.
    fn protect(mut self) -> Result<Self, IndexError> {
        let mut protect = || {
            // What a query sorts may be larger than the memory.
            self.connection.pragma_update(None, "temp_store", "file")?;
            self.connection.pragma_update(None, "query_only", true)?;
            self.connection.authorizer(Some(authorize))
        };
        protect().map_err(|source| IndexError::of(PathBuf::from("(sql)"), source))?;
        Ok(self)
    }

    /// Runs one query. `visit` receives the names of the columns and each row. No row is given that was read while the index changed.
    pub fn query(
        &self,
        sql: &str,
        mut visit: impl FnMut(&[String], &[SqlValue]) -> std::io::Result<()>,
    ) -> Result<Vec<String>, SqlError> {
        let failed = |error| self.failed(error);
        let mut statements = Batch::new(&self.connection, sql);
        let Some(mut statement) = statements.next().map_err(failed)? else {
            return Err(SqlError::Query("the query is missing; the tables: annals sql --schema".to_owned()));
        };
        if statements.next().map_err(failed)?.is_some() {
            return Err(SqlError::Query("one query at a time".to_owned()));
        }
        if !statement.readonly() {
            return Err(SqlError::NotAllowed);
        }
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.raw_query();
        let (mut chunk, mut bytes): (Vec<Vec<SqlValue>>, usize) = (Vec::new(), 0);
        loop {
            let row = rows.next().map_err(failed)?;
            let read = row.map(|row| (0..columns.len()).map(|at| row.get_ref(at).map(SqlValue::of)).collect());
            let read: Option<Vec<SqlValue>> = read.transpose().map_err(failed)?;
            let ended = read.is_none();
            bytes += read.iter().flatten().map(SqlValue::bytes).sum::<usize>();
            chunk.extend(read);
            if ended || chunk.len() >= CHUNK || bytes >= CHUNK_BYTES {
                bytes = 0;
                if self.guard.as_ref().is_some_and(|guard| !guard.holds()) {
                    return Err(SqlError::Changed);
                }
                for row in chunk.drain(..) {
                    visit(&columns, &row)?;
                }
            }
            if ended {
                return Ok(columns);
            }
        }
    }

    fn failed(&self, error: rusqlite::Error) -> SqlError {
        if self.guard.as_ref().is_some_and(|guard| !guard.holds()) {
            return SqlError::Changed;
        }
        match (error.sqlite_error_code(), error) {
            (Some(ErrorCode::AuthorizationForStatementDenied | ErrorCode::ReadOnly), _) => SqlError::NotAllowed,
            (Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase), _) => SqlError::Damaged,
            (Some(ErrorCode::OperationInterrupted), _) => SqlError::Stopped,
            (_, rusqlite::Error::SqlInputError { msg, .. } | rusqlite::Error::SqliteFailure(_, Some(msg))) => {
                SqlError::Query(msg)
            }
            (_, error) => SqlError::Query(error.to_string()),
        }
    }
}

/// An index that is read as it is.
struct Base {
    connection: Connection,
    guard: ChangeGuard,
    covered: (annals_inspect::search::IndexedUpTo, u64),
}

impl Base {
    fn open(place: &IndexPlace) -> Option<Self> {
        let guard = ChangeGuard::begin(place)?;
        let connection = place.open_immutable().ok().flatten()?;
        let covered =
            schema::is_current(&connection).ok().filter(|current| *current).and_then(|_| covered(&connection).ok());
        covered.filter(|_| guard.holds()).map(|covered| Self { connection, guard, covered })
    }
}

/// Pragmas that only show how the tables look.
const SHOWING: [&str; 5] = ["table_info", "table_xinfo", "table_list", "index_list", "index_info"];

fn authorize(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Read { .. } => Authorization::Allow,
        AuthAction::Function { function_name } if function_name != "load_extension" => Authorization::Allow,
        AuthAction::Pragma { pragma_name, .. } if SHOWING.contains(&pragma_name) => Authorization::Allow,
        _ => Authorization::Deny,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_store::MemoryLog;

    /// All whole numbers, and the same as texts of a megabyte.
    const NUMBERS: &str = "with recursive n (x) as (select 1 union all select x + 1 from n)";

    async fn tables(is_due: impl FnMut() -> bool + Send + 'static) -> Result<SqlTables, IndexError> {
        SqlTables::open(&MemoryLog::new(), None).await?.limited(is_due)
    }

    #[tokio::test]
    async fn a_query_without_end_stops_when_it_is_to() -> Result<(), IndexError> {
        let mut looks = 0;
        let tables = tables(move || {
            looks += 1;
            looks > 3
        });
        let tables = tables.await?;
        for query in ["select count(*) from n", "select x from n where x < 0", "select x from n order by -x limit 1"] {
            let stopped = tables.query(&format!("{NUMBERS} {query}"), |_, _| Ok(()));
            assert!(matches!(stopped, Err(SqlError::Stopped)), "{query}: {stopped:?}");
        }
        Ok(())
    }

    #[tokio::test]
    async fn no_query_makes_a_value_or_holds_rows_without_a_limit() -> Result<(), IndexError> {
        let tables = tables(|| false).await?;
        let long = tables.query("select length(hex(zeroblob(60000000)))", |_, _| Ok(()));
        assert!(matches!(&long, Err(SqlError::Query(words)) if words.contains("too big")), "{long:?}");
        let mut first = None;
        let rows = format!("{NUMBERS} select x, zeroblob(10000000) from n");
        let ended = tables.query(&rows, |_, row| {
            first = first.take().or(row.first().cloned());
            Err(std::io::ErrorKind::WriteZero.into())
        });
        assert!(matches!(ended, Err(SqlError::Output(_))) && first == Some(SqlValue::Integer(1)));
        Ok(())
    }
}
