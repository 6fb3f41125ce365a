//! Finds the conversation and the purpose of a request.

use super::{KnownThread, RecordedThreads};
use crate::capture::CapturedRequest;
use crate::purpose::{Requester, aside};
use annals_core::Digest;
use annals_core::event::Purpose;
use annals_providers::recorded::{RecordedProtocol, WireConversation, compacts};

/// A request that has no conversation yet.
#[derive(Clone, Copy)]
pub(super) struct Placing<'r> {
    pub(super) captured: &'r CapturedRequest,
    pub(super) protocol: RecordedProtocol,
    /// Whether it only counts tokens.
    pub(super) counts: bool,
    pub(super) conversation: &'r WireConversation,
    /// Whether it is known what the body says.
    pub(super) is_decoded: bool,
    /// The hash of its body.
    pub(super) wire: Digest,
}

impl Placing<'_> {
    fn is_keyed(&self) -> bool {
        self.captured.ids.session.is_some()
    }

    /// Whether a conversation has the ids of the request. Codex asks a provider to compact one without any. An agent that names its
    /// sessions may go to another provider in one.
    fn is_of(&self, known: &KnownThread) -> bool {
        let (ids, own) = (&self.captured.ids, &known.ids);
        let is_anonymous = ids.session.is_none() && compacts(&self.captured.target);
        (self.is_keyed() || known.protocol == self.protocol)
            && (is_anonymous || (own.session == ids.session && own.agent == ids.agent))
    }

    /// How much of a conversation that waits for nothing the request begins with, if it continues that. An agent may name its sessions
    /// to some providers alone: then an answer that both have says so.
    fn continues(&self, known: &mut KnownThread) -> Option<usize> {
        let is_of = self.is_of(known);
        if !known.thread.in_flight.is_empty() || (!is_of && self.is_keyed() && known.ids.session.is_some()) {
            return None;
        }
        if let Some(previous) = self.conversation.previous.as_ref().filter(|_| is_of) {
            return known.thread.answered_as(previous).then_some(usize::MAX);
        }
        if is_of && self.conversation.references.iter().any(|id| known.thread.answered_as(id)) {
            return Some(usize::MAX);
        }
        let shared = known.thread.shared(self.conversation);
        // Without ids of its agent the common beginning must contain an answer, or be all there was; or the newest answer is sent back.
        let begins = shared.same > 0 && (is_of && (self.is_keyed() || shared.is_all) || shared.has_answer);
        (begins || is_of && shared.has_newest).then_some(shared.same)
    }
}

impl RecordedThreads {
    /// The conversation that a request belongs to, and what the request is for; `None` for one that is to wait.
    pub(super) async fn place(&mut self, placing: &Placing<'_>) -> Result<Option<(usize, Purpose)>, String> {
        if let Some(again) = self.attempt(placing) {
            return Ok(Some(again));
        }
        if !placing.is_decoded {
            let newest = self.of_agent(placing).last().map(|(at, _)| at);
            let at = match newest {
                Some(at) => at,
                None => self.begin(placing).await?,
            };
            return Ok(Some((at, Purpose::Other)));
        }
        let continued = (self.threads.iter_mut().enumerate())
            .filter_map(|(at, known)| Some((at, placing.continues(known)?, placing.is_of(known))))
            .max_by_key(|(at, same, is_of)| (*is_of, *same, std::cmp::Reverse(*at)))
            .map(|(at, ..)| at)
            .or_else(|| self.summarised(placing));
        let main = self.of_agent(placing).find(|(_, known)| known.thread.has_turns()).map(|(at, _)| at);
        let purpose = self.purpose(placing, continued.or(main).is_some());
        if continued.or(main).is_none() {
            let known = match self.resume(placing).await? {
                Some(at) => Some(at),
                None => self.fork(placing).await?,
            };
            if let Some(at) = known {
                return Ok(Some((at, self.purpose(placing, true).unwrap_or(Purpose::Turn))));
            }
        }
        let sidelong = purpose.filter(|purpose| continued.is_none() || *purpose != Purpose::Title);
        if let Some(purpose) = sidelong {
            let nearest = continued.or(main).or_else(|| self.of_agent(placing).next().map(|(at, _)| at));
            let nearest = nearest.or_else(|| self.beside(placing, purpose));
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

    /// The conversation that a request aside with ids of its own is for: the one of the agent's session, else, for a title, the newest.
    fn beside(&self, placing: &Placing<'_>, purpose: Purpose) -> Option<usize> {
        let session = placing.captured.ids.session.as_ref()?;
        let of_session = self.threads.iter().position(|known| known.ids.session.as_ref() == Some(session));
        let newest = || self.threads.iter().rposition(|known| known.parent.is_none() && known.thread.has_turns());
        of_session.or_else(|| newest().filter(|_| purpose == Purpose::Title))
    }

    fn of_agent<'t>(&'t self, placing: &'t Placing<'_>) -> impl Iterator<Item = (usize, &'t KnownThread)> {
        self.threads.iter().enumerate().filter(|(_, known)| placing.is_of(known))
    }

    pub(super) fn purpose(&self, placing: &Placing<'_>, has_main: bool) -> Option<Purpose> {
        let Placing { captured, counts, conversation, .. } = *placing;
        let agent = &self.agent_of(captured);
        aside(&Requester { agent, conversation, counts, compacts: captured.compaction.is_some(), has_main })
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
        (placing.is_keyed() && known.thread.in_flight.is_empty()).then_some(main)
    }
}
