//! Following a shared store: the stream continues where it was when the owner ends and another process takes over.

use super::client::RawFollowing;
use super::role::{SharedState, StoreRole};
use crate::log::{EventLog, Followed, Following, ReadError, Scope};
use futures_util::{StreamExt, stream};
use std::io;
use std::sync::Arc;

/// A follower that outlives owners. Its place is all that it keeps: Seqs and positions are those of the store.
pub(super) fn follow(shared: Arc<SharedState>, scope: Scope) -> Following {
    let state = SharedFollower { shared, scope, synced: false, source: None, gone: 0, over: false };
    Box::pin(stream::unfold(state, |mut state| async move { state.step().await.map(|item| (item, state)) }))
}

struct SharedFollower {
    shared: Arc<SharedState>,
    /// What is still to come.
    scope: Scope,
    synced: bool,
    /// The number of the role that it belongs to, and the stream.
    source: Option<(u64, RawFollowing)>,
    /// How many owners went since the last item.
    gone: u32,
    over: bool,
}

impl SharedFollower {
    async fn step(&mut self) -> Option<Result<Followed, ReadError>> {
        while !self.over {
            let (number, source) = match &mut self.source {
                Some(source) => source,
                none => none.insert(open(&self.shared, self.scope.clone())),
            };
            let lost = match source.next().await {
                Some(Ok(Ok(Followed::Synced))) if self.synced => continue,
                Some(Ok(Ok(followed))) => {
                    self.note(&followed);
                    self.gone = 0;
                    return Some(Ok(followed));
                }
                Some(Ok(Err(ReadError::Closed))) | None => io::ErrorKind::ConnectionAborted.into(),
                Some(Ok(Err(error))) => {
                    self.over = true;
                    return Some(Err(error));
                }
                Some(Err(lost)) => lost,
            };
            let number = *number;
            self.source = None;
            self.gone += 1;
            if matches!(self.shared.role(), (now, StoreRole::Owner(_) | StoreRole::Reader(_) | StoreRole::Closed) if now == number)
            {
                // This process is the owner and closed the store.
                self.over = true;
            } else if let Err(error) = self.shared.renew(number, self.gone, &lost).await {
                self.over = true;
                if matches!(error, super::SharedError::Closed) {
                    return None;
                }
                return Some(Err(match error {
                    super::SharedError::OwnerHung(hung_owner) => ReadError::OwnerHung(hung_owner),
                    other => ReadError::Io { source: Arc::new(io::Error::other(other)) },
                }));
            }
        }
        None
    }

    fn note(&mut self, followed: &Followed) {
        match (followed, &mut self.scope) {
            (Followed::Synced, _) => self.synced = true,
            (Followed::Batch { slice, .. }, Scope::Session { from, .. }) => *from = slice.until,
            (Followed::Batch { place, .. }, Scope::All { from }) => {
                if let Some(place) = place {
                    *from = place.cursor.clone();
                }
            }
        }
    }
}

fn open(shared: &SharedState, scope: Scope) -> (u64, RawFollowing) {
    let (number, role) = shared.role();
    let source: RawFollowing = match role {
        StoreRole::Owner(owned) => Box::pin(owned.log.follow(scope).map(Ok)),
        StoreRole::Reader(looked) => Box::pin(looked.log.follow(scope).map(Ok)),
        StoreRole::Guest(remote) => remote.follow_raw(scope),
        StoreRole::Closed => Box::pin(stream::empty()),
    };
    (number, source)
}
