//! Remarks in addition to an answer: on stderr, or collected by a test.

use crate::escape::{Escaping, EscapingWriter};
use crate::layout::wrap;
use crate::style::{Emphasis, Style};
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// What a remark begins with.
const NAME: &str = "annals:";

/// Where remarks go, and how they look.
#[derive(Clone)]
pub struct Remarks {
    out: Arc<Mutex<EscapingWriter<Box<dyn Write + Send>>>>,
    style: Style,
    watched: bool,
}

impl Remarks {
    /// Remarks on `out`; `watched`: whether it is a terminal.
    pub fn new(out: Box<dyn Write + Send>, style: Style, watched: bool) -> Self {
        Self { out: Arc::new(Mutex::new(EscapingWriter::new(out, Escaping::Text))), style, watched }
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

    /// Writes without the program's name. What could steer a terminal is drawn visibly, as everywhere.
    pub fn write(&self, text: &str) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // The reader may be gone; the answer does not depend on it.
        drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    }
}

impl fmt::Debug for Remarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remarks").field("watched", &self.watched).finish_non_exhaustive()
    }
}
