//! Processes that commands began, as a test looks at them from outside.

use rustix::process::{Pid, test_kill_process};
use std::path::Path;
use std::time::Duration;

/// The process that wrote its id into a file, once it has.
pub async fn process(file: &Path) -> Result<Pid, Box<dyn std::error::Error>> {
    loop {
        if let Some(id) = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok()) {
            return Pid::from_raw(id).ok_or_else(|| "no process".into());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process is no more, or only waits for somebody to ask how it ended.
pub fn is_gone(process: Pid) -> bool {
    is_zombie(process) || test_kill_process(process).is_err()
}

/// Whether a process has ended, and its parent has not asked how.
pub fn is_zombie(process: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    status.is_ok_and(|status| status.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}
