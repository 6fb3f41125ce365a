//! Which requests of a recording have a text in their bodies: what the events say of it is held to that.

use super::occurrence::Through;
use super::{Left, LeftBy, Sighting, Stay, When};
use crate::body_text::{piece_holds, pointer_of};
use crate::recorded_body::RecordedBody;
use crate::{Fact, Lack, RequestIndex, SessionAt};
use annals_core::event::{RequestRecorded, StepEvent};
use annals_core::{Blobs, Event, Record, Seq};
use annals_projections::{Recipe, RecipePart};
use annals_providers::recorded::is_reference;
use annals_store::ReadError;
use std::collections::{BTreeMap, HashSet};

/// A request with a recorded body.
#[derive(Clone, Copy)]
struct BodyOfRequest {
    number: u64,
    fact: Fact,
    has: bool,
    /// Whether the provider has a part of the conversation: what the body does not have may be there.
    is_open: bool,
}

impl BodyOfRequest {
    /// Whether the model read what the events have in its view.
    fn shows(&self) -> bool {
        self.has || self.is_open
    }
}

/// The requests of a recording as a walk through its log meets them.
struct BodySearch<'a> {
    text: &'a str,
    blobs: &'a dyn Blobs,
    /// The pieces that have the text.
    pieces: HashSet<(Seq, usize)>,
    /// The pieces that only name an item that the provider has.
    references: HashSet<(Seq, usize)>,
    /// What the newest recipe gives.
    newest: Option<FoundInBody>,
    /// By the event of the request.
    found: BTreeMap<Seq, (Fact, FoundInBody)>,
}

#[derive(Clone, Copy, Default)]
struct FoundInBody {
    has: bool,
    is_open: bool,
}

impl BodySearch<'_> {
    fn take(&mut self, record: &Record<'_>, fact: Fact) {
        match record.event {
            Event::Step(StepEvent::RequestRecorded(recorded)) => {
                let found = self.look(record.seq, recorded);
                self.newest = Some(found);
            }
            Event::Step(StepEvent::RequestSent(_)) => {
                if let Some(found) = self.newest.take() {
                    self.found.insert(record.seq, (fact, found));
                }
            }
            _ => {}
        }
    }

    fn look(&mut self, own: Seq, recorded: &RequestRecorded) -> FoundInBody {
        for (index, piece) in recorded.pieces.iter().enumerate() {
            let piece = piece.resolve(self.blobs);
            if piece_holds(&piece, self.text) {
                self.pieces.insert((own, index));
            }
            if names_item(&piece) {
                self.references.insert((own, index));
            }
        }
        let recipe = recorded.recipe.0.read(self.blobs).and_then(|recipe| Recipe::parse(&recipe).ok());
        let mut found = FoundInBody::default();
        for part in recipe.iter().flat_map(|recipe| &recipe.parts) {
            let (seq, places) = match part {
                RecipePart::Copied(text) => {
                    found.has |= piece_holds(text, self.text);
                    found.is_open |= names_answer(text);
                    continue;
                }
                RecipePart::Pieces { seq, first, count } => (seq, *first..first.saturating_add(*count)),
                RecipePart::Marked { seq, index, .. } | RecipePart::Bytes { seq, index } => (seq, *index..index + 1),
            };
            let seq = seq.unwrap_or(own);
            let is_among = |set: &HashSet<(Seq, usize)>| places.clone().any(|index| set.contains(&(seq, index)));
            found.has |= is_among(&self.pieces);
            found.is_open |= is_among(&self.references);
        }
        found
    }
}

/// Whether a part of a body names the answer that it continues. A long name is a piece of its own.
fn names_answer(text: &str) -> bool {
    let values = text.split("\"previous_response_id\"").skip(1);
    let mut values = values.filter_map(|value| value.trim_start().strip_prefix(':')).map(str::trim_start);
    values.any(|value| value.is_empty() || value.starts_with('"'))
}

/// Whether a piece of a body only names an item of an answer.
fn names_item(piece: &str) -> bool {
    let item = || serde_json::from_str(piece).is_ok_and(|item| is_reference(&item));
    piece.len() < 256 && piece.contains("\"id\"") && item()
}

/// Holds an answer to the bodies of a recording: no request is named that does not have the text, and none is left out that has it.
pub(super) async fn hold(past: &SessionAt, steps: &RequestIndex, when: &mut When) -> Result<(), ReadError> {
    let (pieces, references) = (HashSet::new(), HashSet::new());
    let (blobs, newest, found) = (past.blobs(), None, BTreeMap::new());
    let mut search = BodySearch { text: &when.text, blobs, pieces, references, newest, found };
    past.each(Seq::ZERO, past.until, |record| search.take(record, Fact::of(record, past.session))).await?;
    let found = search.found;
    let bodies: Vec<BodyOfRequest> = steps
        .requests
        .iter()
        .filter_map(|step| {
            let (fact, FoundInBody { has, is_open }) = *found.get(&step.seq)?;
            Some(BodyOfRequest { number: step.number, fact, has, is_open })
        })
        .collect();
    if bodies.iter().any(|body| body.is_open) {
        when.lacks.insert(Lack::Provider);
    }
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
    let has: Vec<BodyOfRequest> = within.iter().filter(|body| body.shows()).copied().collect();
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
