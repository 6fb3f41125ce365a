//! Where a chat's lines come from: an editor at the terminal, or a pipe.

use super::printer::Printer;
use super::words::WORDS;
use crate::chat_screen::{ChatScreen, ScreenInput, ScreenSettings};
use crate::live::{TypedLine, TypedLines};
use annals_store::disk::StorePath;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler, Helper, KeyCode,
    KeyEvent, Modifiers, RepeatCount,
};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::mpsc;

/// The prompt before the edited line.
const PROMPT: &str = "› ";

/// How long the rest of the sequence of a key may take after Esc, in milliseconds.
const ESC_ALONE: u16 = 50;

/// Where a chat's lines come from.
pub struct ChatInput {
    /// What the user types.
    pub lines: TypedLines,
    /// Writes above the line that is edited; `None` where no line is.
    pub printer: Option<Printer>,
    /// The screen on which the text is edited, if there is one.
    pub screen: Option<ChatScreen>,
}

impl ChatInput {
    /// Lines of a pipe, one prompt each.
    pub fn piped() -> Self {
        Self { lines: TypedLines::of_stdin(), printer: None, screen: None }
    }

    /// Texts that are edited on a screen.
    pub fn on_screen(settings: ScreenSettings) -> io::Result<Self> {
        let (read, lines) = mpsc::unbounded_channel();
        // The screen knows which text answers a question: no other one was begun after it.
        let begun = Some(Instant::now());
        let screen = ChatScreen::open(settings, move |input| {
            let line = match input {
                ScreenInput::Message(text) => TypedLine::Text { text, begun },
                ScreenInput::Reply(text) => TypedLine::Reply(text),
                ScreenInput::Interrupt => TypedLine::Interrupt,
                ScreenInput::End => TypedLine::End,
            };
            // The chat has ended.
            drop(read.send(line));
        })?;
        Ok(Self { lines: TypedLines::arriving(lines), printer: None, screen: Some(screen) })
    }

    /// Lines that are edited at the terminal, with those of earlier chats in `history`.
    pub fn edited(history: StorePath) -> Result<Self, ReadlineError> {
        // A byte that follows Esc at once belongs to the sequence of another key.
        let config = Config::builder().keyseq_timeout(Some(ESC_ALONE)).build();
        let mut editor: Editor<ChatHelper, FileHistory> = Editor::with_config(config)?;
        let esc = EventHandler::Conditional(Box::new(EscInterrupts));
        editor.bind_sequence(Event::from(KeyEvent(KeyCode::Esc, Modifiers::NONE)), esc);
        let words = ChatHelper::default();
        let begun = words.begun.clone();
        editor.set_helper(Some(words));
        // Without a readable history there are no earlier lines.
        drop(history.reach().map(|path| editor.load_history(&path)));
        let printer = Printer::new(editor.create_external_printer()?);
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let printer = if dumb { printer } else { printer.ticking() };
        let (read, lines) = mpsc::unbounded_channel();
        let reader = LineEditor { history, begun, printer: printer.clone(), read };
        // A thread of its own: what blocks in a read must not keep the process from ending.
        std::thread::spawn(move || reader.edit(editor));
        Ok(Self { lines: TypedLines::arriving(lines), printer: Some(printer), screen: None })
    }
}

/// Esc interrupts what runs, if nothing is typed; else it clears what is.
struct EscInterrupts;

impl ConditionalEventHandler for EscInterrupts {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        match context.line().is_empty() {
            true => Some(Cmd::Interrupt),
            false => Some(Cmd::Kill(rustyline::Movement::WholeBuffer)),
        }
    }
}

/// Where edited lines go.
struct LineEditor {
    history: StorePath,
    begun: LineBegun,
    printer: Printer,
    read: mpsc::UnboundedSender<TypedLine>,
}

impl LineEditor {
    fn edit(self, mut editor: Editor<ChatHelper, FileHistory>) {
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
                    TypedLine::Text { text: line.replace("\\\n", "\n"), begun }
                }
                Err(ReadlineError::Interrupted) => TypedLine::Interrupt,
                Err(_) => TypedLine::End,
            };
            let ends = line == TypedLine::End;
            if self.read.send(line).is_err() || ends {
                return;
            }
        }
    }
}

/// When the line that is edited got its first character.
type LineBegun = Arc<Mutex<Option<Instant>>>;

/// Completes words that begin with a slash, and continues a line that ends in a backslash.
#[derive(Default)]
struct ChatHelper {
    begun: LineBegun,
}

impl Helper for ChatHelper {}

impl Highlighter for ChatHelper {}

impl Hinter for ChatHelper {
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

impl Completer for ChatHelper {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..at).unwrap_or_default();
        let words = WORDS.iter().filter_map(|(usage, _)| usage.split_whitespace().next());
        let fitting = words.filter(|word| typed.starts_with('/') && word.starts_with(typed));
        Ok((0, fitting.map(str::to_owned).collect()))
    }
}

impl Validator for ChatHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match context.input().ends_with('\\') {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}
