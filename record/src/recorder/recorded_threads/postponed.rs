//! Requests aside that precede their conversation: an agent may ask for something, such as a title or which model to use, before
//! the request that says which session it continues, and with which model.

use super::placing::Placing;
use super::{ReadRequest, RecordedThreads};
use crate::capture::CapturedAnswer;
use annals_core::Time;
use annals_core::event::Purpose;

/// How many wait. When there are more, a session begins.
const POSTPONED_MAX: usize = 16;

/// A request aside without a conversation, and the answer if it came.
pub(super) struct PostponedRequest {
    request: ReadRequest,
    answer: Option<Box<CapturedAnswer>>,
}

impl RecordedThreads {
    /// Whether a request aside can wait for its conversation.
    pub(super) fn can_wait(&self, placing: &Placing<'_>) -> bool {
        placing.is_decoded && self.postponed.len() < POSTPONED_MAX
    }

    /// Whether any waits.
    pub(super) fn has_postponed(&self) -> bool {
        !self.postponed.is_empty()
    }

    /// Keeps a request until its conversation is known.
    pub(super) fn postpone(&mut self, request: ReadRequest) {
        self.postponed.push(PostponedRequest { request, answer: None });
    }

    /// Keeps the answer to a request that waits; gives any other answer back.
    pub(super) fn answer_postponed(&mut self, captured: Box<CapturedAnswer>) -> Option<Box<CapturedAnswer>> {
        let waiting = self.postponed.iter_mut().find(|postponed| postponed.request.captured.id == captured.id);
        match waiting {
            Some(postponed) => {
                postponed.answer = Some(captured);
                None
            }
            None => Some(captured),
        }
    }

    /// Records in a conversation, which just got a request, what waited for it.
    pub(super) async fn record_postponed(&mut self, at: usize, now: Time) {
        let Some(known) = self.threads.get(at) else { return };
        let (protocol, session) = (known.protocol, known.ids.session.clone());
        let is_own = |postponed: &PostponedRequest| {
            let request = &postponed.request;
            let theirs = &request.captured.ids.session;
            *theirs == session && (theirs.is_some() || request.protocol == protocol)
        };
        let all = std::mem::take(&mut self.postponed).into_iter();
        let (own, others): (Vec<_>, Vec<_>) = all.partition(is_own);
        self.postponed = others;
        for PostponedRequest { mut request, answer } in own {
            // It is recorded late; events of a session are in the order of their times.
            request.captured.at = request.captured.at.max(now);
            let purpose = self.purpose(&request.placing(), true).unwrap_or(Purpose::Other);
            if let Err(why) = self.record(request, at, purpose).await {
                self.miss(why);
            }
            if let Some(mut answer) = answer {
                answer.at = answer.at.max(now);
                self.answer(answer).await;
            }
        }
    }

    /// The recording ends: what still waits has no conversation but its own.
    pub(super) async fn begin_postponed(&mut self) {
        while let Some(first) = self.postponed.pop() {
            let at = first.request.captured.at;
            match self.begin(&first.request.placing()).await {
                Ok(begun) => {
                    self.postponed.push(first);
                    self.record_postponed(begun, at).await;
                }
                Err(why) => self.miss(why),
            }
        }
    }
}
