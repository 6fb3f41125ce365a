//! The pieces of the bodies of one session: what is new in a body, and how it is put together.

use crate::cut::{Stretch, stretches, unmarked};
use annals_core::{Digest, Seq};
use annals_guard::redaction::Redactor;
use annals_projections::{Recipe, RecipePart};
use std::borrow::Cow;
use std::collections::HashMap;

/// The most pieces of one event: with a reference for each, it is within the limit of a batch.
const PIECES_MAX: usize = 256;

/// Replaces secrets in pieces, once for each piece.
#[derive(Debug)]
pub(crate) struct PieceRedactor {
    redactor: Redactor,
    /// The redacted text of each piece by the hash of the piece; `None` where it has no secret.
    pieces: HashMap<Digest, Option<String>>,
}

/// A body as it arrived: text, or bytes that are none, each as one character.
#[derive(Clone, Debug)]
pub(crate) struct BodyText {
    pub(crate) text: String,
    is_bytes: bool,
}

impl BodyText {
    pub(crate) fn of(content: Vec<u8>) -> Self {
        match String::from_utf8(content) {
            Ok(text) => Self { text, is_bytes: false },
            Err(error) => {
                let text = error.as_bytes().iter().map(|byte| char::from(*byte)).collect();
                Self { text, is_bytes: true }
            }
        }
    }

    /// Whether it is text.
    pub(crate) fn is_text(&self) -> bool {
        !self.is_bytes
    }

    /// Where it stops being text, if it does.
    pub(crate) fn bad_byte(&self) -> Option<usize> {
        let bytes = self.is_bytes.then(|| bytes_of(&self.text))?;
        std::str::from_utf8(&bytes).err().map(|error| error.valid_up_to())
    }

    /// The hash of what was sent.
    pub(crate) fn digest(&self) -> Digest {
        digest(&self.text, self.is_bytes)
    }
}

fn bytes_of(text: &str) -> Vec<u8> {
    text.chars().filter_map(|character| u8::try_from(character).ok()).collect()
}

fn digest(text: &str, is_bytes: bool) -> Digest {
    if is_bytes { Digest::of(&bytes_of(text)) } else { Digest::of(text.as_bytes()) }
}

/// A body in pieces, without secrets.
#[derive(Debug)]
pub(crate) struct CutBody<'b> {
    parts: Vec<CutPart>,
    is_bytes: bool,
    /// What is recorded: the body, without secrets.
    pub(crate) recorded: Cow<'b, str>,
}

#[derive(Debug)]
enum CutPart {
    Between(String),
    Piece {
        /// The hash of what was sent.
        hash: Digest,
        /// What is recorded, without marks.
        text: String,
        marks: Vec<(usize, String)>,
    },
}

/// Where the log of a session has which pieces, by the hash of what was sent.
#[derive(Debug, Default)]
pub(crate) struct KnownPieces(HashMap<Digest, (Seq, usize)>);

/// New pieces by the event that has them; the recipe is of the last one.
#[derive(Debug)]
pub(crate) struct PlacedBody {
    pub(crate) events: Vec<Vec<String>>,
    pub(crate) recipe: Recipe,
    /// Where each new piece is.
    places: Vec<(Digest, (Seq, usize))>,
}

impl PieceRedactor {
    pub(crate) fn new(redactor: Redactor) -> Self {
        Self { redactor, pieces: HashMap::new() }
    }

    /// What replaces secrets in other texts.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Learns another secret.
    pub(crate) fn learn(&mut self, name: &str, value: &str) {
        self.redactor = self.redactor.clone().with_variable(name, value);
        self.pieces.clear();
    }

    fn redact(&mut self, piece: &str) -> Option<String> {
        let redactor = &self.redactor;
        let redacted =
            self.pieces.entry(Digest::of(piece.as_bytes())).or_insert_with(|| match redactor.redact(piece).text {
                Cow::Owned(redacted) => Some(redacted),
                Cow::Borrowed(_) => None,
            });
        redacted.clone()
    }

    /// Cuts a body and replaces secrets in it.
    pub(crate) fn cut<'b>(&mut self, body: &'b BodyText) -> CutBody<'b> {
        if body.is_text() {
            return self.cut_text(&body.text);
        }
        let recorded = self.redactor.redact(&body.text).text;
        let hash = Digest::of(body.text.as_bytes());
        let piece = CutPart::Piece { hash, text: recorded.clone().into_owned(), marks: Vec::new() };
        CutBody { parts: vec![piece], recorded, is_bytes: true }
    }

    /// Cuts a body that is text.
    pub(crate) fn cut_text<'b>(&mut self, body: &'b str) -> CutBody<'b> {
        let mut parts = Vec::new();
        let mut recorded = String::with_capacity(body.len());
        for stretch in stretches(body) {
            match stretch {
                Stretch::Between(text) => {
                    let text = self.redactor.redact(text).text.into_owned();
                    recorded.push_str(&text);
                    parts.push(CutPart::Between(text));
                }
                Stretch::Piece(piece) => {
                    let sent = unmarked(piece);
                    let hash = Digest::of(sent.text.as_bytes());
                    let redacted = self.redact(piece);
                    recorded.push_str(redacted.as_deref().unwrap_or(piece));
                    let kept = redacted.map_or(sent, |redacted| unmarked(&redacted));
                    parts.push(CutPart::Piece { hash, text: kept.text, marks: kept.marks });
                }
            }
        }
        let recorded = if recorded == body { Cow::Borrowed(body) } else { Cow::Owned(recorded) };
        CutBody { parts, recorded, is_bytes: false }
    }
}

impl CutBody<'_> {
    /// The hash of what is recorded, if secrets were replaced.
    pub(crate) fn redacted(&self) -> Option<Digest> {
        matches!(self.recorded, Cow::Owned(_)).then(|| digest(&self.recorded, self.is_bytes))
    }
}

impl KnownPieces {
    /// Places the pieces of a body that are new in events from `next` on.
    pub(crate) fn place(&self, cut: CutBody<'_>, next: Seq) -> PlacedBody {
        let mut new: Vec<(Digest, String)> = Vec::new();
        let mut numbers: HashMap<Digest, usize> = HashMap::new();
        let is_bytes = cut.is_bytes;
        let parts = cut.parts.into_iter().map(|part| match part {
            CutPart::Between(text) => Err(text),
            CutPart::Piece { hash, text, marks } => {
                let known = self.0.get(&hash).copied().ok_or(()).map_err(|()| {
                    *numbers.entry(hash).or_insert_with(|| {
                        new.push((hash, text));
                        new.len() - 1
                    })
                });
                Ok((known, marks))
            }
        });
        let parts: Vec<_> = parts.collect();
        let before = new.len().saturating_sub(1) / PIECES_MAX;
        let event = |number: usize| number / PIECES_MAX;
        let mut recipe = Recipe::default();
        for part in parts {
            match part {
                Ok((Ok((seq, index)), _)) if is_bytes => recipe.parts.push(RecipePart::Bytes { seq: Some(seq), index }),
                Ok((Err(index), _)) if is_bytes => recipe.parts.push(RecipePart::Bytes { seq: None, index }),
                Err(text) => recipe.copy(&text),
                Ok((Ok((seq, index)), marks)) => recipe.piece(Some(seq), index, marks),
                Ok((Err(number), marks)) => {
                    let seq = (event(number) < before).then(|| next.plus(event(number) as u64));
                    recipe.piece(seq, number % PIECES_MAX, marks);
                }
            }
        }
        let mut events = vec![Vec::new(); before + 1];
        let mut places = Vec::with_capacity(new.len());
        for (number, (hash, text)) in new.into_iter().enumerate() {
            places.push((hash, (next.plus(event(number) as u64), number % PIECES_MAX)));
            if let Some(pieces) = events.get_mut(event(number)) {
                pieces.push(text);
            }
        }
        PlacedBody { events, recipe, places }
    }

    /// Takes in the pieces of an event of an earlier recording.
    pub(crate) fn known<'p>(&mut self, seq: Seq, pieces: impl Iterator<Item = Cow<'p, str>>) {
        let places = pieces.enumerate().map(|(index, piece)| (Digest::of(piece.as_bytes()), (seq, index)));
        self.0.extend(places);
    }

    /// Takes in the pieces of a body that was recorded.
    pub(crate) fn learn(&mut self, placed: &PlacedBody) {
        self.0.extend(placed.places.iter().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Records bodies one after another and puts each together again; gives how many new bytes each took.
    fn record(bodies: &[String], redactor: Redactor) -> (Vec<String>, Vec<usize>) {
        let mut redactor = PieceRedactor::new(redactor);
        let (mut known, mut log) = (KnownPieces::default(), BTreeMap::new());
        let (mut again, mut sizes, mut next) = (Vec::new(), Vec::new(), Seq(5));
        for body in bodies {
            let cut = redactor.cut_text(body);
            let recorded = cut.recorded.clone().into_owned();
            let placed = known.place(cut, next);
            sizes.push(placed.events.iter().flatten().map(String::len).sum());
            for pieces in &placed.events {
                log.insert(next, pieces.clone());
                next = next.plus(1);
            }
            known.learn(&placed);
            let own = Seq(next.0 - 1);
            let recipe = Recipe::parse(&placed.recipe.to_json()).unwrap();
            let body = recipe.assemble(own, |seq, index| log.get(&seq)?.get(index).cloned()).unwrap();
            assert_eq!(String::from_utf8(body.clone()).unwrap(), recorded);
            again.push(String::from_utf8(body).unwrap());
        }
        (again, sizes)
    }

    fn body(messages: usize, marked: usize) -> String {
        let message = |at: usize| {
            let mark = if at == marked { r#","cache_control":{"type":"ephemeral"}"# } else { "" };
            let text = format!("message {at} {}", "x".repeat(100));
            format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"{mark}}}]}}"#)
        };
        let messages: Vec<String> = (0..messages).map(message).collect();
        format!(
            r#"{{"model":"m","messages":[{}],"system":"{}","n":{}}}"#,
            messages.join(","),
            "s".repeat(5000),
            messages.len()
        )
    }

    #[test]
    fn a_request_costs_what_is_new_in_it_though_marks_move() {
        let bodies: Vec<String> = (1..=5).map(|count| body(count, count - 1)).collect();
        let (again, sizes) = record(&bodies, Redactor::default());
        assert_eq!(again, bodies);
        assert!(sizes[0] > 5000 && sizes[1..].iter().all(|size| *size < 200), "{sizes:?}");
    }

    #[test]
    fn many_pieces_are_in_several_events() {
        let bodies = [body(PIECES_MAX * 2 + 10, 3), body(PIECES_MAX * 2 + 11, 4)];
        let (again, sizes) = record(&bodies, Redactor::default());
        assert_eq!(again, bodies);
        assert!(sizes[1] < 200, "{sizes:?}");
    }

    #[test]
    fn secrets_are_replaced_wherever_a_piece_comes_again() {
        let redactor = Redactor::default().with_variable("DEPLOY_PASSWORD", "correct-horse-battery");
        let bodies: Vec<String> =
            (1..=3).map(|count| body(count, count - 1).replace("message 0", "message correct-horse-battery")).collect();
        let (again, sizes) = record(&bodies, redactor);
        for (body, again) in bodies.iter().zip(&again) {
            assert_eq!(*again, body.replace("correct-horse-battery", "[redacted:env:DEPLOY_PASSWORD]"));
        }
        assert!(sizes[2] < 200, "{sizes:?}");
    }
}
