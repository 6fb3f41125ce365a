//! The recorded requests of a session: the list, and one of them rebuilt with the origin of each part.

use crate::body_view::{self, BodyView};
use crate::prove::{Wire, body_of, prove_all};
use crate::recorded_body::RecordedBody;
use crate::withheld::{WithheldBefore, WithheldParts};
use crate::{RequestIndex, SessionAt};
use annals_core::event::{Purpose, RequestSent, StepEvent};
use annals_core::{AgentName, Blobs, Digest, Event, ModelName, RequestId, Seq, SessionId, Time};
use annals_projections::{Block, BuildError, Request, RequestMark, Requests, Span, rebuild};
use annals_store::ReadError;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// A recorded request in a list.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedRequest {
    /// Its number, from 1.
    pub number: usize,
    /// The event that recorded it.
    pub seq: Seq,
    /// The time.
    pub at: Time,
    /// Its id.
    pub request: RequestId,
    /// A turn, a summary or a title.
    pub purpose: Purpose,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The agent of the turn.
    pub agent: AgentName,
    /// The model that was asked.
    pub model: ModelName,
    /// The digest that was recorded before it was sent.
    pub digest: Digest,
    /// Whether the rebuilt request has that digest; `null` when it was not rebuilt, or parts of it are withheld.
    pub proved: Option<bool>,
    /// How many of its parts are withheld, so that it cannot be proved; left out when it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<WithheldParts>,
    /// How many answers were given since the request before of which no request was recorded; left out when there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub unrecorded: usize,
    /// Why it is not proved.
    #[serde(skip)]
    pub flaw: Option<String>,
}

impl ListedRequest {
    fn of(number: usize, mark: RequestMark) -> Self {
        let RequestMark { seq, at, request, purpose, attempt, agent, model, digest } = mark;
        let (proved, withheld, flaw) = (None, None, None);
        let unrecorded = 0;
        Self { number, seq, at, request, purpose, attempt, agent, model, digest, proved, withheld, unrecorded, flaw }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The recorded requests of a session, read where they are asked for. A request has the number that it has in
/// [`crate::RequestIndex`]: where an import recorded a part of them, the others are numbered, too.
#[derive(Clone, Debug)]
pub struct RecordedRequests {
    marks: Arc<Requests>,
    index: Arc<RequestIndex>,
}

impl RecordedRequests {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.marks.marks.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = ListedRequest> + '_ {
        self.newest(self.len())
    }

    /// The newest `count` of them, in order.
    pub fn newest(&self, count: usize) -> impl Iterator<Item = ListedRequest> + '_ {
        let from = self.len().saturating_sub(count);
        let before = from.checked_sub(1).and_then(|at| self.marks.marks.get(at));
        let mut last = before.map_or(Seq::ZERO, |mark| mark.seq);
        let requests = &self.index.requests;
        let is_all = requests.len() == self.len();
        (from + 1..).zip(self.marks.marks.range(from..self.len())).map(move |(at, mark)| {
            let unrecorded = self.index.unrecorded(std::mem::replace(&mut last, mark.seq)..mark.seq).len();
            let number = if is_all { at } else { requests.before(mark.seq) + 1 };
            ListedRequest { unrecorded, ..ListedRequest::of(number, mark) }
        })
    }
}

/// A recorded request, rebuilt from the log.
#[derive(Clone, Debug)]
pub struct RebuiltRequest {
    /// The session.
    pub session: SessionId,
    /// Where and when it was recorded.
    pub mark: RequestMark,
    /// What was recorded of it.
    pub sent: RequestSent,
    /// What the model received, as the events of the log have it: what the digest is of.
    pub request: Request,
    /// The same as its recorded body has it.
    body: Option<BodyView>,
    /// What is withheld of it, so that it cannot be proved.
    pub withheld: Option<WithheldParts>,
    /// Its body, if it was recorded in pieces.
    recorded: Option<RecordedBody>,
}

/// A recorded request cannot be rebuilt.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The session has fewer recorded requests.
    #[error("there is no request {wanted}: session {session} has {count} recorded requests")]
    NoRequest {
        /// Which session.
        session: SessionId,
        /// What was asked for, from 1.
        wanted: usize,
        /// How many there are.
        count: usize,
    },
    /// The log does not contain what shaped the request.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// What shaped the request is withheld.
    #[error("{0}")]
    Withheld(WithheldParts),
}

impl SessionAt {
    /// Every recorded request.
    pub async fn requests(&self) -> Result<RecordedRequests, ReadError> {
        Ok(RecordedRequests { marks: self.saved::<Requests>().await?, index: self.steps().await? })
    }

    /// Every recorded request, rebuilt, its digest compared.
    pub async fn proved_requests(&self) -> Result<Vec<ListedRequest>, ReadError> {
        let proofs = prove_all(self, false).await?;
        let recorded = self.requests().await?;
        let listed = recorded.iter().zip(proofs).map(|(listed, proof)| {
            let proved = proof.withheld.is_none().then_some(proof.flaw.is_none());
            ListedRequest { proved, withheld: proof.withheld, flaw: proof.flaw, ..listed }
        });
        Ok(listed.collect())
    }

    /// Rebuilds the recorded request with this number, from 1.
    ///
    /// # Errors
    /// When there is no such request, it cannot be rebuilt, or the log cannot be read.
    pub async fn rebuilt_request(&self, number: usize) -> Result<RebuiltRequest, RebuildError> {
        let saved = self.saved::<Requests>().await?;
        let none = RebuildError::NoRequest { session: self.session, wanted: number, count: saved.marks.len() };
        let step = self.steps().await?.get(number as u64).filter(|step| step.recorded);
        let mark = step.and_then(|step| {
            let at = number.checked_sub(1).and_then(|at| saved.marks.get(at)).filter(|mark| mark.seq == step.seq);
            at.or_else(|| saved.marks.iter().find(|mark| mark.seq == step.seq))
        });
        let Some(mark) = mark else { return Err(none) };
        let slice = self.log().batch_at(self.session, mark.seq).await?;
        let record = slice.as_ref().and_then(|slice| slice.records().find(|record| record.seq == mark.seq));
        let Some(Event::Step(StepEvent::RequestSent(sent))) = record.map(|record| record.event) else {
            return Err(none);
        };
        let view = self.seen(mark.seq).await?;
        let rebuilt = rebuild(&view, sent, self.blobs());
        let proved = rebuilt.as_ref().is_ok_and(|request| request.digest() == sent.digest);
        let withheld = if proved { None } else { self.withheld().await?.of(sent, rebuilt.as_ref()) };
        let request = rebuilt.map_err(|error| withheld.map_or(error.into(), RebuildError::Withheld))?;
        let sent = (**sent).clone();
        let recorded = RecordedBody::of(self, mark.seq, &sent).await?;
        let text = recorded.as_ref().and_then(|recorded| recorded.text(&sent, self.blobs()));
        let read = |(body, target): (String, &str)| {
            body_view::read_or_raw(&body, target, &request, &sent, &view, self.blobs())
        };
        let body = text.and_then(read);
        Ok(RebuiltRequest { session: self.session, mark, sent, request, body, withheld, recorded })
    }

    async fn withheld(&self) -> Result<WithheldBefore, ReadError> {
        let mut withheld = WithheldBefore::default();
        let mut pages = self.log().pages(self.session, Seq::ZERO..self.until);
        while let Some(slices) = pages.next_page().await? {
            slices.iter().for_each(|slice| withheld.note(&slice.batch));
        }
        Ok(withheld)
    }
}

impl RebuiltRequest {
    /// Whether it is what was sent: it has the digest that was recorded before.
    pub fn is_proved(&self) -> bool {
        self.request.digest() == self.sent.digest
    }

    /// Its body, put together from its recorded pieces or encoded again, compared with what was sent.
    ///
    /// # Errors
    /// When parts of it are withheld.
    pub fn wire(&self, blobs: &dyn Blobs) -> Result<Wire, WithheldParts> {
        match &self.recorded {
            Some(recorded) => recorded.wire(&self.sent, blobs),
            None => Ok(body_of(&self.request, &self.sent, self.session)),
        }
    }

    /// What the model received: as the recorded body has it, else as the events of the log have it.
    pub fn shown(&self) -> &Request {
        self.body.as_ref().map_or(&self.request, |body| &body.request)
    }

    /// The request in its public form, with its digest, whether it is proved, the digests of its parts, and the event that
    /// each part came from.
    pub fn to_json(&self) -> Value {
        let mut value = self.shown().to_json();
        if let Value::Object(fields) = &mut value {
            if let Some(body) = &self.body {
                fields.insert("digest".to_owned(), json!(self.request.digest()));
                fields.insert("pointers".to_owned(), json!({"system": body.system, "messages": body.messages}));
            }
            let messages = fields.get_mut("messages").and_then(Value::as_array_mut);
            for (message, sent) in messages.into_iter().flatten().zip(&self.shown().messages) {
                let reasoning = sent.blocks.iter().filter_map(|block| match block {
                    Block::Reasoning { text, .. } if !text.is_empty() => Some(text.as_str()),
                    _ => None,
                });
                let reasoning = reasoning.collect::<Vec<_>>().join("\n\n");
                if let (Value::Object(message), false) = (message, reasoning.is_empty()) {
                    message.insert("reasoning".to_owned(), json!(reasoning));
                }
            }
            fields.insert("seq".to_owned(), json!(self.mark.seq));
            fields.insert("recorded".to_owned(), json!(self.sent.digest));
            fields.insert("proved".to_owned(), json!(self.withheld.is_none().then_some(self.is_proved())));
            if let Some(parts) = self.withheld {
                fields.insert("withheld".to_owned(), json!(parts));
            }
            let parts = self.shown().parts().into_iter();
            fields.insert(
                "parts".to_owned(),
                parts.map(|(name, digest)| json!({"part": name, "digest": digest})).collect(),
            );
            fields.insert("origins".to_owned(), self.origins());
        }
        value
    }

    fn origins(&self) -> Value {
        let span = |span: &Span| json!({"bytes": span.bytes, "seq": span.seq, "source": span.source});
        let system = self.shown().system.iter().map(|system| system.spans.iter().map(span).collect::<Value>());
        let messages = self.shown().messages.iter().map(|message| {
            let blocks = message.blocks.iter().map(|block| json!(block.seq()));
            blocks.collect::<Value>()
        });
        json!({"system": system.collect::<Value>(), "messages": messages.collect::<Value>()})
    }
}
