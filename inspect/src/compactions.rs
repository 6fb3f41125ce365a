//! The compactions of a session: what each replaced and what its summary does not mention; and whether one can be undone.

mod covered;

use crate::SessionAt;
use annals_core::{Record, Seq, SessionId};
use annals_projections::{Fidelity, Ledger, LedgerEntry, Projection, SessionView, ToJson, estimate};
use annals_store::ReadError;
pub(crate) use covered::CompactionFold;
use covered::ComparedSummary;
use serde::{Deserialize, Serialize};

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
        let mut fold = self.compaction_fold().await?;
        if fold.has_failed() {
            fold = CompactionFold::whole();
            self.each(Seq::ZERO, self.until, |record| fold.apply(record, self.blobs())).await?;
        }
        let (entries, mut compared) = fold.finish(self.blobs());
        let listed = entries.into_iter().map(|entry| {
            let compared = entry.ended.and_then(|ended| compared.remove(&ended));
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

fn listed(entry: LedgerEntry, compared: Option<ComparedSummary>) -> ListedCompaction {
    match compared {
        Some(ComparedSummary { summary, fidelity, unmentioned }) => {
            ListedCompaction { entry, summary: Some(summary), fidelity, unmentioned }
        }
        None => ListedCompaction { entry, summary: None, fidelity: None, unmentioned: Unmentioned::default() },
    }
}
