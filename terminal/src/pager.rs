//! Output of answers: stdout, through a pager on a terminal, as git does it.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};

/// How much of an answer is kept until the pager has certainly read some of it; more than a pipe holds.
const KEPT: usize = 1 << 20;

/// Where an answer goes.
pub enum PagedOutput {
    /// Straight to stdout.
    Stdout(BufWriter<io::Stdout>),
    /// Through a pager.
    Pager(Pager),
}

/// A pager. It starts with the first text of an answer: until then Ctrl-C ends the command, and nothing is on the screen.
pub struct Pager {
    command: String,
    options: String,
    running: Option<RunningPager>,
    /// The answer so far: shown without the pager if the shell cannot start it. `None` once it is known to read.
    kept: Option<Vec<u8>>,
}

struct RunningPager {
    child: Arc<Mutex<Child>>,
    stdin: Option<ChildStdin>,
}

/// Exit status of a command that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

impl PagedOutput {
    /// Through the pager if stdout is a terminal, `paged` is set, and `PAGER` (`less` if it is not set) names a program
    /// that is installed.
    pub fn new(paged: bool) -> Self {
        Self::opened(paged, false)
    }

    /// Through a pager that shows also a short answer until it is left.
    pub fn staying() -> Self {
        Self::opened(true, true)
    }

    fn opened(paged: bool, stays: bool) -> Self {
        if !paged || !io::stdout().is_terminal() || std::env::var_os("TERM").is_none_or(|term| term == "dumb") {
            return Self::stdout();
        }
        let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
        if pager.trim().is_empty() || pager.trim() == "cat" || is_missing(&pager) {
            return Self::stdout();
        }
        let options = std::env::var("LESS").unwrap_or_else(|_| "FRX".to_owned());
        let options = if stays { options + " -+F -+X" } else { options };
        Self::Pager(Pager { command: pager, options, running: None, kept: Some(Vec::new()) })
    }

    /// Whether a pager shows the answer.
    pub const fn is_paging(&self) -> bool {
        matches!(self, Self::Pager(Pager { running: Some(_), .. }))
    }

    fn stdout() -> Self {
        Self::Stdout(BufWriter::new(io::stdout()))
    }

    /// Ends the answer: everything is written, and the pager was left.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        if let Self::Pager(pager) = &mut self
            && let Some(kept) = pager.end()?
        {
            self = Self::stdout();
            self.write_all(&kept)?;
            self.flush()?;
        }
        Ok(())
    }

    /// Writes to a pager; one that the shell could not start is left out from here on.
    fn page(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self::Pager(pager) = self else { return Ok(0) };
        let running = match pager.started() {
            Ok(running) => running,
            Err(_) => {
                // Without a pager the answer goes to stdout.
                *self = Self::stdout();
                return self.write(bytes);
            }
        };
        let written = match &mut running.stdin {
            Some(stdin) => stdin.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        match written {
            Ok(count) => {
                pager.keep(bytes.get(..count).unwrap_or_default());
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => match pager.end()? {
                Some(kept) => {
                    *self = Self::stdout();
                    self.write_all(&kept)?;
                    self.write(bytes)
                }
                // It was left before the end.
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }
}

impl Pager {
    fn started(&mut self) -> io::Result<&mut RunningPager> {
        if self.running.is_none() {
            let mut command = Command::new("sh");
            command.arg("-c").arg(&self.command).env("LESS", &self.options).stdin(Stdio::piped());
            let mut child = command.spawn()?;
            let stdin = child.stdin.take();
            let child = Arc::new(Mutex::new(child));
            leave_interrupts_to(&child);
            self.running = Some(RunningPager { child, stdin });
        }
        self.running.as_mut().ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    fn keep(&mut self, bytes: &[u8]) {
        match &mut self.kept {
            Some(kept) if kept.len() + bytes.len() <= KEPT => kept.extend_from_slice(bytes),
            kept => *kept = None,
        }
    }

    /// Waits until the pager has ended. If the shell could not start it, returns what was written to it.
    fn end(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(running) = &mut self.running else { return Ok(None) };
        drop(running.stdin.take());
        let status = running.child.lock().unwrap_or_else(PoisonError::into_inner).wait()?;
        Ok(self.kept.take().filter(|_| not_started(status)))
    }
}

/// While a pager has the terminal, Ctrl-C is for the pager: a command that ended before it would leave it behind, reading keys that
/// are meant for the shell. Once the pager was left, Ctrl-C ends the command.
fn leave_interrupts_to(child: &Arc<Mutex<Child>>) {
    let Ok(runtime) = Handle::try_current() else { return };
    let Ok(mut interrupts) = signal(SignalKind::interrupt()) else { return };
    let child = Arc::clone(child);
    runtime.spawn(async move {
        while interrupts.recv().await.is_some() {
            // The task that waits for the end of the pager has it locked.
            let has_ended = child.try_lock().is_ok_and(|mut child| matches!(child.try_wait(), Ok(Some(_)) | Err(_)));
            if has_ended {
                std::process::exit(INTERRUPTED);
            }
        }
    });
}

/// Whether the shell says that it could not start a program: it was not found (127), or cannot be run (126).
fn not_started(status: ExitStatus) -> bool {
    matches!(status.code(), Some(126 | 127))
}

/// Whether a pager's command begins with the name of a program that is nowhere. What only a shell can say is not missing.
fn is_missing(command: &str) -> bool {
    let Some(program) = command.split_whitespace().next() else { return true };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '/');
    if !program.chars().all(is_plain) {
        return false;
    }
    if program.contains('/') {
        return !Path::new(program).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    !std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

impl Write for PagedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::Pager(_) => self.page(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Pager(pager) => {
                let stdin = pager.running.as_mut().and_then(|running| running.stdin.as_mut());
                stdin.map_or(Ok(()), Write::flush)
            }
        }
    }
}
