//! The end of the script that started this program (`packaging/npm`).
//!
//! The npm package starts `annals` from a script of Node.js. A version of Node.js that cannot replace its process by the
//! program starts it as a child, and would leave it running when the script is killed. So the script names its process in
//! `ANNALS_PARENT`.

use rustix::process::{Pid, Signal, getpid, getppid, kill_process, test_kill_process};
use std::thread::{Builder, sleep};
use std::time::Duration;

/// The variable that contains the process id of the script.
const VARIABLE: &str = "ANNALS_PARENT";
/// The time between two looks. `getppid` is the only way that all Unix systems have.
const INTERVAL: Duration = Duration::from_millis(500);
/// The time for an orderly end.
const GRACE: Duration = Duration::from_secs(10);

/// Ends this process by SIGTERM, then by SIGKILL, once the process that `ANNALS_PARENT` names has ended.
///
/// Programs that this process starts inherit the variable. Their parent is another process, so they are not watched.
pub fn watch() {
    let parent = std::env::var(VARIABLE).ok().and_then(|id| id.parse().ok()).and_then(Pid::from_raw);
    let Some(parent) = parent else { return };
    let is_parent = move || getppid() == Some(parent);
    // The script may have ended before this look.
    if !is_parent() && test_kill_process(parent).is_ok() {
        return;
    }
    let watched = Builder::new().name("parent".to_owned()).spawn(move || {
        while is_parent() {
            sleep(INTERVAL);
        }
        for signal in [Signal::TERM, Signal::KILL] {
            tracing::info!(?signal, "the script that started this program has ended");
            // A process may always signal itself.
            let _ = kill_process(getpid(), signal);
            sleep(GRACE);
        }
    });
    if let Err(error) = watched {
        tracing::warn!(%error, "the end of the script that started this program is not watched");
    }
}
