//! Blocking work, and the signal that stops it when its future is dropped.

use annals_runtime::tools::ToolError;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long one call may look through files.
const TIME: Duration = Duration::from_secs(20);

/// Says when work is to stop: its call was dropped, or its time is over. Clones say the same.
#[derive(Clone, Debug)]
pub(super) struct StopSignal {
    dropped: Arc<AtomicBool>,
    until: Instant,
}

impl StopSignal {
    /// Whether to stop.
    pub(super) fn is_due(&self) -> bool {
        self.dropped.load(Ordering::Relaxed) || Instant::now() >= self.until
    }

    /// The seconds that were to be had, for a text.
    pub(super) fn seconds() -> u64 {
        TIME.as_secs()
    }

    /// A reader that fails when it is to stop: a search within one huge file ends, too.
    pub(super) fn watch<R: Read>(&self, inner: R) -> StoppableReader<R> {
        StoppableReader { inner, stop: self.clone() }
    }
}

/// See [`StopSignal::watch`].
pub(super) struct StoppableReader<R> {
    inner: R,
    stop: StopSignal,
}

impl<R: Read> Read for StoppableReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_due() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the time for one call is over"));
        }
        self.inner.read(buffer)
    }
}

struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs blocking work on its own thread; the signal stops it when this future is dropped.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&StopSignal) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let dropped = Arc::new(AtomicBool::new(false));
    let stop = StopSignal { dropped: dropped.clone(), until: Instant::now() + TIME };
    let _dropped = Dropped(dropped);
    match tokio::task::spawn_blocking(move || work(&stop)).await {
        Ok(worked) => worked,
        // The registry makes it a defect of the tool.
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err("The process is ending.".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[tokio::test]
    async fn work_that_nobody_waits_for_is_told_to_stop() -> Result<(), Box<dyn std::error::Error>> {
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (ended, ends) = mpsc::channel();
        let work = blocking(move |stop| {
            begun.send(()).map_err(|()| "nobody hears that it began")?;
            // Not its time limit, which would end this test as well.
            while !stop.dropped.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            let read = stop.watch(std::io::empty()).read(&mut [0]).map_err(|error| error.kind());
            ended.send(read).map_err(|error| error.to_string().into())
        });
        tokio::select! {
            worked = work => return Err(format!("{worked:?}").into()),
            begins = begins => begins?,
        }
        assert_eq!(ends.recv()?, Err(io::ErrorKind::TimedOut));
        Ok(())
    }

    #[test]
    fn work_is_told_to_stop_when_its_time_is_over() {
        let stop = StopSignal { dropped: Arc::default(), until: Instant::now() };
        assert!(stop.is_due());
    }
}
