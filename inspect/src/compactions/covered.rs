//! What each compaction covered, compared with what the model is sent behind it.

use super::Unmentioned;
use annals_core::event::{CompactionEvent, CompactionReason, FilesEvent, Purpose, StepEvent};
use annals_core::{Blobs, CallId, Digest, Event, Record, Seq};
use annals_projections::{
    Body, Content, CoveredText, Fidelity, History, Ledger, LedgerEntry, Message, Projection, unmentioned,
};
use annals_providers::recorded::{compaction_reason, known_parts};
use annals_store::cache::FoldVersion;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The compactions so far, each compared with what it covered.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct CompactionFold {
    ledger: Ledger,
    /// Each comparison by the end of its compaction.
    compared: BTreeMap<Seq, ComparedSummary>,
    /// What the newest compaction covered, until the request behind it shows what of that is sent again.
    covered: Vec<CoveredMessage>,
    /// The message of the newest step, and the newest compaction.
    step: Option<Seq>,
    compaction: Option<Seq>,
    /// Whether requests of another agent are recorded: it may send again what it covered.
    is_recorded: bool,
    /// Something that was evicted is needed: a revert or an undoing returned it, or an answer continued after it was covered.
    failed: bool,
    /// Nothing is evicted.
    #[serde(skip)]
    is_whole: bool,
}

/// What the comparison of a summary with what it covered gives.
#[derive(Serialize, Deserialize)]
pub(super) struct ComparedSummary {
    pub(super) summary: String,
    pub(super) fidelity: Option<Fidelity>,
    pub(super) unmentioned: Unmentioned,
}

/// A message that a compaction covered.
#[derive(Serialize, Deserialize)]
struct CoveredMessage {
    seq: Seq,
    is_user: bool,
    /// Its calls with an output.
    calls: Vec<CallId>,
    /// The hashes of its parts.
    parts: Vec<Digest>,
    /// What people and instructions wrote in it. Context updates need no summary: the request behind it has what is still so.
    texts: Vec<String>,
}

impl CompactionFold {
    pub(crate) const VERSION: FoldVersion<'static> = FoldVersion { name: "compactions", version: 6 };

    /// A fold that keeps what it may need again.
    pub(super) fn whole() -> Self {
        Self { is_whole: true, ..Self::default() }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    pub(crate) fn apply(&mut self, record: &Record<'_>, blobs: &dyn Blobs) {
        if self.failed {
            return;
        }
        let settles = match record.event {
            Event::Step(StepEvent::RequestSent(sent)) => sent.purpose == Purpose::Turn,
            Event::Compaction(CompactionEvent::Undone(_)) | Event::Files(FilesEvent::RevertCommitted(_)) => true,
            Event::Compaction(CompactionEvent::Ended(_) | CompactionEvent::Completed(_)) => true,
            _ => false,
        };
        if settles {
            self.settle(blobs);
        }
        self.ledger.apply(record);
        match record.event {
            Event::Compaction(CompactionEvent::Ended(_) | CompactionEvent::Completed(_)) => {
                self.compaction = Some(record.seq);
                let entry = self.ledger.entries.iter().rev().find(|entry| entry.ended == Some(record.seq));
                self.covered = entry.map(|entry| covered(entry, self.ledger.history(), blobs)).unwrap_or_default();
                if !self.is_whole {
                    self.ledger.evict();
                }
            }
            Event::Step(StepEvent::RequestRecorded(_)) => self.is_recorded = true,
            Event::Step(StepEvent::Started(_)) => self.step = Some(record.seq),
            Event::Step(StepEvent::TextEnded(_)) if self.step < self.compaction => self.failed = !self.is_whole,
            _ => self.failed = self.ledger.history().is_stale(),
        }
    }

    /// Every compaction, and each comparison by the end of its compaction.
    pub(super) fn finish(mut self, blobs: &dyn Blobs) -> (Vec<LedgerEntry>, BTreeMap<Seq, ComparedSummary>) {
        self.settle(blobs);
        (self.ledger.entries, self.compared)
    }

    /// Compares the newest compaction with what is sent behind it: what is there again did not leave.
    fn settle(&mut self, blobs: &dyn Blobs) {
        let Some(ended) = self.compaction else { return };
        let all = std::mem::take(&mut self.covered);
        if all.is_empty() && self.compared.contains_key(&ended) {
            return;
        }
        let history = self.ledger.history();
        let Some(summary) = history.message(ended).and_then(|message| message.summary_as_sent(blobs)) else { return };
        let summary = summary.into_owned();
        let sent: Vec<&Message> = history.selected().filter(|message| message.seq != ended).collect();
        let new: Vec<&Message> = sent.iter().filter(|message| message.seq > ended).copied().collect();
        let parts = new.iter().flat_map(|message| known_parts(message, blobs)).map(|known| known.part.text);
        let parts: HashSet<Digest> = parts.filter(|_| self.is_recorded).collect();
        // A context message stays until a baseline replaces it.
        let is_context = |seq| history.message(seq).is_some_and(|it| matches!(it.body, Body::System { .. }));
        let is_sent = |message: &CoveredMessage| {
            let is_repeated = !message.parts.is_empty() && message.parts.iter().all(|part| parts.contains(part));
            let is_kept = is_context(message.seq) && history.selects(message.seq);
            is_repeated || is_kept || history.is_pinned(message.seq)
        };
        let (again, left): (Vec<_>, Vec<_>) = all.into_iter().partition(is_sent);
        // What people write from now on is not kept of what was covered.
        let stays = sent.iter().filter(|message| message.seq < ended || !matches!(message.body, Body::User { .. }));
        let stays: Vec<String> = stays.flat_map(|message| written(message, blobs)).collect();
        let behind: Vec<String> = new.iter().flat_map(|message| written(message, blobs)).collect();
        let reason = compaction_reason(&summary, behind.iter().map(String::as_str));
        let compared = ComparedSummary::of(&left, summary, &stays);
        self.compared.insert(ended, compared);
        if let Some(entry) = self.ledger.entries.iter_mut().rev().find(|entry| entry.ended == Some(ended)) {
            sent_again(entry, &again, reason);
        }
    }
}

impl ComparedSummary {
    /// Compares what left with the summary and what is sent with it.
    fn of(left: &[CoveredMessage], summary: String, stays: &[String]) -> Self {
        if is_sealed(&summary) {
            return Self { summary, fidelity: None, unmentioned: Unmentioned::default() };
        }
        let texts = left.iter().flat_map(|message| {
            let text = |text: &String| CoveredText { message: message.seq, user: message.is_user, text: text.clone() };
            message.texts.iter().map(text)
        });
        let covered: Vec<CoveredText> = texts.collect();
        let remaining = format!("{summary}\n{}", stays.join("\n"));
        let fidelity = Fidelity::of(&covered, &remaining);
        let texts: Vec<&str> = covered.iter().map(|text| text.text.as_str()).collect();
        let (names, instructions) = unmentioned(&texts.join("\n"), &remaining);
        Self { summary, fidelity: Some(fidelity), unmentioned: Unmentioned { names, instructions } }
    }
}

/// Takes out of an entry what the request behind it has again.
fn sent_again(entry: &mut LedgerEntry, again: &[CoveredMessage], reason: CompactionReason) {
    entry.learn(reason);
    let messages: BTreeSet<Seq> = again.iter().map(|message| message.seq).collect();
    let calls: BTreeSet<&CallId> = again.iter().flat_map(|message| &message.calls).collect();
    entry.kept.extend(entry.messages.iter().filter(|seq| messages.contains(seq)));
    entry.kept.sort_unstable();
    entry.messages.retain(|seq| !messages.contains(seq));
    entry.context_messages.retain(|seq| !messages.contains(seq));
    entry.tool_outputs.retain(|call| !calls.contains(call));
}

/// What a compaction covered.
fn covered(entry: &LedgerEntry, history: &History, blobs: &dyn Blobs) -> Vec<CoveredMessage> {
    let messages = entry.messages.iter().chain(&entry.replayed).chain(&entry.context_messages);
    let messages = messages.filter_map(|seq| history.message(*seq)).map(|message| CoveredMessage {
        seq: message.seq,
        is_user: matches!(message.body, Body::User { .. }),
        calls: match &message.body {
            Body::Assistant(assistant) => assistant
                .content
                .iter()
                .filter_map(|content| match content {
                    Content::Tool(tool) => Some(tool.call.clone()),
                    Content::Text { .. } | Content::Reasoning { .. } => None,
                })
                .collect(),
            _ => Vec::new(),
        },
        parts: known_parts(message, blobs).into_iter().map(|known| known.part.text).collect(),
        texts: match &message.body {
            Body::System { .. } if entry.context_messages.contains(&message.seq) => Vec::new(),
            _ => written(message, blobs),
        },
    });
    messages.collect()
}

/// Whether only the provider can read a summary: Codex sends it back as it received it.
fn is_sealed(summary: &str) -> bool {
    let item = || serde_json::from_str::<serde_json::Value>(summary).ok();
    summary.starts_with('{').then(item).flatten().is_some_and(|item| item["encrypted_content"].is_string())
}

/// What people and instructions wrote in a message: that is what a summary must carry. Tool outputs are not.
fn written(message: &Message, blobs: &dyn Blobs) -> Vec<String> {
    match &message.body {
        Body::User { text, .. } | Body::System { text, .. } | Body::Synthetic { text } => {
            vec![text.resolve(blobs).into_owned()]
        }
        Body::Compaction { summary, recent, .. } => [Some(summary), recent.as_ref()]
            .into_iter()
            .flatten()
            .map(|text| text.resolve(blobs).into_owned())
            .collect(),
        Body::Assistant(assistant) => assistant
            .content
            .iter()
            .filter_map(|content| match content {
                Content::Text { text, .. } => Some(text.resolve(blobs).into_owned()),
                Content::Reasoning { .. } | Content::Tool(_) => None,
            })
            .collect(),
        Body::Shell { .. } | Body::AgentSwitched { .. } | Body::ModelSwitched { .. } => Vec::new(),
    }
}
