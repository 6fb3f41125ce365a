//! OpenCode's database with the sessions of both generations. Opened read-only; OpenCode may be running.

use super::super::foreign::Notes;
use super::super::sink::{ImportSink, ReadSourceError, SourceItem};
use super::epochs::EpochRow;
use super::fork_source::ForkSource;
use super::info::{OpenCodeSession, is_placeholder};
use super::projection::ProjectionRows;
use super::rows::{EventRow, RowMapper, Survey};
use super::v1_export::FinalStateReader;
use super::{v1_rows, v2, v2_rows};
use annals_core::Time;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The form in `origin` of a session that is only in the tables `message` and `part`.
const FORM_ROWS: &str = "v1-rows";

/// A row of the table `session`.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRow {
    /// Its description.
    pub info: OpenCodeSession,
    /// The time of its last change (ms).
    pub updated: u64,
    /// How many event rows it has, if it has any.
    pub rows: Option<u64>,
    revert: Option<String>,
}

/// Opens a database without writing to its folder. While OpenCode runs there is a write-ahead log, which is read as well;
/// otherwise the file is opened as immutable, so that SQLite creates no further files. The flag says that the write-ahead log
/// could not be read.
fn open(path: &Path) -> rusqlite::Result<(Connection, bool)> {
    let projection = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let live = projection("-wal").metadata().is_ok_and(|meta| meta.len() > 0);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let mut refused = false;
    if live {
        let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
            connection.busy_timeout(Duration::from_secs(5))?;
            connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
            Ok(connection)
        });
        match opened {
            Ok(connection) => return Ok((connection, false)),
            Err(_) => refused = true,
        }
    }
    let mut uri = String::from("file:");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'?' | b'#' | b'%' => uri.push_str(&format!("%{byte:02x}")),
            _ if byte.is_ascii() => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    Connection::open_with_flags(uri, flags).map(|connection| (connection, refused))
}

/// Whether a database has the sessions of OpenCode. One that cannot be opened now may have them.
pub fn is_database(path: &Path) -> bool {
    const QUERY: &str =
        "SELECT count(*) FROM pragma_table_info('session') WHERE name IN ('id', 'directory', 'time_created')";
    let columns = open(path).and_then(|(connection, _)| connection.query_row(QUERY, [], |row| row.get::<_, i64>(0)));
    columns.map_or(true, |columns| columns == 3)
}

/// Lists the sessions of a database, oldest first.
///
/// # Errors
/// When it cannot be read, or is not OpenCode's.
pub fn list(path: &Path) -> Result<Vec<SessionRow>, ReadSourceError> {
    let failed = |source| ReadSourceError::Database { path: path.to_owned(), source };
    let (connection, _) = open(path).map_err(failed)?;
    let mut rows = sessions(&connection, program(path)).map_err(failed)?;
    for row in rows.iter_mut().filter(|row| row.info.title.is_none()) {
        row.info.title = first_prompt(&connection, &row.info.id);
    }
    Ok(rows)
}

/// How many characters of a prompt a list has.
const PROMPT: usize = 100;

/// The start of the first prompt of a session of either generation, for lists; `None` where it is not found.
fn first_prompt(connection: &Connection, session: &str) -> Option<String> {
    const QUERIES: [&str; 2] = [
        "SELECT json_extract(prompt, '$.text') FROM session_input WHERE session_id = ?1 ORDER BY admitted_seq LIMIT 1",
        "SELECT json_extract(part.data, '$.text') FROM part JOIN message ON message.id = part.message_id
         WHERE part.session_id = ?1 AND json_extract(message.data, '$.role') = 'user'
         AND json_extract(part.data, '$.type') = 'text' ORDER BY part.id LIMIT 1",
    ];
    // A database of another version lacks some of these tables.
    let found = |query: &&str| connection.query_row(query, [session], |row| Ok(text_of(row.get_ref(0)?))).ok()?;
    let prompt = QUERIES.iter().find_map(found)?;
    let line: Vec<&str> = prompt.split_whitespace().collect();
    Some(line.join(" ").chars().take(PROMPT).collect())
}

/// The program of a database, by its name; empty for OpenCode. Kilo has the same tables.
fn program(path: &Path) -> &'static str {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with("kilo") || path.parent().is_some_and(|folder| folder.ends_with("kilo")) {
        super::KILO
    } else {
        ""
    }
}

fn sessions(connection: &Connection, program: &'static str) -> rusqlite::Result<Vec<SessionRow>> {
    let has = |column: &str| -> rusqlite::Result<bool> {
        let found = connection
            .query_row("SELECT 1 FROM pragma_table_info('session') WHERE name = ?1", [column], |_| Ok(()))
            .optional()?;
        Ok(found.is_some())
    };
    let mut columns = Vec::new();
    for column in ["workspace_id", "parent_id", "title", "version", "agent", "model", "revert"] {
        columns.push(if has(column)? { column } else { "NULL" });
    }
    let sequences = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'event_sequence'";
    let counted = connection.query_row(sequences, [], |_| Ok(())).optional()?.is_some();
    columns.extend(["time_created", "time_updated"]);
    columns.push(if counted { "(SELECT seq FROM event_sequence WHERE aggregate_id = session.id)" } else { "NULL" });
    let query = format!("SELECT id, directory, {} FROM session ORDER BY time_created, id", columns.join(", "));
    let mut statement = connection.prepare(&query)?;
    let rows = statement.query_map([], |row| {
        let text = |at: usize| -> rusqlite::Result<Option<String>> { Ok(text_of(row.get_ref(at)?)) };
        let model = text(7)?.and_then(|json| {
            let notes = Notes::default();
            let object = super::super::foreign::JsonObject::parse(&json, "model", &notes).ok()?;
            super::info::model(&object)
        });
        Ok(SessionRow {
            info: OpenCodeSession {
                id: text(0)?.unwrap_or_default(),
                directory: text(1)?.unwrap_or_default(),
                workspace: text(2)?,
                parent: text(3)?,
                title: text(4)?.filter(|title| !is_placeholder(title)),
                version: text(5)?,
                agent: text(6)?,
                model,
                created: number(row.get_ref(9)?),
                program,
            },
            updated: number(row.get_ref(10)?),
            rows: row.get::<_, Option<i64>>(11)?.and_then(|seq| u64::try_from(seq + 1).ok()),
            revert: text(8)?,
        })
    })?;
    rows.collect()
}

fn text_of(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

fn number(value: ValueRef<'_>) -> u64 {
    match value {
        ValueRef::Integer(value) => u64::try_from(value).unwrap_or_default(),
        _ => 0,
    }
}

/// Reads the sessions of a database; `only` those with these foreign ids, if given. All reads see the same state.
///
/// # Errors
/// When it cannot be read, or is not OpenCode's.
pub fn read(path: &Path, only: Option<&BTreeSet<String>>, sink: &mut ImportSink<'_>) -> Result<(), ReadSourceError> {
    let failed = |source| ReadSourceError::Database { path: path.to_owned(), source };
    let (connection, refused) = open(path).map_err(failed)?;
    if refused {
        sink.damaged(None, 0, "the write-ahead log could not be read: the newest records may be missing")?;
    }
    connection.execute_batch("BEGIN").map_err(failed)?;
    let rows = sessions(&connection, program(path)).map_err(failed)?;
    let wanted: Vec<&SessionRow> =
        rows.iter().filter(|row| only.is_none_or(|only| only.contains(&row.info.id))).collect();
    let total = wanted.len() as u64;
    for (done, row) in wanted.into_iter().enumerate() {
        let reading = DatabaseSession { connection: &connection, path, row, rows: &rows, depth: 0 };
        reading.read(sink)?;
        (sink.send)(SourceItem::Progress { done: done as u64 + 1, total })?;
    }
    Ok(())
}

struct DatabaseSession<'a> {
    connection: &'a Connection,
    path: &'a Path,
    row: &'a SessionRow,
    rows: &'a [SessionRow],
    depth: u32,
}

/// How many forks of forks are followed.
const DEPTH_MAX: u32 = 16;

impl DatabaseSession<'_> {
    fn failed(&self, source: rusqlite::Error) -> ReadSourceError {
        ReadSourceError::Database { path: self.path.to_owned(), source }
    }

    fn table(&self, name: &str) -> Result<bool, ReadSourceError> {
        let query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1";
        let found = self.connection.query_row(query, [name], |_| Ok(())).optional();
        found.map(|found| found.is_some()).map_err(|error| self.failed(error))
    }

    /// The session that this one is a fork of: one with the first message that was copied. It is read without being imported.
    fn source(&self, sink: &ImportSink<'_>) -> Result<Option<ForkSource>, ReadSourceError> {
        let failed = |error| self.failed(error);
        let info = &self.row.info;
        if self.depth >= DEPTH_MAX || !self.table("message")? {
            return Ok(None);
        }
        const TIME: &str = "json_extract(data, '$.time.created')";
        let first = format!("SELECT min({TIME}) FROM message WHERE session_id = ?1");
        let first: Option<i64> = self.connection.query_row(&first, [&info.id], |row| row.get(0)).map_err(failed)?;
        let Some(first) = first.filter(|first| u64::try_from(*first).is_ok_and(|first| first < info.created)) else {
            return Ok(None);
        };
        let query = format!(
            "SELECT session.id FROM message JOIN session ON session.id = message.session_id
             WHERE {TIME} = ?1 AND session.id != ?2 AND session.time_created < ?3 ORDER BY session.time_created DESC",
            TIME = "json_extract(message.data, '$.time.created')"
        );
        let near = i64::try_from(info.created).unwrap_or(i64::MAX);
        let found = self.connection.query_row(&query, params![first, info.id, near], |row| row.get::<_, String>(0));
        let Some(found) = found.optional().map_err(failed)? else { return Ok(None) };
        let Some(row) = self.rows.iter().find(|row| row.info.id == found) else { return Ok(None) };
        let mut unheard = |_| Ok(());
        let mut quiet = ImportSink { send: &mut unheard, ..*sink };
        DatabaseSession { row, depth: self.depth + 1, ..*self }.read_as_source(&mut quiet)
    }

    fn read(&self, sink: &mut ImportSink<'_>) -> Result<(), ReadSourceError> {
        self.read_as_source(sink).map(|_| ())
    }

    /// Reads the session. Returns it as one that another may be a fork of.
    fn read_as_source(&self, sink: &mut ImportSink<'_>) -> Result<Option<ForkSource>, ReadSourceError> {
        let id = &self.row.info.id;
        if self.table("event")? {
            let (survey, from_start) = self.survey(id).map_err(|error| self.failed(error))?;
            if survey.v2 {
                let projection = self.projection(id)?;
                return self.event_rows(
                    sink,
                    RowMapper::V2(Box::new(v2_rows::V2RowReader::new(id, projection, survey.last_update))),
                );
            }
            if from_start {
                let reading = v1_rows::V1RowReader::new(id, self.row.info.program);
                return self.event_rows(sink, RowMapper::V1(Box::new(reading)));
            }
        }
        self.tables(sink)
    }

    /// The kinds of rows, and whether they are the complete log of a V1 session.
    fn survey(&self, id: &str) -> rusqlite::Result<(Survey, bool)> {
        let mut survey = Survey::default();
        let mut messages = false;
        let mut first = None;
        let mut statement = self
            .connection
            .prepare_cached("SELECT type, min(seq), max(seq) FROM event WHERE aggregate_id = ?1 GROUP BY type")?;
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            let kind = text_of(row.get_ref(0)?).unwrap_or_default();
            survey.row(&kind, number(row.get_ref(2)?));
            messages |= kind.starts_with("message.");
            if v2::bare(&kind) == "session.created" {
                first = Some(number(row.get_ref(1)?));
            }
        }
        Ok((survey, first == Some(0) && (messages || !self.has_messages(id)?)))
    }

    fn has_messages(&self, id: &str) -> rusqlite::Result<bool> {
        let query = "SELECT 1 FROM message WHERE session_id = ?1 LIMIT 1";
        Ok(self.connection.query_row(query, [id], |_| Ok(())).optional()?.is_some())
    }

    fn projection(&self, id: &str) -> Result<ProjectionRows, ReadSourceError> {
        let mut projection = ProjectionRows { info: Some(self.row.info.clone()), ..ProjectionRows::default() };
        if !self.table("session_context_epoch")? {
            return Ok(projection);
        }
        let query = "SELECT baseline, snapshot, baseline_seq FROM session_context_epoch WHERE session_id = ?1";
        let found = self.connection.query_row(query, [id], |row| {
            Ok((text_of(row.get_ref(0)?), text_of(row.get_ref(1)?), number(row.get_ref(2)?)))
        });
        if let Some((Some(baseline), Some(snapshot), seq)) = found.optional().map_err(|error| self.failed(error))? {
            projection.epoch = EpochRow::read(baseline, &snapshot, seq, &Notes::default());
            if projection.epoch.is_none() {
                projection.unsound.push("session_context_epoch: not recognised".into());
            }
        }
        Ok(projection)
    }

    /// Reads event rows. The line of a row is its position from 1, as in a file of rows.
    fn event_rows(
        &self,
        sink: &mut ImportSink<'_>,
        mut reading: RowMapper,
    ) -> Result<Option<ForkSource>, ReadSourceError> {
        let failed = |error| self.failed(error);
        let notes = Notes::default();
        let mut is_found = false;
        let query = "SELECT seq, type, data FROM event WHERE aggregate_id = ?1 ORDER BY seq";
        let mut statement = self.connection.prepare_cached(query).map_err(failed)?;
        let mut rows = statement.query([&self.row.info.id]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let seq = number(row.get_ref(0).map_err(failed)?);
            let kind = text_of(row.get_ref(1).map_err(failed)?).unwrap_or_default();
            let data = text_of(row.get_ref(2).map_err(failed)?).unwrap_or_default();
            let row = EventRow { line: seq + 1, seq, kind: v2::bare(&kind), data: &data };
            if !is_found
                && let RowMapper::V1(fork) = &mut reading
                && fork.copied(&row).is_some()
            {
                is_found = true;
                self.source(sink)?.into_iter().for_each(|source| fork.set_source(source));
            }
            reading.row(sink, &row, &notes)?;
        }
        Ok(match reading {
            RowMapper::V1(read) => read.as_source(),
            RowMapper::V2(_) => None,
        })
    }

    /// Reads the tables `message` and `part`, the only ones of older versions.
    fn tables(&self, sink: &mut ImportSink<'_>) -> Result<Option<ForkSource>, ReadSourceError> {
        let failed = |error| self.failed(error);
        let notes = Notes::default();
        let mut session = FinalStateReader::begin(sink, self.row.info.clone(), FORM_ROWS)?;
        self.source(sink)?.into_iter().for_each(|source| session.set_source(source));
        let query = "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id";
        let mut messages = self.connection.prepare_cached(query).map_err(failed)?;
        let query = "SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id";
        let mut parts = self.connection.prepare_cached(query).map_err(failed)?;
        let pair = |row: &rusqlite::Row<'_>| {
            Ok((text_of(row.get_ref(0)?).unwrap_or_default(), text_of(row.get_ref(1)?).unwrap_or_default()))
        };
        let mut rows = messages.query_map(params![self.row.info.id], pair).map_err(failed)?;
        let mut next = rows.next().transpose().map_err(failed)?;
        while let Some((id, info)) = next {
            next = rows.next().transpose().map_err(failed)?;
            let found = parts.query_map([&id], pair).map_err(failed)?;
            let found: Vec<(String, String)> = found.collect::<Result<_, _>>().map_err(failed)?;
            let found: Vec<(String, &str)> = found.iter().map(|(id, data)| (id.clone(), data.as_str())).collect();
            session.message(sink, &id, &info, &found, next.is_none(), &notes)?;
        }
        Ok(Some(session.end(sink, self.row.revert.as_deref(), Time(self.row.updated), &notes)?))
    }
}
