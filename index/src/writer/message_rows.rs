//! Rows of messages and calls.

use super::IndexWriter;
use crate::indexed_session::IndexedSession;
use crate::rows::{CallRow, MessageRow};
use annals_core::Blobs;
use annals_projections::{Body, Content};
use rusqlite::params;

impl IndexWriter {
    /// Writes the messages that changed, and evicts those that nothing can change any more.
    pub(super) fn write_messages(&self, state: &mut IndexedSession, blobs: &dyn Blobs) -> rusqlite::Result<()> {
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
}
