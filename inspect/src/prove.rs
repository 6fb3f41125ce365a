//! Rebuilds the requests of a session from its log and compares digests.

use crate::SessionAt;
pub use crate::body_proof::{AgentProof, Wire};
use crate::body_view;
pub use crate::body_view::ViewDifference;
use crate::recorded_body::{RecordedPieces, without_bytes};
use crate::request_fold::RequestFold;
use crate::withheld::{WithheldBefore, WithheldParts};
use annals_core::event::{RequestSent, SessionEvent, StepEvent};
use annals_core::{Blobs, Event, Seq, SessionId};
use annals_projections::{Request, RequestMark};
use annals_providers::wire::encode;
use annals_store::ReadError;
use serde::Serialize;
use std::collections::BTreeMap;

/// The result for one request.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The request.
    pub mark: RequestMark,
    /// Why it is not proved, in words; `None` when it is, or cannot be.
    pub flaw: Option<String>,
    /// What is withheld of it, so that it cannot be proved.
    pub withheld: Option<WithheldParts>,
    /// The result for its body; `None` when that was not asked for, or the request itself is not proved. A body from the session file of
    /// an agent is always compared.
    pub wire: Option<Wire>,
    /// For a body from the session file of an agent, the agent.
    pub by: Option<String>,
    /// What a recorded body and the events say otherwise; `None` where no body is recorded.
    pub view: Option<ViewDifference>,
}

/// Rebuilds every request of a session, in one walk through its log; with `wire` its body, too.
///
/// # Errors
/// When the log cannot be read. A request that is not proved is in the answer.
pub async fn prove_all(past: &SessionAt, wire: bool) -> Result<Vec<Proof>, ReadError> {
    prove_each(past, wire, |_, _| ()).await
}

/// The same; `seen` is shown each body before its bytes are dropped, with the event of its request.
///
/// # Errors
/// See [`prove_all`].
pub(crate) async fn prove_each(
    past: &SessionAt,
    wire: bool,
    mut seen: impl FnMut(Seq, &Wire),
) -> Result<Vec<Proof>, ReadError> {
    let mut fold = RequestFold::default();
    let (mut proofs, mut withheld): (Vec<Proof>, _) = (Vec::new(), WithheldBefore::default());
    let mut pieces = RecordedPieces::default();
    let mut pages = past.log().pages(past.session, Seq::ZERO..past.until);
    while let Some(slices) = pages.next_page().await? {
        for slice in &slices {
            withheld.note(&slice.batch);
            for record in slice.records() {
                let proved = match record.event {
                    Event::Step(StepEvent::RequestSent(sent)) => {
                        let session = wire.then_some(past.session);
                        let by = pieces.agent(sent, past.blobs()).map(str::to_owned);
                        let proved = prove(&mut fold, sent, past.blobs(), session, withheld, &pieces);
                        Some((proved, RequestMark::of(&record, sent), by))
                    }
                    // What a fork inherits was sent by its parent.
                    Event::Session(SessionEvent::Forked(_)) => {
                        proofs.clear();
                        None
                    }
                    _ => None,
                };
                pieces.note(&record);
                fold.apply(&record);
                fold.restore(past, &record).await?;
                if let Some(((result, wire, view), mark, by)) = proved {
                    let (flaw, withheld) = match result {
                        Ok(()) => (None, None),
                        Err(Unproved::Flaw(flaw)) => (Some(flaw), None),
                        Err(Unproved::Withheld(parts)) => (None, Some(parts)),
                    };
                    // The bytes are not kept: there may be many.
                    let wire = wire.map(|wire| {
                        seen(mark.seq, &wire);
                        bare(wire)
                    });
                    proofs.push(Proof { mark, flaw, withheld, wire, by, view });
                }
            }
        }
    }
    Ok(proofs)
}

/// Why a request is not proved.
enum Unproved {
    /// It is another one than was recorded, or cannot be rebuilt.
    Flaw(String),
    /// Parts of it are withheld.
    Withheld(WithheldParts),
}

/// Whether a request is proved by the view before it, the result for the body that `session` sent, and what a recorded body and the
/// events say otherwise.
fn prove(
    fold: &mut RequestFold,
    sent: &RequestSent,
    blobs: &dyn Blobs,
    session: Option<SessionId>,
    withheld: WithheldBefore,
    pieces: &RecordedPieces,
) -> (Result<(), Unproved>, Option<Wire>, Option<ViewDifference>) {
    let built = match fold.build(sent, blobs) {
        Ok(built) => built,
        Err(error) => {
            let parts = withheld.of(sent, Err(&error));
            return (Err(parts.map_or_else(|| Unproved::Flaw(error.to_string()), Unproved::Withheld)), None, None);
        }
    };
    let digest = built.digest();
    if digest != sent.digest {
        let parts = withheld.of(sent, Ok(&built.request()));
        let flaw = || Unproved::Flaw(format!("recorded {}, rebuilt {}", sent.digest.short(), digest.short()));
        return (Err(parts.map_or_else(flaw, Unproved::Withheld)), None, None);
    }
    let (target, body) = (pieces.target(sent), pieces.wire(sent, blobs));
    let session = session.or_else(|| pieces.agent(sent, blobs).map(|_| SessionId([0; 16])));
    if session.is_none() && body.is_none() {
        return (Ok(()), None, None);
    }
    let request = built.request();
    let view = match (&body, target) {
        (Some(Ok(Wire::Recorded(body) | Wire::Redacted(body))), Some(target)) => {
            let text = std::str::from_utf8(&body.bytes).ok();
            let view = text.and_then(|text| body_view::read(text, target, &request, sent, &fold.view, blobs));
            view.map(|view| view.difference)
        }
        _ => None,
    };
    let Some(session) = session else { return (Ok(()), None, view) };
    match body.unwrap_or_else(|| Ok(body_of(&request, sent, session))) {
        Ok(body) => (Ok(()), Some(body), view),
        Err(parts) => (Err(Unproved::Withheld(parts)), None, view),
    }
}

/// The same without the bytes of a body.
fn bare(wire: Wire) -> Wire {
    match wire {
        Wire::Proved(body) => Wire::Proved(without_bytes(body)),
        Wire::Recorded(body) => Wire::Recorded(without_bytes(body)),
        Wire::Redacted(body) => Wire::Redacted(without_bytes(body)),
        Wire::Agent(body, proof) => Wire::Agent(without_bytes(body), proof),
        Wire::Differs(why, _) => Wire::Differs(why, None),
        other => other,
    }
}

/// Encodes a rebuilt request again and compares it with what was recorded.
pub fn body_of(request: &Request, sent: &RequestSent, session: SessionId) -> Wire {
    match (encode(request, session), sent.wire) {
        (Ok(Some(body)), Some(recorded)) if body.digest == recorded => Wire::Proved(body),
        (Ok(Some(body)), Some(recorded)) => {
            let why = format!("recorded body {}, encoded {}", recorded.short(), body.digest.short());
            Wire::Differs(why, Some(body))
        }
        (_, None) => Wire::NotRecorded,
        (Ok(None), Some(recorded)) => {
            let why = format!("recorded body {}, but nothing is encoded for {}", recorded.short(), sent.model);
            Wire::Differs(why, None)
        }
        (Err(error), Some(_)) if error.is_of_another_build() => Wire::OfAnotherBuild(error.to_string()),
        (Err(error), Some(_)) => Wire::Differs(error.to_string(), None),
    }
}

/// What rebuilding the requests of one or several sessions gave, as `annals verify --requests` reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestProofs {
    /// How many requests were rebuilt.
    pub count: u64,
    /// Session, event and flaw of each that is not proved.
    pub flaws: Vec<String>,
    /// Session, event and what is withheld of each that cannot be proved.
    pub withheld: Vec<String>,
    /// How many bodies are proved, recorded ones included.
    pub bodies: u64,
    /// How many recorded bodies are proved byte for byte.
    pub recorded: u64,
    /// How many recorded bodies had secrets, which were replaced.
    pub redacted: u64,
    /// How many requests have no recorded body.
    pub without_body: u64,
    /// The requests from session files of agents, by agent.
    pub agents: BTreeMap<String, AgentProofs>,
    /// Session, event and reason of each body that another build encoded.
    pub of_another_build: Vec<String>,
    /// How many recorded bodies say what the events say.
    pub agreeing: u64,
    /// Session, event and difference of each recorded body that says otherwise.
    pub differing: Vec<String>,
}

/// What the hashes that an agent recorded in its session file prove of its requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentProofs {
    /// How many have system prompt, tools and messages with the hashes that the agent recorded.
    pub proved: u64,
    /// How many of these have the hash that the agent recorded of the whole, with options and marks for the cache.
    pub whole: u64,
    /// How many of these have another hash of the whole.
    pub whole_differs: u64,
    /// Session, event and the parts that the session file does not have, of each request that lacks some.
    pub lacking: Vec<String>,
}

impl AgentProofs {
    /// How many requests the agent recorded.
    pub fn count(&self) -> u64 {
        self.proved + self.lacking.len() as u64
    }
}

impl RequestProofs {
    /// Rebuilds every request of a session; with `wire` its body, too.
    pub async fn add(&mut self, past: &SessionAt, wire: bool) -> Result<(), ReadError> {
        for Proof { mark, flaw, withheld, wire, by, view } in prove_all(past, wire).await? {
            self.count += 1;
            let at = |why: String| format!("session {}, event {}: {why}", past.session, mark.seq);
            match view {
                Some(difference) if difference.is_none() => self.agreeing += 1,
                Some(difference) => self.differing.push(at(difference.words())),
                None => {}
            }
            self.flaws.extend(flaw.map(at));
            self.withheld.extend(withheld.map(|parts| at(parts.to_string())));
            match wire {
                None => {}
                Some(Wire::NotRecorded) => self.without_body += 1,
                Some(Wire::Proved(_)) => self.bodies += 1,
                Some(Wire::Recorded(_)) => {
                    self.bodies += 1;
                    self.recorded += 1;
                }
                Some(Wire::Redacted(_)) => self.redacted += 1,
                Some(Wire::Agent(_, proof)) => {
                    let agent = self.agents.entry(by.unwrap_or_default()).or_default();
                    match proof {
                        AgentProof::Whole => (agent.proved, agent.whole) = (agent.proved + 1, agent.whole + 1),
                        AgentProof::Parts { whole_differs } => {
                            agent.proved += 1;
                            agent.whole_differs += u64::from(whole_differs);
                        }
                        AgentProof::Lacks(parts) => agent.lacking.push(at(parts.join(", "))),
                        AgentProof::Differs(why) => self.flaws.push(at(why)),
                    }
                }
                Some(Wire::OfAnotherBuild(why)) => self.of_another_build.push(at(why)),
                Some(Wire::Differs(why, _)) => self.flaws.push(at(why)),
            }
        }
        Ok(())
    }

    /// How many requests can be proved: all but those with withheld parts.
    pub fn provable(&self) -> u64 {
        self.count.saturating_sub(self.withheld.len() as u64)
    }

    /// Whether there are requests, and each is proved or cannot be, since parts of it are withheld.
    pub fn are_sound(&self) -> bool {
        self.count > 0 && self.flaws.is_empty() && self.of_another_build.is_empty()
    }
}
