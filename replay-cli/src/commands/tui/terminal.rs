//! The loop of the time machine: keys and loaded answers in, screens out.

use super::draw;
use super::follow::TuiSource;
use super::list::TuiList;
use super::load::TuiLoader;
use super::state::{TuiAction, TuiLoaded, TuiState};
use super::tab::TuiWanted;
use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::picker::RestoredTerminal;
use annals_core::{Seq, SessionId};
use annals_host::{Signal, Signals};
use crossterm::event::{Event, poll, read};
use ratatui::layout::Rect;
use std::io;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

/// How long a thread that waits for keys takes at most to see that it is no longer needed.
const PATIENCE: Duration = Duration::from_millis(50);
/// The exit status of a process that SIGTERM ended.
const TERMINATED: u8 = 143;

/// Shows the sessions, or one at an event, until the user leaves. The terminal is restored before this returns.
///
/// # Errors
/// When the terminal refuses.
pub async fn run(
    source: TuiSource,
    sessions: TuiList,
    open: Option<(SessionId, Option<Seq>)>,
    cli: &CommandContext,
) -> Result<Verdict, CliError> {
    let (wish, wanted) = watch::channel(None);
    let (answers, loaded) = mpsc::unbounded_channel();
    let loader = TuiLoader::new(source, cli.pricing(), cli.style.clone());
    let runtime = Handle::current();
    // A thread of its own: keys are taken while a long log is folded.
    let loading = std::thread::spawn(move || runtime.block_on(loader.run(wanted, answers)));
    let verdict = match show(TuiState::new(sessions, open), &wish, loaded, cli).await {
        // The error of a read or a drawing can come before the signal that says so.
        Err(_) if is_gone() => Ok(Verdict::Exit(TERMINATED)),
        verdict => verdict,
    };
    drop(wish);
    // It ends where it reads next; a panic in it was reported.
    drop(loading.join());
    verdict
}

/// Whether the terminal was closed: it has no attributes any more.
fn is_gone() -> bool {
    rustix::termios::tcgetattr(io::stdout()).is_err()
}

/// Draws and takes keys until the user leaves, or a signal asks for the end.
async fn show(
    mut state: TuiState,
    wish: &watch::Sender<Option<TuiWanted>>,
    mut loaded: mpsc::UnboundedReceiver<TuiLoaded>,
    cli: &CommandContext,
) -> Result<Verdict, CliError> {
    let mut signals = Signals::listen()?;
    let mut terminal = RestoredTerminal(ManuallyDrop::new(ratatui::try_init()?));
    let mut keys = TuiKeys::begin();
    loop {
        let size = terminal.0.size()?;
        state.resize(Rect::new(0, 0, size.width, size.height));
        let now = state.wanted();
        wish.send_if_modified(|wish| std::mem::replace(wish, now) != now);
        terminal.0.draw(|frame| draw::draw(frame, &state, &cli.style))?;
        tokio::select! {
            event = keys.events.recv() => match event {
                Some(Ok(Event::Key(key))) => match state.press(key) {
                    TuiAction::Stay => {}
                    TuiAction::Clear => terminal.0.clear()?,
                    TuiAction::Quit => return Ok(Verdict::Fine),
                },
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(Verdict::Fine),
            },
            answer = loaded.recv() => match answer {
                Some(answer) => state.loaded(answer),
                // The loader failed, which was reported.
                None => return Ok(Verdict::BadNews),
            },
            signal = signals.next() => if signal == Signal::End { return Ok(Verdict::Exit(TERMINATED)) },
        }
    }
}

/// Keys and sizes, read by a thread of their own.
struct TuiKeys {
    events: mpsc::UnboundedReceiver<io::Result<Event>>,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TuiKeys {
    fn begin() -> Self {
        let (send, events) = mpsc::unbounded_channel();
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let thread = std::thread::spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                let event = match poll(PATIENCE) {
                    Ok(false) => continue,
                    Ok(true) => read(),
                    Err(error) => Err(error),
                };
                let failed = event.is_err();
                if send.send(event).is_err() || failed {
                    return;
                }
            }
        });
        Self { events, done, thread: Some(thread) }
    }
}

impl Drop for TuiKeys {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        // A terminal that is gone can keep the thread for good; it then ends with the process.
        let deadline = Instant::now() + 4 * PATIENCE;
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) && Instant::now() < deadline {
            std::thread::sleep(PATIENCE / 10);
        }
        if let Some(thread) = self.thread.take().filter(JoinHandle::is_finished) {
            // A panic in it was reported.
            drop(thread.join());
        }
    }
}
