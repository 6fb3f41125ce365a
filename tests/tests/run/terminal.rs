//! A command on a terminal: what a person types, and what the screen shows.

use crate::run::person::Person;
use annals_tests::deadline::{Watched, WithDeadline};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

/// How long something may take, in seconds: the machine may be busy.
const PATIENCE: u64 = 60;

/// A command on a terminal of 80 columns. Needs python3.
pub struct Terminal {
    child: Watched,
    input: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Terminal {
    /// Runs the command.
    pub fn open(person: &Person, args: &[&str]) -> Self {
        Self::open_wide(person, args, 80)
    }

    /// Runs the command on a terminal of another width.
    pub fn open_wide(person: &Person, args: &[&str], columns: u16) -> Self {
        let command = person.command(args);
        let mut python = Command::new("python3");
        python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run/terminal.py")).arg(command.get_program());
        python.args(command.get_args()).current_dir(person.project()).env_clear();
        python.env("TERM", "xterm").env("TEST_COLUMNS", columns.to_string());
        python.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut child =
            python.env_remove("COLUMNS").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn_watched().expect("python3");
        let input = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, input, answers }
    }

    fn ask(&mut self, what: &Value) -> Value {
        writeln!(self.input, "{what}").expect("it reads");
        let mut line = String::new();
        assert!(self.answers.read_line(&mut line).expect("it answers") > 0, "{what}: the terminal is gone");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Types.
    pub fn send(&mut self, text: &str) {
        self.ask(&json!(["send", text]));
    }

    /// Waits until the screen was given a text, after what was waited for before.
    pub fn expect(&mut self, text: &str) {
        let answer = self.ask(&json!(["expect", text, PATIENCE]));
        assert_eq!(answer, json!(true), "{text:?} was not shown: {}", answer.as_str().unwrap_or_default());
    }

    /// Sends SIGTERM.
    pub fn terminate(&mut self) {
        self.ask(&json!(["terminate"]));
    }

    /// Closes the terminal.
    pub fn hang_up(&mut self) {
        self.ask(&json!(["hang up"]));
    }

    /// All that the screen was given.
    pub fn shown(&mut self) -> String {
        self.ask(&json!(["shown"])).as_str().unwrap_or_default().to_owned()
    }

    /// Waits for the end; gives the exit status.
    pub fn ended(&mut self) -> i64 {
        let answer = self.ask(&json!(["end", PATIENCE]));
        answer.as_i64().unwrap_or_else(|| panic!("it did not end: {}", answer.as_str().unwrap_or_default()))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It ends with its stdin, unless it has ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
