//! Reading an index without a lock.

use crate::matching::{all_words, substrings};
use crate::{IndexError, IndexPlace, schema, writer};
use annals_core::{Seq, SessionId};
use annals_inspect::search::{CandidateQuery, IndexedUpTo, SearchCandidate, SearchIndex, TextAuthor, is_path};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Mutex, PoisonError};

/// An index that is only read. It is as it was when it was opened: a change by another process makes it unusable, which is noticed.
#[derive(Debug)]
pub struct IndexReader {
    connection: Mutex<Connection>,
    guard: ChangeGuard,
    covered: IndexedUpTo,
}

impl IndexReader {
    /// Opens the index of a store; `None` when there is none that can be used now: it is absent, damaged, of another version, or
    /// being written.
    pub fn open(place: &IndexPlace) -> Option<Self> {
        match Self::open_whole(place) {
            Ok(opened) => opened,
            Err(error) => {
                tracing::debug!(%error, "the index is not used");
                None
            }
        }
    }

    fn open_whole(place: &IndexPlace) -> Result<Option<Self>, IndexError> {
        let Some(guard) = ChangeGuard::begin(place) else { return Ok(None) };
        let Some(connection) = place.open_immutable()? else { return Ok(None) };
        let read = || {
            if !schema::is_current(&connection)? {
                return Ok(None);
            }
            writer::covered(&connection).map(Some)
        };
        let read = read().map_err(|source| IndexError::of(place.file(), source))?;
        Ok(read.filter(|_| guard.holds()).map(|(covered, _)| Self {
            connection: Mutex::new(connection),
            guard,
            covered,
        }))
    }

    /// Reads from the connection; `None` when that fails, or a writer changed the file.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        match read(&connection) {
            Ok(found) => Some(found).filter(|_| self.guard.holds()),
            Err(error) => {
                tracing::debug!(%error, "the index is not used");
                None
            }
        }
    }
}

impl SearchIndex for IndexReader {
    fn indexed_up_to(&self) -> IndexedUpTo {
        self.covered.clone()
    }

    fn candidates(&self, query: &CandidateQuery<'_>) -> Option<Vec<SearchCandidate>> {
        self.read(|connection| candidates(connection, query))
    }

    fn touching(&self, path: &str) -> Option<Vec<(SessionId, Seq)>> {
        self.read(|connection| touching(connection, path))
    }
}

/// The ids of sessions by their keys.
fn sessions(connection: &Connection) -> rusqlite::Result<HashMap<i64, SessionId>> {
    let mut select = connection.prepare("select key, id from _session")?;
    let rows = select.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    let parsed = rows.map(|row| row.map(|(key, id)| id.parse().ok().map(|id| (key, id))));
    parsed.filter_map(Result::transpose).collect()
}

pub(crate) fn candidates(
    connection: &Connection,
    query: &CandidateQuery<'_>,
) -> rusqlite::Result<Vec<SearchCandidate>> {
    let sessions = sessions(connection)?;
    let whole = whole(connection, query)?;
    let (mut sql, mut values) = ("select id, session, seq, author from _text".to_owned(), Vec::new());
    let mut conditions = Vec::new();
    if let Some(trigrams) = substrings(query.required) {
        conditions.push("id in (select rowid from _trigram where _trigram match ?)".to_owned());
        values.push(Value::from(trigrams));
    }
    if let Some(tool) = query.tool {
        conditions.push("tool = ? collate nocase".to_owned());
        values.push(Value::from(tool.to_owned()));
    }
    if let Some(since) = query.since {
        conditions.push("at >= ?".to_owned());
        values.push(Value::from(since.0 as i64));
    }
    if !query.authors.is_empty() {
        let numbers = query.authors.iter().filter_map(|by| TextAuthor::ALL.iter().position(|it| it == by));
        let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
        conditions.push(format!("author in ({})", numbers.join(", ")));
    }
    if !conditions.is_empty() {
        sql.push_str(" where ");
        sql.push_str(&conditions.join(" and "));
    }
    let mut select = connection.prepare(&sql)?;
    let mut rows = select.query(params_from_iter(values))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(session) = sessions.get(&row.get(1)?) else { continue };
        let Some(by) = TextAuthor::ALL.get(row.get::<_, i64>(3)? as usize) else { continue };
        let whole = whole.as_ref().is_none_or(|whole| row.get(0).is_ok_and(|id: i64| whole.contains(&id)));
        found.push(SearchCandidate { session: *session, seq: Seq(row.get::<_, i64>(2)? as u64), by: *by, whole });
    }
    Ok(found)
}

/// The texts that have all words as whole words; `None` when no word is asked for.
fn whole(connection: &Connection, query: &CandidateQuery<'_>) -> rusqlite::Result<Option<HashSet<i64>>> {
    let Some(words) = all_words(query.words) else { return Ok(None) };
    let mut select = connection.prepare("select rowid from _word where _word match ?")?;
    let rows = select.query_map([words], |row| row.get(0))?;
    rows.collect::<rusqlite::Result<_>>().map(Some)
}

fn touching(connection: &Connection, path: &str) -> rusqlite::Result<Vec<(SessionId, Seq)>> {
    let sessions = sessions(connection)?;
    let mut select = connection.prepare(
        r"select session, seq, path from _file where instr(replace(path, '\', '/'), replace(?, '\', '/')) > 0",
    )?;
    let mut rows = select.query([path])?;
    let mut found = BTreeSet::new();
    while let Some(row) = rows.next()? {
        let named: String = row.get(2)?;
        if let Some(session) = sessions.get(&row.get(0)?).filter(|_| is_path(&named, path)) {
            found.insert((*session, Seq(row.get::<_, i64>(1)? as u64)));
        }
    }
    Ok(found.into_iter().collect())
}

/// Notices that a file of SQLite was changed: while a change is unfinished its journal is there, and each finished one counts up in
/// the header.
#[derive(Debug)]
pub(crate) struct ChangeGuard {
    place: IndexPlace,
    file: File,
    counter: [u8; 4],
}

/// Where the counter of changes is in the header.
const COUNTER: u64 = 24;

impl ChangeGuard {
    /// Begins to watch; `None` when there is no file, or a change is unfinished.
    pub fn begin(place: &IndexPlace) -> Option<Self> {
        let file = File::open(place.file()).ok()?;
        let counter = counter(&file)?;
        Some(Self { place: place.clone(), file, counter }).filter(ChangeGuard::holds)
    }

    /// Whether nothing changed since.
    pub fn holds(&self) -> bool {
        // In this order: a change that ended between the two has counted up.
        !self.place.journal().exists() && counter(&self.file) == Some(self.counter) && self.is_in_place()
    }

    /// Whether the file was neither removed nor replaced.
    fn is_in_place(&self) -> bool {
        let is = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let (opened, found) = (self.file.metadata().map(is), std::fs::symlink_metadata(self.place.file()).map(is));
        matches!((opened, found), (Ok(opened), Ok(found)) if opened == found)
    }
}

fn counter(file: &File) -> Option<[u8; 4]> {
    let mut counter = [0; 4];
    file.read_exact_at(&mut counter, COUNTER).ok().map(|()| counter)
}
