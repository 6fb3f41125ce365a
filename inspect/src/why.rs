//! Why the model read something: the provenance of a request, span by span.
//!
//! Exact by construction: each span of a [`Request`](annals_projections::Request) carries the event that put it there, since it was built so. What
//! is read here in addition (times, who acted, since when) is read at that event's place.

mod file_line;
mod span;

pub use file_line::FileLine;
pub use span::{Actor, RequestSpan, Sort};

use super::{AskError, Asked, Fact, IndexedRequest, Lack, RequestIndex, SessionAt};
use crate::body_text::{holds, piece_holds};
use annals_core::Seq;
use annals_core::event::Purpose;
use annals_projections::SharedProfile;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The provenance of one request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Why {
    /// Which request.
    pub step: IndexedRequest,
    /// How many there are.
    pub steps: u64,
    /// The text that was asked for.
    pub text: Option<String>,
    /// Every span in the order in which it is sent; with a text, only those that hold it.
    pub spans: Vec<Origin>,
    /// How many spans the request has in all.
    pub of: u64,
    /// Characters of all spans by what kind of thing they are; left out where every span is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub characters: Option<BTreeMap<Sort, u64>>,
    /// What the log lacks of the request.
    pub lacks: BTreeSet<Lack>,
}

/// A span of a request and where it came from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Origin {
    /// What is sent.
    #[serde(flatten)]
    pub span: RequestSpan,
    /// The event that put it there; `None` for what the runtime itself adds to a request.
    pub fact: Option<Fact>,
    /// The user turn in which that was, from 1; 0 before the first.
    pub turn: u64,
    /// The request since which it has been there without interruption, as it is now.
    pub since: u64,
    /// Whether it was said before the recording, or between two recordings: the time is when it was first in a recorded request.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unrecorded: bool,
    /// Where the text that was asked for begins in it, in bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<usize>,
    /// The lines of files that the text is from, where the request says so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileLine>,
}

/// Which spans of a request are explained: those of a page, and the last ones. What is not explained costs little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanPage {
    /// The place of the first one.
    pub from: usize,
    /// How many.
    pub limit: usize,
    /// How many of the last ones in addition.
    pub last: usize,
}

impl SpanPage {
    /// All of them.
    pub const ALL: Self = Self { from: 0, limit: usize::MAX, last: 0 };

    fn has(self, at: usize, of: usize) -> bool {
        (at >= self.from && at - self.from < self.limit) || of - at <= self.last
    }
}

/// Answers why a request holds what it holds. Without a number it is the newest turn request.
///
/// # Errors
/// When there is no such request, it cannot be rebuilt, or the log cannot be read.
pub async fn ask(past: &SessionAt, number: Option<u64>, text: Option<&str>) -> Result<Why, AskError> {
    ask_page(past, number, text, SpanPage::ALL).await
}

/// The same for a page of the spans; with a text, of those that hold it.
///
/// # Errors
/// When there is no such request, it cannot be rebuilt, or the log cannot be read.
pub async fn ask_page(
    past: &SessionAt,
    number: Option<u64>,
    text: Option<&str>,
    page: SpanPage,
) -> Result<Why, AskError> {
    let steps = past.steps().await?;
    let count = steps.requests.len() as u64;
    let missing = |wanted| AskError::NoStep { session: past.session, wanted, count };
    let step = match number {
        Some(number) => steps.get(number).ok_or(missing(number))?,
        None => {
            let newest = steps.requests.iter().rev().find(|step| step.purpose == Purpose::Turn);
            newest.ok_or(missing(1))?
        }
    };
    let asked = past.request(&step).await?;
    let all = span::spans(&asked, &steps);
    let of = all.len() as u64;
    let characters = (page != SpanPage::ALL).then(|| {
        let mut characters: BTreeMap<Sort, u64> = BTreeMap::new();
        for span in &all {
            *characters.entry(span.sort).or_default() += span.text.chars().count() as u64;
        }
        characters
    });
    let mut wanted: Vec<(RequestSpan, Vec<usize>)> = all
        .into_iter()
        .map(|span| {
            let found = text.map(|text| places(&span, text)).unwrap_or_default();
            (span, found)
        })
        .filter(|(_, found): &(RequestSpan, Vec<usize>)| text.is_none() || !found.is_empty())
        .collect();
    let (mut at, found) = (0..wanted.len(), wanted.len());
    wanted.retain(|_| at.next().is_some_and(|at| page.has(at, found)));
    let spans: Vec<&RequestSpan> = wanted.iter().map(|(span, _)| span).collect();
    let since = since(past, &asked, &steps, &spans).await?;
    let seqs: BTreeSet<Seq> = spans.iter().filter_map(|span| span.seq).collect();
    let facts = past.facts(&seqs).await?;
    let mut lacks = asked.lacks;
    lacks.remove(&Lack::Prices);
    let origins = wanted.into_iter().zip(since).map(|((span, found), since)| {
        let fact = span.seq.and_then(|seq| facts.get(&seq).copied());
        let turn = steps.turn(span.seq.unwrap_or(asked.step.seq));
        let mut files: Vec<FileLine> = Vec::new();
        for line in found.iter().filter_map(|at| file_line::line_at(&span.text, *at, span.read.as_ref())) {
            if !files.contains(&line) {
                files.push(line);
            }
        }
        let is_said = !matches!(span.sort, Sort::AgentText | Sort::Baseline | Sort::Blank | Sort::Tool | Sort::Options);
        let unrecorded = is_said && span.seq.is_some_and(|seq| steps.is_unrecorded(seq));
        Origin { span, fact, turn, since, unrecorded, found, files }
    });
    Ok(Why {
        step: asked.step.clone(),
        steps: count,
        text: text.map(str::to_owned),
        spans: origins.collect(),
        of,
        characters,
        lacks,
    })
}

/// Where a text begins in a span. One in the texts of a span that is JSON has no place of its own there.
fn places(span: &RequestSpan, text: &str) -> Vec<usize> {
    let places: Vec<usize> = span.text.match_indices(text).map(|(at, _)| at).collect();
    if !places.is_empty() {
        return places;
    }
    let json = span.text.find(['{', '[']).and_then(|at| span.text.get(at..)).unwrap_or_default();
    // A body that is not valid JSON has strings all the same.
    let is_found = holds(json, text) || (json.len() == span.text.len() && piece_holds(json, text));
    if is_found { vec![0] } else { Vec::new() }
}

/// The request since which each span has been there without interruption.
///
/// A span joins the model's view at its own event, and may come back to it only at one of [`RequestIndex::returns`]: between
/// two of those it can only leave. So the request before each of them decides, newest first, until all are decided.
async fn since(
    past: &SessionAt,
    asked: &Asked,
    steps: &RequestIndex,
    spans: &[&RequestSpan],
) -> Result<Vec<u64>, AskError> {
    let now = &asked.step;
    let mut since: Vec<u64> = spans
        .iter()
        .map(|span| match (&span.set, span.placed) {
            (Some(set), _) => run_of_set(past, asked, steps, set, &span.text),
            (None, Some(placed)) => steps.first_after(placed).map_or(now.number, |step| step.number.min(now.number)),
            (None, None) => now.number,
        })
        .collect();
    let mut open: BTreeMap<usize, &RequestSpan> =
        spans.iter().copied().enumerate().filter(|(_, span)| span.set.is_none()).collect();
    let mut looked_at = None;
    for returned in steps.returns.iter().rev().filter(|seq| **seq < now.seq) {
        let (Some(before), Some(after)) = (steps.last_before(*returned), steps.first_after(*returned)) else {
            continue;
        };
        open.retain(|at, _| since.get(*at).is_some_and(|first| *first <= before.number));
        if open.is_empty() {
            break;
        }
        // Nothing was sent between this and the return after it: one look decides both.
        if looked_at.replace(before.number) == Some(before.number) {
            continue;
        }
        let earlier = past.request(&before).await?;
        let there: HashSet<_> = span::spans(&earlier, steps).iter().map(RequestSpan::identity).collect();
        open.retain(|at, span| {
            let is_there = there.contains(&span.identity());
            if let (false, Some(first)) = (is_there, since.get_mut(*at)) {
                *first = after.number;
            }
            is_there
        });
    }
    Ok(since)
}

/// The first of the run of turn requests, ending with this one, that were given the same recorded thing.
fn run_of_set(past: &SessionAt, asked: &Asked, steps: &RequestIndex, set: &span::Set, text: &str) -> u64 {
    let now = asked.step.number;
    let same = |shape: &SharedProfile| match set {
        span::Set::Agent(digest) => shape.agent_profile == Some(*digest),
        span::Set::Options(digest) => shape.options == Some(*digest),
        span::Set::Tools(digest) if shape.tools == Some(*digest) => true,
        // Another set may hold the same tool.
        span::Set::Tools(_) => shape
            .tools
            .and_then(|digest| asked.view.profiles.tools.get(&digest))
            .is_some_and(|tools| tools.iter().any(|tool| span::tool_text(tool, past.blobs()) == text)),
    };
    steps.requests.run(now, asked.step.purpose, same).unwrap_or(now)
}
