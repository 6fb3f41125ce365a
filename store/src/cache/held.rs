//! Views as they are in memory, so that the next question decodes and folds little.

use super::FoldVersion;
use annals_core::{Digest, Seq, SessionId};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many views are held: those that were asked for least recently go first.
const HELD: usize = 96;

/// A view in memory and where it ends.
#[derive(Debug)]
pub struct Held<V> {
    /// Everything before this Seq is in it.
    pub seq: Seq,
    /// The digest of the batch that ends there: who takes it compares it with the log.
    pub digest: Digest,
    /// The view.
    pub view: Arc<V>,
}

#[derive(Debug)]
struct HeldView {
    digest: Digest,
    view: Arc<dyn Any + Send + Sync>,
    used: u64,
}

/// Whose, of which fold, where.
type HeldPlace = (SessionId, FoldVersion<'static>, Seq);

/// The views that are held.
#[derive(Debug, Default)]
pub(super) struct HeldViews {
    views: BTreeMap<HeldPlace, HeldView>,
    uses: u64,
}

impl HeldViews {
    pub(super) fn nearest<V: Any + Send + Sync>(
        &mut self,
        session: SessionId,
        fold: FoldVersion<'static>,
        at_most: Seq,
    ) -> Option<Held<V>> {
        self.uses += 1;
        let range = (session, fold, Seq::ZERO)..=(session, fold, at_most);
        let ((_, _, seq), held) = self.views.range_mut(range).next_back()?;
        held.used = self.uses;
        Some(Held { seq: *seq, digest: held.digest, view: held.view.clone().downcast().ok()? })
    }

    pub(super) fn put<V: Any + Send + Sync>(
        &mut self,
        session: SessionId,
        fold: FoldVersion<'static>,
        Held { seq, digest, view }: Held<V>,
    ) {
        self.uses += 1;
        self.views.insert((session, fold, seq), HeldView { digest, view, used: self.uses });
        if self.views.len() > HELD
            && let Some(oldest) = self.views.iter().min_by_key(|(_, held)| held.used).map(|(place, _)| *place)
        {
            self.views.remove(&oldest);
        }
    }
}
