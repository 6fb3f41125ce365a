//! Lines of a foreign file with their numbers, read in bounded memory.

use super::recovery::{BROKEN, CONTROL, GLUED, RecoveredPart, is_record, parts};
use super::text::TextFile;
use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::path::Path;

/// The longest line that is read, in bytes. A longer one is skipped and reported as damage.
pub const LINE_MAX: usize = 32 * 1024 * 1024;

/// The damage of a file with an incomplete last line, which is normal while the file is being written.
pub const TORN: &str = "a torn last line";

/// How many lines one record may go over, and how many bytes.
const JOINED_MAX: usize = 200;
const JOINED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Whether damage of this kind lost nothing, so that the source is sound.
pub fn is_harmless(damage: &str) -> bool {
    [TORN, GLUED, CONTROL, BROKEN].contains(&damage)
}

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
        /// What was wrong with the line, if the text is a record that could be read all the same.
        repaired: Option<&'static str>,
    },
    /// A part of a damaged line that belongs to no record.
    Lost {
        /// From 1.
        number: u64,
        /// The kind of damage.
        what: &'static str,
    },
    /// A line longer than [`LINE_MAX`].
    TooLong {
        /// From 1.
        number: u64,
        /// Its length in bytes.
        bytes: u64,
    },
}

/// Reads lines; blank ones are counted and skipped. The records in a damaged line are found: see `recovery.rs`.
pub struct LineReader<R> {
    reader: R,
    number: u64,
    max: usize,
    /// Parts of lines that were read already.
    ready: VecDeque<SourceLine>,
}

impl<R: BufRead> LineReader<R> {
    /// Reads from the current position of `reader`; its first line is line 1.
    pub fn new(reader: R) -> Self {
        Self { reader, number: 0, max: LINE_MAX, ready: VecDeque::new() }
    }

    /// The same with another limit.
    #[cfg(test)]
    fn with_max(reader: R, max: usize) -> Self {
        Self { reader, number: 0, max, ready: VecDeque::new() }
    }

    /// The next line that is not blank.
    pub fn next(&mut self) -> io::Result<Option<SourceLine>> {
        if let Some(ready) = self.ready.pop_front() {
            return Ok(Some(ready));
        }
        let line = self.next_line()?;
        match line {
            Some(SourceLine::Text { number, text, lossy, last, repaired: None }) if !is_record(&text) => {
                self.recover(number, &text, lossy, last)?;
                Ok(self.ready.pop_front())
            }
            line => Ok(line),
        }
    }

    /// Queues the parts of a line that is not one record.
    fn recover(&mut self, number: u64, text: &str, lossy: bool, last: bool) -> io::Result<()> {
        for part in parts(text) {
            match part {
                RecoveredPart::Record(text, repaired) => {
                    self.ready.push_back(SourceLine::Text { number, text, lossy, last: false, repaired });
                }
                RecoveredPart::Lost(what) => self.ready.push_back(SourceLine::Lost { number, what }),
                RecoveredPart::Rest(text, true) if !last => self.join(number, text, lossy)?,
                RecoveredPart::Rest(text, _) => {
                    self.ready.push_back(SourceLine::Text { number, text, lossy, last, repaired: None });
                }
            }
        }
        Ok(())
    }

    /// Queues a record whose text goes over several lines, or else its lines one by one.
    fn join(&mut self, number: u64, start: String, lossy: bool) -> io::Result<()> {
        let mut joined = start.clone();
        let mut lines = vec![SourceLine::Text { number, text: start, lossy, last: false, repaired: None }];
        loop {
            let next = self.next_raw()?;
            let Some(SourceLine::Text { text, .. }) = &next else { break lines.extend(next) };
            let is_too_much = lines.len() >= JOINED_MAX || joined.len() >= JOINED_BYTES_MAX;
            if is_too_much || is_record(text) {
                break lines.extend(next);
            }
            joined = format!("{joined}\n{text}");
            lines.extend(next);
            if let [RecoveredPart::Record(text, _)] = parts(&joined).as_slice() {
                let repaired = Some(BROKEN);
                lines = vec![SourceLine::Text { number, text: text.clone(), lossy, last: false, repaired }];
                break;
            }
        }
        let is_blank = |line: &SourceLine| matches!(line, SourceLine::Text { text, .. } if text.trim().is_empty());
        self.ready.extend(lines.into_iter().filter(|line| !is_blank(line)));
        Ok(())
    }

    /// The next line that is not blank, as it is.
    fn next_line(&mut self) -> io::Result<Option<SourceLine>> {
        loop {
            match self.next_raw()? {
                Some(SourceLine::Text { text, .. }) if text.trim().is_empty() => {}
                line => return Ok(line),
            }
        }
    }

    /// The next line as it is.
    fn next_raw(&mut self) -> io::Result<Option<SourceLine>> {
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
        Ok(Some(SourceLine::Text { number, text, lossy, last: !ended, repaired: None }))
    }
}

impl LineReader<TextFile> {
    /// Reads a file.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::new(TextFile::open(path)?))
    }

    /// The length of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.reader.bytes
    }

    /// Starts over at line 1.
    pub fn rewind(&mut self) -> io::Result<()> {
        self.reader.rewind()?;
        self.number = 0;
        self.ready.clear();
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
        let text = |number, text: &str, lossy, last| SourceLine::Text {
            number,
            text: text.into(),
            lossy,
            last,
            repaired: None,
        };
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

    #[test]
    fn a_record_with_a_raw_line_break_in_a_text_is_one_and_a_torn_one_takes_no_other_with_it() {
        let read = |text: &str| -> Vec<(u64, String, Option<&'static str>)> {
            all(text.as_bytes(), LINE_MAX)
                .into_iter()
                .map(|line| match line {
                    SourceLine::Text { number, text, repaired, .. } => (number, text, repaired),
                    line => panic!("{line:?}"),
                })
                .collect()
        };
        let whole = [(1, r#"{"a":"x\u000a\u000ay"}"#.to_owned(), Some(BROKEN)), (4, r#"{"b":1}"#.to_owned(), None)];
        assert_eq!(read("{\"a\":\"x\n\ny\"}\n{\"b\":1}\n"), whole);
        let torn = [(1, r#"{"a":"x"#.to_owned(), None), (2, r#"{"b":1}"#.to_owned(), None)];
        assert_eq!(read("{\"a\":\"x\n{\"b\":1}\n"), torn);
    }
}
