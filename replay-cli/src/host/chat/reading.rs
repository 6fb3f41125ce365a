//! Where a chat's lines come from: an editor at the terminal, or a pipe.

use super::printer::Printer;
use super::words::WORDS;
use crate::host::{Line, Lines};
use annals_store::disk::StorePath;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Editor, Helper};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::mpsc;

/// What stands before the line that is edited.
const PROMPT: &str = "› ";

/// Where a chat's lines come from.
pub struct Reading {
    /// The lines.
    pub lines: Lines,
    /// Writes above the line that is edited; `None` where nothing is edited.
    pub printer: Option<Printer>,
}

impl Reading {
    /// Lines of a pipe, one prompt each.
    pub fn piped() -> Self {
        Self { lines: Lines::of_stdin(), printer: None }
    }

    /// Lines that are edited at the terminal, with those of earlier chats in `history`.
    ///
    /// # Errors
    /// When the terminal refuses.
    pub fn edited(history: StorePath) -> Result<Self, ReadlineError> {
        let mut editor: Editor<Words, FileHistory> = Editor::new()?;
        let words = Words::default();
        let begun = words.begun.clone();
        editor.set_helper(Some(words));
        // There is none yet, or it cannot be read: then there is nothing to go back to.
        drop(history.reach().map(|path| editor.load_history(&path)));
        let printer = Printer::new(editor.create_external_printer()?);
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let printer = if dumb { printer } else { printer.ticking() };
        let (read, lines) = mpsc::unbounded_channel();
        let reader = Reader { history, begun, printer: printer.clone(), read };
        // A thread of its own: what blocks in a read must not keep the process from ending.
        std::thread::spawn(move || reader.edit(editor));
        Ok(Self { lines: Lines::arriving(lines), printer: Some(printer) })
    }
}

/// Where edited lines go.
struct Reader {
    history: StorePath,
    begun: Begun,
    printer: Printer,
    read: mpsc::UnboundedSender<Line>,
}

impl Reader {
    fn edit(self, mut editor: Editor<Words, FileHistory>) {
        loop {
            let edited = editor.readline(PROMPT);
            // The line above the next prompt is what was typed.
            self.printer.prompt_was_left();
            let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner).take();
            let line = match edited {
                Ok(line) => {
                    if !line.trim().is_empty() && editor.add_history_entry(&line).is_ok() {
                        // A history that cannot be kept is gone with the chat.
                        drop(self.history.reach().map(|path| editor.append_history(&path)));
                    }
                    Line::Text { text: line.replace("\\\n", "\n"), begun }
                }
                Err(ReadlineError::Interrupted) => Line::Interrupt,
                Err(_) => Line::End,
            };
            let ends = line == Line::End;
            if self.read.send(line).is_err() || ends {
                return;
            }
        }
    }
}

/// When the line that is edited got its first character.
type Begun = Arc<Mutex<Option<Instant>>>;

/// Completes words that begin with a slash, and lets a trailing backslash go on in the next line.
#[derive(Default)]
struct Words {
    begun: Begun,
}

impl Helper for Words {}

impl Highlighter for Words {}

impl Hinter for Words {
    type Hint = String;

    /// Gives no hint; it is asked after every change of the line.
    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        match (line.is_empty(), *begun) {
            (true, _) => *begun = None,
            (false, None) => *begun = Some(Instant::now()),
            (false, Some(_)) => {}
        }
        None
    }
}

impl Completer for Words {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..at).unwrap_or_default();
        let words = WORDS.iter().filter_map(|(told, _)| told.split_whitespace().next());
        let fitting = words.filter(|word| typed.starts_with('/') && word.starts_with(typed));
        Ok((0, fitting.map(str::to_owned).collect()))
    }
}

impl Validator for Words {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match context.input().ends_with('\\') {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}
