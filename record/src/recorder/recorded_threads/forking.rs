//! Conversations that an agent continues under another name: `--fork-session` of Claude Code, forks of Codex and OpenCode.

use super::placing::Placing;
use super::{KnownThread, RecordedThreads};
use crate::thread::Thread;
use annals_core::SessionId;
use annals_core::event::{Origin, SessionForked};
use annals_providers::recorded::Speaker;
use annals_store::append_rules::fork_at;

impl RecordedThreads {
    /// Begins the session of a request as a fork of the one whose whole conversation it continues under ids of its own.
    pub(super) async fn fork(&mut self, placing: &Placing<'_>) -> Result<Option<usize>, String> {
        let Placing { captured, protocol, conversation, .. } = *placing;
        let ids = &captured.ids;
        let is_main = ids.session.is_some() && ids.agent.is_none() && ids.parent.is_none();
        let speaks = conversation.units.iter().any(|unit| unit.speaker == Speaker::Assistant);
        if !is_main || !speaks || self.purpose(placing, true).is_some() {
            return Ok(None);
        }
        let agent = self.agent_of(captured);
        let mut sessions: Vec<SessionId> = self.threads.iter().map(|known| known.thread.session).collect();
        sessions.extend(self.earlier_of(&agent).await?);
        for parent in sessions {
            let Some(mut thread) = self.read_thread(parent).await? else { continue };
            let shared = thread.shared(conversation);
            let is_whole = shared.is_all && (shared.has_answer || shared.has_newest);
            if thread.is_open() || !is_whole {
                continue;
            }
            let session = self.settings.ids.session(captured.at);
            let cut = thread.next();
            let forked = fork_at(&*self.log, parent, cut, self.settings.ids.session_key()).await;
            let origin = Origin {
                agent: agent.clone(),
                version: None,
                id: Self::foreign(ids).unwrap_or_else(|| session.to_string()),
                form: Origin::WIRE.to_owned(),
                importer: super::beginning::MAPPING,
            };
            let forked = SessionForked { origin: Some(origin), ..forked.map_err(|error| error.to_string())? };
            let lease = self.lease(session).await.flatten();
            let process = self.settings.process.clone();
            thread.fork(captured.at, session, forked, process).await.map_err(|error| error.to_string())?;
            let ids = ids.clone();
            self.threads.push(KnownThread { ids, protocol, parent: None, thread, broken: false, _lease: lease });
            return Ok(Some(self.threads.len() - 1));
        }
        Ok(None)
    }

    /// What the log has of a conversation.
    pub(super) async fn read_thread(&self, session: SessionId) -> Result<Option<Thread>, String> {
        // The agent may have gone to another provider since.
        let read = |target: &str, body: &serde_json::Value| {
            let (protocol, _) = annals_providers::recorded::RecordedProtocol::of(target)?;
            annals_providers::recorded::conversation(protocol, target, body)
        };
        let resumed = Thread::resume(self.log.clone(), session, &read).await.map_err(|error| error.to_string())?;
        if resumed.is_none() {
            tracing::warn!(%session, "an earlier recording cannot be continued");
        }
        Ok(resumed)
    }
}
