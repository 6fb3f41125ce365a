//! Conversations that an earlier recording began: an agent that resumes its session tomorrow lands in the same one.

use super::placing::Placing;
use super::{KnownThread, RecordedThreads};
use crate::headers::AgentIds;
use annals_core::event::Origin;
use annals_core::{AgentName, SessionId};
use annals_projections::{Catalogue, CatalogueEntry};
use annals_providers::recorded::Speaker;
use std::collections::HashMap;

/// How many sessions of an agent without ids are compared with a request that continues one.
const COMPARED: usize = 16;

impl RecordedThreads {
    /// Continues the session of an earlier recording that a request belongs to.
    pub(super) async fn resume(&mut self, placing: &Placing<'_>) -> Result<Option<usize>, String> {
        let Placing { captured, protocol, conversation: asked, .. } = *placing;
        let agent = self.agent_of(captured);
        let speaks = asked.units.iter().any(|unit| unit.speaker == Speaker::Assistant);
        let earlier = self.earlier().await?;
        let id = Self::foreign(&captured.ids);
        let named = id.and_then(|id| earlier.named.get(&(agent.clone(), id)).copied());
        let sessions: Vec<SessionId> = match named {
            Some(session) => vec![session],
            // Without ids, or with ids that no session has, a conversation is known by its content: one that just begins continues none.
            None if speaks || asked.previous.is_some() => {
                let newest = earlier.newest.get(&agent).into_iter().flatten().copied();
                newest.filter(|session| captured.ids.session.is_none() || earlier.is_unnamed(*session)).collect()
            }
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
            let Some(mut thread) = self.read_thread(session).await? else { continue };
            let continues = match &asked.previous {
                Some(previous) => thread.answered_as(previous),
                None => {
                    let shared = thread.shared(asked);
                    shared.same > 0 && (shared.is_all || shared.has_answer) || shared.has_newest
                }
            };
            if named.is_none() && !continues {
                continue;
            }
            let (mut ids, parent) = (captured.ids.clone(), thread.parent());
            if ids.session.is_none() {
                // The next request may have them.
                ids = self.earlier().await?.ids(session);
            }
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

    /// The newest sessions of an agent, of earlier recordings.
    pub(super) async fn earlier_of(&mut self, agent: &str) -> Result<Vec<SessionId>, String> {
        Ok(self.earlier().await?.newest.get(agent).cloned().unwrap_or_default())
    }

    /// The sessions of earlier recordings.
    async fn earlier(&mut self) -> Result<&EarlierSessions, String> {
        let earlier = match self.earlier.take() {
            Some(earlier) => earlier,
            None => {
                let catalogue = self.settings.views.catalogue().await.map_err(|error| error.to_string())?;
                EarlierSessions::of(catalogue)
            }
        };
        Ok(self.earlier.insert(earlier))
    }
}

/// The sessions of earlier recordings, as the catalogue of the store has them.
pub(super) struct EarlierSessions {
    /// By agent and how that calls them.
    named: HashMap<(String, String), SessionId>,
    /// The newest ones of each agent, newest first.
    newest: HashMap<String, Vec<SessionId>>,
}

impl EarlierSessions {
    /// Whether the agent gave a session no name.
    fn is_unnamed(&self, session: SessionId) -> bool {
        self.ids(session) == AgentIds::default()
    }

    /// How the agent calls a session; nothing for one of an agent that has no names for its sessions.
    fn ids(&self, session: SessionId) -> AgentIds {
        let named = self.named.iter().find(|(_, known)| **known == session).map(|((_, id), _)| id.as_str());
        let Some(id) = named.filter(|id| *id != session.to_string()) else { return AgentIds::default() };
        let (main, agent) = id.split_once('/').map_or((id, None), |(main, agent)| (main, Some(agent.to_owned())));
        AgentIds { session: Some(main.to_owned()), agent, parent: None }
    }

    fn of(catalogue: Catalogue) -> Self {
        let is_recorded =
            |entry: &CatalogueEntry| entry.origin_form.as_deref() == Some(Origin::WIRE) && !entry.forgotten;
        let mut recorded: Vec<_> = catalogue.sessions.into_iter().filter(|(_, entry)| is_recorded(entry)).collect();
        recorded.sort_by_key(|(session, entry)| std::cmp::Reverse((entry.updated, *session)));
        let (mut named, mut newest) = (HashMap::new(), HashMap::<String, Vec<SessionId>>::new());
        for (session, entry) in recorded {
            let (Some(agent), Some(id)) = (entry.origin, entry.origin_id) else { continue };
            let newest = newest.entry(agent.clone()).or_default();
            if newest.len() < COMPARED {
                newest.push(session);
            }
            named.entry((agent, id)).or_insert(session);
        }
        Self { named, newest }
    }
}
