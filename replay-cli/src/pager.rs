//! Where answers go: stdout, through a pager when a person looks at it, as git does it.

use crate::error::CliError;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

/// Where an answer goes.
pub enum Output {
    /// Straight to stdout.
    Stdout(BufWriter<io::Stdout>),
    /// Through a pager.
    Pager(Child),
}

impl Output {
    /// Through the pager if stdout is a terminal, `paged` is set and `PAGER` is not empty or `cat`.
    pub fn new(paged: bool) -> Self {
        let stdout = || Self::Stdout(BufWriter::new(io::stdout()));
        if !paged || !io::stdout().is_terminal() || std::env::var_os("TERM").is_none_or(|term| term == "dumb") {
            return stdout();
        }
        let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
        if pager.trim().is_empty() || pager.trim() == "cat" {
            return stdout();
        }
        let mut command = Command::new("sh");
        command.arg("-c").arg(&pager).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        match command.spawn() {
            Ok(child) => Self::Pager(child),
            // Without a pager the answer is shown all the same.
            Err(_) => stdout(),
        }
    }

    /// Ends the answer: everything is written, and the pager was left.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn finish(mut self) -> Result<(), CliError> {
        self.flush()?;
        if let Self::Pager(mut child) = self {
            drop(child.stdin.take());
            child.wait()?;
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::Pager(child) => match &mut child.stdin {
                Some(stdin) => stdin.write(bytes),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Pager(child) => child.stdin.as_mut().map_or(Ok(()), Write::flush),
        }
    }
}
