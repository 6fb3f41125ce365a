//! What is shown while a Session runs: a person's screen, or JSON lines.

use super::Screen;
use annals_core::{Blobs, InputId};
use annals_projections::SessionView;
use annals_runtime::bus::Notice;
use annals_runtime::host::JsonLines;
use annals_runtime::permission::PermissionQuestion;
use std::io::{self, Write};

/// What is shown while a Session runs.
pub enum Frontend {
    /// To a person.
    Screen(Box<Screen>),
    /// To a program.
    Json(JsonLines),
}

impl Frontend {
    /// A Session begins to be shown as it stands.
    pub fn begin(&mut self, view: &SessionView, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Screen(screen) => {
                screen.begin(view);
                Ok(())
            }
            Self::Json(lines) => lines.begin(view, out),
        }
    }

    /// This input was typed here: it is not shown to whoever typed it.
    pub fn typed(&mut self, input: InputId) {
        if let Self::Screen(screen) = self {
            screen.typed(input);
        }
    }

    /// Whether nothing is shown while somebody is asked: a person's question must stay in sight; a program reads on.
    pub fn waits_for_answers(&self) -> bool {
        matches!(self, Self::Screen(_))
    }

    /// Whether lines on the terminal are drawn anew, so that nobody else may write there.
    pub fn draws(&self) -> bool {
        matches!(self, Self::Screen(screen) if screen.remarks.are_watched())
    }

    /// Shows what happened.
    pub fn notice(&mut self, notice: &Notice, blobs: &dyn Blobs, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.notice(notice, blobs, out),
            Self::Json(lines) => lines.notice(notice, blobs, out),
        }
    }

    /// Asks a person; `waiting` more questions wait.
    pub fn question(&mut self, question: &PermissionQuestion, waiting: usize, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.question(question, waiting, out),
            Self::Json(lines) => lines.question(question, out),
        }
    }

    /// Shows a person all of what a question is about, and asks again; a program has all of it.
    pub fn details(&mut self, question: &PermissionQuestion, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.details(question, out),
            Self::Json(_) => Ok(()),
        }
    }

    /// Asks again for what was not understood.
    pub fn not_understood(&mut self) -> io::Result<()> {
        if let Self::Screen(screen) = self {
            screen.ask_for_reply();
        }
        Ok(())
    }

    /// Says something beside the answer; programs are told by what they read anyway.
    pub fn aside(&mut self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.aside(text, out),
            Self::Json(_) => Ok(()),
        }
    }

    /// Says that something went wrong; programs are told by what they read anyway.
    pub fn warning(&mut self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.warning(text, out),
            Self::Json(_) => Ok(()),
        }
    }

    /// The run is over: what was held back is written.
    pub fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.finish(out),
            Self::Json(_) => out.flush(),
        }
    }
}
