//! Signed notes (<https://c2sp.org/signed-note>): a text, an empty line, and one line for each signature.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::str::FromStr;

/// How many signatures a note may have.
pub const SIGNATURES_MAX: usize = 100;

/// How long a note may be, in bytes.
pub const NOTE_MAX: usize = 1 << 20;

/// A text and its signatures, of which none is verified by parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedNote {
    /// What is signed: lines, each with its line end.
    pub text: String,
    /// At least one.
    pub signatures: Vec<NoteSignature>,
}

/// A line `— name base64(key id || signature)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSignature {
    /// The name of the key. Together with the id it says which key signed.
    pub name: String,
    /// The first four bytes of a hash over name, type and public key.
    pub key_id: [u8; 4],
    /// What the key made; its form depends on the type of the key.
    pub signature: Vec<u8>,
}

/// A text is not a signed note.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a signed note: {0}")]
pub struct NoteError(pub &'static str);

/// Whether a key may have this name: not empty, without spaces, control characters and `+`.
pub fn is_key_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(|sign| sign.is_whitespace() || sign.is_control() || sign == '+')
}

/// Whether this can be the text of a note: lines without control characters, the last one complete.
fn is_text(text: &str) -> bool {
    text.ends_with('\n') && !text.chars().any(|sign| sign.is_ascii_control() && sign != '\n')
}

impl SignedNote {
    /// Adds a signature, or replaces the one of the same key.
    pub fn add(&mut self, signature: NoteSignature) {
        let same = |other: &&mut NoteSignature| other.name == signature.name && other.key_id == signature.key_id;
        match self.signatures.iter_mut().find(same) {
            Some(former) => *former = signature,
            None => self.signatures.push(signature),
        }
    }
}

impl fmt::Display for SignedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|signature| writeln!(f, "{signature}"))
    }
}

impl fmt::Display for NoteSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signed = [&self.key_id[..], &self.signature].concat();
        write!(f, "— {} {}", self.name, STANDARD.encode(signed))
    }
}

impl FromStr for SignedNote {
    type Err = NoteError;

    fn from_str(note: &str) -> Result<Self, NoteError> {
        if note.len() > NOTE_MAX {
            return Err(NoteError("it is longer than 1 MiB"));
        }
        let end = note.rfind("\n\n").ok_or(NoteError("no empty line before the signatures"))?;
        let (text, lines) = (&note[..=end], &note[end + 2..]);
        if !is_text(text) {
            return Err(NoteError("the text has control characters"));
        }
        let lines = lines.strip_suffix('\n').ok_or(NoteError("the last line is not complete"))?;
        let signatures = lines.split('\n').map(str::parse).collect::<Result<Vec<_>, _>>()?;
        if signatures.len() > SIGNATURES_MAX {
            return Err(NoteError("more than 100 signatures"));
        }
        Ok(Self { text: text.to_owned(), signatures })
    }
}

impl FromStr for NoteSignature {
    type Err = NoteError;

    fn from_str(line: &str) -> Result<Self, NoteError> {
        let malformed = NoteError("a signature line is not `— NAME BASE64`");
        let (name, signed) = line.strip_prefix("— ").and_then(|line| line.split_once(' ')).ok_or(malformed.clone())?;
        let signed = STANDARD.decode(signed).map_err(|_| malformed.clone())?;
        match signed.split_first_chunk() {
            Some((key_id, signature)) if is_key_name(name) && !signature.is_empty() => {
                Ok(Self { name: name.to_owned(), key_id: *key_id, signature: signature.to_vec() })
            }
            _ => Err(malformed),
        }
    }
}

#[cfg(test)]
mod tests;
