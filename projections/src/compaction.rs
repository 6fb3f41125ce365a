//! What makes a request smaller that is too large: what a summary covers and keeps, what of calls is cleared or shortened
//! (`docs/reference/compaction.md`). Pure functions of the history, a model and its limits.

mod attached;
mod entries;
mod limits;
mod outputs;
mod parts;
mod summary_request;

pub use limits::{ContextLimits, TokenRate};
pub use outputs::{OutputPlan, cut, prune, shorten_unread};
pub use parts::RequestParts;
pub use summary_request::SummaryRequest;

use crate::history::History;
use crate::message::{Body, Content, Message};
use crate::request::is_sent;
use crate::request::message_chars;
use crate::shorten::{SHORTENED_ENDS, without_middle};
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::{CompactionReason, ModelProfile, ReplayedInput};
use annals_core::{Blobs, InputId, Seq, Text};
use entries::SummaryEntry;

/// Estimate of a text of `chars` characters (Unicode scalar values), in tokens: a quarter, rounded.
pub const fn estimate(chars: u64) -> u64 {
    (chars + 2) / 4
}

/// What a compaction would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionPlan {
    /// The summary that the new one replaces, as it is sent.
    pub prior_summary: Option<String>,
    /// The messages that are covered, in the order of the history.
    pub covered: Vec<Seq>,
    /// The first message of the kept tail; `None` when nothing is kept.
    pub first_kept: Option<Seq>,
    /// The covered inputs of the running work, oldest first, and pinned ones that are older than the tail.
    pub replayed: Vec<ReplayedInput>,
    entries: Vec<SummaryEntry>,
}

/// There is nothing to summarise before the kept tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Nothing to compact yet")]
pub struct NothingToCompact;

/// Plans a compaction for requests to `model`: it covers what is older than the kept tail, which
/// `docs/reference/compaction.md#the-kept-tail` defines. Where nothing is, one by hand covers a tail that is larger than it need
/// be.
///
/// # Errors
/// When nothing would be summarised but inputs that follow the summary as they are.
pub fn plan(
    history: &History,
    model: &ModelProfile,
    limits: &ContextLimits,
    reason: CompactionReason,
    blobs: &dyn Blobs,
) -> Result<CompactionPlan, NothingToCompact> {
    let answers = Answers::of(history, model);
    let kept: Vec<&Message> = history.kept().collect();
    let tail = tail(history, &kept, &answers, model, limits.tail, blobs);
    let planned = planned(history, &kept, tail.begins, &answers, model, limits, blobs);
    match planned {
        Err(NothingToCompact) if reason == CompactionReason::Manual && tail.is_held => {
            self::planned(history, &kept, kept.len(), &answers, model, limits, blobs)
        }
        planned => planned,
    }
}

/// The plan with a tail that begins at a place among the messages that could be kept.
fn planned(
    history: &History,
    kept: &[&Message],
    tail: usize,
    answers: &Answers,
    model: &ModelProfile,
    limits: &ContextLimits,
    blobs: &dyn Blobs,
) -> Result<CompactionPlan, NothingToCompact> {
    let first_kept = kept.get(tail).map(|message| message.seq);
    let replayed = replay(history, first_kept, answers, model, limits.tail, blobs);
    let before = kept.get(..tail).unwrap_or_default().iter().copied();
    let covered: Vec<&Message> =
        history.replayed().chain(before).filter(|message| !history.is_pinned(message.seq)).collect();
    let compaction = history.compaction();
    let imported = compaction.and_then(|message| match &message.body {
        Body::Compaction { recent, .. } => recent.as_ref().filter(|recent| !recent.is_empty()),
        _ => None,
    });
    let mut entries: Vec<SummaryEntry> =
        imported.map(|recent| SummaryEntry::recent(&recent.resolve(blobs))).into_iter().collect();
    let mut new = false;
    for message in &covered {
        let of_message = entries::of_message(message, blobs);
        new |= !of_message.is_empty() && !is_replayed(message, &replayed);
        entries.extend(of_message);
    }
    if !new {
        return Err(NothingToCompact);
    }
    let prior_summary = compaction.and_then(|message| message.summary_as_sent(blobs)).map(|text| text.into_owned());
    let covered = covered.iter().map(|message| message.seq).collect();
    Ok(CompactionPlan { prior_summary, covered, first_kept, replayed, entries })
}

/// The newest answers of a session, selected or covered.
struct Answers {
    /// The newest one that is sent.
    newest: Option<Seq>,
    /// The newest one that is sent, if it has calls of the runtime: no answer has read their results.
    unread: Option<Seq>,
    /// The newest one that is sent, has no calls and did not fail: it ended the work before it.
    finished: Option<Seq>,
}

impl Answers {
    fn of(history: &History, model: &ModelProfile) -> Self {
        let sent = history.messages().iter().rev().filter_map(|message| match &message.body {
            Body::Assistant(assistant) if is_sent(assistant, model) => Some((message.seq, assistant)),
            _ => None,
        });
        let calls = |content: &Content| matches!(content, Content::Tool(tool) if !tool.hosted);
        let mut found = Self { newest: None, unread: None, finished: None };
        for (seq, assistant) in sent {
            let has_calls = assistant.content.iter().any(calls);
            if found.newest.is_none() {
                found.newest = Some(seq);
                found.unread = has_calls.then_some(seq);
            }
            if !has_calls && assistant.error.is_none() {
                found.finished = Some(seq);
                break;
            }
        }
        found
    }
}

/// The kept tail.
struct Tail {
    /// Where it begins among the messages that could be kept.
    begins: usize,
    /// Whether it has unread results, or more than the limit because of what it has to hold.
    is_held: bool,
}

/// The longest run of whole messages at the end whose estimates add up to at most `tokens`, and in any case with every
/// unanswered input and every unread result.
fn tail(
    history: &History,
    kept: &[&Message],
    answers: &Answers,
    model: &ModelProfile,
    tokens: u64,
    blobs: &dyn Blobs,
) -> Tail {
    let held = kept.iter().position(|message| {
        let unanswered = matches!(message.body, Body::User { .. }) && answers.newest.is_none_or(|it| message.seq > it);
        unanswered || answers.unread == Some(message.seq)
    });
    let mut begin = kept.len();
    let mut sum = 0;
    while let Some(message) = begin.checked_sub(1).and_then(|at| kept.get(at)) {
        sum += message_tokens(history, message, model, blobs);
        if sum > tokens {
            break;
        }
        begin -= 1;
    }
    let begins = held.map_or(begin, |held| begin.min(held));
    Tail { begins, is_held: begins < begin || answers.unread.is_some() }
}

/// The inputs of the running work that are older than the tail, as they are sent after the summary.
fn replay(
    history: &History,
    first_kept: Option<Seq>,
    answers: &Answers,
    model: &ModelProfile,
    tokens: u64,
    blobs: &dyn Blobs,
) -> Vec<ReplayedInput> {
    let in_tail = |seq: Seq| first_kept.is_some_and(|first| seq >= first);
    let running = |message: &&Message| {
        let user = matches!(message.body, Body::User { .. });
        user && !in_tail(message.seq) && answers.finished.is_none_or(|finished| message.seq > finished)
    };
    let mut inputs: Vec<&Message> = history.selected().filter(running).collect();
    inputs.sort_by_key(|message| message.seq);
    let mut sum = 0;
    let mut replayed = Vec::with_capacity(inputs.len());
    for message in inputs.into_iter().rev() {
        sum += message_tokens(history, message, model, blobs);
        let text = match &message.body {
            Body::User { shortened: Some(shortened), .. } => Some(shortened.clone()),
            Body::User { text, .. } if sum > tokens => {
                without_middle(&text.resolve(blobs), SHORTENED_ENDS).map(Text::from)
            }
            _ => None,
        };
        replayed.push(ReplayedInput { seq: message.seq, text });
    }
    replayed.reverse();
    replayed
}

/// The inputs of the running work, oldest first: those of the history that no finished answer follows.
pub fn running_inputs<'a>(history: &'a History, model: &ModelProfile) -> Vec<&'a InputId> {
    let finished = Answers::of(history, model).finished;
    let mut inputs: Vec<(Seq, &InputId)> = history
        .selected()
        .filter(|message| finished.is_none_or(|finished| message.seq > finished))
        .filter_map(|message| match &message.body {
            Body::User { id, .. } => Some((message.seq, id)),
            _ => None,
        })
        .collect();
    inputs.sort_by_key(|(seq, _)| *seq);
    inputs.into_iter().map(|(_, input)| input).collect()
}

/// Whether a covered message follows the summary exactly as it is sent already.
fn is_replayed(message: &Message, replayed: &[ReplayedInput]) -> bool {
    let Body::User { shortened, .. } = &message.body else { return false };
    replayed.iter().any(|input| input.seq == message.seq && input.text == *shortened)
}

/// The estimate of a history in tokens: the sum of its messages.
pub fn history_tokens(history: &History, model: &ModelProfile, rate: TokenRate, blobs: &dyn Blobs) -> u64 {
    rate.of_estimate(history.selected().map(|message| estimate(message_chars(message, model, blobs))).sum())
}

/// What a round of making a request smaller makes smaller: the messages of a history without its summary and without
/// context messages, and the characters that they give.
pub fn conversation_size(history: &History, model: &ModelProfile, blobs: &dyn Blobs) -> u64 {
    let counts = |message: &&Message| !matches!(message.body, Body::Compaction { .. } | Body::System { .. });
    history.selected().filter(counts).map(|message| 1 + message_chars(message, model, blobs)).sum()
}

/// The estimate of a message of the history in tokens; 0 of a pinned one, which stays in any case.
fn message_tokens(history: &History, message: &Message, model: &ModelProfile, blobs: &dyn Blobs) -> u64 {
    if history.is_pinned(message.seq) { 0 } else { estimate(message_chars(message, model, blobs)) }
}

#[cfg(test)]
mod tests;
