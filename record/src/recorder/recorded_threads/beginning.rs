//! How a conversation begins: with a new session, as a subagent of another one where it is one.

use super::placing::Placing;
use super::{KnownThread, RecordedThreads, model};
use crate::capture::CapturedRequest;
use crate::headers::AgentIds;
use crate::purpose::KNOWN;
use crate::thread::Thread;
use annals_core::event::{ChildStarted, Origin, Parent, Policy, SessionCreated};
use annals_core::{AgentName, CallId, SessionId};
use annals_providers::recorded::{Speaker, WireConversation, WireItem};
use annals_runtime::host::Lease;
use std::sync::Arc;

/// The number of this mapping from requests to events.
pub(super) const MAPPING: u32 = 1;
/// Texts shorter than this are the prompt of a subagent only if they are all of it.
const DISTINCT: usize = 12;

impl RecordedThreads {
    /// The agent that a request is recorded under: the one that was asked for, or what the request says of itself.
    pub(super) fn agent_of(&self, captured: &CapturedRequest) -> String {
        let asked = &self.settings.agent;
        let named = captured.agent.filter(|_| !KNOWN.contains(&asked.as_str()));
        named.map_or_else(|| asked.clone(), str::to_owned)
    }

    /// How the agent calls a conversation.
    pub(super) fn foreign(ids: &AgentIds) -> Option<String> {
        let session = ids.session.as_ref()?;
        Some(match &ids.agent {
            Some(agent) => format!("{session}/{agent}"),
            None => session.clone(),
        })
    }

    /// Creates a session.
    pub(super) async fn begin(&mut self, placing: &Placing<'_>) -> Result<usize, String> {
        let Placing { captured, protocol, conversation, .. } = *placing;
        let started_by = self.started_by(placing);
        let agent = AgentName(self.agent_of(captured));
        let (settings, ids) = (&self.settings, &captured.ids);
        let session = settings.ids.session(captured.at);
        let mut thread = Thread::new(self.log.clone(), session, agent.clone(), settings.location.clone());
        let origin = Origin {
            agent: agent.0.clone(),
            version: None,
            id: Self::foreign(ids).unwrap_or_else(|| session.to_string()),
            form: Origin::WIRE.to_owned(),
            importer: MAPPING,
        };
        let call = started_by.as_ref().and_then(|(_, call)| call.clone());
        let parent = started_by.as_ref().and_then(|(at, _)| self.threads.get(*at)).map(|known| known.thread.session);
        let created = SessionCreated {
            location: settings.location.clone(),
            agent: agent.clone(),
            model: model(protocol, &captured.host, &conversation.model),
            policy: Policy::default(),
            title: None,
            parent: parent.map(|session| Parent { session, call: call.clone() }),
            origin: Some(origin),
            process: settings.process.clone(),
            key: settings.ids.session_key().into(),
        };
        let lease = self.lease(session).await.flatten();
        thread.begin(captured.at, created).await.map_err(|error| error.to_string())?;
        let known = KnownThread { ids: ids.clone(), protocol, parent, thread, broken: false, _lease: lease };
        self.threads.push(known);
        if let Some((at, _)) = started_by {
            self.child_started(at, captured, session, agent, call).await?;
        }
        Ok(self.threads.len() - 1)
    }

    /// Records in a conversation that it started a subagent.
    pub(super) async fn child_started(
        &mut self,
        parent: usize,
        captured: &CapturedRequest,
        child: SessionId,
        agent: AgentName,
        call: Option<CallId>,
    ) -> Result<(), String> {
        let Some(known) = self.threads.get_mut(parent) else { return Ok(()) };
        let background = call.as_ref().is_none_or(|call| known.thread.is_background(call));
        let started = ChildStarted { child, call: call.clone(), agent, background };
        known.thread.append(captured.at, vec![started.into()]).await.map_err(|error| error.to_string())?;
        known.thread.child(child, call.filter(|_| !background));
        Ok(())
    }

    /// The conversation that started a subagent, by ids, and the call, by the prompt that the subagent got.
    pub(super) fn started_by(&self, placing: &Placing<'_>) -> Option<(usize, Option<CallId>)> {
        let Placing { captured, conversation, .. } = *placing;
        let prompt = prompt(conversation);
        let is_prompt = |text: &str| {
            let text = text.trim();
            !text.is_empty() && (text == prompt.trim() || text.len() >= DISTINCT && prompt.contains(text))
        };
        if let Some(at) = self.parent(&captured.ids) {
            return Some((at, self.threads.get(at)?.thread.call_with(&is_prompt)));
        }
        if captured.ids.session.is_some() {
            return None;
        }
        let mut all = self.threads.iter().enumerate().filter(|(_, known)| known.ids.session.is_none());
        all.find_map(|(at, known)| Some((at, Some(known.thread.call_with(&is_prompt)?))))
    }

    /// The conversation that started a subagent, by ids.
    fn parent(&self, ids: &AgentIds) -> Option<usize> {
        ids.session.as_ref()?;
        let all = || self.threads.iter().enumerate();
        let of_session = || all().filter(|(_, known)| known.ids.session == ids.session);
        let named = ids.parent.as_ref().and_then(|parent| {
            of_session().find(|(_, known)| known.ids.agent.as_ref() == Some(parent)).map(|(at, _)| at)
        });
        let elsewhere =
            ids.parent.as_ref().filter(|parent| ids.session.as_ref() != Some(parent)).and_then(|parent| {
                all().find(|(_, known)| known.ids.session.as_ref() == Some(parent)).map(|(at, _)| at)
            });
        named.or(elsewhere).or_else(|| of_session().find(|(_, known)| known.ids.agent.is_none()).map(|(at, _)| at))
    }

    /// The right to extend a session: `None` while another process has it; without leases everything is allowed.
    pub(super) async fn lease(&self, session: SessionId) -> Option<Option<Arc<Lease>>> {
        let Some(leases) = &self.settings.leases else { return Some(None) };
        match leases.take(session).await {
            Ok(Some(lease)) => Some(Some(lease)),
            Ok(None) => None,
            Err(error) => {
                tracing::debug!(%error, "no lease");
                Some(None)
            }
        }
    }
}

/// What a conversation was begun with: the newest text of the user.
fn prompt(conversation: &WireConversation) -> String {
    let users = conversation.units.iter().rev().filter(|unit| unit.speaker == Speaker::User);
    let mut texts = users.map(|unit| {
        let texts = unit.items.iter().filter_map(|item| match item {
            WireItem::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    });
    texts.find(|text| !text.is_empty()).unwrap_or_default()
}
