//! Lines of a foreign file with their numbers, read in bounded memory.

use super::text::TextFile;
use std::io::{self, BufRead};
use std::path::Path;

/// The longest line that is read, in bytes. A longer one is skipped and reported as damage.
pub const LINE_MAX: usize = 32 * 1024 * 1024;

/// The damage of a file with an incomplete last line, which is normal while the file is being written.
pub const TORN: &str = "a torn last line";

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub enum SourceLine {
    /// Text without its line end.
    Text {
        /// From 1.
        number: u64,
        /// The text.
        text: String,
        /// Whether invalid UTF-8 was replaced by U+FFFD.
        lossy: bool,
        /// Whether the file ends here without a line end: the line may be incomplete.
        last: bool,
    },
    /// A line longer than [`LINE_MAX`].
    TooLong {
        /// From 1.
        number: u64,
        /// Its length in bytes.
        bytes: u64,
    },
}

/// Reads lines; blank ones are counted and skipped.
pub struct LineReader<R> {
    reader: R,
    number: u64,
    max: usize,
}

impl<R: BufRead> LineReader<R> {
    /// Reads from the current position of `reader`; its first line is line 1.
    pub fn new(reader: R) -> Self {
        Self { reader, number: 0, max: LINE_MAX }
    }

    /// The same with another limit.
    #[cfg(test)]
    fn with_max(reader: R, max: usize) -> Self {
        Self { reader, number: 0, max }
    }

    /// The next line that is not blank.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn next(&mut self) -> io::Result<Option<SourceLine>> {
        loop {
            let mut bytes = Vec::new();
            let mut length: u64 = 0;
            let mut ended = false;
            while !ended {
                let chunk = self.reader.fill_buf()?;
                if chunk.is_empty() {
                    break;
                }
                let end = chunk.iter().position(|byte| *byte == b'\n');
                let (part, used) = match end {
                    Some(at) => (chunk.get(..at).unwrap_or_default(), at + 1),
                    None => (chunk, chunk.len()),
                };
                ended = end.is_some();
                length += part.len() as u64;
                if length <= self.max as u64 {
                    bytes.extend_from_slice(part);
                } else {
                    bytes = Vec::new();
                }
                self.reader.consume(used);
            }
            if length == 0 && !ended {
                return Ok(None);
            }
            self.number += 1;
            let number = self.number;
            if length > self.max as u64 {
                return Ok(Some(SourceLine::TooLong { number, bytes: length }));
            }
            let (text, lossy) = match String::from_utf8(bytes) {
                Ok(text) => (text, false),
                Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
            };
            if text.trim().is_empty() {
                continue;
            }
            return Ok(Some(SourceLine::Text { number, text, lossy, last: !ended }));
        }
    }
}

impl LineReader<TextFile> {
    /// Reads a file.
    ///
    /// # Errors
    /// See [`TextFile::open`].
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::new(TextFile::open(path)?))
    }

    /// The length of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.reader.bytes
    }

    /// Starts over at line 1.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn rewind(&mut self) -> io::Result<()> {
        self.reader.rewind()?;
        self.number = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8], max: usize) -> Vec<SourceLine> {
        let mut lines = LineReader::with_max(io::BufReader::with_capacity(3, bytes), max);
        std::iter::from_fn(|| lines.next().unwrap()).collect()
    }

    #[test]
    fn lines_have_numbers_and_long_ones_are_passed_over() {
        let text = |number, text: &str, lossy, last| SourceLine::Text { number, text: text.into(), lossy, last };
        assert_eq!(
            all(b"one\n\n0123456789abc\nt\xffo\nlast", 8),
            [
                text(1, "one", false, false),
                SourceLine::TooLong { number: 3, bytes: 13 },
                text(4, "t\u{FFFD}o", true, false),
                text(5, "last", false, true),
            ]
        );
    }
}
