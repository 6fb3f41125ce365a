//! Output that cannot steer a terminal: the last step of everything that is printed.
//!
//! Names, texts, paths and errors come from logs, files and models. An [`EscapingWriter`] draws their control characters,
//! bidirectional controls and invisible characters visibly, so that no view needs to. Styles of our own pass it because
//! [`control`] marks them with a number that is drawn anew in each process: text from outside cannot hold it.

mod units;
mod writer;

pub(crate) use units::{remove_last_unit, unit_width, units};
pub use writer::EscapingWriter;

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

/// The form in which characters that could control a terminal are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escaping {
    /// Text: `␛` for ESC, `<U+202E>` for what has no picture.
    Text,
    /// JSON: `\u202e`, which has the same meaning in JSON.
    Json,
    /// As they are.
    Raw,
}

/// What follows ESC in the program's own control sequences.
fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| {
        let random = || RandomState::new().build_hasher().finish();
        format!("\u{1}{:016x}{:016x}", random(), random())
    })
}

/// A control sequence (CSI) of our own: `control("1;31m")` for bold red, `control("2K")` to clear the line. Only an
/// [`EscapingWriter`] makes it effective.
pub fn control(sequence: &str) -> String {
    format!("\x1b{}{sequence}", mark())
}

/// A text without anything that could steer a terminal; line feeds and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(is_clean) || !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut writer = EscapingWriter::new(&mut out, Escaping::Text);
    // Memory takes everything, and a mark of our own cannot be in it.
    drop(std::io::Write::write_all(&mut writer, text.as_bytes()).and_then(|()| writer.finish()));
    drop(writer);
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// The same on one line.
pub fn visible_line(text: &str) -> String {
    visible(text).split(['\n', '\t']).collect::<Vec<_>>().join(" ")
}

/// Whether a byte is a character that is written as it is next to any other: most of all text, so that it is looked at
/// byte by byte.
pub(crate) fn is_clean(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t')
}

/// Whether a character could steer a terminal, reorder what is shown, or hide in it. Line feed and tab cannot.
pub fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Bidirectional controls.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        // Of no width, or invisible: joiners, operators, marks of byte order, tags.
        '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' => true,
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

/// A text on which a person decides: also what is merely easy to overlook in it is drawn by number. Blanks that are not the usual
/// one, fillers, joiners (also between pictures), selectors of variants, and separators of lines that no program takes for one.
/// Line feeds and tabs stay.
pub fn exact(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_overlooked) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_overlooked(c) { push_drawn(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Whether a character is unsafe, or invisible, or looks like a blank and is none.
fn is_overlooked(c: char) -> bool {
    match c {
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}' => true,
        '\u{2800}' | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fffc}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        c => is_unsafe(c),
    }
}

/// How an unsafe character is drawn in text: a control picture, else its number.
fn push_drawn(c: char, out: &mut String) {
    let picture = match c {
        '\u{7f}' => Some('\u{2421}'),
        c if u32::from(c) < 0x20 => char::from_u32(0x2400 + u32::from(c)),
        _ => None,
    };
    match picture {
        Some(picture) => out.push(picture),
        None => out.push_str(&format!("<U+{:04X}>", u32::from(c))),
    }
}

/// Display width of a character as it is written in text.
pub fn width(c: char) -> usize {
    if !is_unsafe(c) {
        return unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
    }
    let mut drawn = String::new();
    push_drawn(c, &mut drawn);
    unicode_width::UnicodeWidthStr::width(drawn.as_str())
}

#[cfg(test)]
mod tests;
