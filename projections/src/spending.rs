//! What all sessions of a store used, by time and model. An answer that several sessions contain counts once: agents copy
//! earlier answers into the files of sessions that they resume.

use crate::Projection;
use crate::usage::{AskedModels, UsageTotals, add};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use annals_core::event::{AnswerId, SessionEvent, StepEvent, Usage};
use annals_core::{Digest, Event, ModelName, Record, SessionId, Time};
use serde::{Deserialize, Serialize};

/// The length of the time of a [`SpendingCell`], in milliseconds. The days of every time zone begin at a multiple of it.
pub const QUARTER_HOUR: u64 = 15 * 60 * 1000;

/// What every session used. Feed it the records of all sessions, each session's in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// The models that cells refer to.
    pub models: Vec<ModelName>,
    /// What was used, by session.
    pub sessions: BTreeMap<SessionId, SessionSpending>,
    /// The answers with ids that were counted.
    counted: BTreeSet<u64>,
}

/// What one session used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSpending {
    /// By time, then by model.
    pub cells: Vec<SpendingCell>,
    asked: AskedModels,
    /// The answer that is being recorded, if it has an id.
    answer: Option<u64>,
    /// The answer that was counted last, if it has an id, what it used, and what it cost.
    last: Option<(u64, Usage, u64)>,
    /// Whether another agent recorded it.
    imported: bool,
    /// When the answer without an id began that is being recorded.
    began: Option<Time>,
}

/// What a session used of one model in one quarter of an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "CompactCell", into = "CompactCell")]
pub struct SpendingCell {
    /// When: the number of the quarter of an hour since 1970.
    pub quarter: u64,
    /// Which model: an index of [`Spending::models`].
    pub model: u32,
    /// All tokens.
    pub tokens: Usage,
    /// The recorded cost, in nano-dollars.
    pub cost: u64,
    /// The tokens whose cost was not recorded.
    pub unpriced: Usage,
}

impl SpendingCell {
    /// When its time begins.
    pub fn from(&self) -> Time {
        Time(self.quarter * QUARTER_HOUR)
    }
}

/// A cell without the names of its fields: a store has many.
type CompactCell = (u64, u32, u64, [u64; 5], [u64; 5]);

impl From<CompactCell> for SpendingCell {
    fn from((quarter, model, cost, tokens, unpriced): CompactCell) -> Self {
        Self { quarter, model, tokens: usage(tokens), cost, unpriced: usage(unpriced) }
    }
}

impl From<SpendingCell> for CompactCell {
    fn from(cell: SpendingCell) -> Self {
        (cell.quarter, cell.model, cell.cost, numbers(cell.tokens), numbers(cell.unpriced))
    }
}

fn usage([input, output, reasoning, cache_read, cache_write]: [u64; 5]) -> Usage {
    Usage { input, output, reasoning, cache_read, cache_write }
}

fn numbers(usage: Usage) -> [u64; 5] {
    [usage.input, usage.output, usage.reasoning, usage.cache_read, usage.cache_write]
}

/// What `all` has more than `part`, number by number.
fn rest(all: Usage, part: Usage) -> Usage {
    let (mut all, part) = (numbers(all), numbers(part));
    for (all, part) in all.iter_mut().zip(part) {
        *all = all.saturating_sub(part);
    }
    usage(all)
}

impl Spending {
    /// Takes in one record of any session.
    pub fn apply(&mut self, record: &Record<'_>) {
        if let Event::Session(SessionEvent::Forked(forked)) = record.event {
            let asked = self.sessions.get(&forked.parent).map(|parent| parent.asked.clone()).unwrap_or_default();
            self.sessions.insert(record.session, SessionSpending { asked, ..SessionSpending::default() });
        }
        let session = self.sessions.entry(record.session).or_default();
        session.asked.apply(record);
        match record.event {
            Event::Session(SessionEvent::Created(created)) => session.imported = created.origin.is_some(),
            Event::Step(StepEvent::Started(started)) => {
                session.answer = started.answer.as_ref().map(|answer| identity(answer, record.at));
                session.began = Some(record.at).filter(|_| session.imported && session.answer.is_none());
            }
            _ => {}
        }
        let mut totals = UsageTotals::default();
        totals.apply(record);
        if totals.tokens == Usage::default() && totals.cost == 0 {
            return;
        }
        let Some(model) = session.asked.asked(record.event).cloned() else { return };
        if let Event::Step(StepEvent::Ended(_) | StepEvent::Failed(_)) = record.event {
            let began = session.began.take();
            match (session.answer.take(), began, session.last) {
                // Another part of the same answer: its usage includes that of the part before.
                (Some(answer), _, Some((last, before, cost))) if last == answer => {
                    totals.tokens = rest(totals.tokens, before);
                    totals.cost = totals.cost.saturating_sub(cost);
                    let mut all = before;
                    add(&mut all, totals.tokens);
                    session.last = Some((answer, all, cost.saturating_add(totals.cost)));
                }
                (Some(answer), ..) if self.counted.insert(answer) => {
                    session.last = Some((answer, totals.tokens, totals.cost));
                }
                (Some(_), ..) => return,
                // Of a copy that kept its times.
                (None, Some(began), _) if !self.counted.insert(copied(&model, began, record.at, &totals)) => return,
                (None, ..) => {}
            }
        }
        let model = position(&mut self.models, model);
        session.count(record.at.0 / QUARTER_HOUR, model, &totals);
    }
}

impl SessionSpending {
    fn count(&mut self, quarter: u64, model: u32, totals: &UsageTotals) {
        let at = match self.cells.binary_search_by_key(&(quarter, model), |cell| (cell.quarter, cell.model)) {
            Ok(at) => at,
            Err(at) => {
                self.cells.insert(at, SpendingCell { quarter, model, ..SpendingCell::default() });
                at
            }
        };
        let Some(cell) = self.cells.get_mut(at) else { return };
        add(&mut cell.tokens, totals.tokens);
        cell.cost = cell.cost.saturating_add(totals.cost);
        if totals.unpriced > 0 {
            add(&mut cell.unpriced, totals.tokens);
        }
    }
}

fn position(models: &mut Vec<ModelName>, model: ModelName) -> u32 {
    let at = models.iter().position(|known| *known == model).unwrap_or_else(|| {
        models.push(model);
        models.len() - 1
    });
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// What identifies an answer: both of its ids; without that of the request, its message and the time at which it began,
/// which a copy keeps.
fn identity(answer: &AnswerId, began: Time) -> u64 {
    let name = match &answer.request {
        Some(request) => alloc::format!("{}\0{request}", answer.message),
        None => alloc::format!("{}\0\0{}", answer.message, began.0),
    };
    short(&name)
}

/// What identifies an answer of another agent that recorded no id: its model, to the millisecond when it began and ended, and what it
/// used. OpenCode copies all of it into a fork.
fn copied(model: &ModelName, began: Time, ended: Time, totals: &UsageTotals) -> u64 {
    let used = numbers(totals.tokens);
    short(&alloc::format!("\0{model}\0{}\0{}\0{used:?}\0{}", began.0, ended.0, totals.cost))
}

fn short(name: &str) -> u64 {
    let hash = Digest::of(name.as_bytes());
    hash.0.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests;
