//! Every question of this crate, asked of one session at one place.

use crate::SessionAt;
use crate::bisect::{self, Judge};
use crate::cache::{self, Asking, Cached};
use crate::diff::{self, RequestDiff, SessionDiff};
use crate::prove::{self, Proof};
use crate::view_diff::{self, Change};
use crate::when::{self, When};
use crate::why::{self, Why};
use crate::{AskError, views};
use annals_core::event::FilesEvent;
use annals_core::{Event, Seq};
use annals_projections::{Projection, Statistics, Timeline, TimelineEntry, UsageByModel};
use annals_store::ReadError;
use serde_json::Value;
use std::sync::Arc;

impl SessionAt {
    /// Why a request holds what it holds; the newest turn request without a number. With a text, only the spans that
    /// hold it. `docs/questions/why.md`
    ///
    /// # Errors
    /// When there is no such request, it cannot be rebuilt, or the log cannot be read.
    pub async fn why(&self, request: Option<u64>, text: Option<&str>) -> Result<Why, AskError> {
        why::ask(self, request, text).await
    }

    /// When a text was in the model's view. `docs/questions/when.md`
    pub async fn when(&self, text: &str) -> Result<When, AskError> {
        when::ask(self, text).await
    }

    /// How two sessions differ, turn by turn. `docs/questions/diff.md`
    pub async fn diff(&self, other: &Self) -> Result<SessionDiff, AskError> {
        diff::sessions(self, other).await
    }

    /// How two requests differ, part by part; both are numbered from 1.
    ///
    /// # Errors
    /// When there is no such request, it cannot be rebuilt, or a log cannot be read.
    pub async fn diff_requests(&self, request: u64, other: (&Self, u64)) -> Result<RequestDiff, AskError> {
        diff::requests((self, request), other).await
    }

    /// How the views differ from those at an earlier or later cut.
    pub async fn diff_views(&self, until: Seq) -> Result<Vec<Change>, ReadError> {
        let until = until.min(self.until);
        let before = self.seen(until).await?;
        let mut after = before.clone();
        let mut reverts = false;
        self.each(until, self.until, |record| {
            let event = |event: &FilesEvent| {
                matches!(
                    event,
                    FilesEvent::RevertStaged(_) | FilesEvent::RevertCleared(_) | FilesEvent::RevertCommitted(_)
                )
            };
            reverts |= matches!(record.event, Event::Files(files) if event(files));
            after.apply(record);
        })
        .await?;
        // A revert changes items that may have been evicted from both.
        if reverts || after.is_stale() {
            let (before, after) = (self.view(until).await?, self.view(self.until).await?);
            return Ok(view_diff::changes(&before, &after, self.blobs()));
        }
        Ok(view_diff::changes(&before, &after, self.blobs()))
    }

    /// What a prompt cache could keep from request to request, and why it could not. `docs/questions/cache.md`
    pub async fn cache(&self, asking: Asking) -> Result<Cached, AskError> {
        cache::ask(self, asking).await
    }

    /// The first cut between two events at which something holds. `docs/questions/bisect.md`
    ///
    /// # Errors
    /// When it holds at `good` already or not at `bad`, the judge fails, or the log cannot be read.
    pub async fn bisect(&self, good: Seq, bad: Seq, judge: &Judge) -> Result<bisect::BisectResult, AskError> {
        bisect::ask(self, good, bad, judge).await
    }

    /// Rebuilds every recorded request and compares digests; with `wire`, those of the exact bodies, too.
    ///
    /// # Errors
    /// When the log cannot be read. A request that is not proved is in the answer.
    pub async fn prove(&self, wire: bool) -> Result<Vec<Proof>, ReadError> {
        prove::prove_all(self, wire).await
    }

    /// The session in reading order: `visit` is called with the entries of the timeline in order, in bounded memory.
    pub async fn timeline(&self, mut visit: impl FnMut(TimelineEntry)) -> Result<(), ReadError> {
        let mut timeline = Timeline::default();
        self.each(Seq::ZERO, self.until, |record| {
            timeline.apply(record);
            while let Some(entry) = timeline.pop() {
                visit(entry);
            }
        })
        .await?;
        timeline.finish().into_iter().for_each(visit);
        Ok(())
    }

    /// Counts of what the session contains, and its anomalies.
    pub async fn statistics(&self) -> Result<Statistics, ReadError> {
        Ok(Arc::unwrap_or_clone(self.saved().await?))
    }

    /// Tokens and cost by model; [`crate::pricing::Pricing`] estimates what was not recorded.
    pub async fn usage(&self) -> Result<UsageByModel, ReadError> {
        Ok(Arc::unwrap_or_clone(self.saved().await?))
    }

    /// Views by their names ([`views::NAMES`]) in their public JSON form.
    ///
    /// # Errors
    /// When a name is unknown, or the log cannot be read.
    pub async fn views(&self, names: &[&str]) -> Result<Value, AskError> {
        views::json(self, &self.view(self.until).await?, self.until, names).await
    }
}
