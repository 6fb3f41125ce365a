//! Keys, pasted texts and sizes of the terminal, read by a thread of their own.

use crossterm::event::{Event, poll, read};
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
            while !is_done.load(Ordering::Relaxed) {
                let event = match poll(PATIENCE) {
                    Ok(false) => continue,
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
