//! What all sessions used and cost, by time, project, model, agent or session.

mod calendar;

pub use calendar::Calendar;

use crate::pricing::{Cost, Pricing};
use crate::safety::SafetySummary;
use annals_core::event::Usage;
use annals_core::{ModelName, SessionId, Time};
use annals_projections::{Catalogue, CatalogueEntry, Spending, SpendingCell};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// The length of a block, in milliseconds: subscriptions count usage in blocks of five hours.
pub const BLOCK: u64 = 5 * 60 * 60 * 1000;

/// The group for which usage is added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Dimension {
    /// Block of five hours; the first begins at the full hour (UTC) of the first use.
    Block,
    /// Day: `2026-11-21`.
    Day,
    /// ISO week: `2026-W47`.
    Week,
    /// Month: `2026-11`.
    Month,
    /// The project's directory.
    Project,
    /// Model.
    Model,
    /// The agent that recorded the session, or the name of the agent that works in it.
    Agent,
    /// Session; what a session used includes the sessions that it started.
    Session,
}

impl Dimension {
    /// All but the block.
    pub const ALL: [Self; 7] =
        [Self::Day, Self::Week, Self::Month, Self::Project, Self::Model, Self::Agent, Self::Session];

    /// The name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Project => "project",
            Self::Model => "model",
            Self::Agent => "agent",
            Self::Session => "session",
        }
    }

    /// Whether rows of it are in the order of time.
    pub const fn is_time(self) -> bool {
        matches!(self, Self::Block | Self::Day | Self::Week | Self::Month)
    }
}

/// What is added up.
#[derive(Clone, Debug, Default)]
pub struct SpendingQuery {
    /// What the rows differ in; without any there is one row.
    pub by: Vec<Dimension>,
    /// From this time on.
    pub since: Option<Time>,
    /// Before this time.
    pub until: Option<Time>,
    /// Only this session and those that it started.
    pub session: Option<SessionId>,
}

/// What spending is computed from.
pub struct SpendingSource<'a> {
    /// What the sessions used.
    pub spending: &'a Spending,
    /// The sessions.
    pub catalogue: &'a Catalogue,
    /// The prices for what has no recorded cost.
    pub pricing: &'a Pricing,
    /// The days of the reader.
    pub calendar: Calendar<'a>,
    /// The project that a directory belongs to; `None` for one whose sessions are left out.
    pub project: &'a dyn Fn(&str) -> Option<String>,
}

/// Usage and cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spent {
    /// Input tokens that no cache gave or took.
    pub input: u64,
    /// Output tokens without reasoning.
    pub output: u64,
    /// Reasoning tokens.
    pub reasoning: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a cache.
    pub cache_write: u64,
    /// In nano-dollars, as far as prices are known; `null` where none is.
    pub cost: Option<u64>,
    /// The part of the cost that is estimated from list prices, in nano-dollars.
    pub estimated: u64,
    /// The cost, and how far it is known.
    #[serde(skip)]
    pub known_cost: Cost,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpendingRow {
    /// What the row is about: a value for each [`Dimension`] that was asked for.
    pub by: BTreeMap<Dimension, String>,
    /// What was used.
    #[serde(flatten)]
    pub spent: Spent,
}

/// Usage and cost of many sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpendingTable {
    /// In the order of time if they differ in it, then most expensive first.
    pub rows: Vec<SpendingRow>,
    /// All rows together.
    pub total: Spent,
    /// What was allowed, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safety: Option<SafetySummary>,
}

/// What was used, before it is priced: tokens and recorded cost, and the tokens without a cost by model.
#[derive(Clone, Debug, Default)]
struct Sum {
    tokens: Usage,
    cost: u64,
    unpriced: BTreeMap<ModelName, Usage>,
}

impl Sum {
    fn add(&mut self, cell: &SpendingCell, model: &ModelName) {
        add(&mut self.tokens, cell.tokens);
        self.cost = self.cost.saturating_add(cell.cost);
        if cell.unpriced != Usage::default() {
            add(self.unpriced.entry(model.clone()).or_default(), cell.unpriced);
        }
    }

    fn priced(&self, pricing: &Pricing) -> Spent {
        let (known_cost, tokens) = (pricing.cost(self.cost, &self.unpriced), self.tokens);
        Spent {
            input: tokens.input,
            output: tokens.output,
            reasoning: tokens.reasoning,
            cache_read: tokens.cache_read,
            cache_write: tokens.cache_write,
            cost: known_cost.in_json(),
            estimated: known_cost.estimated,
            known_cost,
        }
    }
}

fn add(total: &mut Usage, usage: Usage) {
    total.input = total.input.saturating_add(usage.input);
    total.output = total.output.saturating_add(usage.output);
    total.reasoning = total.reasoning.saturating_add(usage.reasoning);
    total.cache_read = total.cache_read.saturating_add(usage.cache_read);
    total.cache_write = total.cache_write.saturating_add(usage.cache_write);
}

impl SpendingSource<'_> {
    /// Adds up what a query asks for.
    pub fn table(&self, query: &SpendingQuery) -> SpendingTable {
        let blocks = if query.by.contains(&Dimension::Block) { self.blocks(query) } else { Vec::new() };
        let (mut rows, mut total) = (BTreeMap::<Vec<String>, Sum>::new(), Sum::default());
        self.each(query, |session, entry, project, cell, model| {
            let value = |dimension: &Dimension| match dimension {
                Dimension::Block => calendar::instant(block_of(&blocks, cell.from())),
                Dimension::Day => self.calendar.day(cell.from()),
                Dimension::Week => self.calendar.week(cell.from()),
                Dimension::Month => self.calendar.month(cell.from()),
                Dimension::Project => project.to_owned(),
                Dimension::Model => model.to_string(),
                Dimension::Agent => entry.origin.clone().unwrap_or_else(|| entry.agent.to_string()),
                Dimension::Session => session.to_string(),
            };
            rows.entry(query.by.iter().map(value).collect()).or_default().add(cell, model);
            total.add(cell, model);
        });
        let row = |(values, sum): (Vec<String>, Sum)| SpendingRow {
            by: query.by.iter().copied().zip(values).collect(),
            spent: sum.priced(self.pricing),
        };
        let mut rows: Vec<SpendingRow> = rows.into_iter().map(row).collect();
        rows.sort_by_cached_key(|row| {
            let times: Vec<String> =
                query.by.iter().filter(|by| by.is_time()).filter_map(|by| row.by.get(by).cloned()).collect();
            let names: Vec<String> = query.by.iter().filter_map(|by| row.by.get(by).cloned()).collect();
            let size = row.spent.input.saturating_add(row.spent.output);
            (times, std::cmp::Reverse((row.spent.known_cost.known(), size)), names)
        });
        SpendingTable { rows, total: total.priced(self.pricing), safety: None }
    }

    /// When each block begins, in order.
    pub fn blocks(&self, query: &SpendingQuery) -> Vec<Time> {
        let mut times: Vec<Time> = Vec::new();
        self.each(query, |_, _, _, cell, _| times.push(cell.from()));
        times.sort_unstable();
        let mut blocks: Vec<Time> = Vec::new();
        for at in times {
            if blocks.last().is_none_or(|block| at.0 >= block.0 + BLOCK) {
                blocks.push(Time(at.0 - at.0 % 3_600_000));
            }
        }
        blocks
    }

    /// Visits what a query asks for: the session that a person started, its entry and project, and what was used of a model.
    fn each(
        &self,
        query: &SpendingQuery,
        mut visit: impl FnMut(SessionId, &CatalogueEntry, &str, &SpendingCell, &ModelName),
    ) {
        let mut projects: HashMap<&str, Option<String>> = HashMap::new();
        for (id, session) in &self.spending.sessions {
            let Some(entry) = self.catalogue.sessions.get(id) else { continue };
            let root = root(self.catalogue, *id);
            if query.session.is_some_and(|wanted| wanted != *id && !is_below(self.catalogue, *id, wanted)) {
                continue;
            }
            let directory = entry.directory.as_str();
            let project = projects.entry(directory).or_insert_with(|| (self.project)(directory));
            let Some(project) = project else { continue };
            for cell in &session.cells {
                let within = query.since.is_none_or(|since| cell.from() >= since)
                    && query.until.is_none_or(|until| cell.from() < until);
                let model = self.spending.models.get(cell.model as usize);
                if let (true, Some(model)) = (within, model) {
                    visit(root, entry, project, cell, model);
                }
            }
        }
    }
}

fn block_of(blocks: &[Time], at: Time) -> Time {
    let after = blocks.partition_point(|block| *block <= at);
    after.checked_sub(1).and_then(|block| blocks.get(block)).copied().unwrap_or(at)
}

/// The session that a person started: that of a sub-agent is the one that its parent belongs to.
fn root(catalogue: &Catalogue, session: SessionId) -> SessionId {
    parents(catalogue, session).last().unwrap_or(session)
}

fn is_below(catalogue: &Catalogue, session: SessionId, wanted: SessionId) -> bool {
    parents(catalogue, session).any(|parent| parent == wanted)
}

/// The parents of a session, the nearest first.
fn parents(catalogue: &Catalogue, session: SessionId) -> impl Iterator<Item = SessionId> {
    let parent = |session: &SessionId| {
        let parent = catalogue.sessions.get(session)?.parent.as_ref()?.session;
        catalogue.sessions.contains_key(&parent).then_some(parent)
    };
    // A damaged log may name a session as its own parent.
    std::iter::successors(parent(&session), parent).take(catalogue.sessions.len())
}

#[cfg(test)]
mod tests;
