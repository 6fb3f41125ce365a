//! The loop of the time machine: keys and loaded answers in, screens out.

use super::draw;
use super::follow::TuiSource;
use super::list::TuiList;
use super::load::TuiLoader;
use super::state::{TuiAction, TuiLoaded, TuiState};
use super::tab::TuiWanted;
use crate::error::TerminalError;
use crate::keys::KeyReader;
use crate::picker::RestoredTerminal;
use crate::style::Style;
use annals_core::{Seq, SessionId};
use annals_host::{Signal, Signals};
use annals_inspect::pricing::Pricing;
use crossterm::event::Event;
use ratatui::layout::Rect;
use std::io;
use std::mem::ManuallyDrop;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

/// Why the screen was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuiEnd {
    /// The user left it.
    Left,
    /// What is shown cannot be loaded any more, which was reported.
    Failed,
    /// A signal asked for the end, or the terminal is gone.
    Terminated,
}

/// Shows the sessions, or one at an event, until the user leaves. The terminal is restored before this returns.
pub async fn show(
    source: TuiSource,
    sessions: TuiList,
    open: Option<(SessionId, Option<Seq>)>,
    pricing: Pricing,
    style: &Style,
) -> Result<TuiEnd, TerminalError> {
    let (wish, wanted) = watch::channel(None);
    let (answers, loaded) = mpsc::unbounded_channel();
    let loader = TuiLoader::new(source, pricing, style.clone());
    let runtime = Handle::current();
    // A thread of its own: keys are taken while a long log is folded.
    let loading = std::thread::spawn(move || runtime.block_on(loader.run(wanted, answers)));
    let end = match draw_and_take(TuiState::new(sessions, open), &wish, loaded, style).await {
        // The error of a read or a drawing can come before the signal that says so.
        Err(_) if is_gone() => Ok(TuiEnd::Terminated),
        end => end,
    };
    drop(wish);
    // It ends where it reads next; a panic in it was reported.
    drop(loading.join());
    end
}

/// Whether the terminal was closed: it has no attributes any more.
fn is_gone() -> bool {
    rustix::termios::tcgetattr(io::stdout()).is_err()
}

/// Draws and takes keys until the user leaves, or a signal asks for the end.
async fn draw_and_take(
    mut state: TuiState,
    wish: &watch::Sender<Option<TuiWanted>>,
    mut loaded: mpsc::UnboundedReceiver<TuiLoaded>,
    style: &Style,
) -> Result<TuiEnd, TerminalError> {
    let mut signals = Signals::listen()?;
    let mut terminal = RestoredTerminal(ManuallyDrop::new(ratatui::try_init()?));
    let (send, mut events) = mpsc::unbounded_channel();
    let _keys = KeyReader::begin(move |event| send.send(event).is_ok());
    loop {
        let size = terminal.0.size()?;
        state.resize(Rect::new(0, 0, size.width, size.height));
        let now = state.wanted();
        wish.send_if_modified(|wish| std::mem::replace(wish, now) != now);
        terminal.0.draw(|frame| draw::draw(frame, &state, style))?;
        tokio::select! {
            event = events.recv() => match event {
                Some(Ok(Event::Key(key))) => match state.press(key) {
                    TuiAction::Stay => {}
                    TuiAction::Clear => terminal.0.clear()?,
                    TuiAction::Quit => return Ok(TuiEnd::Left),
                },
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(TuiEnd::Left),
            },
            answer = loaded.recv() => match answer {
                Some(answer) => state.loaded(answer),
                // The loader failed, which was reported.
                None => return Ok(TuiEnd::Failed),
            },
            signal = signals.next() => if signal == Signal::End { return Ok(TuiEnd::Terminated) },
        }
    }
}
