//! Where a chat's lines come from: an editor at the terminal, or a pipe.

use super::printer::Printer;
use super::words::WORDS;
use crate::host::{Line, Lines};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Editor, Helper};
use std::path::{Path, PathBuf};
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
    pub fn edited(history: &Path) -> Result<Self, ReadlineError> {
        let mut editor: Editor<Words, FileHistory> = Editor::new()?;
        editor.set_helper(Some(Words));
        // There is none yet, or it cannot be read: then there is nothing to go back to.
        drop(editor.load_history(history));
        let printer = Printer::new(editor.create_external_printer()?);
        let (read, lines) = mpsc::unbounded_channel();
        let history = history.to_owned();
        // A thread of its own: what blocks in a read must not keep the process from ending.
        std::thread::spawn(move || edit(editor, &history, &read));
        Ok(Self { lines: Lines::arriving(lines), printer: Some(printer) })
    }
}

fn edit(mut editor: Editor<Words, FileHistory>, history: &PathBuf, read: &mpsc::UnboundedSender<Line>) {
    loop {
        let line = match editor.readline(PROMPT) {
            Ok(line) => {
                if !line.trim().is_empty() && editor.add_history_entry(&line).is_ok() {
                    // A history that cannot be kept is gone with the chat.
                    drop(editor.append_history(history));
                }
                Line::Text(line.replace("\\\n", "\n"))
            }
            Err(ReadlineError::Interrupted) => Line::Interrupt,
            Err(_) => Line::End,
        };
        let ends = line == Line::End;
        if read.send(line).is_err() || ends {
            return;
        }
    }
}

/// Completes words that begin with a slash, and lets a trailing backslash go on in the next line.
struct Words;

impl Helper for Words {}

impl Highlighter for Words {}

impl Hinter for Words {
    type Hint = String;
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
