//! Asking a person for a passphrase, on the terminal that the process belongs to.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};

/// Shows typing again when it is dropped.
struct Hidden<'a> {
    terminal: &'a File,
    before: Termios,
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        // The terminal is gone: no one types any more.
        tcsetattr(self.terminal, OptionalActions::Flush, &self.before).unwrap_or(());
    }
}

/// Asks, without showing what is typed; `None` when the process has no terminal.
///
/// # Errors
/// When the terminal cannot be read.
pub fn ask(question: &str) -> io::Result<Option<String>> {
    let Ok(terminal) = OpenOptions::new().read(true).write(true).open("/dev/tty") else { return Ok(None) };
    let before = tcgetattr(&terminal)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
    let hidden = Hidden { terminal: &terminal, before };
    (&terminal).write_all(question.as_bytes())?;
    let mut line = String::new();
    BufReader::new(&terminal).read_line(&mut line)?;
    drop(hidden);
    (&terminal).write_all(b"\n")?;
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}
