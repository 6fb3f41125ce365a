//! Writes the rows of batches, in the order of the store.

use crate::indexed_session::{IndexedSession, RequestChange};
use crate::rows::{CallRow, MessageRow};
use crate::{IndexError, IndexPlace, schema};
use annals_core::event::{FilesEvent, InputEvent, PermissionEvent, SessionEvent, StepEvent, ToolEvent};
use annals_core::{Batch, Blobs, Digest, Event, Record, Seq, SessionId};
use annals_inspect::search::{IndexedUpTo, TextAuthor, authored_texts, indexed_text, words_of_folded};
use annals_inspect::touched_files::touched_files;
use annals_projections::{Body, Content, Projection, UsageTotals};
use annals_store::Position;
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

/// How many sessions are kept in memory while batches of all are written.
const SESSIONS: usize = 512;
/// How many messages of a session are kept before they are written.
const UNWRITTEN: usize = 32;

/// An index that is being filled. What was written since the last [`IndexWriter::commit`] is lost when it is dropped.
pub(crate) struct IndexWriter {
    connection: Connection,
    path: PathBuf,
    sessions: HashMap<SessionId, IndexedSession>,
    next_session: i64,
    next_text: i64,
    covered: IndexedUpTo,
    events: u64,
}

impl IndexWriter {
    /// Opens the index of a store and begins to change it. A file that is damaged or of another version is made again.
    pub fn open(place: &IndexPlace) -> Result<Self, IndexError> {
        match Self::in_connection(place.open_to_write()?, place.file()) {
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
        let opened = Self::in_connection(place.open_to_write()?, place.file())?;
        opened.ok_or_else(|| IndexError::Busy { path: place.file() })
    }

    /// Begins to change the index in a connection; `None` when it is of another version.
    pub fn in_connection(connection: Connection, path: PathBuf) -> Result<Option<Self>, IndexError> {
        let begin = || {
            connection.execute_batch(schema::SETTINGS)?;
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
        }))
    }

    /// Up to where the index covers the log.
    pub const fn covered(&self) -> IndexedUpTo {
        self.covered
    }

    /// How many events it covers.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Writes the rows of a batch, which is the next one of the store.
    pub fn take(&mut self, batch: &Batch, position: Position, blobs: &dyn Blobs) -> Result<(), IndexError> {
        self.write(batch, position, blobs).map_err(|source| IndexError::of(self.path.clone(), source))
    }

    /// Makes what was written durable. [`IndexWriter::begin`] continues.
    pub fn commit(&mut self, blobs: &dyn Blobs) -> Result<(), IndexError> {
        let mut commit = || {
            self.save_sessions(blobs)?;
            let mut update =
                self.connection.prepare_cached("update _covered set position = ?, digest = ?, events = ?")?;
            let IndexedUpTo { position, digest } = self.covered;
            update.execute(params![position.0 as i64, digest.0, self.events as i64])?;
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

    fn write(&mut self, batch: &Batch, position: Position, blobs: &dyn Blobs) -> rusqlite::Result<()> {
        if self.sessions.len() >= SESSIONS {
            self.save_sessions(blobs)?;
        }
        let mut state = self.take_session(batch.session)?;
        for record in batch.records() {
            self.record(&mut state, &record, position, blobs)?;
            self.events += 1;
        }
        self.covered = IndexedUpTo { position: Position(position.0 + 1), digest: batch.digest };
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

    fn record(
        &mut self,
        state: &mut IndexedSession,
        record: &Record<'_>,
        position: Position,
        blobs: &dyn Blobs,
    ) -> rusqlite::Result<()> {
        let Record { seq, at, event, .. } = *record;
        self.statement("insert into _event values (?, ?, ?, ?, ?)")?.execute(params![
            state.key,
            seq.0 as i64,
            at.0 as i64,
            event.kind().number(),
            position.0 as i64
        ])?;
        if let Event::Session(SessionEvent::Forked(forked)) = event {
            self.inherit(state, forked.parent, forked.cut, blobs)?;
        }
        let ends_many = matches!(
            event,
            Event::Files(FilesEvent::RevertCommitted(_))
                | Event::Session(SessionEvent::Forked(_))
                | Event::Permission(PermissionEvent::Replied(_))
        );
        if ends_many {
            // These change messages without naming them: what is left after writing are those that may change.
            self.write_messages(state, blobs)?;
            let open: Vec<Seq> = state.messages.list().iter().map(|message| message.seq).collect();
            for seq in open {
                state.unwritten.insert(seq, state.turn);
            }
        }
        let tool = tool_of(state, event);
        state.catalogue.apply(record);
        if let Event::Input(InputEvent::Promoted(_)) = event {
            state.turn = (state.turn.0 + 1, seq);
        }
        if let Some(changed) = state.messages.apply(record) {
            let turn = state.turn;
            state.unwritten.entry(changed).or_insert(turn);
        }
        if let Event::Files(FilesEvent::RevertCommitted(committed)) = event {
            self.write_messages(state, blobs)?;
            self.undo(state, committed.first_removed)?;
        }
        self.request(state, record)?;
        self.usage(state, record)?;
        self.files(state, record, tool.as_deref(), blobs)?;
        self.texts(state, record, tool.as_deref(), blobs)?;
        if state.unwritten.len() >= UNWRITTEN {
            self.write_messages(state, blobs)?;
        }
        Ok(())
    }

    /// What a fork has from the session that it continues.
    fn inherit(
        &mut self,
        state: &mut IndexedSession,
        parent: SessionId,
        cut: Seq,
        blobs: &dyn Blobs,
    ) -> rusqlite::Result<()> {
        let known = self.sessions.contains_key(&parent) || self.load_session(parent)?.is_some();
        if !known || parent == state.id {
            return Ok(());
        }
        let mut parent_state = self.take_session(parent)?;
        self.write_messages(&mut parent_state, blobs)?;
        state.catalogue.sessions.insert(parent, parent_state.entry());
        let mut select = self
            .statement("select turn, turn_seq from _message where session = ? and seq < ? order by seq desc limit 1")?;
        let turn = select.query_row(params![parent_state.key, cut.0 as i64], |row| {
            Ok((row.get::<_, i64>(0)? as u64, Seq(row.get::<_, i64>(1)? as u64)))
        });
        state.turn = turn.optional()?.unwrap_or_default();
        drop(select);
        self.sessions.insert(parent, parent_state);
        Ok(())
    }

    /// Marks what a revert removed.
    fn undo(&self, state: &mut IndexedSession, first: Seq) -> rusqlite::Result<()> {
        for sql in [
            "update _message set undone = 1 where session = ? and seq >= ?",
            "update _call set undone = 1 where session = ? and message >= ?",
        ] {
            self.statement(sql)?.execute(params![state.key, first.0 as i64])?;
        }
        let mut select = self.statement(
            "select turn, seq from _message where session = ? and seq < ? and role = 'user' and not undone order by seq desc limit 1",
        )?;
        let turn = select.query_row(params![state.key, first.0 as i64], |row| {
            Ok((row.get::<_, i64>(0)? as u64, Seq(row.get::<_, i64>(1)? as u64)))
        });
        state.turn = turn.optional()?.unwrap_or_default();
        Ok(())
    }

    fn request(&self, state: &mut IndexedSession, record: &Record<'_>) -> rusqlite::Result<()> {
        let (seq, at) = (record.seq.0 as i64, record.at.0 as i64);
        match state.requests.apply(record) {
            None => Ok(()),
            Some(RequestChange::Begins(number)) => {
                let (recorded, purpose, attempt, agent, model) = match record.event {
                    Event::Step(StepEvent::RequestSent(sent)) => {
                        (true, sent.purpose.as_str(), sent.attempt, &sent.agent, &sent.model)
                    }
                    Event::Step(StepEvent::Started(started)) => (false, "turn", 1, &started.agent, &started.model),
                    _ => return Ok(()),
                };
                let mut insert = self.statement(
                    "insert into _request (session, seq, turn, number, at, recorded, purpose, attempt, agent, model)
                    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                )?;
                let (turn, number) = (state.turn.0 as i64, number as i64);
                let (agent, model) = (agent.as_str(), model.as_str());
                insert.execute(params![state.key, seq, turn, number, at, recorded, purpose, attempt, agent, model])?;
                Ok(())
            }
            Some(RequestChange::Ends { request, usage, cost }) => {
                let mut update = self.statement(
                    "update _request set answered = ?, answered_at = ?, input = ?, output = ?, reasoning = ?, cache_read = ?,
                    cache_write = ?, cost = ? where session = ? and seq = ?",
                )?;
                let tokens = |of: fn(&annals_core::event::Usage) -> u64| usage.as_ref().map(|usage| of(usage) as i64);
                // A cost of nothing for tokens is a price that is not known.
                let priced = cost > 0 || usage.is_none_or(|usage| usage == annals_core::event::Usage::default());
                update.execute(params![
                    seq,
                    at,
                    tokens(|it| it.input),
                    tokens(|it| it.output),
                    tokens(|it| it.reasoning),
                    tokens(|it| it.cache_read),
                    tokens(|it| it.cache_write),
                    priced.then_some(cost as i64),
                    state.key,
                    request.0 as i64
                ])?;
                Ok(())
            }
        }
    }

    fn usage(&self, state: &IndexedSession, record: &Record<'_>) -> rusqlite::Result<()> {
        let mut totals = UsageTotals::default();
        totals.apply(record);
        if totals == UsageTotals::default() {
            return Ok(());
        }
        let entry = state.catalogue.sessions.get(&state.id);
        let model = entry.and_then(|entry| entry.unpriced.asked(record.event)).map(|model| model.as_str().to_owned());
        let purpose = match record.event {
            Event::Step(_) => "turn",
            Event::Compaction(_) => "summary",
            _ => "title",
        };
        let UsageTotals { tokens, cost, attempts, unpriced } = totals;
        self.statement("insert into _usage values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?.execute(params![
            state.key,
            record.seq.0 as i64,
            state.turn.0 as i64,
            state.turn.1.0 as i64,
            record.at.0 as i64,
            model.unwrap_or_default(),
            purpose,
            attempts as i64,
            tokens.input as i64,
            tokens.output as i64,
            tokens.reasoning as i64,
            tokens.cache_read as i64,
            tokens.cache_write as i64,
            cost as i64,
            unpriced as i64
        ])?;
        Ok(())
    }

    fn files(
        &self,
        state: &IndexedSession,
        record: &Record<'_>,
        tool: Option<&str>,
        blobs: &dyn Blobs,
    ) -> rusqlite::Result<()> {
        for file in touched_files(record.event, blobs) {
            self.statement("insert into _file values (?, ?, ?, ?, ?, ?, ?)")?.execute(params![
                state.key,
                record.seq.0 as i64,
                state.turn.0 as i64,
                record.at.0 as i64,
                file.path,
                file.action.name(),
                tool
            ])?;
        }
        Ok(())
    }

    /// The texts for search: one row for each author of an event.
    fn texts(
        &mut self,
        state: &IndexedSession,
        record: &Record<'_>,
        tool: Option<&str>,
        blobs: &dyn Blobs,
    ) -> rusqlite::Result<()> {
        let texts = authored_texts(record.event);
        for (number, author) in TextAuthor::ALL.into_iter().enumerate() {
            let mut folded = String::new();
            for (_, text) in texts.iter().filter(|(by, _)| *by == author) {
                folded.push_str(&indexed_text(&text.resolve(blobs)));
                folded.push('\n');
            }
            if folded.is_empty() {
                continue;
            }
            let id = self.next_text;
            self.next_text += 1;
            let (seq, at, author) = (record.seq.0 as i64, record.at.0 as i64, number as i64);
            self.statement("insert into _text values (?, ?, ?, ?, ?, ?)")?
                .execute(params![id, state.key, seq, author, at, tool])?;
            self.statement("insert into _trigram (rowid, text) values (?, ?)")?.execute(params![id, folded])?;
            let words: BTreeSet<&str> = words_of_folded(&folded).collect();
            let words = words.into_iter().collect::<Vec<_>>().join(" ");
            self.statement("insert into _word (rowid, text) values (?, ?)")?.execute(params![id, words])?;
        }
        Ok(())
    }

    /// Writes the messages that changed, and evicts those that nothing can change any more.
    fn write_messages(&self, state: &mut IndexedSession, blobs: &dyn Blobs) -> rusqlite::Result<()> {
        for (seq, turn) in std::mem::take(&mut state.unwritten) {
            let Some(message) = state.messages.get(seq) else { continue };
            let row = MessageRow::of(message, blobs);
            let (turn, turn_seq) = (turn.0 as i64, turn.1.0 as i64);
            let mut insert = self.statement(
                "insert into _message (session, seq, turn, turn_seq, at, role, agent, model, text, chars, reasoning, finish, error, ended)
                values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                on conflict do update set text = excluded.text, chars = excluded.chars, reasoning = excluded.reasoning,
                    finish = excluded.finish, error = excluded.error, ended = excluded.ended",
            )?;
            insert.execute(params![
                state.key,
                seq.0 as i64,
                turn,
                turn_seq,
                message.at.0 as i64,
                row.role,
                row.agent,
                row.model,
                row.text,
                row.chars as i64,
                row.reasoning,
                row.finish,
                row.error,
                row.ended.map(|at| at.0 as i64)
            ])?;
            let Body::Assistant(assistant) = &message.body else { continue };
            for content in &assistant.content {
                let Content::Tool(call) = content else { continue };
                let row = CallRow::of(call, blobs);
                let mut insert = self.statement(
                    "insert into _call (session, seq, message, turn, turn_seq, at, call, tool, input, status, outcome, output,
                        output_chars, error, ended)
                    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    on conflict do update set status = excluded.status, outcome = excluded.outcome, output = excluded.output,
                        output_chars = excluded.output_chars, error = excluded.error, ended = excluded.ended",
                )?;
                insert.execute(params![
                    state.key,
                    call.seq.0 as i64,
                    seq.0 as i64,
                    turn,
                    turn_seq,
                    call.at.0 as i64,
                    row.call,
                    row.tool,
                    row.input,
                    row.status,
                    row.outcome,
                    row.output,
                    row.output_chars as i64,
                    row.error,
                    row.ended.map(|at| at.0 as i64)
                ])?;
            }
        }
        state.messages.evict();
        Ok(())
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
            let project = entry.directory.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
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

/// The tool of a call, or of what settles one.
fn tool_of(state: &IndexedSession, event: &Event) -> Option<String> {
    match event {
        Event::Tool(ToolEvent::Called(called)) => Some(called.name.clone()),
        Event::Tool(ToolEvent::Settled(settled)) => state.tool_of(&settled.call),
        _ => None,
    }
}

/// Up to where a file covers the log, and how many events that are.
pub(crate) fn covered(connection: &Connection) -> rusqlite::Result<(IndexedUpTo, u64)> {
    connection.query_row("select position, digest, events from _covered", [], |row| {
        let digest: Vec<u8> = row.get(1)?;
        let digest = Digest(<[u8; 32]>::try_from(digest).unwrap_or_default());
        let position = Position(row.get::<_, i64>(0)? as u64);
        Ok((IndexedUpTo { position, digest }, row.get::<_, i64>(2)? as u64))
    })
}
