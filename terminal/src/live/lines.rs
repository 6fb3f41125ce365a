//! The lines that the user types.

use std::io::BufRead;
use std::time::Instant;
use tokio::sync::mpsc;

/// An input of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypedLine {
    /// A line, or several that belong together.
    Text {
        /// Without the newline at its end.
        text: String,
        /// When the user began to type it, if that is known.
        begun: Option<Instant>,
    },
    /// The answer to the question that is on the screen.
    Reply(String),
    /// Ctrl-C where the terminal does not make a signal of it.
    Interrupt,
    /// There is no more.
    End,
}

impl TypedLine {
    /// A line of which is not known when it was begun.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), begun: None }
    }
}

/// Where typed lines arrive. Nothing is read before the first line is wanted.
#[derive(Debug)]
pub struct TypedLines(LineSource);

#[derive(Debug)]
enum LineSource {
    /// stdin is not read yet.
    Unread,
    Open(mpsc::UnboundedReceiver<TypedLine>),
}

impl TypedLines {
    /// Those of stdin, as the terminal edits them.
    pub fn of_stdin() -> Self {
        Self(LineSource::Unread)
    }

    /// Lines that another reader provides.
    pub fn arriving(lines: mpsc::UnboundedReceiver<TypedLine>) -> Self {
        Self(LineSource::Open(lines))
    }

    /// The next one; [`TypedLine::End`] for ever after the last.
    pub async fn next(&mut self) -> TypedLine {
        if let LineSource::Unread = self.0 {
            self.0 = LineSource::Open(read_stdin());
        }
        match &mut self.0 {
            LineSource::Open(lines) => lines.recv().await.unwrap_or(TypedLine::End),
            LineSource::Unread => TypedLine::End,
        }
    }
}

/// A thread of its own, not one of the runtime's: what blocks in a read must not keep the process from ending.
fn read_stdin() -> mpsc::UnboundedReceiver<TypedLine> {
    let (read, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if read.send(TypedLine::text(line)).is_err() {
                return;
            }
        }
        drop(read.send(TypedLine::End));
    });
    lines
}
