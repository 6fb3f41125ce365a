//! Followed sessions: one follower of the log for each, however many streams show it.

use crate::problem::ApiProblem;
use annals_core::{Seq, SessionId};
use annals_inspect::live_store::LiveStore;
use annals_store::{Followed, Scope};
use futures_util::StreamExt;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The sessions that streams show.
#[derive(Default)]
pub struct Followers {
    sessions: Mutex<BTreeMap<SessionId, Weak<FollowedSession>>>,
}

/// A session that is followed as long as this is held.
pub struct FollowedSession {
    head: watch::Receiver<Seq>,
    following: JoinHandle<()>,
}

impl Drop for FollowedSession {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl FollowedSession {
    /// Where the session ends; changes when something was appended. Its sender is gone when it can be followed no more.
    pub fn head(&self) -> watch::Receiver<Seq> {
        self.head.clone()
    }
}

impl Followers {
    /// Follows a session, together with everything else that follows it.
    ///
    /// # Errors
    /// When there is no such session, or the store cannot be read.
    pub async fn follow(&self, store: &Arc<LiveStore>, session: SessionId) -> Result<Arc<FollowedSession>, ApiProblem> {
        if let Some(followed) = self.known(session) {
            return Ok(followed);
        }
        let now = store.now().await?;
        let from = now.reader.head(session).await?.next;
        let (sender, head) = watch::channel(from);
        let mut batches = now.reader.log().follow(Scope::Session { session, from });
        let store = store.clone();
        let following = tokio::spawn(async move {
            while let Some(followed) = batches.next().await {
                match followed {
                    Ok(Followed::Batch { slice, .. }) => {
                        // Streams read it next.
                        store.expire();
                        sender.send_replace(slice.until);
                    }
                    Ok(Followed::Synced) => {}
                    Err(error) => {
                        tracing::warn!(%error, %session, "the session is no longer followed");
                        break;
                    }
                }
            }
        });
        let followed = Arc::new(FollowedSession { head, following });
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, known| known.strong_count() > 0);
        // Another stream may have been first: two followers are as right as one.
        sessions.insert(session, Arc::downgrade(&followed));
        Ok(followed)
    }

    fn known(&self, session: SessionId) -> Option<Arc<FollowedSession>> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let followed = sessions.get(&session)?.upgrade()?;
        // One that ended is of no use.
        followed.head.has_changed().is_ok().then_some(followed)
    }
}
