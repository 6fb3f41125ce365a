//! The screen as the chat sees it: a thread that owns the terminal, and the way to it.

use super::card::ScreenQuestion;
use super::completion::CompletionSource;
use super::input_history::HistoryFile;
use super::live::LiveView;
use super::raw_terminal::RawTerminal;
use super::screen_thread::ScreenThread;
use super::state::{ScreenEvent, ScreenInput, ScreenState};
use crate::style::Style;
use annals_store::disk::StorePath;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// The name of the thread that owns the terminal.
pub(super) const THREAD: &str = "annals-screen";

/// What the screen begins with.
pub struct ScreenSettings {
    /// How it looks.
    pub style: Style,
    /// Where `@` finds files.
    pub directory: PathBuf,
    /// Commands, with what they do.
    pub commands: Vec<(String, String)>,
    /// Agents that `@` names.
    pub subagents: Vec<String>,
    /// Agents that can be selected.
    pub agents: Vec<String>,
    /// The file with earlier inputs.
    pub history: StorePath,
}

/// The screen. It is taken away, and the terminal restored, when this is dropped.
pub struct ChatScreen {
    handle: ScreenHandle,
    thread: Option<JoinHandle<()>>,
}

/// The way to the screen. Clones lead to the same one; what is sent to a screen that is gone is lost.
#[derive(Clone)]
pub struct ScreenHandle {
    events: Sender<ScreenEvent>,
    width: Arc<AtomicUsize>,
}

impl ChatScreen {
    /// Takes the terminal. `said` gets what the user says, on the thread of the screen.
    pub fn open(settings: ScreenSettings, on_input: impl Fn(ScreenInput) + Send + 'static) -> io::Result<Self> {
        let ScreenSettings { style, directory, commands, subagents, agents, history } = settings;
        let size = crossterm::terminal::size()?;
        let raw = RawTerminal::enter()?;
        let (history, earlier) = HistoryFile::open(history);
        let names = subagents.into_iter().map(|name| (name, "agent".to_owned())).collect();
        let source = CompletionSource { commands, names, files: None };
        let state = ScreenState::new(style, size, source, agents, earlier);
        let (events, news) = channel();
        let width = Arc::new(AtomicUsize::new(usize::from(size.0)));
        let handle = ScreenHandle { events: events.clone(), width: width.clone() };
        let thread = ScreenThread::new(state, raw, history, directory, events, news, width, Box::new(on_input));
        let thread = std::thread::Builder::new().name(THREAD.into()).spawn(move || thread.run())?;
        Ok(Self { handle, thread: Some(thread) })
    }

    /// The way to it.
    pub fn handle(&self) -> &ScreenHandle {
        &self.handle
    }
}

impl Drop for ChatScreen {
    fn drop(&mut self) {
        self.handle.send(ScreenEvent::End);
        if let Some(thread) = self.thread.take() {
            // A panic in it was reported.
            drop(thread.join());
        }
    }
}

impl ScreenHandle {
    fn send(&self, event: ScreenEvent) {
        drop(self.events.send(event));
    }

    /// Columns of a line.
    pub fn width(&self) -> usize {
        self.width.load(Ordering::Relaxed).saturating_sub(1).max(20)
    }

    /// Shows what happens now.
    pub fn live(&self, view: LiveView) {
        self.send(ScreenEvent::Live(Box::new(view)));
    }

    /// Asks the user; the question stays until it is answered or [`ScreenHandle::settled`] is called.
    pub fn ask(&self, question: ScreenQuestion) {
        self.send(ScreenEvent::Ask(question));
    }

    /// The question is of no use any more.
    pub fn settled(&self) {
        self.send(ScreenEvent::Settled);
    }

    /// What Ctrl-O shows from now on: lines that [`safe`](super::safe) painted.
    pub fn details(&self, title: String, lines: Vec<String>) {
        self.send(ScreenEvent::Details(title, lines));
    }

    /// Writes above. What is written has passed an [`EscapingWriter`](crate::escape::EscapingWriter).
    pub fn writer(&self) -> ScreenWriter {
        ScreenWriter { handle: self.clone(), bytes: Vec::new() }
    }
}

/// Writes above the lower part of the screen.
pub struct ScreenWriter {
    handle: ScreenHandle,
    /// The beginning of a character.
    bytes: Vec<u8>,
}

impl Write for ScreenWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.bytes) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.bytes.len(),
        };
        let rest = self.bytes.split_off(whole);
        let text = std::mem::replace(&mut self.bytes, rest);
        if !text.is_empty() {
            self.handle.send(ScreenEvent::Text(String::from_utf8_lossy(&text).into_owned()));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
