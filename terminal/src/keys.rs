//! Keys, pasted texts and sizes of the terminal, read by a thread of their own.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, poll, read};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the thread takes at most to see that it is no longer needed.
const PATIENCE: Duration = Duration::from_millis(50);

/// The thread. It ends when this is dropped.
pub struct KeyReader {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl KeyReader {
    /// Reads until this is dropped, an event is not taken (`take` returns false), or the terminal fails, which is the last event.
    pub fn begin(take: impl Fn(io::Result<Event>) -> bool + Send + 'static) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let thread = std::thread::spawn(move || {
            // What is there at once was typed ahead.
            let mut patience = Duration::ZERO;
            while !is_done.load(Ordering::Relaxed) {
                let event = match poll(patience) {
                    Ok(false) => {
                        patience = PATIENCE;
                        continue;
                    }
                    Ok(true) if patience.is_zero() => read().map(typed_ahead),
                    Ok(true) => read(),
                    Err(error) => Err(error),
                };
                let failed = event.is_err();
                if !take(event) || failed {
                    return;
                }
            }
        });
        Self { done, thread: Some(thread) }
    }
}

/// What was typed before the terminal gave keys one by one: until then it turned Enter into a line feed, which is Ctrl-J afterwards.
fn typed_ahead(event: Event) -> Event {
    const LINE_FEED: KeyEvent = KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL);
    match event {
        Event::Key(key) if key == LINE_FEED => Event::Key(KeyCode::Enter.into()),
        event => event,
    }
}

impl Drop for KeyReader {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_that_was_typed_ahead_is_enter() {
        let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        let line_feed = key(KeyCode::Char('j'), KeyModifiers::CONTROL);
        assert_eq!(typed_ahead(line_feed), key(KeyCode::Enter, KeyModifiers::NONE));
        for other in [key(KeyCode::Char('j'), KeyModifiers::NONE), key(KeyCode::Char('k'), KeyModifiers::CONTROL)] {
            assert_eq!(typed_ahead(other.clone()), other);
        }
    }
}
