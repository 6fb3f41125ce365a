//! Which requests of a recording have a text in their bodies: what the events say of it is held to that.

use super::occurrence::Through;
use super::{Left, LeftBy, Sighting, Stay, When};
use crate::body_view::{piece_holds, pointer_of};
use crate::recorded_body::RecordedBody;
use crate::{Fact, RequestIndex, SessionAt};
use annals_core::event::{RequestRecorded, StepEvent};
use annals_core::{Blobs, Event, Record, Seq};
use annals_projections::{Recipe, RecipePart};
use annals_store::ReadError;
use std::collections::{BTreeMap, HashSet};

/// A request with a recorded body.
#[derive(Clone, Copy)]
struct BodyOfRequest {
    number: u64,
    fact: Fact,
    has: bool,
}

/// The requests of a recording as a walk through its log meets them.
struct BodySearch<'a> {
    text: &'a str,
    blobs: &'a dyn Blobs,
    /// The pieces that have the text.
    pieces: HashSet<(Seq, usize)>,
    /// What the newest recipe gives.
    newest: Option<bool>,
    /// By the event of the request.
    found: BTreeMap<Seq, (Fact, bool)>,
}

impl BodySearch<'_> {
    fn take(&mut self, record: &Record<'_>, fact: Fact) {
        match record.event {
            Event::Step(StepEvent::RequestRecorded(recorded)) => {
                let has = self.has(record.seq, recorded);
                self.newest = Some(has);
            }
            Event::Step(StepEvent::RequestSent(_)) => {
                if let Some(has) = self.newest.take() {
                    self.found.insert(record.seq, (fact, has));
                }
            }
            _ => {}
        }
    }

    fn has(&mut self, own: Seq, recorded: &RequestRecorded) -> bool {
        for (index, piece) in recorded.pieces.iter().enumerate() {
            if piece_holds(&piece.resolve(self.blobs), self.text) {
                self.pieces.insert((own, index));
            }
        }
        let recipe = recorded.recipe.0.read(self.blobs).and_then(|recipe| Recipe::parse(&recipe).ok());
        // What a request continues is with the provider: it is in the model's view as before.
        let links = |text: &str| text.contains("\"previous_response_id\":\"");
        let before = self.found.values().next_back().is_some_and(|(_, has)| *has);
        recipe.iter().flat_map(|recipe| &recipe.parts).any(|part| match part {
            RecipePart::Copied(text) => piece_holds(text, self.text) || (before && links(text)),
            RecipePart::Pieces { seq, first, count } => {
                let seq = seq.unwrap_or(own);
                (*first..first.saturating_add(*count)).any(|index| self.pieces.contains(&(seq, index)))
            }
            RecipePart::Marked { seq, index, .. } | RecipePart::Bytes { seq, index } => {
                self.pieces.contains(&(seq.unwrap_or(own), *index))
            }
        })
    }
}

/// Holds an answer to the bodies of a recording: no request is named that does not have the text, and none is left out that has it.
pub(super) async fn hold(past: &SessionAt, steps: &RequestIndex, when: &mut When) -> Result<(), ReadError> {
    let (newest, pieces) = (None, HashSet::new());
    let mut search = BodySearch { text: &when.text, blobs: past.blobs(), pieces, newest, found: BTreeMap::new() };
    past.each(Seq::ZERO, past.until, |record| search.take(record, Fact::of(record, past.session))).await?;
    let found = search.found;
    let bodies: Vec<BodyOfRequest> = steps
        .requests
        .iter()
        .filter_map(|step| {
            found.get(&step.seq).map(|(fact, has)| BodyOfRequest { number: step.number, fact: *fact, has: *has })
        })
        .collect();
    let mut covered: HashSet<u64> = HashSet::new();
    for sighting in &mut when.sightings {
        let stays = std::mem::take(&mut sighting.stays);
        sighting.stays = stays.into_iter().flat_map(|stay| held(stay, &bodies)).collect();
        for (first, last) in sighting.stays.iter().filter_map(|stay| Some((stay.first?, stay.last?))) {
            covered.extend(first..=last);
        }
    }
    when.sightings.retain(|sighting| !sighting.stays.is_empty());
    let missing: Vec<BodyOfRequest> =
        bodies.iter().filter(|body| body.has && !covered.contains(&body.number)).copied().collect();
    let Some(first) = missing.first().copied() else { return Ok(()) };
    let pointer = match steps.get(first.number) {
        Some(step) => pointer(past, step.seq, &when.text).await?,
        None => String::new(),
    };
    let stays = runs(&missing, &bodies).into_iter().map(|(from, to)| stay(from, to, &bodies)).collect();
    let turn = steps.turn(first.fact.seq);
    when.sightings.push(Sighting { fact: first.fact, through: Through::Body { pointer }, turn, stays });
    Ok(())
}

/// The place of the text in the body of a request.
async fn pointer(past: &SessionAt, seq: Seq, text: &str) -> Result<String, ReadError> {
    let mut sent = None;
    past.each(seq, seq.plus(1), |record| {
        if let Event::Step(StepEvent::RequestSent(found)) = record.event {
            sent = Some((**found).clone());
        }
    })
    .await?;
    let Some(sent) = sent else { return Ok(String::new()) };
    let recorded = RecordedBody::of(past, seq, &sent).await?;
    let body = recorded.as_ref().and_then(|recorded| recorded.text(&sent, past.blobs()));
    let value = body.and_then(|(body, _)| serde_json::from_str(&body).ok());
    Ok(value.and_then(|value| pointer_of(&value, text)).unwrap_or_default())
}

/// The parts of a stay in which the bodies have the text. One that no request carried stays as it is.
fn held(stay: Stay, bodies: &[BodyOfRequest]) -> Vec<Stay> {
    let (Some(first), Some(last)) = (stay.first, stay.last) else { return vec![stay] };
    let within: Vec<BodyOfRequest> =
        bodies.iter().filter(|body| (first..=last).contains(&body.number)).copied().collect();
    let has: Vec<BodyOfRequest> = within.iter().filter(|body| body.has).copied().collect();
    if has.len() == within.len() {
        return vec![stay];
    }
    let parts = runs(&has, &within).into_iter().map(|(from, to)| {
        let part = self::stay(from, to, &within);
        Stay {
            entered: if from.number == first { stay.entered } else { part.entered },
            left: part.left.or(stay.left.filter(|_| to.number == last)),
            ..part
        }
    });
    parts.collect()
}

/// The runs of requests that follow each other in a list.
fn runs(some: &[BodyOfRequest], all: &[BodyOfRequest]) -> Vec<(BodyOfRequest, BodyOfRequest)> {
    let place = |body: &BodyOfRequest| all.partition_point(|other| other.number < body.number);
    let chunks = some.chunk_by(|one, other| place(other) == place(one) + 1);
    chunks.filter_map(|chunk| Some((*chunk.first()?, *chunk.last()?))).collect()
}

/// A stay from one request to another.
fn stay(from: BodyOfRequest, to: BodyOfRequest, all: &[BodyOfRequest]) -> Stay {
    let next = all.iter().find(|body| body.number > to.number);
    Stay {
        entered: from.fact,
        left: next.map(|body| Left { fact: body.fact, by: LeftBy::Edited }),
        first: Some(from.number),
        last: Some(to.number),
    }
}
