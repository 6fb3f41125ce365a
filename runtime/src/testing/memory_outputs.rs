//! Output files in memory.

use crate::Boxed;
use crate::ports::outputs::taken;
use crate::ports::{Clock, OutputFiles};
use annals_core::Time;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Output files in memory under the virtual root `/outputs/`, independent of the store's folder.
///
/// ```
/// # use annals_runtime::ports::OutputFiles;
/// # use annals_runtime::testing::{ManualClock, MemoryOutputs};
/// # use std::sync::Arc;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let outputs = MemoryOutputs::new(Arc::new(ManualClock::at(ManualClock::SCENARIO)));
/// assert_eq!(outputs.keep("tool_1", "all of it").await?, "/outputs/tool_1");
/// # Ok(())
/// # }
/// ```
pub struct MemoryOutputs {
    clock: Arc<dyn Clock>,
    files: Mutex<BTreeMap<String, (String, Time)>>,
    full: AtomicBool,
}

impl MemoryOutputs {
    /// No files yet. Files are as old as `clock` says.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, files: Mutex::default(), full: AtomicBool::new(false) }
    }

    /// Whether the disk is full from now on: then nothing can be kept.
    pub fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    /// Every file by path.
    pub fn files(&self) -> BTreeMap<String, String> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.iter().map(|(path, (text, _))| (path.clone(), text.clone())).collect()
    }
}

impl OutputFiles for MemoryOutputs {
    fn keep<'a>(&'a self, name: &'a str, text: &'a str) -> Boxed<'a, io::Result<String>> {
        Box::pin(async move {
            let path = format!("/outputs/{name}");
            if self.full.load(Ordering::SeqCst) {
                return Err(io::Error::new(io::ErrorKind::StorageFull, format!("{path}: no space left")));
            }
            let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            if files.contains_key(&path) {
                return Err(taken(&path));
            }
            files.insert(path.clone(), (text.to_string(), self.clock.now()));
            Ok(path)
        })
    }

    fn sweep(&self, before: Time) -> Boxed<'_, io::Result<usize>> {
        Box::pin(async move {
            let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            let all = files.len();
            files.retain(|_, (_, written)| *written >= before);
            Ok(all - files.len())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::outputs::{RETENTION_MS, keep_swept};
    use crate::testing::ManualClock;

    #[tokio::test]
    async fn files_expire_after_seven_days_in_hourly_sweeps() -> io::Result<()> {
        let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
        let files = MemoryOutputs::new(clock.clone());
        files.keep("tool_a", "old").await?;
        clock.advance(RETENTION_MS);
        files.keep("tool_b", "new").await?;
        assert_eq!(files.sweep(Time(clock.now().millis() - RETENTION_MS)).await?, 0, "not a moment too soon");
        // The sweeper never ends by itself; its scripted hours pass whenever it yields.
        let started = clock.now();
        tokio::select! {
            biased;
            () = keep_swept(&files, clock.as_ref()) => {}
            () = tokio::task::yield_now() => {}
        }
        assert_eq!(clock.now(), started.plus(60 * 60 * 1_000));
        assert!(!files.files().contains_key("/outputs/tool_a"));
        Ok(())
    }
}
