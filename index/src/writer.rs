//! Writes the rows of batches, in the order of the store.

mod message_rows;
mod record;
mod text_rows;
mod usage_rows;

use crate::indexed_session::IndexedSession;
use crate::trigrams::TextTrigrams;
use crate::{IndexError, IndexPlace, schema};
use annals_core::{Batch, Blobs, Digest, SessionId};
use annals_inspect::recorded_path::last_name;
use annals_inspect::search::IndexedUpTo;
use annals_store::{StoreCursor, StorePlace};
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use std::collections::HashMap;
use std::path::PathBuf;

/// How many sessions are kept in memory while batches of all are written.
const SESSIONS: usize = 512;

/// What an index is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexContent {
    /// Texts for search, and tables: in a file.
    Everything,
    /// Tables alone: a private copy, which is never read again.
    Tables,
}

/// An index that is being filled. What was written since the last [`IndexWriter::commit`] is lost when it is dropped.
pub(crate) struct IndexWriter {
    connection: Connection,
    path: PathBuf,
    sessions: HashMap<SessionId, IndexedSession>,
    next_session: i64,
    next_text: i64,
    covered: IndexedUpTo,
    events: u64,
    content: IndexContent,
    trigrams: TextTrigrams,
}

impl IndexWriter {
    /// Opens the index of a store and begins to change it. A file that is damaged or of another version is made again.
    pub fn open(place: &IndexPlace) -> Result<Self, IndexError> {
        match Self::in_connection(place.open_to_write()?, place.file(), IndexContent::Everything) {
            Err(error) if error.is_damage() => Self::anew(place),
            opened => opened.and_then(|writer| match writer {
                Some(writer) => Ok(writer),
                None => Self::anew(place),
            }),
        }
    }

    /// Removes the index, and begins an empty one.
    pub fn anew(place: &IndexPlace) -> Result<Self, IndexError> {
        place.remove()?;
        let opened = Self::in_connection(place.open_to_write()?, place.file(), IndexContent::Everything)?;
        opened.ok_or_else(|| IndexError::Busy { path: place.file() })
    }

    /// Begins to change the index in a connection; `None` when it is of another version.
    pub fn in_connection(
        connection: Connection,
        path: PathBuf,
        content: IndexContent,
    ) -> Result<Option<Self>, IndexError> {
        let begin = || {
            connection.execute_batch(schema::SETTINGS)?;
            if content == IndexContent::Tables {
                connection.execute_batch(schema::PRIVATE_SETTINGS)?;
            }
            connection.execute_batch("begin immediate")?;
            if schema::is_empty(&connection)? {
                schema::create(&connection)?;
            }
            if !schema::is_current(&connection)? {
                return Ok(None);
            }
            let next = |table: &str, column: &str| {
                let sql = format!("select coalesce(max({column}), 0) + 1 from {table}");
                connection.query_row(&sql, [], |row| row.get::<_, i64>(0))
            };
            let covered = covered(&connection)?;
            Ok(Some((next("_session", "key")?, next("_text", "id")?, covered)))
        };
        let begun = begin().map_err(|source| IndexError::of(path.clone(), source))?;
        Ok(begun.map(|(next_session, next_text, (covered, events))| Self {
            connection,
            path,
            sessions: HashMap::new(),
            next_session,
            next_text,
            covered,
            events,
            content,
            trigrams: TextTrigrams::default(),
        }))
    }

    /// Up to where the index covers the log.
    pub fn covered(&self) -> IndexedUpTo {
        self.covered.clone()
    }

    /// How many events it covers.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Writes the rows of a batch, which is the next one of the store.
    pub fn take(&mut self, batch: &Batch, place: StorePlace, blobs: &dyn Blobs) -> Result<(), IndexError> {
        self.write(batch, place, blobs).map_err(|source| IndexError::of(self.path.clone(), source))
    }

    /// Makes what was written durable. [`IndexWriter::begin`] continues.
    pub fn commit(&mut self, blobs: &dyn Blobs) -> Result<(), IndexError> {
        let mut commit = || {
            self.save_sessions(blobs)?;
            let mut update =
                self.connection.prepare_cached("update _covered set cursor = ?, digest = ?, events = ?")?;
            let IndexedUpTo { cursor, digest } = &self.covered;
            update.execute(params![cursor.to_string(), digest.0, self.events as i64])?;
            drop(update);
            self.connection.execute_batch("commit")
        };
        commit().map_err(|source| IndexError::of(self.path.clone(), source))
    }

    /// Begins the next change.
    pub fn begin(&mut self) -> Result<(), IndexError> {
        let begun = self.connection.execute_batch("begin immediate");
        begun.map_err(|source| IndexError::of(self.path.clone(), source))
    }

    /// The connection, after a commit.
    pub fn into_connection(self) -> Connection {
        self.connection
    }

    /// The connection, to look at after a commit.
    #[cfg(test)]
    pub const fn connection(&self) -> &Connection {
        &self.connection
    }

    fn write(&mut self, batch: &Batch, place: StorePlace, blobs: &dyn Blobs) -> rusqlite::Result<()> {
        if self.sessions.len() >= SESSIONS {
            self.save_sessions(blobs)?;
        }
        let mut state = self.take_session(batch.session)?;
        for record in batch.records() {
            self.record(&mut state, &record, place.position, blobs)?;
            self.events += 1;
        }
        self.covered = IndexedUpTo { cursor: place.cursor, digest: batch.digest };
        self.sessions.insert(batch.session, state);
        Ok(())
    }

    fn statement(&self, sql: &str) -> rusqlite::Result<CachedStatement<'_>> {
        self.connection.prepare_cached(sql)
    }

    /// The state of a session, taken out; a new one for a session that is not known.
    fn take_session(&mut self, id: SessionId) -> rusqlite::Result<IndexedSession> {
        if let Some(state) = self.sessions.remove(&id) {
            return Ok(state);
        }
        if let Some(state) = self.load_session(id)? {
            return Ok(state);
        }
        let key = self.next_session;
        self.next_session += 1;
        Ok(IndexedSession::new(key, id))
    }

    fn load_session(&self, id: SessionId) -> rusqlite::Result<Option<IndexedSession>> {
        let mut select = self.statement("select state from _session where id = ?")?;
        let bytes: Option<Vec<u8>> = select.query_row([id.to_string()], |row| row.get(0)).optional()?;
        let decode = |bytes: Vec<u8>| {
            serde_json::from_slice(&bytes).map_err(|error| {
                rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Blob, Box::new(error))
            })
        };
        bytes.map(decode).transpose()
    }

    /// Writes what is kept of sessions in memory, and lets it go.
    fn save_sessions(&mut self, blobs: &dyn Blobs) -> rusqlite::Result<()> {
        for (_, mut state) in std::mem::take(&mut self.sessions) {
            self.write_messages(&mut state, blobs)?;
            let entry = state.entry();
            // What it inherited is in the entry.
            state.catalogue.sessions.retain(|id, _| *id == state.id);
            let encoded =
                serde_json::to_vec(&state).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
            let project = last_name(&entry.directory);
            self.statement(
                "insert or replace into _session values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                state.key,
                state.id.to_string(),
                entry.title,
                entry.agent.as_str(),
                entry.model.as_str(),
                entry.directory,
                project,
                entry.branch,
                entry.origin,
                entry.parent.as_ref().map(|parent| parent.session.to_string()),
                entry.fork.map(|fork| fork.parent.to_string()),
                entry.fork.map(|fork| fork.cut.0 as i64),
                entry.created.0 as i64,
                entry.updated.0 as i64,
                entry.next.0 as i64,
                entry.turns as i64,
                entry.unpriced.tokens.is_empty().then_some(entry.cost as i64),
                entry.forgotten,
                encoded
            ])?;
        }
        Ok(())
    }
}

/// Up to where a file covers the log, and how many events that are.
pub(crate) fn covered(connection: &Connection) -> rusqlite::Result<(IndexedUpTo, u64)> {
    connection.query_row("select cursor, digest, events from _covered", [], |row| {
        let digest: Vec<u8> = row.get(1)?;
        let digest = Digest(<[u8; 32]>::try_from(digest).unwrap_or_default());
        // What cannot be read is before everything: then the last batch is not there, and the index is made again.
        let cursor = row.get::<_, String>(0)?.parse().unwrap_or(StoreCursor::START);
        Ok((IndexedUpTo { cursor, digest }, row.get::<_, i64>(2)? as u64))
    })
}
