//! A session that was run again several times, compared: how each run ended, what it did and cost, and where it first says
//! something else than the recorded one.

use crate::diff::{self, TurnEntry};
use crate::pricing::{Cost, Pricing};
use crate::touched_files::{FileAction, touched_files};
use crate::{AskError, SessionAt};
use annals_core::event::{Purpose, StepEvent, ToolEvent, Usage};
use annals_core::{Event, ModelName, Seq, SessionId};
use annals_projections::{Body, Content, Projection, UsageByModel};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Runs of a session, and what the recorded one did.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reruns {
    /// The recorded session.
    pub of: SessionId,
    /// The first event that the runs do not inherit.
    pub cut: Seq,
    /// Where the results of calls come from.
    pub tools: ToolResults,
    /// What the recorded session did from there on.
    pub recorded: RunSummary,
    /// The runs, in order.
    pub runs: Vec<RunSummary>,
    /// How many runs say the same as the recorded session.
    pub same: u64,
}

/// Where the results of calls come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ToolResults {
    /// The tools ran, as the permission rules allow.
    Run,
    /// Calls that the recorded session made returned its results; any other call an error.
    Recorded,
}

/// What a session did from an event on.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSummary {
    /// The session.
    pub session: SessionId,
    /// How it ended: `idle`, `empty`, `interrupted`, `stopped`, `failed`, `left`; `recorded` for the recorded one.
    pub outcome: String,
    /// Why it failed.
    pub error: Option<String>,
    /// The models that answered.
    pub models: BTreeSet<ModelName>,
    /// Requests of turns.
    pub requests: u64,
    /// Calls by tool.
    pub tools: BTreeMap<String, u64>,
    /// How many calls the recorded session made as well: the same tool with the same input.
    pub recorded_calls: u64,
    /// Files that were written or changed, as the calls and the captures name them.
    pub files: BTreeSet<String>,
    /// Tokens.
    pub tokens: Usage,
    /// In nano-dollars; `null` when no price is known.
    pub cost: Option<u64>,
    /// The text of the last answer.
    pub answer: Option<String>,
    /// The first difference from the recorded session; `null` when both say the same.
    pub first: Option<FirstDifference>,
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    /// The same cost, for display.
    pub priced: Cost,
}

impl RunSummary {
    /// How many calls were made.
    pub fn calls(&self) -> u64 {
        self.tools.values().sum()
    }
}

/// Where a run first says something else.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirstDifference {
    /// The turn, from 1.
    pub turn: u64,
    /// What the recorded session says there; `null` if it says no more.
    pub recorded: Option<TurnEntry>,
    /// What the run says there; `null` if it says no more.
    pub run: Option<TurnEntry>,
}

/// What a session did from `from` on; `is_recorded` says whether the recorded session made a call with this tool and input.
pub async fn summary(
    past: &SessionAt,
    from: Seq,
    outcome: (String, Option<String>),
    pricing: &Pricing,
    is_recorded: impl Fn(&str, &str) -> bool,
) -> Result<RunSummary, AskError> {
    let (mut requests, mut recorded_calls) = (0, 0);
    let (mut models, mut tools, mut files) = (BTreeSet::new(), BTreeMap::<String, u64>::new(), BTreeSet::new());
    let mut usage = UsageByModel::default();
    past.each(from, past.until, |record| {
        usage.apply(record);
        match record.event {
            Event::Step(StepEvent::RequestSent(sent)) if sent.purpose == Purpose::Turn => requests += 1,
            Event::Step(StepEvent::Started(started)) => drop(models.insert(started.model.clone())),
            Event::Tool(ToolEvent::Called(called)) => {
                *tools.entry(called.name.clone()).or_default() += 1;
                recorded_calls += u64::from(is_recorded(&called.name, &called.input.0.resolve(past.blobs())));
            }
            _ => {}
        }
        let changed = touched_files(record.event, past.blobs()).into_iter();
        let changed =
            changed.filter(|file| matches!(file.action, FileAction::Write | FileAction::Edit | FileAction::Change));
        files.extend(changed.map(|file| file.path));
    })
    .await?;
    let priced = pricing.total(&usage);
    let (outcome, error) = outcome;
    Ok(RunSummary {
        session: past.session,
        outcome,
        error,
        models,
        requests,
        tools,
        recorded_calls,
        files,
        tokens: usage.total.tokens,
        cost: priced.in_json(),
        answer: answer(past, from).await?,
        first: None,
        priced,
    })
}

/// Compares a run with the recorded session.
pub async fn first_difference(recorded: &SessionAt, run: &SessionAt) -> Result<Option<FirstDifference>, AskError> {
    let differs = diff::sessions(recorded, run).await?;
    Ok(differs.turns.into_iter().next().map(|pair| {
        let at = usize::try_from(pair.same).unwrap_or(usize::MAX);
        let entry = |turn: Option<diff::Turn>| turn.and_then(|turn| turn.entries.into_iter().nth(at));
        FirstDifference { turn: pair.turn, recorded: entry(pair.a), run: entry(pair.b) }
    }))
}

/// The text of the last answer from an event on.
async fn answer(past: &SessionAt, from: Seq) -> Result<Option<String>, AskError> {
    let view = past.view(past.until).await?;
    let last = view.history.messages().iter().rev().find_map(|message| match &message.body {
        Body::Assistant(answer) if message.seq >= from => Some(answer.clone()),
        _ => None,
    });
    let texts = last.iter().flat_map(|answer| &answer.content).filter_map(|content| match content {
        Content::Text { text, .. } => Some(text.resolve(past.blobs()).into_owned()),
        Content::Reasoning { .. } | Content::Tool(_) => None,
    });
    let texts: Vec<String> = texts.collect();
    Ok(Some(texts.join("\n\n")).filter(|text| !text.is_empty()))
}
