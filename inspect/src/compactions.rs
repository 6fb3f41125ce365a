//! The compactions of a session: what each replaced and what its summary does not mention; and whether one can be undone.

use crate::SessionAt;
use annals_core::{Blobs, Seq, SessionId};
use annals_projections::{
    Body, Content, CoveredText, Fidelity, Ledger, LedgerEntry, Message, Messages, Projection, SessionView, ToJson,
    estimate, unmentioned,
};
use annals_store::ReadError;
use serde::Serialize;

/// One compaction, and what its summary does not mention of what it replaced.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedCompaction {
    /// What it replaced and cost, and how it ended.
    #[serde(flatten)]
    pub entry: LedgerEntry,
    /// The summary; `null` for a compaction without one.
    pub summary: Option<String>,
    /// How much of what left is in the summary or in a message that stays; `null` for a compaction without a summary. A
    /// heuristic, not a proof.
    pub fidelity: Option<Fidelity>,
    /// What people and instructions wrote that the summary does not mention: a heuristic, not a proof.
    pub unmentioned: Unmentioned,
}

/// Names and instructions that a summary does not mention.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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
        let (mut ledger, mut messages) = (Ledger::default(), Messages::default());
        self.each(Seq::ZERO, self.until, |record| {
            ledger.apply(record);
            messages.apply(record);
        })
        .await?;
        Ok(ledger.entries.into_iter().map(|entry| listed(entry, &messages, self.blobs())).collect())
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

fn listed(entry: LedgerEntry, messages: &Messages, blobs: &dyn Blobs) -> ListedCompaction {
    let summary = entry.ended.and_then(|seq| messages.get(seq)).and_then(|message| message.summary_as_sent(blobs));
    let summary = summary.map(|summary| summary.into_owned());
    let of = |seqs: &mut dyn Iterator<Item = &Seq>| -> Vec<CoveredText> {
        let messages = seqs.filter_map(|seq| messages.get(*seq));
        messages
            .flat_map(|message| {
                let user = matches!(message.body, Body::User { .. });
                written(message, blobs).into_iter().map(move |text| CoveredText { message: message.seq, user, text })
            })
            .collect()
    };
    let covered = of(&mut entry.messages.iter().chain(&entry.replayed).chain(&entry.context_messages));
    let stays = of(&mut entry.pinned.iter().chain(&entry.replayed).chain(&entry.kept));
    let joined = |texts: &[CoveredText]| texts.iter().map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n");
    let fidelity = summary.as_ref().map(|summary| Fidelity::of(&covered, &format!("{summary}\n{}", joined(&stays))));
    let unmentioned = summary.as_ref().map(|summary| unmentioned(&joined(&covered), summary));
    let unmentioned = unmentioned.map(|(names, instructions)| Unmentioned { names, instructions });
    ListedCompaction { entry, summary, fidelity, unmentioned: unmentioned.unwrap_or_default() }
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
