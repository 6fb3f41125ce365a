//! The body of a request in pieces, as its agent hashes it: JSON with sorted keys and without spaces. System texts, tools and
//! messages are pieces, which later requests have again; marks for the provider's cache are left outside of them.

use super::requests::{NotedRequest, PartHash, RequestLog, hash_of, hex};
use crate::foreign::quote;
use annals_core::{Seq, canonical};
use annals_projections::{MISSING_MESSAGE, Recipe};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

/// The most pieces of one event.
const PIECES_MAX: usize = 256;

enum BodyPart {
    Copied(String),
    Piece { text: String, marks: Vec<(usize, String)> },
}

/// The parts of a body, in order.
#[derive(Default)]
pub(super) struct BodyParts(Vec<BodyPart>);

/// New pieces by the event that has them; the recipe is of the last one.
pub(super) struct PlacedParts {
    pub(super) events: Vec<Vec<String>>,
    pub(super) recipe: Recipe,
    /// Where each new piece is.
    pub(super) places: Vec<(PartHash, (Seq, usize))>,
}

impl BodyParts {
    /// The body of a request.
    pub(super) fn of(request: &NotedRequest, log: &RequestLog) -> Self {
        let mut parts = Self::default();
        let shape = |name: &str| request.shape.as_ref().and_then(|shape| shape.get(name));
        let names = request.params.keys().map(String::as_str);
        let of_shape = request.shape.iter().flat_map(|shape| shape.keys()).map(String::as_str);
        let unknown = if request.shape.is_none() { Some("system") } else { None };
        let names: BTreeSet<&str> = names.chain(of_shape).chain(unknown).chain(["messages"]).collect();
        let mut between = "{";
        for name in names {
            parts.copy(&format!("{between}{}:", quote(name)));
            between = ",";
            match (name, shape(name).or_else(|| request.params.get(name))) {
                ("messages", _) => {
                    let messages = request.messages.iter().map(|hash| match log.message(hash) {
                        Some(message) => message.to_string(),
                        None => missing(hash),
                    });
                    parts.list(name, messages, &request.marks);
                }
                ("system", None) => parts.list(name, [missing(&request.shape_hash)].into_iter(), &[]),
                (_, Some(Value::Array(items))) if matches!(name, "system" | "tools") => {
                    parts.list(name, items.iter().map(canonical::value), &request.marks);
                }
                (_, value) => parts.copy(&value.map(canonical::value).unwrap_or_default()),
            }
        }
        parts.copy("}");
        parts
    }

    fn copy(&mut self, text: &str) {
        self.0.push(BodyPart::Copied(text.to_owned()));
    }

    fn list(&mut self, name: &str, items: impl Iterator<Item = String>, marks: &[(Vec<Value>, Value)]) {
        self.copy("[");
        for (at, text) in items.enumerate() {
            if at > 0 {
                self.copy(",");
            }
            let own = marks.iter().filter_map(|(path, mark)| {
                let [list, place, below @ ..] = path.as_slice() else { return None };
                (list.as_str() == Some(name) && place.as_u64() == Some(at as u64)).then_some((below, mark))
            });
            self.0.push(marked(text, own.collect()));
        }
        self.copy("]");
    }

    /// Places the pieces that are new in events from `next` on.
    pub(super) fn place(self, known: &HashMap<PartHash, (Seq, usize)>, next: Seq) -> PlacedParts {
        let mut new: Vec<(PartHash, String)> = Vec::new();
        let mut numbers: HashMap<PartHash, usize> = HashMap::new();
        let mut number = |text: String| {
            let hash = hash_of(&text);
            match known.get(&hash) {
                Some(place) => Ok(*place),
                None => Err(*numbers.entry(hash).or_insert_with(|| {
                    new.push((hash, text));
                    new.len() - 1
                })),
            }
        };
        let parts: Vec<_> = (self.0.into_iter())
            .map(|part| match part {
                BodyPart::Copied(text) => Err(text),
                BodyPart::Piece { text, marks } => Ok((number(text), marks)),
            })
            .collect();
        let before = new.len().saturating_sub(1) / PIECES_MAX;
        let mut recipe = Recipe::default();
        for part in parts {
            match part {
                Err(text) => recipe.copy(&text),
                Ok((Ok((seq, index)), marks)) => recipe.piece(Some(seq), index, marks),
                Ok((Err(number), marks)) => {
                    let event = number / PIECES_MAX;
                    let seq = (event < before).then(|| next.plus(event as u64));
                    recipe.piece(seq, number % PIECES_MAX, marks);
                }
            }
        }
        let mut events = vec![Vec::new(); before + 1];
        let mut places = Vec::with_capacity(new.len());
        for (number, (hash, text)) in new.into_iter().enumerate() {
            places.push((hash, (next.plus((number / PIECES_MAX) as u64), number % PIECES_MAX)));
            if let Some(pieces) = events.get_mut(number / PIECES_MAX) {
                pieces.push(text);
            }
        }
        PlacedParts { events, recipe, places }
    }
}

/// What takes the place of a message that the transcript does not have.
fn missing(hash: &PartHash) -> String {
    format!("{{{}:\"{}\"}}", quote(MISSING_MESSAGE), hex(hash))
}

/// A piece and where its mark for the cache is. With several marks, which is rare, they are a part of the piece.
fn marked(text: String, marks: Vec<(&[Value], &Value)>) -> BodyPart {
    let plain = |text| BodyPart::Piece { text, marks: Vec::new() };
    let Some(whole) = (!marks.is_empty()).then(|| with_marks(&text, &marks)).flatten() else { return plain(text) };
    let same = text.bytes().zip(whole.bytes()).take_while(|(a, b)| a == b).count();
    let at = (0..=same).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let added = whole.len().checked_sub(text.len()).and_then(|more| whole.get(at..at + more));
    match added {
        Some(added) if marks.len() == 1 && format!("{}{added}{}", &text[..at], &text[at..]) == whole => {
            BodyPart::Piece { marks: vec![(at, added.to_owned())], text }
        }
        _ => plain(whole),
    }
}

fn with_marks(text: &str, marks: &[(&[Value], &Value)]) -> Option<String> {
    let mut value: Value = serde_json::from_str(text).ok()?;
    for (path, mark) in marks {
        let mut place = &mut value;
        for step in *path {
            place = match step {
                Value::String(name) => place.get_mut(name.as_str())?,
                step => place.get_mut(usize::try_from(step.as_u64()?).ok()?)?,
            };
        }
        place.as_object_mut()?.insert("cache_control".to_owned(), (*mark).clone());
    }
    Some(canonical::value(&value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mark_is_left_out_of_its_piece() {
        let mark = json!({"type": "ephemeral"});
        let text = r#"{"content":[{"text":"é","type":"text"}],"role":"user"}"#;
        let path = [json!("content"), json!(0)];
        let BodyPart::Piece { text: kept, marks } = marked(text.to_owned(), vec![(&path[..], &mark)]) else {
            panic!("no piece")
        };
        assert_eq!(kept, text);
        let [(at, added)] = marks.as_slice() else { panic!("{marks:?}") };
        let whole = format!("{}{added}{}", &text[..*at], &text[*at..]);
        assert_eq!(whole, text.replace(r#"{"text""#, r#"{"cache_control":{"type":"ephemeral"},"text""#));
        let twice = marked(text.to_owned(), vec![(&path[..], &mark), (&path[..0], &mark)]);
        assert!(
            matches!(twice, BodyPart::Piece { text, marks } if marks.is_empty() && text.matches("ephemeral").count() == 2)
        );
    }
}
