//! Output while a session runs: the user's screen, or JSON lines.

use super::Screen;
use annals_core::{Blobs, InputId};
use annals_projections::SessionView;
use annals_runtime::bus::Notice;
use annals_runtime::host::JsonLines;
use annals_runtime::permission::PermissionQuestion;
use annals_runtime::prompt::UserQuestion;
use std::io::{self, Write};
use std::time::Instant;

/// What is shown while a session runs.
pub enum Frontend {
    /// For the user.
    Screen(Box<Screen>),
    /// To a program.
    Json(JsonLines),
}

impl Frontend {
    /// Starts to show a session in its current state.
    pub fn begin(&mut self, view: &SessionView, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Screen(screen) => {
                screen.begin(view);
                Ok(())
            }
            Self::Json(lines) => lines.begin(view, out),
        }
    }

    /// This input was typed here, so the screen does not show it again.
    pub fn typed(&mut self, input: InputId) {
        if let Self::Screen(screen) = self {
            screen.typed(input);
        }
    }

    /// Whether the output pauses while a question is open: the user must see the question; a program reads all.
    pub fn waits_for_answers(&self) -> bool {
        matches!(self, Self::Screen(screen) if screen.chat.is_none())
    }

    /// Whether a question stays on the screen until it is answered.
    pub fn keeps_questions(&self) -> bool {
        matches!(self, Self::Screen(screen) if screen.chat.is_some())
    }

    /// The question is of no use any more.
    pub fn settled(&mut self) {
        if let Self::Screen(screen) = self
            && let Some(chat) = &screen.chat
        {
            chat.settled();
        }
    }

    /// What the user typed while the model works is durable.
    pub fn steered(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            // It is shown until the model reads it.
            Self::Screen(screen) if screen.chat.is_some() => Ok(()),
            _ => self.aside("sent while the model works (steer)", out),
        }
    }

    /// A message of the user.
    pub fn show_prompt(&mut self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.show_prompt(text, out),
            Self::Json(_) => Ok(()),
        }
    }

    /// The last message of the user and the answer to it: where a session is continued. `runs` says whether another process runs it.
    pub fn last_exchange(
        &mut self,
        view: &SessionView,
        runs: bool,
        blobs: &dyn Blobs,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.last_exchange(view, runs, blobs, out),
            Self::Json(_) => Ok(()),
        }
    }

    /// A command of the user runs, or has ended.
    pub fn busy(&mut self, command: Option<&str>) {
        if let Self::Screen(screen) = self {
            screen.busy(command);
        }
    }

    /// Which model and agent work, and who answers permission questions.
    pub fn works(&mut self, model: &str, agent: &str, mode: &str) {
        if let Self::Screen(screen) = self {
            screen.works(model, agent, mode);
        }
    }

    /// Whether the terminal is redrawn, so that nothing else may write there.
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

    /// Asks the user; `waiting` more questions wait. Returns the moment before the question was complete: a reply cannot
    /// be typed earlier, and may be typed as soon as it is shown.
    pub fn question(
        &mut self,
        question: &PermissionQuestion,
        waiting: usize,
        out: &mut dyn Write,
    ) -> io::Result<Instant> {
        match self {
            Self::Screen(screen) => screen.question(question, waiting, out),
            Self::Json(lines) => {
                let since = Instant::now();
                lines.question(question, out)?;
                Ok(since)
            }
        }
    }

    /// Shows a question of a model to the user; programs read it from the call.
    pub fn prompt(&mut self, question: &UserQuestion, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.prompt(question, out),
            Self::Json(_) => Ok(()),
        }
    }

    /// Shows the user everything that a question is about, and asks again; a program has it already.
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

    /// Prints a remark for the user; programs read it from the events.
    pub fn aside(&mut self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.aside(text, out),
            Self::Json(_) => Ok(()),
        }
    }

    /// Prints an error for the user; programs read it from the events.
    pub fn warning(&mut self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Screen(screen) => screen.warning(text, out),
            Self::Json(_) => Ok(()),
        }
    }

    /// How full the window of the model is, and what the session has cost; for the user only.
    pub fn window(&self) -> Option<String> {
        match self {
            Self::Screen(screen) => screen.window.in_brief(),
            Self::Json(_) => None,
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
