//! Processes that tests start, with a deadline: one that is still there after [`PATIENCE`] is killed and named on stderr, so that whatever
//! waits for its output, its connections or its end gets an end of file and fails, instead of waiting for ever.

use std::io::{self, Write};
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How long a process of a test may run on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// A process with a deadline, which ends when the value is dropped; the process itself goes on.
#[derive(Debug)]
pub struct Watched {
    child: Child,
    _ended: Sender<()>,
}

/// Starts commands with a deadline.
pub trait WithDeadline {
    /// Like `Command::spawn`.
    ///
    /// # Errors
    /// Those of `Command::spawn`.
    fn spawn_watched(&mut self) -> io::Result<Watched>;

    /// Like `Command::output`, whatever was redirected.
    ///
    /// # Errors
    /// Those of `Command::output`.
    fn output_watched(&mut self) -> io::Result<Output>;
}

impl WithDeadline for Command {
    fn spawn_watched(&mut self) -> io::Result<Watched> {
        let shown = format!("{self:?}");
        Ok(Watched::new(self.spawn()?, shown, PATIENCE))
    }

    fn output_watched(&mut self) -> io::Result<Output> {
        self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn_watched()?.wait_with_output()
    }
}

impl Watched {
    fn new(child: Child, command: String, patience: Duration) -> Self {
        let (ended, end) = mpsc::channel();
        let (id, test) = (child.id(), thread::current().name().unwrap_or("a test").to_owned());
        thread::spawn(move || {
            if end.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                let seconds = patience.as_secs();
                let said = format!("{test} waited {seconds} s for process {id}, which is killed now: {command:.400}");
                // The test harness captures `eprintln!` of threads that a test starts.
                drop(writeln!(io::stderr(), "{said}"));
                drop(Command::new("kill").args(["-KILL", &id.to_string()]).status());
            }
        });
        Self { child, _ended: ended }
    }

    /// Like `Child::wait_with_output`.
    ///
    /// # Errors
    /// Those of `Child::wait_with_output`.
    pub fn wait_with_output(self) -> io::Result<Output> {
        let Self { child, _ended } = self;
        child.wait_with_output()
    }
}

impl Deref for Watched {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for Watched {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_process_that_outlives_its_deadline_is_killed() {
        let sleeps = Command::new("sleep").arg("600").stdout(Stdio::piped()).spawn().expect("it starts");
        let watched = Watched::new(sleeps, "sleep 600".to_owned(), Duration::from_millis(10));
        assert_eq!(watched.wait_with_output().expect("it ends").status.signal(), Some(9));
    }

    #[test]
    fn a_process_that_ends_in_time_gives_its_output() {
        let output = Command::new("echo").arg("here").output_watched().expect("it runs");
        assert_eq!((output.status.success(), output.stdout), (true, b"here\n".to_vec()));
    }
}
