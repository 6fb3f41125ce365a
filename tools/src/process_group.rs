//! A process group: a command and all that it starts, which ends with its call, and with this process.

mod guard;
mod members;

use guard::GroupGuard;
use members::has_running_member;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// How long a group may take to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a group may take after its call was dropped.
const IMPATIENCE: Duration = Duration::from_millis(100);

/// How often it is looked whether a group is gone.
const LOOK: Duration = Duration::from_millis(5);

/// A running command in a process group of its own. Dropping it ends the group.
///
/// A process that has left the group, as a daemon does, is out of reach; nothing here waits for one.
pub(super) struct ProcessGroup {
    child: Child,
    group: Option<Pid>,
    guard: Option<GroupGuard>,
}

impl ProcessGroup {
    /// Starts a command as the leader of a new group.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let mut started = Self::of(command.process_group(0).kill_on_drop(false).spawn()?);
        started.guard = started.group.and_then(GroupGuard::of);
        Ok(started)
    }

    /// The group of a command that leads one on a terminal, which hangs up when this process is gone.
    pub(super) fn of(child: Child) -> Self {
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { child, group, guard: None }
    }

    /// Its stdin, stdout and stderr, once, if all of them are pipes.
    pub(super) fn pipes(&mut self) -> Option<(ChildStdin, ChildStdout, ChildStderr)> {
        Some((self.child.stdin.take()?, self.child.stdout.take()?, self.child.stderr.take()?))
    }

    /// Waits for the command itself; processes that it started may continue.
    pub(super) async fn leader(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends what is left of the group and waits until it is gone: it is asked to, and then made to. Gives whether
    /// anything was left.
    pub(super) async fn end(&mut self) -> bool {
        self.guard = None;
        if !self.is_there() {
            self.group = None;
            return false;
        }
        self.ask();
        if !self.gone(PATIENCE).await {
            self.signal(Signal::KILL);
            // What the system does not let die, or does not show to have died, is not waited for for ever.
            self.gone(PATIENCE).await;
        }
        self.group = None;
        true
    }

    async fn gone(&mut self, within: Duration) -> bool {
        let until = Instant::now() + within;
        while Instant::now() < until {
            if !self.looks_alive() {
                return true;
            }
            tokio::time::sleep(LOOK).await;
        }
        !self.looks_alive()
    }

    /// The command itself counts until it was waited for.
    fn looks_alive(&mut self) -> bool {
        let reaped = !matches!(self.child.try_wait(), Ok(None));
        !reaped || self.is_there()
    }

    fn is_there(&self) -> bool {
        let exists = |group: &Pid| test_kill_process_group(*group).is_ok();
        self.group.filter(exists).is_some_and(|group| has_running_member(group).unwrap_or(true))
    }

    /// Asks it to end. A stopped process, such as one that wanted to read from the terminal, gets the signal when it continues.
    fn ask(&self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        if let Some(Err(error)) = self.group.map(|group| kill_process_group(group, signal))
            && error != rustix::io::Errno::SRCH
        {
            tracing::warn!(%error, ?signal, "a process group could not be signalled");
        }
    }
}

impl Drop for ProcessGroup {
    /// No caller is left to wait, so this waits for a moment: the process may end right after the call is dropped.
    fn drop(&mut self) {
        self.guard = None;
        if self.group.is_none() || !self.looks_alive() {
            return;
        }
        self.ask();
        let until = Instant::now() + IMPATIENCE;
        while Instant::now() < until {
            if !self.looks_alive() {
                return;
            }
            std::thread::sleep(LOOK);
        }
        self.signal(Signal::KILL);
    }
}
