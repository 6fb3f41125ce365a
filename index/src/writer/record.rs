//! One event: what it changes in the folds of its session, and in the rows.

use super::IndexWriter;
use crate::indexed_session::IndexedSession;
use annals_core::event::{FilesEvent, InputEvent, PermissionEvent, SessionEvent, ToolEvent};
use annals_core::{Blobs, Event, Record, Seq, SessionId};
use annals_store::Position;
use rusqlite::{OptionalExtension, params};

/// How many messages of a session are kept before they are written.
const UNWRITTEN: usize = 32;

impl IndexWriter {
    pub(super) fn record(
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
    pub(super) fn inherit(
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
    pub(super) fn undo(&self, state: &mut IndexedSession, first: Seq) -> rusqlite::Result<()> {
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
}

/// The tool of a call, or of what settles one.
fn tool_of(state: &IndexedSession, event: &Event) -> Option<String> {
    match event {
        Event::Tool(ToolEvent::Called(called)) => Some(called.name.clone()),
        Event::Tool(ToolEvent::Settled(settled)) => state.tool_of(&settled.call),
        _ => None,
    }
}
