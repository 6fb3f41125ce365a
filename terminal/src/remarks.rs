//! Remarks in addition to an answer: on stderr, or collected by a test.

use crate::escape::{Escaping, EscapingWriter};
use crate::layout::wrap;
use crate::style::{Emphasis, Style};
use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a remark begins with.
const NAME: &str = "annals:";

/// Where remarks go, and how they look.
#[derive(Clone)]
pub struct Remarks {
    out: Arc<Mutex<RemarkWriter>>,
    style: Style,
    watched: bool,
}

/// Where remarks are written.
struct RemarkWriter {
    out: EscapingWriter<Box<dyn Write + Send>>,
    /// Those that wait while a pager has the terminal.
    held: Option<String>,
    /// What is not said again.
    shown: BTreeSet<String>,
}

impl Remarks {
    /// Remarks on `out`; `watched`: whether it is a terminal.
    pub fn new(out: Box<dyn Write + Send>, style: Style, watched: bool) -> Self {
        let out = RemarkWriter { out: EscapingWriter::new(out, Escaping::Text), held: None, shown: BTreeSet::new() };
        Self { out: Arc::new(Mutex::new(out)), style, watched }
    }

    /// The same with colours as `choose` decides.
    pub fn coloured(self, choose: impl Fn(bool) -> bool) -> Self {
        let colour = choose(self.style.colour);
        Self { style: Style { colour, ..self.style }, ..self }
    }

    /// Lines of that many columns from now on.
    pub fn resize(&mut self, width: usize) {
        self.style.width = width;
    }

    /// Whether they go to a terminal: then progress is shown.
    pub fn are_watched(&self) -> bool {
        self.watched
    }

    /// How they look.
    pub fn style(&self) -> &Style {
        &self.style
    }

    /// Says something, after the program's name. On a terminal lines are broken at blanks.
    pub fn say(&self, emphasis: Emphasis, text: &str) {
        let name = self.style.paint(emphasis, NAME);
        if !self.watched {
            return self.write(&format!("{name} {text}\n"));
        }
        let (indent, mut lines) = (" ".repeat(NAME.len() + 1), Vec::new());
        for (at, line) in text.split('\n').enumerate() {
            let room = self.style.width.saturating_sub(if at == 0 { indent.len() } else { 0 });
            let pieces = wrap(line, room);
            lines.push(pieces.join(&format!("\n{}", if at == 0 { indent.as_str() } else { "" })));
        }
        self.write(&format!("{name} {}\n", lines.join("\n")));
    }

    /// The same, if it was not said so before: of something that a command finds out for each of its sessions.
    pub fn say_once(&self, emphasis: Emphasis, text: &str) {
        let is_new = self.writer().shown.insert(text.to_owned());
        if is_new {
            self.say(emphasis, text);
        }
    }

    /// Writes without the program's name. What could steer a terminal is drawn visibly, as everywhere.
    pub fn write(&self, text: &str) {
        let mut writer = self.writer();
        match &mut writer.held {
            Some(held) => held.push_str(text),
            None => writer.write(text),
        }
    }

    /// Keeps what is said from now on until [`Remarks::release`]: a pager has the terminal, on which it would be in the way and be
    /// lost. Nothing is kept when remarks go elsewhere.
    pub fn hold(&self) {
        if self.watched {
            self.writer().held.get_or_insert_default();
        }
    }

    /// Says what was kept.
    pub fn release(&self) {
        let mut writer = self.writer();
        if let Some(held) = writer.held.take() {
            writer.write(&held);
        }
    }

    fn writer(&self) -> MutexGuard<'_, RemarkWriter> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RemarkWriter {
    fn write(&mut self, text: &str) {
        // The reader may be gone; the answer does not depend on it.
        drop(self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()));
    }
}

impl fmt::Debug for Remarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remarks").field("watched", &self.watched).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("one thread").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn remarks_wait_while_a_pager_has_the_terminal() {
        let (zone, now) = (jiff::tz::TimeZone::UTC, annals_core::Time(0));
        let style = Style { width: 40, colour: false, json: false, markdown: false, zone, now };
        let shown = Shared::default();
        let remarks = Remarks::new(Box::new(shown.clone()), style, true);
        let shown = || String::from_utf8_lossy(&shown.0.lock().expect("one thread")).into_owned();
        remarks.hold();
        remarks.say(Emphasis::Plain, "3 matches");
        assert_eq!(shown(), "");
        remarks.release();
        assert_eq!(shown(), "annals: 3 matches\n");
        remarks.say(Emphasis::Plain, "again");
        assert_eq!(shown(), "annals: 3 matches\nannals: again\n");
    }
}
