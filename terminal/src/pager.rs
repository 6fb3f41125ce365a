//! Output of answers: stdout, through a pager on a terminal, as git does it.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// How much of an answer is kept until the pager has certainly read some of it; more than a pipe holds.
const KEPT: usize = 1 << 20;

/// Where an answer goes.
pub enum PagedOutput {
    /// Straight to stdout.
    Stdout(BufWriter<io::Stdout>),
    /// Through a pager.
    Pager(Pager),
}

/// A pager that runs.
pub struct Pager {
    child: Child,
    /// The answer so far: shown without the pager if the shell cannot start it. `None` once it is known to read.
    kept: Option<Vec<u8>>,
}

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
        let mut command = Command::new("sh");
        command.arg("-c").arg(&pager).stdin(Stdio::piped());
        let options = std::env::var("LESS").unwrap_or_else(|_| "FRX".to_owned());
        let options = if stays { options + " -+F -+X" } else { options };
        command.env("LESS", options);
        match command.spawn() {
            Ok(child) => Self::Pager(Pager { child, kept: Some(Vec::new()) }),
            // Without a pager the answer goes to stdout.
            Err(_) => Self::stdout(),
        }
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
        let written = match &mut pager.child.stdin {
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
    fn keep(&mut self, bytes: &[u8]) {
        match &mut self.kept {
            Some(kept) if kept.len() + bytes.len() <= KEPT => kept.extend_from_slice(bytes),
            kept => *kept = None,
        }
    }

    /// Waits until the pager has ended. If the shell could not start it, gives what it was given.
    fn end(&mut self) -> io::Result<Option<Vec<u8>>> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        Ok(self.kept.take().filter(|_| not_started(status)))
    }
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
            Self::Pager(pager) => pager.child.stdin.as_mut().map_or(Ok(()), Write::flush),
        }
    }
}
