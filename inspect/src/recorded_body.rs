//! The exact bodies of recorded requests, put together from the pieces in the log.

use crate::SessionAt;
use crate::body_proof::{AgentProof, Wire};
use crate::body_view::{self, BodyView};
use crate::request_fold::RequestFold;
use crate::withheld::WithheldParts;
use annals_core::event::{RequestRecorded, RequestSent, StepEvent};
use annals_core::{Blobs, Digest, Event, Record, Seq, Text};
use annals_projections::{Recipe, RecipeError, RecipePart};
use annals_providers::wire::RequestBody;
use annals_store::ReadError;
use std::collections::{BTreeMap, BTreeSet};

/// The pieces of recorded requests, as a walk through a log meets them, and the recorded body that its request follows.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedPieces {
    pieces: BTreeMap<Seq, Vec<Text>>,
    newest: Option<(Seq, RequestRecorded)>,
}

/// A recorded request and the pieces that its body is made of.
#[derive(Clone, Debug)]
pub(crate) struct RecordedBody {
    seq: Seq,
    recorded: RequestRecorded,
    pieces: BTreeMap<Seq, Vec<Text>>,
}

impl RecordedPieces {
    /// Takes in a record.
    pub fn note(&mut self, record: &Record<'_>) {
        match record.event {
            Event::Step(StepEvent::RequestRecorded(recorded)) => {
                if !recorded.pieces.is_empty() {
                    self.pieces.insert(record.seq, recorded.pieces.clone());
                }
                self.newest = Some((record.seq, RequestRecorded { pieces: Vec::new(), ..(**recorded).clone() }));
            }
            Event::Step(StepEvent::RequestSent(_)) => self.newest = None,
            _ => {}
        }
    }

    /// The agent, where the request that is next is known from its session file.
    pub fn agent(&self, sent: &RequestSent, blobs: &dyn Blobs) -> Option<&str> {
        let (_, recorded) = self.newest.as_ref().filter(|(_, recorded)| announces(recorded, sent))?;
        let recipe = recorded.recipe.0.read(blobs)?;
        // Most recipes are of recorded requests, and long.
        let is_hashed = recipe.contains("\"hashes\"") && Recipe::parse(&recipe).is_ok_and(|it| it.hashes.is_some());
        recorded.target.split(' ').next().filter(|_| is_hashed)
    }

    /// Where the request that is next is sent, if its body is recorded.
    pub fn target(&self, sent: &RequestSent) -> Option<&str> {
        let (_, recorded) = self.newest.as_ref().filter(|(_, recorded)| announces(recorded, sent))?;
        Some(&recorded.target)
    }

    /// The recorded bodies before an event.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn before(past: &SessionAt, until: Seq) -> Result<Self, ReadError> {
        let mut pieces = Self::default();
        past.each(Seq::ZERO, until, |record| pieces.note(record)).await?;
        Ok(pieces)
    }

    /// A request that is next as its recorded body has it.
    pub fn view(&self, sent: &RequestSent, fold: &mut RequestFold, blobs: &dyn Blobs) -> Option<BodyView> {
        let target = self.target(sent)?;
        let (Wire::Recorded(body) | Wire::Redacted(body)) = self.wire(sent, blobs)?.ok()? else { return None };
        let folded = fold.build(sent, blobs).ok()?.request();
        let text = String::from_utf8_lossy(&body.bytes);
        body_view::read_or_raw(&text, target, &folded, sent, &fold.view, blobs)
    }

    /// What the body of a request that is next gives; `None` where no body is recorded in pieces.
    pub fn wire(&self, sent: &RequestSent, blobs: &dyn Blobs) -> Option<Result<Wire, WithheldParts>> {
        let (seq, recorded) = self.newest.as_ref().filter(|(_, recorded)| announces(recorded, sent))?;
        Some(wire(*seq, recorded, &self.pieces, sent, blobs))
    }
}

impl RecordedBody {
    /// The recorded body of the request at `seq`; `None` where none is recorded in pieces.
    pub async fn of(past: &SessionAt, seq: Seq, sent: &RequestSent) -> Result<Option<Self>, ReadError> {
        let Some(before) = seq.0.checked_sub(1).map(Seq) else { return Ok(None) };
        let Some(recorded) = recorded_at(past, before).await?.filter(|recorded| announces(recorded, sent)) else {
            return Ok(None);
        };
        let mut pieces = BTreeMap::from([(before, recorded.pieces.clone())]);
        let recipe = recorded.recipe.0.read(past.blobs()).and_then(|text| Recipe::parse(&text).ok());
        for seq in recipe.iter().flat_map(named).collect::<BTreeSet<_>>() {
            if let Some(other) = recorded_at(past, seq).await? {
                pieces.insert(seq, other.pieces);
            }
        }
        Ok(Some(Self { seq: before, recorded, pieces }))
    }

    /// The text of the body, where all of it is there, and where it was sent: method and path.
    pub fn text(&self, sent: &RequestSent, blobs: &dyn Blobs) -> Option<(String, &str)> {
        let bytes = match self.wire(sent, blobs).ok()? {
            Wire::Recorded(body)
            | Wire::Redacted(body)
            | Wire::Proved(body)
            | Wire::Agent(body, _)
            | Wire::Differs(_, Some(body)) => body.bytes,
            Wire::NotRecorded | Wire::OfAnotherBuild(_) | Wire::Differs(_, None) => return None,
        };
        Some((String::from_utf8_lossy(&bytes).into_owned(), &self.recorded.target))
    }

    /// What the body gives.
    pub fn wire(&self, sent: &RequestSent, blobs: &dyn Blobs) -> Result<Wire, WithheldParts> {
        wire(self.seq, &self.recorded, &self.pieces, sent, blobs)
    }
}

fn announces(recorded: &RequestRecorded, sent: &RequestSent) -> bool {
    recorded.request == sent.request && recorded.attempt == sent.attempt
}

/// The events whose pieces a recipe names.
fn named(recipe: &Recipe) -> impl Iterator<Item = Seq> {
    recipe.parts.iter().filter_map(|part| match part {
        RecipePart::Copied(_) => None,
        RecipePart::Pieces { seq, .. } | RecipePart::Marked { seq, .. } | RecipePart::Bytes { seq, .. } => *seq,
    })
}

async fn recorded_at(past: &SessionAt, seq: Seq) -> Result<Option<RequestRecorded>, ReadError> {
    let slice = past.log().batch_at(past.session, seq).await?;
    let record = slice.as_ref().and_then(|slice| slice.records().find(|record| record.seq == seq));
    Ok(match record.map(|record| record.event) {
        Some(Event::Step(StepEvent::RequestRecorded(recorded))) => Some((**recorded).clone()),
        _ => None,
    })
}

/// A recipe without marks for the provider's cache.
fn unmarked(mut recipe: Recipe) -> Recipe {
    for part in &mut recipe.parts {
        if let RecipePart::Marked { seq, index, .. } = *part {
            *part = RecipePart::Pieces { seq, first: index, count: 1 };
        }
    }
    recipe
}

/// Puts a body together and compares it with the digest that was recorded before it was sent.
fn wire(
    own: Seq,
    recorded: &RequestRecorded,
    pieces: &BTreeMap<Seq, Vec<Text>>,
    sent: &RequestSent,
    blobs: &dyn Blobs,
) -> Result<Wire, WithheldParts> {
    let mut withheld = 0;
    let mut absent = |text: &Text| withheld += u64::from(matches!(text, Text::Absent(_)));
    absent(&recorded.recipe.0);
    let recipe = recorded.recipe.0.read(blobs).ok_or(RecipeError::Malformed);
    let mut piece = |seq: Seq, index: usize| {
        let text = pieces.get(&seq)?.get(index)?;
        absent(text);
        text.read(blobs).map(Into::into)
    };
    let recipe = recipe.and_then(|recipe| Recipe::parse(&recipe));
    let body = recipe.clone().and_then(|recipe| recipe.assemble(own, &mut piece));
    let agent = recipe.ok().and_then(|mut recipe| {
        let hashes = recipe.hashes.take()?;
        Some((hashes, unmarked(recipe).assemble(own, &mut piece).unwrap_or_default()))
    });
    let body = match body {
        Ok(body) => RequestBody::new(body),
        Err(_) if withheld > 0 => return Err(WithheldParts(withheld)),
        Err(error @ RecipeError::Malformed) => return Ok(Wire::OfAnotherBuild(error.to_string())),
        Err(error @ RecipeError::Missing { .. }) => return Ok(Wire::Differs(error.to_string(), None)),
    };
    if let Some((hashes, unmarked)) = agent {
        let unmarked = String::from_utf8(unmarked).unwrap_or_default();
        let proof = AgentProof::of(&body.bytes, &unmarked, &hashes);
        return Ok(Wire::Agent(body, proof));
    }
    let Some(expected) = recorded.redacted.or(sent.wire) else { return Ok(Wire::NotRecorded) };
    if body.digest != expected {
        let differs = format!("recorded body {}, rebuilt {}", expected.short(), body.digest.short());
        return Ok(Wire::Differs(differs, Some(body)));
    }
    Ok(match recorded.redacted {
        None => Wire::Recorded(body),
        Some(_) => Wire::Redacted(body),
    })
}

/// A body without its bytes: there may be many.
pub(crate) fn without_bytes(body: RequestBody) -> RequestBody {
    let digest: Digest = body.digest;
    RequestBody { bytes: Vec::new(), digest }
}
