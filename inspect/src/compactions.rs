//! The compactions of a session: what each replaced and what its summary does not mention; and whether one can be undone.

use crate::SessionAt;
use annals_core::event::{CompactionEvent, StepEvent};
use annals_core::{Blobs, Event, Record, Seq, SessionId};
use annals_projections::{
    Body, Content, CoveredText, Fidelity, Ledger, LedgerEntry, Message, Messages, Projection, SessionView, ToJson,
    estimate, unmentioned,
};
use annals_store::ReadError;
use annals_store::cache::FoldVersion;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One compaction, and what its summary does not mention of what it replaced.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedCompaction {
    /// What it replaced and cost, and how it ended.
    #[serde(flatten)]
    pub entry: LedgerEntry,
    /// The summary; `null` for a compaction without one.
    pub summary: Option<String>,
    /// How much of what left is in the summary or in a message that stays; `null` for a compaction without a summary, or with one
    /// that only the provider can read. A heuristic, not a proof.
    pub fidelity: Option<Fidelity>,
    /// What people and instructions wrote that the summary does not mention: a heuristic, not a proof.
    pub unmentioned: Unmentioned,
}

/// Names and instructions that a summary does not mention.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unmentioned {
    /// Names of files, functions and the like.
    pub names: Vec<String>,
    /// Sentences that instruct.
    pub instructions: Vec<String>,
}

/// A compaction cannot be undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoCompactionError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// No compaction in force started or ended there.
    #[error("event {seq} is not a compaction in force (see annals compactions)")]
    NotInForce {
        /// Which session.
        session: SessionId,
        /// What was asked for.
        seq: Seq,
    },
    /// Without the compaction the history is larger than the model's context: switch to a larger model first.
    #[error(
        "session {session}: without the compaction at event {seq} the history has about {tokens} tokens, more than the \
         {limit} of the model; switch to a model with a larger context first"
    )]
    WouldNotFit {
        /// Which session.
        session: SessionId,
        /// Which compaction.
        seq: Seq,
        /// Estimate of the history without it.
        tokens: u64,
        /// The context limit of the model, in tokens.
        limit: u64,
    },
}

impl SessionAt {
    /// Every compaction, oldest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn compactions(&self) -> Result<Vec<ListedCompaction>, ReadError> {
        // What a compaction covered is in memory no longer than until its summary was compared with it.
        let CompactionFold { ledger, mut compared, failed, .. } = self.compaction_fold().await?;
        if !failed {
            let listed = ledger.entries.into_iter().map(|entry| {
                let compared = entry.ended.and_then(|ended| compared.remove(&ended));
                listed(entry, compared)
            });
            return Ok(listed.collect());
        }
        let (mut ledger, mut messages) = (Ledger::default(), Messages::default());
        self.each(Seq::ZERO, self.until, |record| {
            ledger.apply(record);
            messages.apply(record);
        })
        .await?;
        let blobs = self.blobs();
        let listed = ledger.entries.into_iter().map(|entry| {
            let message = entry.ended.and_then(|seq| messages.get(seq));
            let compared = message.and_then(|message| compare(&entry, message, |seq| messages.get(seq), blobs));
            listed(entry, compared)
        });
        Ok(listed.collect())
    }

    /// The compactions so far, each compared with what it covered; resumed from a saved fold where the store keeps views.
    pub(crate) async fn compaction_fold(&self) -> Result<CompactionFold, ReadError> {
        let apply = |fold: &mut CompactionFold, record: &Record<'_>| fold.apply(record, self.blobs());
        self.saved_fold(CompactionFold::VERSION, apply).await
    }

    /// The end of the compaction in force that started or ended at `seq`, if the model can take the history without it:
    /// what [`annals_core::event::CompactionUndone`] names.
    ///
    /// # Errors
    /// When there is none, the history would not fit, or the log cannot be read.
    pub async fn undoable_compaction(&self, seq: Seq) -> Result<Seq, UndoCompactionError> {
        let mut ledger = Ledger::default();
        self.each(Seq::ZERO, self.until, |record| ledger.apply(record)).await?;
        let view = self.view(self.until).await?;
        // The list names a compaction by its start, the history by its end.
        let meant = |entry: &&LedgerEntry| entry.seq == seq || entry.ended == Some(seq);
        let ended = ledger.entries.iter().find(meant).and_then(|entry| entry.ended);
        let Some(seq) = ended.filter(|ended| view.history.compactions().any(|in_force| in_force == *ended)) else {
            return Err(UndoCompactionError::NotInForce { session: self.session, seq });
        };
        self.fits_without(&view, seq)?;
        Ok(seq)
    }

    /// Compares the history without a compaction with the model's context limit, where that is known.
    fn fits_without(&self, view: &SessionView, seq: Seq) -> Result<(), UndoCompactionError> {
        let profiles = &view.profiles;
        let model = profiles.model.get(&view.session.model).and_then(|digest| profiles.models.get(digest));
        let limit = model.map_or(0, |model| model.context);
        let Some(history) = view.history.without(seq) else { return Ok(()) };
        let tokens = estimate(history.to_json(self.blobs()).to_string().chars().count() as u64);
        if limit > 0 && tokens > limit {
            return Err(UndoCompactionError::WouldNotFit { session: self.session, seq, tokens, limit });
        }
        Ok(())
    }
}

/// The compactions so far, each compared with what it covered.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct CompactionFold {
    ledger: Ledger,
    /// Each comparison by the end of its compaction.
    compared: BTreeMap<Seq, ComparedSummary>,
    /// The message of the newest step, and the newest compaction.
    step: Option<Seq>,
    compaction: Option<Seq>,
    /// Something that was evicted is needed: a revert or an undoing returned it, or an answer continued after it was covered.
    failed: bool,
}

impl CompactionFold {
    pub(crate) const VERSION: FoldVersion<'static> = FoldVersion { name: "compactions", version: 4 };

    pub(crate) fn apply(&mut self, record: &Record<'_>, blobs: &dyn Blobs) {
        if self.failed {
            return;
        }
        self.ledger.apply(record);
        match record.event {
            Event::Compaction(CompactionEvent::Ended(_) | CompactionEvent::Completed(_)) => {
                self.compaction = Some(record.seq);
                let history = self.ledger.history();
                let entry = self.ledger.entries.iter().rev().find(|entry| entry.ended == Some(record.seq));
                let compared = entry
                    .zip(history.message(record.seq))
                    .and_then(|(entry, message)| compare(entry, message, |seq| history.message(seq), blobs));
                self.compared.extend(compared.map(|compared| (record.seq, compared)));
                self.ledger.evict();
            }
            Event::Step(StepEvent::Started(_)) => self.step = Some(record.seq),
            Event::Step(StepEvent::TextEnded(_)) if self.step < self.compaction => self.failed = true,
            _ => self.failed = self.ledger.history().is_stale(),
        }
    }
}

/// What the comparison of a summary with what it covered gives.
#[derive(Serialize, Deserialize)]
struct ComparedSummary {
    summary: String,
    fidelity: Option<Fidelity>,
    unmentioned: Unmentioned,
}

fn listed(entry: LedgerEntry, compared: Option<ComparedSummary>) -> ListedCompaction {
    match compared {
        Some(ComparedSummary { summary, fidelity, unmentioned }) => {
            ListedCompaction { entry, summary: Some(summary), fidelity, unmentioned }
        }
        None => ListedCompaction { entry, summary: None, fidelity: None, unmentioned: Unmentioned::default() },
    }
}

/// Compares the summary of a compaction with what it covered and what stays.
fn compare<'a>(
    entry: &LedgerEntry,
    compaction: &Message,
    message: impl Fn(Seq) -> Option<&'a Message>,
    blobs: &dyn Blobs,
) -> Option<ComparedSummary> {
    let summary = compaction.summary_as_sent(blobs)?.into_owned();
    if is_sealed(&summary) {
        return Some(ComparedSummary { summary, fidelity: None, unmentioned: Unmentioned::default() });
    }
    let of = |seqs: &mut dyn Iterator<Item = &Seq>| -> Vec<CoveredText> {
        let messages = seqs.filter_map(|seq| message(*seq));
        messages
            .flat_map(|message| {
                let user = matches!(message.body, Body::User { .. });
                written(message, blobs).into_iter().map(move |text| CoveredText { message: message.seq, user, text })
            })
            .collect()
    };
    // Context updates need no summary: the system prompt after it, or the next request, has what is still so.
    let covered = of(&mut entry.messages.iter().chain(&entry.replayed));
    let stays = of(&mut entry.pinned.iter().chain(&entry.replayed).chain(&entry.kept));
    let joined = |texts: &[CoveredText]| texts.iter().map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n");
    let fidelity = Fidelity::of(&covered, &format!("{summary}\n{}", joined(&stays)));
    let (names, instructions) = unmentioned(&joined(&covered), &summary);
    Some(ComparedSummary { summary, fidelity: Some(fidelity), unmentioned: Unmentioned { names, instructions } })
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
