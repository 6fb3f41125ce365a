//! Summaries that an agent asks for, and what becomes of the history when it uses one.

use super::{InFlight, Thread, ThreadError, cost};
use crate::conversation::{DecodedAnswer, Speaker, Unit, WireConversation, WireItem};
use crate::facts::Facts;
use annals_core::event::{CompactionCompleted, CompactionFailed, CompactionReason, CompactionStarted, Failure, Usage};
use annals_core::{ModelName, Seq, Time};
use annals_projections::Body;

/// How many messages may precede the summary in a request: agents repeat earlier messages of the user.
const BEFORE_MAX: usize = 512;

/// A summary that was asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingSummary {
    /// The text of the answer; `None` until it arrived.
    text: Option<String>,
    usage: Option<Usage>,
    cost: u64,
}

impl Thread {
    /// A request for a summary begins. The results that it brings settle their calls.
    pub(super) async fn summarise(
        &mut self,
        at: Time,
        conversation: &WireConversation,
        model: &ModelName,
    ) -> Result<(), ThreadError> {
        if self.summary.is_some() {
            return Ok(());
        }
        let mut facts = Facts::from(self.next);
        let trailing = conversation.units.iter().rev().take_while(|unit| unit.speaker == Speaker::User);
        self.transcriber.close(trailing, &mut facts);
        let model = Some(model.clone());
        facts.push(CompactionStarted { reason: CompactionReason::Auto, model, estimate: 0 });
        self.summary = Some(PendingSummary::default());
        self.append(at, facts.events).await
    }

    /// The answer to a request for a summary.
    pub(super) fn summarised(&mut self, flight: &InFlight, answer: &DecodedAnswer, facts: &mut Facts) {
        if self.summary.take().is_none() {
            return;
        }
        let answer_cost = cost(&flight.prices, answer.usage);
        match &answer.error {
            Some(error) => {
                let (reason, error) = (CompactionReason::Auto, error.clone());
                facts.push(CompactionFailed { reason, error, usage: answer.usage, cost: answer_cost });
            }
            None => {
                let text = Some(answer_text(answer));
                self.summary = Some(PendingSummary { text, usage: answer.usage, cost: answer_cost });
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

    /// Replaces the history by a summary, which is the message at `summarised`, else the first one of the request; gives the
    /// messages that follow what is kept.
    pub(super) fn compaction<'u>(
        &mut self,
        units: &'u [Unit],
        summarised: Option<usize>,
        facts: &mut Facts,
    ) -> &'u [Unit] {
        let first = units.iter().position(|unit| unit.name().is_some()).unwrap_or(0);
        let at = summarised.unwrap_or(first);
        let Some(summary) = units.get(at) else { return units };
        let rest = units.get(at + 1..).unwrap_or_default();
        let text = WireConversation {
            units: vec![Unit { speaker: Speaker::User, ..summary.clone() }],
            ..WireConversation::default()
        };
        let reason = CompactionReason::Auto;
        let pending = self.summary.take();
        if pending.is_none() {
            facts.push(CompactionStarted { reason, model: None, estimate: 0 });
        }
        let pending = pending.unwrap_or_default();
        // The newest messages may stay behind the summary.
        let old = std::mem::take(&mut self.units);
        let named: Vec<_> = rest.iter().map_while(Unit::name).collect();
        let names = |from: usize| old.iter().skip(from).map(|(name, _)| name);
        let kept = (0..old.len()).find(|from| {
            let count = old.len() - from;
            count <= named.len() && names(*from).eq(named.iter().take(count))
        });
        let kept_units = kept.and_then(|from| old.get(from..)).unwrap_or_default();
        let nothing = Seq(facts.next().0.saturating_sub(1));
        let first_kept = kept_units.first().map_or(nothing, |(_, first)| self.message_from(*first));
        let completed = facts.push(CompactionCompleted {
            reason,
            summary: text.prompt().into(),
            truncated: false,
            ends: 0,
            first_kept,
            replayed: Vec::new(),
            estimate: 0,
            usage: pending.usage,
            cost: pending.cost,
        });
        let names = units.iter().take(at + 1).filter_map(Unit::name);
        self.units.extend(names.map(|name| (name, completed)));
        self.units.extend(kept_units.iter().copied());
        rest.get(kept_units.len()..).unwrap_or_default()
    }

    /// The recording ends, and no request followed the summary: it is recorded as it was answered.
    pub(super) fn summary_kept(&mut self, facts: &mut Facts) {
        let Some(PendingSummary { text, usage, cost }) = self.summary.take() else { return };
        let reason = CompactionReason::Auto;
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

    /// A compaction that an earlier recording began stays open until a request shows what became of it.
    pub(super) fn summary_open(&mut self) {
        self.summary = Some(PendingSummary::default());
    }

    /// The first message from an event on.
    fn message_from(&self, first: Seq) -> Seq {
        let messages = self.view.history.messages().iter();
        messages
            .filter(|message| !matches!(message.body, Body::System { .. }))
            .map(|message| message.seq)
            .find(|seq| *seq >= first)
            .unwrap_or(first)
    }

    /// The conversation continues without the summary that was asked for.
    pub(super) fn unused_summary(&mut self, facts: &mut Facts) {
        let Some(pending) = self.summary.take() else { return };
        let error = Failure {
            kind: "unused".to_owned(),
            message: "the agent continued without the summary".into(),
            status: None,
        };
        let reason = CompactionReason::Auto;
        facts.push(CompactionFailed { reason, error, usage: pending.usage, cost: pending.cost });
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
