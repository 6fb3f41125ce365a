//! Saves what questions about a session begin from: all folds in one reading of its log.

use crate::compactions::CompactionFold;
use crate::report::TurnIndex;
use crate::safety::SavedSafety;
use crate::saved::WORTH_SAVING;
use crate::{AskError, SessionAt, diff, when};
use annals_core::{Digest, Record, Seq};
use annals_projections::{Projection, RequestIndex, Requests, Statistics, UsageByModel};
use annals_store::cache::{FoldVersion, Saved, ViewCache};
use annals_store::{ReadError, Slice};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// At about how many places of a session views are saved; a store keeps a few more.
const PLACES: u64 = 30;

/// A fold that is brought to the end of a session.
struct FoldToSave<V> {
    version: FoldVersion<'static>,
    view: V,
    /// Up to where it was saved.
    from: Seq,
}

const fn version_of<P: Projection>() -> FoldVersion<'static> {
    FoldVersion { name: P::NAME, version: P::VERSION }
}

impl<V: Serialize + DeserializeOwned + Default> FoldToSave<V> {
    async fn resumed(past: &SessionAt, version: FoldVersion<'static>, is_current: impl Fn(&V) -> bool) -> Self {
        let saved = past.nearest(version).await.filter(|(view, _)| is_current(view));
        let (view, from) = saved.unwrap_or_default();
        Self { version, view, from }
    }

    fn take(&mut self, record: &Record<'_>, apply: impl FnOnce(&mut V, &Record<'_>)) {
        if record.seq >= self.from {
            apply(&mut self.view, record);
        }
    }

    fn save(self, past: &SessionAt, seq: Seq, digest: Digest) {
        if let Some(cache) = past.view_cache().filter(|cache| cache.keeps())
            && seq.0.saturating_sub(self.from.0) >= WORTH_SAVING
            && let Ok(saved) = Saved::of(seq, digest, &self.view)
        {
            // Without it the next reader folds again: slower, and equally right.
            drop(cache.put(past.session, self.version, &saved));
        }
    }
}

impl SessionAt {
    /// Saves all that questions about this session begin from, so that the first answer costs as little as the second. `root`
    /// gives the folder of the project that a directory belongs to.
    pub async fn save_views(&self, root: &dyn Fn(&str) -> PathBuf) -> Result<(), AskError> {
        self.save_indexes(root).await?;
        let steps = self.steps().await?;
        let distance = (self.until.0 / PLACES).max(WORTH_SAVING);
        let mut last = Seq::ZERO;
        // The rest is long enough for the end to be saved, too.
        while last.0 + 2 * distance <= self.until.0 {
            // Right after a compaction a view is small.
            let reach = Seq(last.0 + distance)..Seq((last.0 + 2 * distance).min(self.until.0 - distance));
            let from = steps.returns.partition_point(|seq| *seq < reach.start);
            let small = steps.returns.get(from).filter(|seq| **seq < reach.end);
            last = self.cut_after(small.copied().unwrap_or(reach.start)).await?;
            self.seen(last).await?;
        }
        // What is asked most often is asked of the end: no further from it than is worth saving.
        let near = self.until.0.saturating_sub(2 * WORTH_SAVING);
        if near > last.0 + WORTH_SAVING {
            let near = self.cut_after(Seq(near)).await?;
            self.seen(near).await?;
        }
        self.seen(self.until).await?;
        Ok(())
    }

    /// The same as [`Self::save_indexes`], if enough events came since it was done.
    pub async fn save_new(&self, root: &dyn Fn(&str) -> PathBuf) -> Result<(), AskError> {
        // The smallest of what is saved says how far all of it is.
        let fold = version_of::<UsageByModel>();
        let saved = self.view_cache().and_then(|cache| cache.nearest(self.session, fold, self.until));
        let new = self.until.0 - saved.map_or(0, |saved| saved.seq.0);
        if new < WORTH_SAVING { Ok(()) } else { self.save_indexes(root).await }
    }

    /// Saves what questions about the whole session begin from, without views at places before its end.
    pub async fn save_indexes(&self, root: &dyn Fn(&str) -> PathBuf) -> Result<(), AskError> {
        self.save_folds(root).await?;
        when::index(self).await?;
        diff::index(self).await?;
        Ok(())
    }

    async fn save_folds(&self, root: &dyn Fn(&str) -> PathBuf) -> Result<(), ReadError> {
        if !self.view_cache().is_some_and(ViewCache::keeps) {
            return Ok(());
        }
        let mut requests = FoldToSave::<RequestIndex>::resumed(self, version_of::<RequestIndex>(), |_| true).await;
        let mut marks = FoldToSave::<Requests>::resumed(self, version_of::<Requests>(), |_| true).await;
        let mut usage = FoldToSave::<UsageByModel>::resumed(self, version_of::<UsageByModel>(), |_| true).await;
        let mut counts = FoldToSave::<Statistics>::resumed(self, version_of::<Statistics>(), |_| true).await;
        let mut turns = FoldToSave::<TurnIndex>::resumed(self, version_of::<TurnIndex>(), |_| true).await;
        let mut compactions = FoldToSave::<CompactionFold>::resumed(self, CompactionFold::VERSION, |_| true).await;
        let is_current = |saved: &SavedSafety| saved.is_current(root);
        let mut safety = FoldToSave::<SavedSafety>::resumed(self, SavedSafety::VERSION, is_current).await;
        let saved = [requests.from, marks.from, usage.from, counts.from, turns.from, compactions.from, safety.from];
        let from = saved.into_iter().min().unwrap_or_default();
        let mut pages = self.log().pages(self.session, from..self.until);
        while let Some(slices) = pages.next_page().await? {
            for record in slices.iter().flat_map(Slice::records) {
                requests.take(&record, RequestIndex::apply);
                marks.take(&record, Requests::apply);
                usage.take(&record, UsageByModel::apply);
                counts.take(&record, Statistics::apply);
                turns.take(&record, TurnIndex::apply);
                compactions.take(&record, |fold, record| fold.apply(record, self.blobs()));
                safety.take(&record, |fold, record| self.count_safety(fold, record, root));
            }
        }
        // Only a whole batch has a digest to find it by.
        if let Some((seq, digest)) = self.end_of_batch(self.until).await {
            requests.save(self, seq, digest);
            marks.save(self, seq, digest);
            counts.save(self, seq, digest);
            turns.save(self, seq, digest);
            compactions.save(self, seq, digest);
            safety.save(self, seq, digest);
            // The last, since it says how far all are.
            usage.save(self, seq, digest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::{Batch, Event, NoBlobs, SessionId, Time};
    use annals_projections::{Catalogue, Ledger, SessionView, Spending};
    use serde_json::Value;

    /// Records of every kind of event, then those of a recorded session.
    fn batches() -> Vec<Batch> {
        let lines =
            |text: &str| -> Vec<Value> { text.lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
        let every = lines(include_str!("../../fixtures/events.jsonl"));
        let events: Vec<Event> = every.into_iter().map(|event| Event::from_json(event).unwrap()).collect();
        assert!(events.len() > 50, "every kind of event");
        let (session, digest) = (SessionId([7; 16]), Digest([0; 32]));
        let batch = Batch { session, first: Seq::ZERO, at: Time(5), prev: None, events, digest, states: Vec::new() };
        let recorded = lines(include_str!("../../fixtures/recordings/claude.jsonl"));
        [batch].into_iter().chain(recorded.into_iter().filter_map(|line| Batch::from_json(line).ok())).collect()
    }

    /// Whether a view of these records is read from its saved form as it was written.
    fn reads_back<V: Serialize + DeserializeOwned + Default>(apply: impl Fn(&mut V, &Record<'_>)) -> bool {
        let (mut view, digest) = (V::default(), Digest([0; 32]));
        for batch in batches() {
            batch.records().for_each(|record| apply(&mut view, &record));
        }
        let saved = Saved::of(Seq(1), digest, &view).unwrap();
        let read: V = saved.view().expect("a saved view is read by position");
        Saved::of(Seq(1), digest, &read).unwrap() == saved && saved.bytes.len() > 20
    }

    #[test]
    fn every_fold_that_is_saved_is_read_as_it_was_written() {
        let root = |directory: &str| PathBuf::from(directory);
        assert!(reads_back(SessionView::apply));
        assert!(reads_back::<SessionView>(|view, record| {
            view.apply(record);
            view.evict();
        }));
        assert!(reads_back(RequestIndex::apply));
        assert!(reads_back(Requests::apply));
        assert!(reads_back(UsageByModel::apply));
        assert!(reads_back(Statistics::apply));
        assert!(reads_back(TurnIndex::apply));
        assert!(reads_back(Ledger::apply));
        assert!(reads_back(Catalogue::apply));
        assert!(reads_back(Spending::apply));
        assert!(reads_back::<CompactionFold>(|fold, record| fold.apply(record, &NoBlobs)));
        assert!(reads_back::<SavedSafety>(|saved, record| saved.count(record, SessionId([7; 16]), &NoBlobs, &root)));
    }
}
