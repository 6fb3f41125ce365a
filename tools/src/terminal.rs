//! A pseudo-terminal for a command: its environment, what it shows, and what is typed into it (`docs/tools.md#a-terminal`).

use super::git_environment::add_git_settings;
use super::pipe_output::PipeOutput;
use super::process_group::ProcessGroup;
use pty_process::{OwnedWritePty, Size};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use tokio::io::AsyncWriteExt;
use tokio::sync::Mutex;

/// Rows and columns of every terminal.
pub(super) const ROWS: u16 = 40;
pub(super) const COLUMNS: u16 = 120;

/// How many lines that were scrolled away are kept of what a terminal showed.
const SCROLLED: usize = 20_000;

/// What no one may set otherwise: programs find a terminal of this kind, and can see whose it is.
const INVARIANTS: [(&str, &str); 2] = [("TERM", "xterm-256color"), ("ANNALS_TERMINAL", "1")];

/// Gives variables for terminals, on behalf of the host.
pub trait TerminalOverlay: std::fmt::Debug + Send + Sync {
    /// The variables for a terminal of a session at `location` whose command runs in `workdir`.
    fn variables(&self, location: &Path, workdir: &Path) -> BTreeMap<String, String>;
}

/// Without a host that gives any.
impl TerminalOverlay for () {
    fn variables(&self, _: &Path, _: &Path) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

/// The same for every place.
impl TerminalOverlay for BTreeMap<String, String> {
    fn variables(&self, _: &Path, _: &Path) -> BTreeMap<String, String> {
        self.clone()
    }
}

/// The environment of a terminal: the caller's values, above them those of the host, above them what is always so.
pub(super) fn environment(
    caller: BTreeMap<OsString, OsString>,
    overlay: BTreeMap<String, String>,
) -> BTreeMap<OsString, OsString> {
    let mut merged = caller;
    // A terminal has its own size, not that of the caller.
    ["COLUMNS", "LINES"].into_iter().for_each(|name| drop(merged.remove(&OsString::from(name))));
    // What the system takes for no variable is none.
    let overlay = overlay
        .into_iter()
        .filter(|(name, value)| !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0'));
    merged.extend(overlay.map(|(name, value)| (name.into(), value.into())));
    merged.extend(INVARIANTS.map(|(name, value)| (name.into(), value.into())));
    add_git_settings(&mut merged);
    merged
}

/// What is typed into a terminal.
pub(super) struct TerminalInput(Mutex<OwnedWritePty>);

impl TerminalInput {
    pub(super) async fn write(&self, text: &str) -> io::Result<()> {
        self.0.lock().await.write_all(text.as_bytes()).await
    }
}

/// Starts a command as the leader of a session of its own on a new terminal. The terminal hangs up when its input is dropped.
pub(super) fn start(
    words: &[OsString],
    workdir: &Path,
    environment: BTreeMap<OsString, OsString>,
) -> io::Result<(ProcessGroup, PipeOutput, TerminalInput)> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let (terminal, end) = pty_process::open().map_err(io::Error::other)?;
    terminal.resize(Size::new(ROWS, COLUMNS)).map_err(io::Error::other)?;
    let command = pty_process::Command::new(program).args(arguments).current_dir(workdir);
    let command = command.env_clear().envs(environment).kill_on_drop(false);
    let child = command.spawn(end).map_err(io::Error::other)?;
    let (output, input) = terminal.into_split();
    Ok((ProcessGroup::of(child), PipeOutput::of(output), TerminalInput(Mutex::new(input))))
}

/// What a terminal has shown, as text: what was overwritten or erased is not in it, and no control character is.
pub(super) fn cleaned(written: &str) -> String {
    // The emulator is given what any program writes.
    let emulated = catch_unwind(AssertUnwindSafe(|| emulated(written.as_bytes())));
    emulated.unwrap_or_else(|_| written.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect())
}

fn emulated(bytes: &[u8]) -> String {
    let mut terminal = vt100::Parser::new(ROWS, COLUMNS, SCROLLED);
    terminal.process(bytes);
    let screen = terminal.screen_mut();
    let mut lines: Vec<String> = Vec::new();
    // As many as there are.
    screen.set_scrollback(usize::MAX);
    let scrolled = screen.scrollback();
    let mut line = String::new();
    for above in (0..scrolled + usize::from(ROWS)).step_by(usize::from(ROWS)) {
        let from = above.min(scrolled);
        screen.set_scrollback(scrolled - from);
        for (row, text) in screen.rows(0, COLUMNS).enumerate().skip(above - from) {
            line.push_str(&text);
            let wraps = u16::try_from(row).is_ok_and(|row| screen.row_wrapped(row));
            if !wraps {
                lines.push(std::mem::take(&mut line).trim_end().to_owned());
            }
        }
    }
    lines.push(line.trim_end().to_owned());
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
    lines.truncate(end);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_the_callers_values_then_the_hosts_then_what_is_always_so() {
        let caller = [("PATH", "/bin"), ("EDITOR", "vi"), ("TERM", "dumb"), ("COLUMNS", "7")];
        let caller = caller.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let overlay = [("EDITOR", "ed"), ("TERM", "vt52"), ("ANNALS_TERMINAL", "no"), ("A=B", "x"), ("NUL", "\0")];
        let overlay = overlay.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let merged = environment(caller.into(), overlay.into());
        let of_git = |name: &OsString| name.to_string_lossy().starts_with("GIT_CONFIG_");
        let merged: Vec<String> = merged
            .iter()
            .filter(|(name, _)| !of_git(name))
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        assert_eq!(merged, ["ANNALS_TERMINAL=1", "EDITOR=ed", "PATH=/bin", "TERM=xterm-256color"]);
        let counted = BTreeMap::from([("GIT_CONFIG_COUNT".to_owned(), "1".to_owned())]);
        let counted = environment(BTreeMap::new(), counted);
        let value = |name: &str| counted.get(&OsString::from(name)).and_then(|value| value.to_str());
        assert_eq!((value("GIT_CONFIG_COUNT"), value("GIT_CONFIG_KEY_1")), (Some("3"), Some("safe.bareRepository")));
    }

    #[test]
    fn what_was_shown_is_text_without_what_was_overwritten() {
        assert_eq!(cleaned("10 %\r20 %\rdone\x1b[K\r\n\x1b[31mred\x1b[0m\x07 \x1b]0;title\x07x"), "done\nred x");
        assert_eq!(cleaned("a\x08b\r\n\x1b[1Ac\x1b[2J"), "");
        let lines: String = (1..=500).map(|n| format!("line {n}\r\n")).collect();
        assert_eq!(cleaned(&lines).lines().count(), 500);
        let long = "x".repeat(300);
        assert_eq!(cleaned(&long), long, "a line that the terminal broke is one line");
        assert_eq!(cleaned(""), "");
    }

    #[test]
    fn whatever_is_written_is_no_harm() {
        for text in
            ["\x1b[999999999999B", "\x1b[;;;;m\x1b[?1049h\x1b[5;1r", "日\x1b[119Ga日本\x1b[1D\x1b[P", "\u{9b}2J\0"]
        {
            let cleaned = cleaned(&text.repeat(50));
            assert!(!cleaned.chars().any(|c| c.is_control() && c != '\n'), "{cleaned:?}");
        }
    }
}
