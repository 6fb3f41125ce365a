//! Recipes: how the exact body of a recorded request is put together from pieces (`docs/recording.md#recipe`).
//!
//! A recipe is a JSON list. A string in it is copied; `[SEQ, FIRST, COUNT]` means pieces of the `request.recorded` at SEQ
//! (`null`: of the event itself), with a comma between them; `[SEQ, INDEX, [[OFFSET, TEXT], ...]]` for one piece with texts
//! inserted at byte offsets of it, such as marks for the provider's cache. `{"latin1": [SEQ, INDEX]}` means a piece whose characters
//! are one byte each: a body that is not UTF-8. `{"hashes": TEXT}` at the end: the hashes that the agent itself recorded of the body.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use annals_core::Seq;
use serde_json::{Value, json};

/// A part of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecipePart {
    /// Text that is copied.
    Copied(String),
    /// Pieces that follow each other, with a comma between them.
    Pieces {
        /// The event that has them; `None` for the event of the recipe.
        seq: Option<Seq>,
        /// The number of the first one, from 0.
        first: usize,
        /// How many.
        count: usize,
    },
    /// One piece whose characters, all below U+0100, are the bytes of a body that is not UTF-8.
    Bytes {
        /// The event that has it; `None` for the event of the recipe.
        seq: Option<Seq>,
        /// Its number, from 0.
        index: usize,
    },
    /// One piece with inserted texts.
    Marked {
        /// The event that has it; `None` for the event of the recipe.
        seq: Option<Seq>,
        /// Its number, from 0.
        index: usize,
        /// Byte offsets in the piece, ascending, and what is inserted there.
        inserted: Vec<(usize, String)>,
    },
}

/// How a body is put together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    /// Its parts, in order.
    pub parts: Vec<RecipePart>,
    /// Of a request that was rebuilt from the session file of its agent: the hashes that the agent recorded of it, as
    /// `parts:SHA-256 whole:SHA-256` (`docs/recording.md#recipe`). Such a body is not known from the wire.
    pub hashes: Option<String>,
}

/// What takes the place of a message that the files of an agent do not have: an object with this member alone, the hash of the message.
pub const MISSING_MESSAGE: &str = "annals_missing";

/// A body cannot be put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    /// The recipe is not in the form of this build: use a later one.
    #[error("the recipe of the body cannot be read")]
    Malformed,
    /// An event does not have the piece, or its text is withheld, erased or missing.
    #[error("a piece of the body (event {seq}, piece {index}) is not in the log")]
    Missing {
        /// The event that should have it.
        seq: Seq,
        /// Its number there, from 0.
        index: usize,
    },
}

impl Recipe {
    /// Adds a piece; one that follows the one before it is joined to it.
    pub fn piece(&mut self, seq: Option<Seq>, index: usize, inserted: Vec<(usize, String)>) {
        if !inserted.is_empty() {
            self.parts.push(RecipePart::Marked { seq, index, inserted });
            return;
        }
        let comma = matches!(self.parts.last(), Some(RecipePart::Copied(text)) if text == ",");
        let before = self.parts.len().checked_sub(2).and_then(|at| self.parts.get_mut(at));
        if let (true, Some(RecipePart::Pieces { seq: of, first, count })) = (comma, before)
            && *of == seq
            && *first + *count == index
        {
            *count += 1;
            self.parts.pop();
            return;
        }
        self.parts.push(RecipePart::Pieces { seq, first: index, count: 1 });
    }

    /// Adds text that is copied.
    pub fn copy(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(RecipePart::Copied(last)) => last.push_str(text),
            _ => self.parts.push(RecipePart::Copied(text.into())),
        }
    }

    /// Reads a recipe.
    ///
    /// # Errors
    /// [`RecipeError::Malformed`].
    pub fn parse(json: &str) -> Result<Self, RecipeError> {
        let mut list: Vec<Value> = serde_json::from_str(json).map_err(|_| RecipeError::Malformed)?;
        let hashes = list.last().and_then(|last| Some(last.get("hashes")?.as_str()?.into()));
        if hashes.is_some() {
            list.pop();
        }
        let parts =
            list.into_iter().map(|value| part(value).ok_or(RecipeError::Malformed)).collect::<Result<_, _>>()?;
        Ok(Self { parts, hashes })
    }

    /// Its JSON.
    pub fn to_json(&self) -> String {
        let hashes = self.hashes.iter().map(|hashes| json!({"hashes": hashes}));
        let list: Vec<Value> = self.parts.iter().map(RecipePart::to_json).chain(hashes).collect();
        Value::from(list).to_string()
    }

    /// Puts the body together. `piece` gives the piece with a number of the event at a Seq; `own` is the event of the recipe.
    ///
    /// # Errors
    /// [`RecipeError::Missing`].
    pub fn assemble(
        &self,
        own: Seq,
        mut piece: impl FnMut(Seq, usize) -> Option<String>,
    ) -> Result<Vec<u8>, RecipeError> {
        let mut body = Vec::new();
        for part in &self.parts {
            match part {
                RecipePart::Copied(text) => body.extend_from_slice(text.as_bytes()),
                RecipePart::Bytes { seq, index } => {
                    let (seq, index) = (seq.unwrap_or(own), *index);
                    let text = piece(seq, index).ok_or(RecipeError::Missing { seq, index })?;
                    for character in text.chars() {
                        body.push(u8::try_from(character).map_err(|_| RecipeError::Malformed)?);
                    }
                }
                RecipePart::Pieces { seq, first, count } => {
                    let seq = seq.unwrap_or(own);
                    for index in *first..first.saturating_add(*count) {
                        if index > *first {
                            body.push(b',');
                        }
                        let text = piece(seq, index).ok_or(RecipeError::Missing { seq, index })?;
                        body.extend_from_slice(text.as_bytes());
                    }
                }
                RecipePart::Marked { seq, index, inserted } => {
                    let (seq, index) = (seq.unwrap_or(own), *index);
                    let missing = RecipeError::Missing { seq, index };
                    let text = piece(seq, index).ok_or(missing)?;
                    let mut from = 0;
                    for (offset, added) in inserted {
                        body.extend_from_slice(text.get(from..*offset).ok_or(missing)?.as_bytes());
                        body.extend_from_slice(added.as_bytes());
                        from = *offset;
                    }
                    body.extend_from_slice(text.get(from..).ok_or(missing)?.as_bytes());
                }
            }
        }
        Ok(body)
    }
}

impl RecipePart {
    fn to_json(&self) -> Value {
        let of = |seq: &Option<Seq>| seq.map(|seq| seq.0);
        match self {
            Self::Copied(text) => json!(text),
            Self::Pieces { seq, first, count } => json!([of(seq), first, count]),
            Self::Bytes { seq, index } => json!({"latin1": [of(seq), index]}),
            Self::Marked { seq, index, inserted } => json!([of(seq), index, inserted]),
        }
    }
}

fn part(value: Value) -> Option<RecipePart> {
    let list = match value {
        Value::String(text) => return Some(RecipePart::Copied(text)),
        Value::Array(list) => list,
        Value::Object(members) => {
            let [seq, index] = members.get("latin1")?.as_array()?.as_slice() else { return None };
            let seq = if seq.is_null() { None } else { Some(Seq(seq.as_u64()?)) };
            return Some(RecipePart::Bytes { seq, index: usize::try_from(index.as_u64()?).ok()? });
        }
        _ => return None,
    };
    let [seq, first, last]: [Value; 3] = list.try_into().ok()?;
    let seq = if seq.is_null() { None } else { Some(Seq(seq.as_u64()?)) };
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let first = number(&first)?;
    match last {
        Value::Array(_) => {
            let inserted = serde_json::from_value(last).ok()?;
            Some(RecipePart::Marked { seq, index: first, inserted })
        }
        last => Some(RecipePart::Pieces { seq, first, count: number(&last)? }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;
    use alloc::vec;

    fn recipe() -> Recipe {
        let mut recipe = Recipe::default();
        recipe.copy("{\"messages\":");
        recipe.copy("[");
        recipe.piece(Some(Seq(3)), 0, vec![]);
        recipe.copy(",");
        recipe.piece(Some(Seq(3)), 1, vec![]);
        recipe.copy(",");
        recipe.piece(None, 0, vec![(1, "é,".to_owned())]);
        recipe.copy("]}");
        recipe
    }

    fn pieces(seq: Seq, index: usize) -> Option<String> {
        [(3, 0, "a"), (3, 1, "b"), (9, 0, "cd")]
            .into_iter()
            .find(|(of, number, _)| (Seq(*of), *number) == (seq, index))
            .map(|(_, _, text)| text.to_owned())
    }

    #[test]
    fn a_body_is_put_together_from_pieces_of_several_events() {
        assert_eq!(recipe().assemble(Seq(9), pieces).unwrap(), "{\"messages\":[a,b,cé,d]}".as_bytes());
        let parts = vec![RecipePart::Bytes { seq: None, index: 0 }];
        let bytes = Recipe { parts, hashes: Some("parts:0a".into()) };
        assert_eq!(bytes.to_json(), r#"[{"latin1":[null,0]},{"hashes":"parts:0a"}]"#);
        assert_eq!(Recipe::parse(&bytes.to_json()), Ok(bytes.clone()));
        assert_eq!(bytes.assemble(Seq(9), |_, _| Some("a\u{ff}".to_owned())), Ok(vec![b'a', 0xff]));
        assert_eq!(recipe().to_json(), r#"["{\"messages\":[",[3,0,2],",",[null,0,[[1,"é,"]]],"]}"]"#);
        assert_eq!(Recipe::parse(&recipe().to_json()), Ok(recipe()));
    }

    #[test]
    fn what_is_missing_or_malformed_is_an_error() {
        let missing = Err(RecipeError::Missing { seq: Seq(8), index: 0 });
        assert_eq!(recipe().assemble(Seq(8), pieces), missing);
        let mut beyond = Recipe::default();
        beyond.piece(None, 0, vec![(7, "x".to_owned())]);
        assert_eq!(beyond.assemble(Seq(9), pieces), Err(RecipeError::Missing { seq: Seq(9), index: 0 }));
        for bad in ["{}", "[1]", "[[1,2]]", "[[null,0,-1]]", "[[null,0,[[0]]]]", ""] {
            assert_eq!(Recipe::parse(bad), Err(RecipeError::Malformed), "{bad}");
        }
    }
}
