//! Prints whole lines above the line that the user edits.

use crate::layout::{clip, columns};
use rustyline::ExternalPrinter;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Writes above the line that is edited. Clones write to the same place.
#[derive(Clone)]
pub struct Printer {
    shared: Arc<Mutex<PrinterState>>,
    /// Where a long line is broken.
    width: usize,
}

struct PrinterState {
    above: Box<dyn ExternalPrinter + Send>,
    /// The beginning of an incomplete line.
    line: String,
    /// The beginning of a character.
    bytes: Vec<u8>,
    /// What runs, and since when: drawn in one line directly above the prompt.
    status: Option<(String, Instant)>,
    /// Whether that line is on the screen.
    drawn: bool,
    /// How often it was drawn: the spinner turns with it.
    turns: usize,
}

/// How often the status moves.
const TICK: Duration = Duration::from_millis(500);

const SPINNER: [char; 4] = ['⠋', '⠹', '⠼', '⠧'];

impl Printer {
    pub(super) fn new(above: impl ExternalPrinter + Send + 'static) -> Self {
        let shared = PrinterState {
            above: Box::new(above),
            line: String::new(),
            bytes: Vec::new(),
            status: None,
            drawn: false,
            turns: 0,
        };
        Self { shared: Arc::new(Mutex::new(shared)), width: 80 }
    }

    /// Lets the status move by itself, from a thread that ends with the last clone.
    pub(super) fn ticking(self) -> Self {
        let shared = Arc::downgrade(&self.shared);
        std::thread::spawn(move || {
            while let Some(shared) = shared.upgrade() {
                // A terminal that is gone shows no status.
                drop(locked(&shared).tick());
                drop(shared);
                std::thread::sleep(TICK);
            }
        });
        self
    }

    /// Shows what runs directly above the prompt, or nothing.
    pub fn status(&self, status: Option<(String, Instant)>) {
        let mut shared = locked(&self.shared);
        let draws = status.is_none();
        shared.status = status;
        if draws {
            drop(shared.print(String::new()));
        }
    }

    /// The prompt was left: the status above it stays where it is.
    pub(super) fn prompt_was_left(&self) {
        locked(&self.shared).drawn = false;
    }

    /// The same for lines of that many columns.
    pub fn wide(self, width: usize) -> Self {
        Self { width: width.max(20), ..self }
    }
}

fn locked(shared: &Mutex<PrinterState>) -> MutexGuard<'_, PrinterState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PrinterState {
    /// Prints whole lines where the status was, and the status below them.
    fn print(&mut self, text: String) -> io::Result<()> {
        let over = if std::mem::take(&mut self.drawn) { "\x1b[1A\x1b[2K\r" } else { "" };
        // A status that is new waits for the next tick: what is over at once does not flicker.
        let status = if over.is_empty() { String::new() } else { self.status_line() };
        self.drawn = !status.is_empty();
        if over.is_empty() && text.is_empty() {
            return Ok(());
        }
        if !over.is_empty() && text.is_empty() && status.is_empty() {
            // The line below takes the place of the empty one.
            return self.above.print("\x1b[1A\x1b[2K\r\x1b[1A\n".into()).map_err(io::Error::other);
        }
        self.above.print(format!("{over}{text}{status}")).map_err(io::Error::other)
    }

    /// Draws the status anew.
    fn tick(&mut self) -> io::Result<()> {
        let status = self.status_line();
        if status.is_empty() {
            return Ok(());
        }
        let over = if std::mem::replace(&mut self.drawn, true) { "\x1b[1A\x1b[2K\r" } else { "" };
        self.above.print(format!("{over}{status}")).map_err(io::Error::other)
    }

    /// The status as a line of the screen.
    fn status_line(&mut self) -> String {
        let Some((what, since)) = &self.status else { return String::new() };
        self.turns = self.turns.wrapping_add(1);
        let turn = SPINNER.get(self.turns % SPINNER.len()).copied().unwrap_or('·');
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        let text = format!("{turn} {}s {what}", since.elapsed().as_secs());
        format!("{}\n", clip(&text, width.saturating_sub(1)))
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
        let mut shared = locked(&self.shared);
        shared.take(bytes);
        while let Some(lines) = shared.whole(self.width) {
            shared.print(lines)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // An incomplete line waits for its rest.
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
