//! Following a log: everything that was there, one marker, then everything new (`docs/reference/store.md#eventlog`).
//!
//! A follower pulls pages from what is stored and keeps nothing but its place, so a slow one costs a writer nothing and
//! cannot miss or repeat a batch; a watch on the store's length only says when to look again.

use crate::log::{Boxed, Followed, Following, Position, ReadError};
use futures_util::stream;
use std::collections::VecDeque;
use tokio::sync::watch;

/// Where a follower reads: the pages of a log from its place on.
pub trait FollowSource: Send + 'static {
    /// The next batches after those given before; empty at the end. Each item is a [`Followed::Batch`], and says whether
    /// it came after following began.
    fn next(&mut self) -> Boxed<'_, Result<Vec<FollowedBatch>, ReadError>>;
}

/// One batch of a page.
#[derive(Clone, Debug)]
pub struct FollowedBatch {
    /// The batch.
    pub item: Followed,
    /// Whether it was appended after following began: the marker comes before the first such batch.
    pub new: bool,
}

/// A follower over `pages`. `length` is the store's length in batches: it changes **after** a batch is readable.
///
/// The stream ends when the store is closed (the watch's sender is gone), or after an error.
pub fn following(pages: impl FollowSource, length: watch::Receiver<Position>) -> Following {
    let state = Follower { pages, length, ready: VecDeque::new(), synced: false, over: false };
    Box::pin(stream::unfold(state, |mut state| async move { state.step().await.map(|item| (item, state)) }))
}

struct Follower<P> {
    pages: P,
    length: watch::Receiver<Position>,
    ready: VecDeque<FollowedBatch>,
    synced: bool,
    over: bool,
}

impl<P: FollowSource> Follower<P> {
    async fn step(&mut self) -> Option<Result<Followed, ReadError>> {
        loop {
            if self.over {
                return None;
            }
            if let Some(page) = self.ready.front() {
                if page.new && !self.synced {
                    self.synced = true;
                    return Some(Ok(Followed::Synced));
                }
                return self.ready.pop_front().map(|page| Ok(page.item));
            }
            // Seen before reading: a batch that lands meanwhile wakes the next wait.
            self.length.borrow_and_update();
            match self.pages.next().await {
                Ok(page) if !page.is_empty() => self.ready = page.into(),
                Ok(_) if !self.synced => {
                    self.synced = true;
                    return Some(Ok(Followed::Synced));
                }
                Ok(_) => self.over = self.length.changed().await.is_err(),
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
    }
}
