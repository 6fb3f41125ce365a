//! Ends a process group when this process is gone, however it ended.

use rustix::process::Pid;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Waits for the end of stdin, whose other end this process alone holds, then asks the own group to end, and makes it. Signals to the
/// whole group are not meant for it.
const SCRIPT: &str = "trap '' HUP INT QUIT TERM; read -r _; kill -TERM 0; kill -CONT 0; sleep 2; kill -KILL 0";

/// A shell that is a member of a process group and outlives this process, so that the group does not. As long as it is a member, the
/// system gives the number of the group to no other one. Dropping it lets the group live.
///
/// The signal that Linux sends at the end of a parent (`PR_SET_PDEATHSIG`) reaches the command alone, not what it started, and is sent
/// at the end of the thread that started it.
pub(super) struct GroupGuard(Child);

impl GroupGuard {
    /// Joins a group whose leader was not waited for yet. Where no guard can be started, commands run without one.
    pub(super) fn of(group: Pid) -> Option<Self> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT]).current_dir("/").env_clear().env("PATH", "/usr/bin:/bin");
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let guard = shell.process_group(group.as_raw_nonzero().get()).spawn();
        guard.inspect_err(|error| tracing::debug!(%error, "a process group has no guard")).ok().map(Self)
    }
}

impl Drop for GroupGuard {
    fn drop(&mut self) {
        // Killed before its stdin is closed. It may have been killed with its group.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
