//! Keys and sizes, read by a thread of their own.

use super::state::ScreenEvent;
use crossterm::event::{Event, poll, read};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the thread takes at most to see that it is no longer needed.
const PATIENCE: Duration = Duration::from_millis(50);

/// The thread. It ends when this is dropped.
pub(super) struct ScreenKeys {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ScreenKeys {
    pub(super) fn begin(events: Sender<ScreenEvent>) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let is_done = done.clone();
        let thread = std::thread::spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                let event = match next() {
                    Ok(None) => continue,
                    Ok(Some(event)) => event,
                    Err(_) => ScreenEvent::Broken,
                };
                let broken = matches!(event, ScreenEvent::Broken);
                if events.send(event).is_err() || broken {
                    return;
                }
            }
        });
        Self { done, thread: Some(thread) }
    }
}

fn next() -> io::Result<Option<ScreenEvent>> {
    if !poll(PATIENCE)? {
        return Ok(None);
    }
    Ok(match read()? {
        Event::Key(key) => Some(ScreenEvent::Key(key)),
        Event::Paste(text) => Some(ScreenEvent::Paste(text)),
        Event::Resize(width, height) => Some(ScreenEvent::Resized(width, height)),
        Event::FocusGained | Event::FocusLost | Event::Mouse(_) => None,
    })
}

impl Drop for ScreenKeys {
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
