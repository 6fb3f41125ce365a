//! Requests as they were sent; where an import did not record one, as the views just before its answer give it.

use super::{AskError, IndexedRequest, SessionAt};
use crate::body_view::{self, BodyView};
use crate::recorded_body::{RecordedBody, RecordedPieces};
use crate::request_fold::RequestFold;
use annals_core::event::{AgentProfile, ModelProfile, Purpose, RequestOptions, RequestSent, StepEvent};
use annals_core::{Blobs, Digest, Event, Record, RequestId, Seq};
use annals_projections::{BuildError, BuiltRequest, Request, SessionView};
use annals_store::{ReadError, Slice};
use serde::Serialize;
use std::collections::BTreeSet;

/// A fact that an answer needs and the log does not hold: the agent that it was imported from did not record it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Lack {
    /// The request itself.
    Request,
    /// The agent's own system text.
    AgentText,
    /// The Baseline System Context.
    Baseline,
    /// The tools that were offered.
    Tools,
    /// Model Request Options and Generation Controls.
    Options,
    /// How the model takes system messages: they are shown as native ones.
    ModelProfile,
    /// Prices.
    Prices,
    /// Usage.
    Usage,
    /// What the provider has of the conversation.
    Provider,
}

impl Lack {
    /// What is lacking, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Request => "the request itself",
            Self::AgentText => "the agent's own system text",
            Self::Baseline => "the system prompt",
            Self::Tools => "the tools that were offered",
            Self::Options => "request options",
            Self::ModelProfile => "the model's profile",
            Self::Prices => "prices",
            Self::Usage => "usage of every answer",
            Self::Provider => "the messages that the provider keeps (previous_response_id, item_reference)",
        }
    }

    /// What an answer has to say of what is lacking; `None` when nothing is.
    pub fn sentence(lacks: &BTreeSet<Self>) -> Option<String> {
        if lacks.is_empty() {
            return None;
        }
        let names: Vec<&str> = lacks.iter().map(|lack| lack.words()).collect();
        let mut sentence = format!("{}.", names.join(", "));
        if lacks.contains(&Self::Request) {
            sentence.push_str(" What is shown is rebuilt from the views just before the answer.");
        }
        if lacks.contains(&Self::ModelProfile) {
            sentence.push_str(" System messages are shown as native ones.");
        }
        Some(sentence)
    }
}

/// A request, the view that it was made from, and what the log lacks of it.
pub struct Asked {
    /// The request.
    pub step: IndexedRequest,
    /// What was sent.
    pub request: Request,
    /// All views just before it.
    pub view: SessionView,
    /// What the log lacks.
    pub lacks: BTreeSet<Lack>,
    /// Where its parts are in the recorded body, if it is read from one.
    pub(crate) body: Option<BodyView>,
}

impl SessionAt {
    /// A request and the view that it was made from.
    ///
    /// # Errors
    /// When the log cannot be read or lacks what shaped a recorded request.
    pub async fn request(&self, step: &IndexedRequest) -> Result<Asked, AskError> {
        let mut fold = RequestFold::new(self.seen(step.seq).await?);
        let mut sent = None;
        self.each(step.seq, step.seq.plus(1), |record| {
            if let Event::Step(StepEvent::RequestSent(found)) = record.event {
                sent = Some((**found).clone());
            }
        })
        .await?;
        let built = build(step, sent.as_ref(), &mut fold, self.blobs());
        let (request, mut lacks) = built
            .map(|(built, lacks)| (built.request(), lacks))
            .map_err(|source| AskError::Build { session: self.session, seq: step.seq, source })?;
        let body = match &sent {
            Some(sent) => self.body_view(step.seq, sent, &request, &fold.view).await?,
            None => None,
        };
        let request = body.as_ref().map_or(request, |body| body.request.clone());
        if let Some(body) = &body {
            lacks.clear();
            lacks.extend(body.is_with_provider.then_some(Lack::Provider));
        }
        Ok(Asked { step: step.clone(), request, view: fold.view, lacks, body })
    }
}

impl SessionAt {
    /// A request as its recorded body has it; `None` where none is recorded, or it is of no protocol.
    pub(crate) async fn body_view(
        &self,
        seq: Seq,
        sent: &RequestSent,
        folded: &Request,
        view: &SessionView,
    ) -> Result<Option<BodyView>, ReadError> {
        let Some(recorded) = RecordedBody::of(self, seq, sent).await? else { return Ok(None) };
        let Some((body, target)) = recorded.text(sent, self.blobs()) else { return Ok(None) };
        Ok(body_view::read_or_raw(&body, target, folded, sent, view, self.blobs()))
    }
}

/// What a visit gets: the request and what the log lacks of it, or why it cannot be rebuilt.
pub type Built<'a> = Result<(BuiltRequest<'a>, BTreeSet<Lack>), BuildError>;

/// What a walk along the requests of a session meets.
pub(crate) enum Walked<'a> {
    /// A request, the same as its recorded body has it, and the event that opened its baseline.
    Request { step: &'a IndexedRequest, built: Built<'a>, body: Option<Box<BodyView>>, epoch: Option<Seq> },
    /// An event, the one that recorded a request included.
    Event(&'a Record<'a>),
}

/// Visits every request of `steps` in order, each with the event that opened its baseline: one fold for all of them, and each
/// request shares what did not change with the one before it. One that a damaged log does not give back is visited like the
/// others.
pub async fn each_request(
    past: &SessionAt,
    steps: impl IntoIterator<Item = IndexedRequest>,
    mut visit: impl FnMut(&IndexedRequest, Built<'_>, Option<Seq>),
) -> Result<(), AskError> {
    walk(past, steps, false, |walked| {
        if let Walked::Request { step, built, epoch, .. } = walked {
            visit(step, built, epoch);
        }
        Ok(())
    })
    .await
}

/// The same, with every event between the first and the last of them, until the visitor has enough. `as_sent`: recorded
/// bodies are read, too.
pub(crate) async fn walk<E: From<AskError>>(
    past: &SessionAt,
    steps: impl IntoIterator<Item = IndexedRequest>,
    as_sent: bool,
    mut visit: impl FnMut(Walked<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut ahead = steps.into_iter().peekable();
    let Some(first) = ahead.peek().map(|first| first.seq) else { return Ok(()) };
    let mut fold = RequestFold::new(past.seen(first).await.map_err(AskError::from)?);
    let mut pieces = match as_sent {
        true => Some(RecordedPieces::before(past, first).await.map_err(AskError::from)?),
        false => None,
    };
    let mut pages = past.log().pages(past.session, first..past.until);
    while ahead.peek().is_some() {
        let Some(slices) = pages.next_page().await.map_err(AskError::from)? else { break };
        for record in slices.iter().flat_map(Slice::records) {
            if let Some(step) = ahead.next_if(|step| step.seq == record.seq) {
                let sent = match record.event {
                    Event::Step(StepEvent::RequestSent(sent)) => Some(&**sent),
                    _ => None,
                };
                let epoch = fold.view.epochs.current.as_ref().map(|epoch| epoch.mark.seq);
                let body =
                    pieces.as_ref().zip(sent).and_then(|(pieces, sent)| pieces.view(sent, &mut fold, past.blobs()));
                visit(Walked::Request {
                    step: &step,
                    built: build(&step, sent, &mut fold, past.blobs()),
                    body: body.map(Box::new),
                    epoch,
                })?;
            }
            if let Some(pieces) = &mut pieces {
                pieces.note(&record);
            }
            visit(Walked::Event(&record))?;
            fold.apply(&record);
            fold.restore(past, &record).await.map_err(AskError::from)?;
        }
    }
    Ok(())
}

/// The request of a step. Without a recorded one, or where its profiles are withheld, the view lends what the log has, and empty
/// profiles for the rest: they are never part of what is shown, and `lacks` names them.
fn build<'a>(
    step: &IndexedRequest,
    sent: Option<&RequestSent>,
    fold: &'a mut RequestFold,
    blobs: &dyn Blobs,
) -> Built<'a> {
    let (sent, lacks) = shape(step, sent, &mut fold.view);
    Ok((fold.build(&sent, blobs)?, lacks))
}

/// What shapes the request of a step, with what the view lends, and what the log lacks of it.
pub(crate) fn shape(
    step: &IndexedRequest,
    sent: Option<&RequestSent>,
    view: &mut SessionView,
) -> (RequestSent, BTreeSet<Lack>) {
    let mut lacks = BTreeSet::new();
    let baseline_lacks = view.epochs.current.as_ref().is_none_or(|epoch| !epoch.known);
    if let Some(sent) = sent {
        if sent.purpose == Purpose::Turn && baseline_lacks {
            lacks.insert(Lack::Baseline);
        }
        // As where none is recorded: what the log has shows what it can.
        if !is_withheld(view, sent) {
            return (sent.clone(), lacks);
        }
    }
    lacks.insert(Lack::Request);
    if baseline_lacks {
        lacks.insert(Lack::Baseline);
    }
    let sent = lent(step, sent, view, &mut lacks);
    (sent, lacks)
}

/// Whether a profile that the request names is withheld, so that it cannot be rebuilt as it was sent.
fn is_withheld(view: &SessionView, sent: &RequestSent) -> bool {
    let profiles = &view.profiles;
    let names = [
        Some((sent.agent_profile, profiles.agents.contains_key(&sent.agent_profile))),
        Some((sent.model_profile, profiles.models.contains_key(&sent.model_profile))),
        Some((sent.options, profiles.options.contains_key(&sent.options))),
        sent.tools.map(|tools| (tools, profiles.tools.contains_key(&tools))),
    ];
    // The first that is missing is what rebuilding names.
    names.into_iter().flatten().find(|(_, known)| !known).is_some_and(|(digest, _)| digest.is_withheld())
}

/// A request as the view just before its answer gives it.
fn lent(
    step: &IndexedRequest,
    sent: Option<&RequestSent>,
    view: &mut SessionView,
    lacks: &mut BTreeSet<Lack>,
) -> RequestSent {
    let known = &mut view.profiles;
    let agent_profile = *known.agent.entry(step.agent.clone()).or_insert_with(|| {
        lacks.insert(Lack::AgentText);
        let profile = AgentProfile { agent: step.agent.clone(), system: None, steps: None, permissions: Vec::new() };
        lend(&mut known.agents, profile.digest().ok(), profile)
    });
    let model_profile = *known.model.entry(step.model.clone()).or_insert_with(|| {
        lacks.extend([Lack::ModelProfile, Lack::Prices]);
        let profile = ModelProfile::of_name(step.model.clone());
        lend(&mut known.models, profile.digest().ok(), profile)
    });
    // Lent once, missed at every step: what was recorded has a protocol, what was lent has none.
    if known.models.get(&model_profile).is_some_and(|profile| profile.protocol.is_empty()) {
        lacks.extend([Lack::ModelProfile, Lack::Prices, Lack::AgentText]);
    }
    lacks.extend([Lack::Tools, Lack::Options]);
    let options = RequestOptions::default();
    let options = lend(&mut known.options, options.digest().ok(), options);
    RequestSent {
        request: RequestId([0; 16]),
        purpose: step.purpose,
        attempt: step.attempt,
        digest: Digest([0; 32]),
        wire: None,
        agent: step.agent.clone(),
        model: step.model.clone(),
        agent_profile,
        model_profile,
        tools: None,
        options,
        last_step: sent.is_some_and(|sent| sent.last_step),
        prompt: sent.and_then(|sent| sent.prompt.clone()),
    }
}

fn lend<T>(known: &mut std::collections::BTreeMap<Digest, T>, digest: Option<Digest>, value: T) -> Digest {
    // Numbers of lent profiles are 0, so that they always have a digest.
    let digest = digest.unwrap_or(Digest([0; 32]));
    known.entry(digest).or_insert(value);
    digest
}
