//! What scrubbing needs: turns, cuts and files.

use crate::operation::{AsJson, AtCut, Question};
use crate::problem::ApiProblem;
use annals_core::Seq;
use annals_inspect::report::{ReportFile, ReportTurn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many turns a page has, unless another number is asked for, and at most.
const TURNS: usize = 200;
const MOST_TURNS: usize = 2_000;
/// The same of cuts.
const CUTS: usize = 512;
const MOST_CUTS: usize = 10_000;

/// A page of a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageAsked {
    /// The place in the list that the page begins at (0).
    from: Option<u64>,
    /// How many items at most.
    limit: Option<usize>,
}

/// A page of a session's turns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TimelinePage {
    turns: Vec<ReportTurn>,
    /// Where the next page begins; null at the end.
    next: Option<usize>,
    /// How many turns the session has.
    total_turns: usize,
    /// How many events the session has.
    head: Seq,
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
pub async fn timeline(asked: Question<PageAsked>) -> Result<AsJson<TimelinePage>, ApiProblem> {
    let past = asked.past(None).await?;
    let index = asked.service.index(&past).await?;
    let all = index.turns();
    let from = asked.given.from.and_then(|from| usize::try_from(from).ok()).unwrap_or_default().min(all.len());
    let end = from.saturating_add(asked.given.limit.unwrap_or(TURNS).clamp(1, MOST_TURNS)).min(all.len());
    Ok(AsJson(TimelinePage {
        turns: all.get(from..end).unwrap_or_default().to_vec(),
        next: (end < all.len()).then_some(end),
        total_turns: all.len(),
        head: past.until,
    }))
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
pub async fn files(asked: Question<AtCut>) -> Result<AsJson<Vec<ReportFile>>, ApiProblem> {
    let past = asked.past(asked.given.at).await?;
    let whole = asked.past(None).await?;
    let index = asked.service.index(&whole).await?;
    Ok(AsJson(index.files().iter().filter(|file| file.event < past.until).cloned().collect()))
}
