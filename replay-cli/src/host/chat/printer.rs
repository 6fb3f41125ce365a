//! Writing above the line that a person edits, whole lines at a time.

use crate::layout::columns;
use rustyline::ExternalPrinter;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Writes above the line that is edited. Clones write to the same place.
#[derive(Clone)]
pub struct Printer {
    shared: Arc<Mutex<Shared>>,
    /// Where a long line is broken.
    width: usize,
}

struct Shared {
    above: Box<dyn ExternalPrinter + Send>,
    /// What is no whole line yet.
    line: String,
    /// The beginning of a character.
    bytes: Vec<u8>,
}

impl Printer {
    pub(super) fn new(above: impl ExternalPrinter + Send + 'static) -> Self {
        let shared = Shared { above: Box::new(above), line: String::new(), bytes: Vec::new() };
        Self { shared: Arc::new(Mutex::new(shared)), width: 80 }
    }

    /// The same for lines of so many columns.
    pub fn wide(self, width: usize) -> Self {
        Self { width: width.max(20), ..self }
    }
}

impl Shared {
    fn print(&mut self, text: String) -> io::Result<()> {
        self.above.print(text).map_err(io::Error::other)
    }

    /// Takes in what is whole characters.
    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.bytes) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.bytes.len(),
        };
        let rest = self.bytes.split_off(whole);
        let text = std::mem::replace(&mut self.bytes, rest);
        self.line.push_str(&String::from_utf8_lossy(&text));
    }

    /// Whole lines, and the beginning of one that is too long for the screen.
    fn whole(&mut self, width: usize) -> Option<String> {
        if let Some(at) = self.line.rfind('\n') {
            let rest = self.line.split_off(at + 1);
            return Some(std::mem::replace(&mut self.line, rest));
        }
        if columns(&self.line) <= width || self.line.contains('\x1b') {
            return None;
        }
        let mut used = 0;
        let mut blank = None;
        for (at, c) in self.line.char_indices() {
            used += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
            if used > width {
                break;
            }
            if c == ' ' {
                blank = Some(at);
            }
        }
        let at = blank.filter(|at| *at > 0)?;
        let rest = self.line.split_off(at).trim_start().to_owned();
        Some(std::mem::replace(&mut self.line, rest) + "\n")
    }
}

impl Write for Printer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.take(bytes);
        while let Some(lines) = shared.whole(self.width) {
            shared.print(lines)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // What is no whole line yet waits for the rest of it: printed now, it would stand alone.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Above(Arc<Mutex<Vec<String>>>);

    impl ExternalPrinter for Above {
        fn print(&mut self, text: String) -> rustyline::Result<()> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            Ok(())
        }
    }

    #[test]
    fn lines_are_printed_whole_and_long_ones_broken_at_blanks() -> io::Result<()> {
        let printed = Arc::new(Mutex::new(Vec::new()));
        let mut printer = Printer::new(Above(printed.clone())).wide(20);
        printer.write_all("one".as_bytes())?;
        printer.write_all(" and\ntwo, which goes on an".as_bytes())?;
        printer.write_all(&"d ön\n".as_bytes()[..3])?;
        printer.write_all(&"d ön\n".as_bytes()[3..])?;
        let printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(*printed, ["one and\n", "two, which goes on\n", "and ön\n"]);
        Ok(())
    }
}
