//! Summaries that an agent asks for, and what becomes of the history when it uses one.

use super::conversing::NewParts;
use super::known::{KnownConversation, is_said};
use super::results_in_text::results_in_text;
use super::{InFlight, RequestFacts, Thread, ThreadError, cost};
use crate::facts::Facts;
use annals_core::event::{
    CompactionCompleted, CompactionFailed, CompactionReason, CompactionStarted, Failure, MessagePinned, MessagesEdited,
    PartEdit, ReplayedInput, Usage,
};
use annals_core::{Digest, Event, Seq};
use annals_projections::Body;
use annals_providers::recorded::{
    ConversationPart, DecodedAnswer, KnownPart, PartKind, Speaker, Unit, WireConversation, WireItem, compaction_reason,
    known_parts,
};
use std::collections::HashMap;

/// How many messages may precede the summary in a request: agents repeat earlier messages of the user.
const BEFORE_MAX: usize = 512;

/// A summary that was asked for.
#[derive(Clone, Debug)]
pub(super) struct PendingSummary {
    /// Who asked for it.
    reason: CompactionReason,
    /// The text of the answer; `None` until it arrived.
    text: Option<String>,
    usage: Option<Usage>,
    cost: u64,
}

impl PendingSummary {
    fn asked_by(reason: CompactionReason) -> Self {
        Self { reason, text: None, usage: None, cost: 0 }
    }
}

impl Thread {
    /// A request for a summary begins. The results that it brings settle their calls.
    pub(super) async fn summarise(&mut self, request: &RequestFacts) -> Result<(), ThreadError> {
        let RequestFacts { conversation, model, compaction: reason, .. } = request;
        if self.summary.is_some() {
            return Ok(());
        }
        let mut facts = Facts::from(self.next);
        let trailing = conversation.units.iter().rev().take_while(|unit| unit.speaker == Speaker::User);
        let calls = self.transcriber.open.as_ref().map(|open| open.calls.as_slice()).unwrap_or_default();
        let written = results_in_text(&conversation.newest_prompt(), calls);
        let results: Vec<&WireItem> = trailing.flat_map(|unit| &unit.items).chain(&written).collect();
        self.transcriber.close(results, &mut facts);
        facts.push(CompactionStarted { reason: *reason, model: Some(model.clone()), estimate: self.estimate });
        self.summary = Some(PendingSummary::asked_by(*reason));
        self.append(request.at, facts.events).await
    }

    /// The answer to a request for a summary.
    pub(super) fn summarised(&mut self, flight: &InFlight, answer: &DecodedAnswer, facts: &mut Facts) {
        let Some(PendingSummary { reason, usage: before, cost: paid, .. }) = self.summary.take() else { return };
        let cost = cost(&flight.prices, answer.usage).saturating_add(paid);
        // An agent may ask again, to have the summary checked.
        let usage = before.map_or(answer.usage, |before| Some(sum(before, answer.usage.unwrap_or_default())));
        match &answer.error {
            Some(error) => {
                facts.push(CompactionFailed { reason, error: error.clone(), usage, cost });
            }
            None => {
                let text = Some(answer_text(answer));
                self.summary = Some(PendingSummary { reason, text, usage, cost });
            }
        }
    }

    /// Whether a request begins with the summary that was asked for: it continues this conversation.
    pub(crate) fn uses_summary(&self, conversation: &WireConversation) -> bool {
        let text = self.summary.as_ref().and_then(|summary| summary.text.as_deref());
        text.is_some_and(|text| !core(text).is_empty()) && self.summary_in(&conversation.units).is_some()
    }

    /// The place of the message that has the summary, among the first ones of a request.
    pub(super) fn summary_in(&self, units: &[Unit]) -> Option<usize> {
        let summary = self.summary.as_ref()?.text.as_deref()?;
        let core = core(summary);
        // A provider may give a summary that only it can read.
        let is_it = |text: &str| if core.is_empty() { is_sealed(text) } else { text.contains(core) };
        let has = |unit: &Unit| unit.items.iter().any(|item| matches!(item, WireItem::Text(text) if is_it(text)));
        units.iter().take(BEFORE_MAX).position(has)
    }

    /// The place of the message that replaces what the agent no longer sends: the summary that was asked for, or a prompt in the
    /// place of answers.
    pub(super) fn replaces(
        &self,
        conversation: &WireConversation,
        new: &NewParts,
        before: &KnownConversation,
    ) -> Option<usize> {
        if before.said_parts().iter().all(|(_, kept)| *kept) {
            return None;
        }
        if let Some(at) = self.summary_in(&conversation.units) {
            return Some(at);
        }
        let said = || before.known.iter().zip(&before.alignment.kept).filter(|(known, _)| is_said(&known.part));
        if said().all(|(_, kept)| *kept) {
            return None;
        }
        let leads = |known: &(&KnownPart, &bool)| !*known.1;
        let answered = said().take_while(leads).any(|(known, _)| known.part.is_answer());
        let new = || new.iter().zip(&before.alignment.of_new).filter(|((part, ..), _)| is_said(part));
        let leading = || new().take_while(|(_, pairing)| pairing.is_none()).map(|((part, unit, _), _)| (part, *unit));
        let first = leading().find(|(part, _)| part.kind == PartKind::Prompt).map(|(_, unit)| unit);
        let speaks = leading().any(|(part, _)| part.is_answer());
        let is_other = said().all(|(_, kept)| !*kept);
        first.filter(|_| answered && (is_other || !speaks))
    }

    /// Replaces the history by a summary, which is the message at a place of the request.
    pub(super) fn compaction(
        &mut self,
        request: &RequestFacts,
        at: usize,
        before: &KnownConversation,
        facts: &mut Facts,
    ) {
        let units = &request.conversation.units;
        let Some(summary) = units.get(at) else { return };
        let text = texts(summary);
        let pending = self.summary.take();
        let reason = match pending.as_ref().map(|pending| pending.reason) {
            None | Some(CompactionReason::Unknown) => compaction_reason(&text, behind(units, at)),
            Some(reason) => reason,
        };
        if pending.is_none() {
            facts.push(CompactionStarted { reason, model: None, estimate: self.estimate });
        }
        let pending = pending.unwrap_or_else(|| PendingSummary::asked_by(reason));
        // The newest messages may stay behind the summary, and prompts may be repeated.
        let said = before.said_parts();
        let tail = said.iter().rev().take_while(|(_, kept)| *kept).last().map(|(known, _)| known.message);
        let nothing = Seq(facts.next().0.saturating_sub(1));
        let first_kept = tail.unwrap_or(nothing);
        let is_repeated = |known: &KnownPart| known.part.kind == PartKind::Prompt && known.message < first_kept;
        let repeated = said.iter().filter(|(known, kept)| *kept && is_repeated(known));
        let is_input = |seq: &Seq| {
            self.view.history.message(*seq).is_some_and(|message| matches!(message.body, Body::User { .. }))
        };
        let replayed = repeated.map(|(known, _)| known.message).filter(is_input);
        let replayed = replayed.map(|seq| ReplayedInput { seq, text: None }).collect();
        facts.push(CompactionCompleted {
            reason,
            summary: text.into(),
            truncated: false,
            ends: 0,
            first_kept,
            replayed,
            estimate: request.estimate,
            usage: pending.usage,
            cost: pending.cost,
        });
    }

    /// The recording ends, and no request followed the summary: it is recorded as it was answered.
    pub(super) fn summary_kept(&mut self, facts: &mut Facts) {
        let Some(PendingSummary { reason, text, usage, cost }) = self.summary.take() else { return };
        match text {
            Some(summary) => facts.push(CompactionCompleted {
                reason,
                summary: summary.into(),
                truncated: false,
                ends: 0,
                first_kept: Seq(facts.next().0.saturating_sub(1)),
                replayed: Vec::new(),
                estimate: 0,
                usage,
                cost,
            }),
            None => {
                let message = "the recording ended before the summary was answered".into();
                let error = Failure { kind: "interrupted".to_owned(), message, status: None };
                facts.push(CompactionFailed { reason, error, usage, cost })
            }
        };
    }

    /// What a request shows of a summary with which the recording before it ended: the messages that the agent kept, and the words
    /// around the summary.
    pub(super) fn kept_by_summary(
        &self,
        conversation: &WireConversation,
        new: &[ConversationPart],
        before: &KnownConversation,
    ) -> Vec<Event> {
        let (history, blobs) = (&self.view.history, self.log.blobs());
        let newest = history.compactions().next_back().and_then(|seq| history.message(seq));
        let Some(newest) = newest else { return Vec::new() };
        let (compaction, summary) = (newest.seq, newest.summary_as_sent(&*blobs).unwrap_or_default());
        let messages: Vec<_> = history.messages().iter().collect();
        // A request that was answered showed what is kept.
        if messages.iter().rev().any(|message| message.seq > compaction && matches!(message.body, Body::Assistant(_))) {
            return Vec::new();
        }
        let has_summary = |text: &String| !core(&summary).is_empty() && text.contains(core(&summary));
        let units = conversation.units.iter().take(BEFORE_MAX).filter(|unit| unit.speaker == Speaker::User);
        let Some(sent) = units.map(texts).find(has_summary) else { return Vec::new() };
        let mut open: HashMap<(PartKind, Digest), usize> = HashMap::new();
        for (part, _) in new.iter().zip(&before.alignment.of_new).filter(|(_, pairing)| pairing.is_none()) {
            *open.entry((part.kind, part.text)).or_default() += 1;
        }
        let mut kept = Vec::new();
        for message in
            messages.into_iter().rev().filter(|message| message.seq < compaction && !history.selects(message.seq))
        {
            let parts = known_parts(message, &*blobs).into_iter().map(|known| known.part).filter(is_said);
            let parts: Vec<ConversationPart> = parts.collect();
            let mut take = |part: &ConversationPart| match open.get_mut(&(part.kind, part.text)) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    true
                }
                _ => false,
            };
            match parts.iter().all(&mut take) {
                true if parts.is_empty() => {}
                true => kept.push(message.seq),
                false => break,
            }
        }
        if kept.is_empty() {
            return Vec::new();
        }
        let edit = PartEdit { message: compaction, place: compaction, text: Some(sent.into()), without_media: false };
        let pinned = kept.into_iter().rev().map(|message| Event::from(MessagePinned { message }));
        pinned.chain([Event::from(MessagesEdited { edits: vec![edit] })]).collect()
    }

    /// A compaction that an earlier recording began stays open until a request shows what became of it.
    pub(super) fn summary_open(&mut self, reason: CompactionReason) {
        self.summary = Some(PendingSummary::asked_by(reason));
    }

    /// The conversation continues without the summary that was asked for.
    pub(super) fn unused_summary(&mut self, facts: &mut Facts) {
        let Some(PendingSummary { reason, usage, cost, .. }) = self.summary.take() else { return };
        let error = Failure {
            kind: "unused".to_owned(),
            message: "the agent continued without the summary".into(),
            status: None,
        };
        facts.push(CompactionFailed { reason, error, usage, cost });
    }
}

/// The texts of a message.
fn texts(unit: &Unit) -> String {
    let texts = unit.items.iter().filter_map(|item| match item {
        WireItem::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The texts in the user's place from the message with a summary on.
fn behind(units: &[Unit], at: usize) -> impl Iterator<Item = &str> + Clone {
    let users = units.iter().skip(at).filter(|unit| unit.speaker == Speaker::User);
    users.flat_map(|unit| &unit.items).filter_map(|item| match item {
        WireItem::Text(text) | WireItem::Context { text, .. } => Some(text.as_str()),
        _ => None,
    })
}

/// The usage of two requests.
fn sum(one: Usage, other: Usage) -> Usage {
    Usage {
        input: one.input.saturating_add(other.input),
        output: one.output.saturating_add(other.output),
        reasoning: one.reasoning.saturating_add(other.reasoning),
        cache_read: one.cache_read.saturating_add(other.cache_read),
        cache_write: one.cache_write.saturating_add(other.cache_write),
    }
}

/// The text of an answer.
fn answer_text(answer: &DecodedAnswer) -> String {
    let texts = answer.items.iter().filter_map(|item| match item {
        WireItem::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Whether a text is an item of Responses that replaces a summarised history.
fn is_sealed(text: &str) -> bool {
    let item = || serde_json::from_str::<serde_json::Value>(text).ok();
    let kind = text.starts_with('{').then(item).flatten();
    kind.is_some_and(|item| item["type"] == "compaction" || item["type"] == "compaction_summary")
}

/// What an agent repeats of an answer: it may take off the marks around a summary, and the analysis before it.
fn core(summary: &str) -> &str {
    let from = summary.rfind("<summary>").map_or(0, |at| at + "<summary>".len());
    let text = summary.get(from..).unwrap_or(summary);
    text.split("</summary>").next().unwrap_or(text).trim()
}
