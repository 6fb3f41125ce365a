//! Conversations that an earlier recording began: an agent that resumes its session tomorrow lands in the same one.

use super::beginning::WIRE;
use super::placing::Placing;
use super::{KnownThread, RecordedThreads, conversation};
use crate::conversation::Speaker;
use crate::thread::Thread;
use annals_core::event::{Origin, SessionEvent};
use annals_core::{AgentName, Event, Seq, SessionId};
use serde_json::Value;
use std::collections::HashMap;

/// How many sessions of an agent without ids are compared with a request that continues one.
const COMPARED: usize = 16;

impl RecordedThreads {
    /// Continues the session of an earlier recording that a request belongs to.
    pub(super) async fn resume(&mut self, placing: &Placing<'_>) -> Result<Option<usize>, String> {
        let Placing { captured, protocol, conversation: asked, .. } = *placing;
        let agent = self.agent_of(captured);
        let speaks = asked.units.iter().any(|unit| unit.speaker == Speaker::Assistant);
        let sessions: Vec<SessionId> = match Self::foreign(&captured.ids) {
            Some(id) => self.earlier().await?.get(&(agent.clone(), id)).copied().into_iter().collect(),
            // Without ids a conversation is known by its content: one that just begins continues none.
            None if speaks => self.newest(&agent).await?,
            None => Vec::new(),
        };
        for session in sessions {
            if self.threads.iter().any(|known| known.thread.session == session) {
                continue;
            }
            let Some(lease) = self.lease(session).await else {
                tracing::info!(%session, "an earlier recording is continued by another process");
                continue;
            };
            let read = move |target: &str, body: &Value| conversation(protocol, target, body);
            let resumed = Thread::resume(self.log.clone(), session, protocol, &read).await;
            let Some(thread) = resumed.map_err(|error| error.to_string())? else {
                tracing::warn!(%session, "an earlier recording cannot be continued");
                continue;
            };
            let (same, all) = thread.shared(asked);
            if captured.ids.session.is_none() && !(same > 0 && (same == all || same > 1)) {
                continue;
            }
            let (ids, parent) = (captured.ids.clone(), thread.parent());
            self.threads.push(KnownThread { ids, protocol, parent, thread, broken: false, _lease: lease });
            let at = self.threads.len() - 1;
            if let (Some(process), Some(known)) = (self.settings.process.clone(), self.threads.get_mut(at)) {
                known.thread.process(captured.at, process).await.map_err(|error| error.to_string())?;
            }
            let started_by = |parent| self.threads.iter().position(|known| known.thread.session == parent);
            if let Some(started_by) = parent.and_then(started_by) {
                self.child_started(started_by, captured, session, AgentName(agent), None).await?;
            }
            return Ok(Some(at));
        }
        Ok(None)
    }

    /// The sessions of earlier recordings, by agent and how that calls them.
    async fn earlier(&mut self) -> Result<&HashMap<(String, String), SessionId>, String> {
        let earlier = match self.earlier.take() {
            Some(earlier) => earlier,
            None => {
                let mut earlier = HashMap::new();
                for head in self.log.sessions().all().await.map_err(|error| error.to_string())? {
                    if let Some(origin) = self.origin(head.session).await {
                        earlier.insert((origin.agent, origin.id), head.session);
                    }
                }
                earlier
            }
        };
        Ok(self.earlier.insert(earlier))
    }

    /// The origin of a recorded session; `None` for any other, and one that is damaged.
    async fn origin(&self, session: SessionId) -> Option<Origin> {
        let first = self.log.batch_at(session, Seq::ZERO).await.ok()??;
        match first.batch.events.first()? {
            Event::Session(SessionEvent::Created(created)) => {
                created.origin.clone().filter(|origin| origin.form == WIRE)
            }
            _ => None,
        }
    }

    /// The sessions of an agent that were recorded last.
    async fn newest(&self, agent: &str) -> Result<Vec<SessionId>, String> {
        let mut heads = self.log.sessions().all().await.map_err(|error| error.to_string())?;
        heads.sort_by_key(|head| std::cmp::Reverse((head.head.at, head.session)));
        let mut newest = Vec::new();
        for head in heads {
            if newest.len() == COMPARED {
                break;
            }
            if self.origin(head.session).await.is_some_and(|origin| origin.agent == agent) {
                newest.push(head.session);
            }
        }
        Ok(newest)
    }
}
