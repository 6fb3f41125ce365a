//! Finds the conversation and the purpose of a request.

use super::{KnownThread, RecordedThreads};
use crate::capture::CapturedRequest;
use crate::conversation::WireConversation;
use crate::protocol::{self, RecordedProtocol};
use crate::purpose::{Requester, aside};
use annals_core::Digest;
use annals_core::event::Purpose;

/// A request that has no conversation yet.
#[derive(Clone, Copy)]
pub(super) struct Placing<'r> {
    pub(super) captured: &'r CapturedRequest,
    pub(super) protocol: RecordedProtocol,
    /// Whether it only counts tokens.
    pub(super) counts: bool,
    pub(super) conversation: &'r WireConversation,
    /// The hash of its body.
    pub(super) wire: Digest,
}

impl Placing<'_> {
    fn is_keyed(&self) -> bool {
        self.captured.ids.session.is_some()
    }

    /// Whether a conversation has the ids of the request. Codex asks a provider to compact one without any.
    fn is_of(&self, known: &KnownThread) -> bool {
        let (ids, own) = (&self.captured.ids, &known.ids);
        let is_anonymous = ids.session.is_none() && protocol::compacts(&self.captured.target);
        known.protocol == self.protocol && (is_anonymous || (own.session == ids.session && own.agent == ids.agent))
    }

    /// How many messages of a conversation that waits for nothing the request begins with, if it continues that.
    fn continues(&self, known: &KnownThread) -> Option<usize> {
        let (same, all) = known.thread.shared(self.conversation);
        let idle = known.thread.in_flight.is_empty();
        // Without ids of its agent the common beginning must contain an answer, or be all there was.
        (same > 0 && idle && (self.is_keyed() || same == all || same > 1)).then_some(same)
    }
}

impl RecordedThreads {
    /// The conversation that a request belongs to, and what the request is for; `None` for one that is to wait.
    pub(super) async fn place(&mut self, placing: &Placing<'_>) -> Result<Option<(usize, Purpose)>, String> {
        if let Some(again) = self.attempt(placing) {
            return Ok(Some(again));
        }
        let continued = self
            .of_agent(placing)
            .filter_map(|(at, known)| Some((at, placing.continues(known)?)))
            .max_by_key(|(at, same)| (*same, std::cmp::Reverse(*at)))
            .map(|(at, _)| at)
            .or_else(|| self.summarised(placing));
        let main = self.of_agent(placing).find(|(_, known)| known.thread.has_turns()).map(|(at, _)| at);
        let purpose = self.purpose(placing, continued.or(main).is_some());
        if continued.or(main).is_none()
            && let Some(at) = self.resume(placing).await?
        {
            return Ok(Some((at, self.purpose(placing, true).unwrap_or(Purpose::Turn))));
        }
        let sidelong = purpose.filter(|purpose| continued.is_none() || *purpose != Purpose::Title);
        if let Some(purpose) = sidelong {
            let nearest = continued.or(main).or_else(|| self.of_agent(placing).next().map(|(at, _)| at));
            return match nearest {
                Some(at) => Ok(Some((at, purpose))),
                None if self.can_wait(placing) => Ok(None),
                None => Ok(Some((self.begin(placing).await?, purpose))),
            };
        }
        if let Some(at) = continued {
            return Ok(Some((at, Purpose::Turn)));
        }
        // A subagent may speak under the ids of the agent that started it.
        if self.started_by(placing).is_some_and(|(_, call)| call.is_some()) {
            return Ok(Some((self.begin(placing).await?, Purpose::Turn)));
        }
        let known = self.unbegun(placing).or_else(|| self.replaced(placing, main?));
        let at = match known {
            Some(at) => at,
            None => self.begin(placing).await?,
        };
        Ok(Some((at, Purpose::Turn)))
    }

    fn of_agent<'t>(&'t self, placing: &'t Placing<'_>) -> impl Iterator<Item = (usize, &'t KnownThread)> {
        self.threads.iter().enumerate().filter(|(_, known)| placing.is_of(known))
    }

    pub(super) fn purpose(&self, placing: &Placing<'_>, has_main: bool) -> Option<Purpose> {
        let Placing { captured, counts, conversation, .. } = *placing;
        let agent = &self.agent_of(captured);
        aside(&Requester { agent, conversation, counts, compacts: captured.compacts, has_main })
    }

    /// Another attempt of a request that waits or failed.
    fn attempt(&self, placing: &Placing<'_>) -> Option<(usize, Purpose)> {
        let (at, known) = self.of_agent(placing).find(|(_, known)| known.thread.is_retry(placing.wire))?;
        let purpose = self.purpose(placing, true).unwrap_or(Purpose::Turn);
        (known.thread.in_flight.is_empty() || purpose != Purpose::Turn).then_some((at, purpose))
    }

    /// A conversation that only had requests aside so far.
    fn unbegun(&self, placing: &Placing<'_>) -> Option<usize> {
        let is_unbegun = |known: &KnownThread| {
            !known.thread.has_turns() && known.thread.in_flight.iter().all(|flight| !flight.is_turn())
        };
        self.of_agent(placing).find(|(_, known)| is_unbegun(known)).map(|(at, _)| at)
    }

    /// The conversation of an agent without ids whose history the request replaces by the summary that was asked for.
    fn summarised(&self, placing: &Placing<'_>) -> Option<usize> {
        let uses =
            |known: &KnownThread| known.thread.in_flight.is_empty() && known.thread.uses_summary(placing.conversation);
        let mut of_agent = self.of_agent(placing).filter(|_| !placing.is_keyed());
        of_agent.find(|(_, known)| uses(known)).map(|(at, _)| at)
    }

    /// An agent that names its sessions replaced the history of one: it summarised.
    fn replaced(&self, placing: &Placing<'_>, main: usize) -> Option<usize> {
        let known = self.threads.get(main)?;
        (placing.is_keyed() && known.thread.in_flight.is_empty() && known.thread.has_tools()).then_some(main)
    }
}
