//! The thread that owns the terminal: events in, drawings out.

use super::frame::draw;
use super::inline::InlineTerminal;
use super::input_history::HistoryFile;
use super::keys;
use super::page::TextPage;
use super::raw_terminal::RawTerminal;
use super::state::{ScreenAction, ScreenEvent, ScreenInput, ScreenState};
use crate::keys::KeyReader;
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use ignore::WalkBuilder;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use std::io::{self, Stdout, stdout};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// How often what moves is drawn.
const TICK: Duration = Duration::from_millis(125);
/// How long to wait while nothing moves.
const CALM: Duration = Duration::from_secs(30);
/// How long pieces of an answer are gathered before they are drawn.
const GATHER: Duration = Duration::from_millis(25);
/// How many files `@` knows at most.
const FILES: usize = 20_000;

pub(super) struct ScreenThread {
    state: ScreenState,
    terminal: InlineTerminal<Stdout>,
    raw: Option<RawTerminal>,
    keys: Option<KeyReader>,
    history: HistoryFile,
    directory: PathBuf,
    events: Sender<ScreenEvent>,
    news: Receiver<ScreenEvent>,
    width: Arc<AtomicUsize>,
    on_input: Box<dyn Fn(ScreenInput) + Send>,
    /// Text to write above.
    above: String,
    /// The text that is shown on a screen of its own.
    page: Option<(TextPage, Terminal<CrosstermBackend<Stdout>>)>,
    ended: bool,
}

impl ScreenThread {
    #[expect(clippy::too_many_arguments, reason = "the parts of a screen, made in one place")]
    pub(super) fn new(
        state: ScreenState,
        raw: RawTerminal,
        history: HistoryFile,
        directory: PathBuf,
        events: Sender<ScreenEvent>,
        news: Receiver<ScreenEvent>,
        width: Arc<AtomicUsize>,
        on_input: Box<dyn Fn(ScreenInput) + Send>,
    ) -> Self {
        Self {
            state,
            terminal: InlineTerminal::new(stdout()),
            raw: Some(raw),
            keys: Some(keys::begin(events.clone())),
            history,
            directory,
            events,
            news,
            width,
            on_input,
            above: String::new(),
            page: None,
            ended: false,
        }
    }

    pub(super) fn run(mut self) {
        while !self.ended {
            if self.draw().is_err() {
                // The terminal is gone.
                (self.on_input)(ScreenInput::End);
                return;
            }
            let patience = if self.state.is_active() { TICK } else { CALM };
            match self.news.recv_timeout(patience) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.ended = true,
            }
            let gathered = Instant::now() + GATHER;
            while let Some(left) = gathered.checked_duration_since(Instant::now()).filter(|_| !self.ended) {
                match self.news.recv_timeout(left) {
                    Ok(event) => self.take(event),
                    Err(_) => break,
                }
            }
        }
        // A terminal that is gone cannot be tidied.
        drop(self.leave_page());
        drop(self.draw());
        drop(self.terminal.erase(self.state.size.0));
        self.keys = None;
        self.raw = None;
    }

    fn take(&mut self, event: ScreenEvent) {
        let ends = matches!(event, ScreenEvent::End);
        if let ScreenEvent::Resized(width, _) = event {
            self.width.store(usize::from(width), Ordering::Relaxed);
        }
        if let (ScreenEvent::Key(key), Some((page, _))) = (&event, &mut self.page) {
            if !page.press(*key) && self.leave_page().is_err() {
                self.ended = true;
            }
            return;
        }
        for action in self.state.apply(event, Instant::now()) {
            if self.act(action).is_err() {
                self.ended = true;
                (self.on_input)(ScreenInput::End);
            }
        }
        self.ended |= ends;
    }

    fn act(&mut self, action: ScreenAction) -> io::Result<()> {
        match action {
            ScreenAction::Print(text) => self.above.push_str(&text),
            ScreenAction::Send(input) => (self.on_input)(input),
            ScreenAction::Remember(text) => self.history.keep(&text),
            ScreenAction::Redraw => self.terminal.clear_screen()?,
            ScreenAction::FindFiles => self.find_files(),
            ScreenAction::Page(title, lines) => {
                self.terminal.erase(self.state.size.0)?;
                execute!(stdout(), EnterAlternateScreen)?;
                let mut terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
                terminal.clear()?;
                self.page = Some((TextPage::new(title, lines), terminal));
            }
            ScreenAction::Edit => {
                let text = self.state.editor.text().to_owned();
                let edited = self.outside(|| edited(&text))?;
                if let Ok(text) = edited {
                    self.state.apply(ScreenEvent::Edited(text), Instant::now());
                }
            }
            ScreenAction::Suspend => self.outside(|| {
                // Without the signal the screen simply stays.
                _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP);
            })?,
        }
        Ok(())
    }

    /// Lets something else have the terminal.
    fn outside<T>(&mut self, does: impl FnOnce() -> T) -> io::Result<T> {
        self.draw()?;
        self.terminal.erase(self.state.size.0)?;
        self.keys = None;
        self.raw = None;
        let done = does();
        self.raw = Some(RawTerminal::enter()?);
        self.keys = Some(keys::begin(self.events.clone()));
        self.terminal.forget();
        let (width, height) = crossterm::terminal::size()?;
        self.take(ScreenEvent::Resized(width, height));
        Ok(done)
    }

    fn draw(&mut self) -> io::Result<()> {
        let (width, height) = self.state.size;
        if let Some((page, terminal)) = &mut self.page {
            page.resize(Rect::new(0, 0, width, height));
            terminal.draw(|frame| page.draw(frame, self.state.style.colour))?;
            return Ok(());
        }
        let lower = draw(&self.state, Instant::now());
        let above = std::mem::take(&mut self.above);
        self.terminal.draw(&above, lower, width)
    }

    fn leave_page(&mut self) -> io::Result<()> {
        if self.page.take().is_some() {
            execute!(stdout(), LeaveAlternateScreen)?;
        }
        Ok(())
    }

    /// Finds the files below the directory, without those that git ignores, on a thread of its own.
    fn find_files(&self) {
        let (directory, events) = (self.directory.clone(), self.events.clone());
        std::thread::spawn(move || {
            let found = WalkBuilder::new(&directory).follow_links(false).build().filter_map(Result::ok);
            let files = found.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
            let names = files.filter_map(|entry| {
                let path = entry.path().strip_prefix(&directory).ok()?.to_str()?.to_owned();
                (!path.contains(char::is_whitespace)).then_some(path)
            });
            let mut names: Vec<String> = names.take(FILES).collect();
            names.sort();
            drop(events.send(ScreenEvent::Files(names)));
        });
    }
}

/// The text as the user's editor leaves it.
fn edited(text: &str) -> io::Result<String> {
    let mut file = tempfile::Builder::new().prefix("annals-").suffix(".md").tempfile()?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(std::env::var_os).unwrap_or_else(|| "vi".into());
    // The variable may hold arguments too.
    let status = Command::new("/bin/sh")
        .arg("-c")
        .arg("exec $EDITED_BY \"$1\"")
        .arg("sh")
        .arg(file.path())
        .env("EDITED_BY", editor)
        .status()?;
    match status.success() {
        true => std::fs::read_to_string(file.path()),
        false => Err(io::Error::other("the editor failed")),
    }
}
