//! The writer that everything printed passes through.

use super::{Escaping, is_clean, is_unsafe, mark, push_drawn};
use std::io::{self, Write};

/// The zero-width joiner: it stays between two pictures, which it makes one of, and is drawn anywhere else.
const JOINER: char = '\u{200d}';

/// Writes text so that it cannot steer a terminal; see [`super`].
pub struct EscapingWriter<W: Write> {
    out: W,
    form: Escaping,
    /// The beginning of a character or of a sequence, or a character that the next one decides on.
    held: Vec<u8>,
    /// Whether the last character is a picture, or belongs to one.
    picture: bool,
}

/// One piece of what is written.
enum ControlPiece<'a> {
    /// A character, and its length in bytes.
    Char(char, usize),
    /// Bytes that do not encode a character.
    Invalid(usize),
    /// A control sequence of our own, without ESC and mark, and the length of the whole.
    Ours(&'a str, usize),
    /// More is needed to say.
    Incomplete,
}

impl<W: Write> EscapingWriter<W> {
    /// A writer to `out`.
    pub fn new(out: W, form: Escaping) -> Self {
        Self { out, form, held: Vec::new(), picture: false }
    }

    /// What is written to, for control sequences that are not text.
    pub fn inner(&mut self) -> &mut W {
        &mut self.out
    }

    /// Writes what was held back: nothing follows.
    pub fn finish(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.pass(&held, true)?;
        self.out.flush()
    }

    /// Writes `bytes`; holds back an incomplete sequence, unless this is the `end`.
    fn pass(&mut self, bytes: &[u8], end: bool) -> io::Result<()> {
        let mut text = String::new();
        // Bytes from here to `at` are written as they are.
        let (mut clean, mut at) = (0, 0);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let clean_run = rest.iter().take_while(|byte| is_clean(**byte)).count();
            if clean_run > 0 {
                self.picture = false;
                at += clean_run;
                continue;
            }
            let piece = piece(rest, end);
            let (drawn, length) = match piece {
                ControlPiece::Incomplete => break,
                ControlPiece::Char(c, length) => {
                    match self.drawn(c, rest.get(length..).unwrap_or_default(), end, &mut text) {
                        Some(drawn) => (drawn, length),
                        None => break,
                    }
                }
                ControlPiece::Invalid(length) => {
                    if self.form != Escaping::Raw {
                        text.push(char::REPLACEMENT_CHARACTER);
                    }
                    (self.form != Escaping::Raw, length)
                }
                ControlPiece::Ours(sequence, length) => {
                    text.push_str("\x1b[");
                    text.push_str(sequence);
                    (true, length)
                }
            };
            if drawn {
                self.out.write_all(bytes.get(clean..at).unwrap_or_default())?;
                self.out.write_all(text.as_bytes())?;
                text.clear();
                clean = at + length;
            }
            at += length;
        }
        self.out.write_all(bytes.get(clean..at).unwrap_or_default())?;
        self.held = bytes.get(at..).unwrap_or_default().to_vec();
        Ok(())
    }

    /// Draws a character into `text` if it cannot be written as it is, and says whether it did; `None` if what follows
    /// decides and is not there yet.
    fn drawn(&mut self, c: char, rest: &[u8], end: bool, text: &mut String) -> Option<bool> {
        let was_picture = std::mem::replace(&mut self.picture, is_picture(c));
        if self.form == Escaping::Raw || !is_unsafe(c) {
            return Some(false);
        }
        if self.form == Escaping::Json {
            let mut units = [0; 2];
            // A string takes everything.
            for unit in c.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
            return Some(true);
        }
        let joins = c == JOINER && was_picture;
        if c == '\r' || joins {
            match piece(rest, end) {
                ControlPiece::Incomplete if !end => {
                    self.picture = was_picture;
                    return None;
                }
                // The end of a line, as some systems write it.
                ControlPiece::Char('\n', _) if c == '\r' => return Some(false),
                ControlPiece::Char(next, _) if joins && is_picture(next) => return Some(false),
                _ => {}
            }
        }
        push_drawn(c, text);
        Some(true)
    }
}

/// The first piece of `bytes`; `end` says that nothing follows them.
fn piece(bytes: &[u8], end: bool) -> ControlPiece<'_> {
    let Some(first) = bytes.first() else { return ControlPiece::Incomplete };
    if *first == 0x1b {
        return sequence(bytes, end);
    }
    if first.is_ascii() {
        return ControlPiece::Char(char::from(*first), 1);
    }
    let most = bytes.get(..bytes.len().min(4)).unwrap_or(bytes);
    let valid = match std::str::from_utf8(most) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(most.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
        }
        Err(error) => {
            return match error.error_len() {
                None if !end => ControlPiece::Incomplete,
                length => ControlPiece::Invalid(length.unwrap_or(most.len())),
            };
        }
    };
    valid.chars().next().map_or(ControlPiece::Incomplete, |c| ControlPiece::Char(c, c.len_utf8()))
}

/// What begins with ESC: a control sequence of our own, or the character.
fn sequence(bytes: &[u8], end: bool) -> ControlPiece<'_> {
    let (escape, mark) = (ControlPiece::Char('\x1b', 1), mark().as_bytes());
    let behind = bytes.get(1..).unwrap_or_default();
    let Some(body) = behind.strip_prefix(mark) else {
        return if mark.starts_with(behind) && !end { ControlPiece::Incomplete } else { escape };
    };
    match body.iter().position(|byte| !byte.is_ascii_digit() && *byte != b';') {
        Some(at) => match body.get(..=at).and_then(|body| std::str::from_utf8(body).ok()) {
            Some(body) if body.ends_with(|c: char| c.is_ascii_alphabetic()) => {
                ControlPiece::Ours(body, 1 + mark.len() + body.len())
            }
            _ => escape,
        },
        None if end => escape,
        None => ControlPiece::Incomplete,
    }
}

/// Whether a character is a picture, or changes how one looks: what a joiner joins.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{fe0f}' | '\u{2190}'..='\u{21ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.held.is_empty() && bytes.iter().copied().all(is_clean) {
            self.picture = self.picture && bytes.is_empty();
            self.out.write_all(bytes)?;
        } else if self.held.is_empty() {
            self.pass(bytes, false)?;
        } else {
            let mut held = std::mem::take(&mut self.held);
            held.extend_from_slice(bytes);
            self.pass(&held, false)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Drop for EscapingWriter<W> {
    fn drop(&mut self) {
        if !self.held.is_empty() {
            // Callers that need the result call `finish`.
            drop(self.finish());
        }
    }
}
