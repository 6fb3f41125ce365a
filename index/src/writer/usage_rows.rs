//! Rows of requests, and of what was used.

use super::IndexWriter;
use crate::indexed_session::{IndexedSession, RequestChange};
use annals_core::event::StepEvent;
use annals_core::{Event, Record};
use annals_projections::{Projection, UsageTotals};
use rusqlite::params;

impl IndexWriter {
    pub(super) fn request(&self, state: &mut IndexedSession, record: &Record<'_>) -> rusqlite::Result<()> {
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

    pub(super) fn usage(&self, state: &IndexedSession, record: &Record<'_>) -> rusqlite::Result<()> {
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
}
