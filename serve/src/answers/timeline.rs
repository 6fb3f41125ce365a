//! What scrubbing needs: turns, cuts and files.

use crate::operation::{AsJson, AtCut, Question};
use crate::problem::ApiProblem;
use annals_core::Seq;
use annals_inspect::report::{FilePage, ReportTurn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many turns a page has, unless another number is asked for, and at most.
const TURNS: usize = 200;
const MOST_TURNS: usize = 2_000;
/// The same of cuts.
const CUTS: usize = 512;
const MOST_CUTS: usize = 10_000;
/// The same of files.
const FILES: usize = 200;
const MOST_FILES: usize = 2_000;
/// How many places of a kind an axis has at most, about.
const PLACES: u64 = 2_000;

/// A page of a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageAsked {
    /// The place in the list that the page begins at (0).
    from: Option<u64>,
    /// How many items at most.
    limit: Option<usize>,
}

/// Which turns are listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineAsked {
    /// The place in the list that the page begins at (0).
    from: Option<u64>,
    /// How many turns at most (200; at most 2,000).
    limit: Option<usize>,
    /// The page with the turn of this cut instead: one of those that begin at multiples of `limit`.
    at: Option<u64>,
}

/// Which files are listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesAsked {
    /// How many events of the session have happened: the files before are listed. Without it all of them.
    at: Option<u64>,
    /// About how many at most (200; at most 2,000). A page may have fewer where few events name files.
    limit: Option<usize>,
}

/// A page of a session's turns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TimelinePage {
    /// The place in the list that the page begins at.
    from: usize,
    turns: Vec<ReportTurn>,
    /// Where the next page begins; null at the end.
    next: Option<usize>,
    /// How many turns the session has.
    total_turns: usize,
    /// How many events the session has.
    head: Seq,
}

/// The axis of a session: where turns begin, and where something is worth seeing. Of long sessions a part, evenly spread.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionAxis {
    /// The first event of each turn.
    turns: Vec<Seq>,
    /// Events that record a failure.
    errors: Vec<Seq>,
    /// Events that ended a compaction.
    compactions: Vec<Seq>,
    /// Events that began a context epoch.
    epochs: Vec<Seq>,
    /// How many events the session has.
    head: Seq,
    /// The cut after the next error, seen from `at`.
    error_after: Option<Seq>,
    /// The cut after the error before.
    error_before: Option<Seq>,
}

/// A page of the places that a view can be asked for at: the ends of batches.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CutPage {
    cuts: Vec<Seq>,
    /// What the next page begins at; null at the end.
    next: Option<Seq>,
    /// How many events the session has.
    total: Seq,
}

/// `GET /v1/sessions/{session}/timeline`
pub async fn timeline(asked: Question<TimelineAsked>) -> Result<AsJson<TimelinePage>, ApiProblem> {
    let past = asked.past(None).await?;
    let index = past.turn_index().await?;
    let limit = asked.given.limit.unwrap_or(TURNS).clamp(1, MOST_TURNS);
    let from = match (asked.given.at, asked.given.from) {
        (Some(at), _) => index.turn_at(Seq(at)) / limit * limit,
        (None, from) => from.and_then(|from| usize::try_from(from).ok()).unwrap_or_default().min(index.len()),
    };
    let end = from.saturating_add(limit).min(index.len());
    let next = (end < index.len()).then_some(end);
    let turns = past.turns(&index, from..end).await?;
    Ok(AsJson(TimelinePage { from, turns, next, total_turns: index.len(), head: past.until }))
}

/// `GET /v1/sessions/{session}/axis`
pub async fn axis(asked: Question<AtCut>) -> Result<AsJson<SessionAxis>, ApiProblem> {
    let past = asked.past(None).await?;
    let index = past.turn_index().await?;
    let at = Seq(asked.given.at.unwrap_or_default());
    let cut = |event: &Seq| event.plus(1);
    let next = index.errors.partition_point(|error| error.plus(1) <= at);
    let before = index.errors.partition_point(|error| error.plus(1) < at);
    Ok(AsJson(SessionAxis {
        turns: spread(index.firsts(), past.until),
        errors: spread(&index.errors, past.until),
        compactions: spread(&index.compactions, past.until),
        epochs: spread(&index.epochs, past.until),
        head: past.until,
        error_after: index.errors.get(next).map(cut),
        error_before: before.checked_sub(1).and_then(|at| index.errors.get(at)).map(cut),
    }))
}

/// At most one place of each of [`PLACES`] stretches of a session.
fn spread(places: &[Seq], head: Seq) -> Vec<Seq> {
    let width = (head.0 / PLACES).max(1);
    let mut spread: Vec<Seq> = places.to_vec();
    spread.dedup_by_key(|seq| seq.0 / width);
    spread
}

/// `GET /v1/sessions/{session}/cuts`
pub async fn cuts(asked: Question<PageAsked>) -> Result<AsJson<CutPage>, ApiProblem> {
    let past = asked.past(None).await?;
    let from = Seq(asked.given.from.unwrap_or_default());
    let limit = asked.given.limit.unwrap_or(CUTS).clamp(1, MOST_CUTS);
    let (mut cuts, mut next) = (Vec::new(), None);
    // The batch before `from` may end at it.
    let begin = Seq(from.0.saturating_sub(1));
    let mut pages = asked.reader().pages(past.session, begin, past.until);
    while let Some(slice) = pages.next_slice().await? {
        if slice.until < from {
            continue;
        }
        if cuts.len() == limit {
            next = Some(slice.until);
            break;
        }
        cuts.push(slice.until);
    }
    Ok(AsJson(CutPage { cuts, next, total: past.until }))
}

/// `GET /v1/sessions/{session}/files`
pub async fn files(asked: Question<FilesAsked>) -> Result<AsJson<FilePage>, ApiProblem> {
    let limit = asked.given.limit.unwrap_or(FILES).clamp(1, MOST_FILES);
    Ok(AsJson(asked.past(asked.given.at).await?.files(limit).await?))
}
