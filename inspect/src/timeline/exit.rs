//! How a command ended that a tool ran: agents call a call completed although its command failed.

use annals_core::{Blobs, Json};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// Fields of a structured value that hold an exit status.
const FIELDS: [&str; 3] = ["exit", "exit_code", "exitCode"];

/// Ways in which agents begin a line that says the exit status.
const LINES: [&str; 4] = ["Process exited with code ", "Command exited with code ", "Exit code: ", "Exit code "];

/// How a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandFailure {
    /// With this exit status.
    Exit(i64),
    /// By this signal.
    Signal(i64),
    /// It was ended at its time limit.
    TimeLimit,
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(status) => write!(f, "exit {status}"),
            Self::Signal(number) => write!(f, "signal {number}"),
            Self::TimeLimit => f.write_str("time limit"),
        }
    }
}

/// As its words.
impl Serialize for CommandFailure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How a command failed, from the structured value of a result or from its text; `None` where the command succeeded, or there was
/// none.
pub fn command_failure(structured: Option<&Json>, text: &str, blobs: &dyn Blobs) -> Option<CommandFailure> {
    let value = structured.map(|value| value.value(blobs)).unwrap_or_default();
    let member = |name: &str| value.get(name).or_else(|| value.get("metadata")?.get(name));
    if member("timed_out").and_then(Value::as_bool) == Some(true) {
        return Some(CommandFailure::TimeLimit);
    }
    if let Some(number) = member("signal").and_then(Value::as_i64) {
        return Some(CommandFailure::Signal(number));
    }
    let exit = FIELDS.iter().find_map(|name| member(name)?.as_i64());
    exit.or_else(|| status_above(text)).filter(|exit| *exit != 0).map(CommandFailure::Exit)
}

/// What a person should know of a command in the sandbox, from the structured value of its result: protected files that it changed. `None`
/// where it changed none.
pub fn sandbox_warning(structured: Option<&Json>, blobs: &dyn Blobs) -> Option<String> {
    let value = structured?.value(blobs);
    let named = |field: &str| -> Vec<String> {
        let names = value.pointer(&format!("/sandbox/{field}")).and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (changed, lost) = (named("put_back"), named("not_restored"));
    let restored: Vec<String> = changed.into_iter().filter(|name| !lost.contains(name)).collect();
    let restored = (!restored.is_empty()).then(|| format!("put back: {}", restored.join(", ")));
    let lost =
        (!lost.is_empty()).then(|| format!("could not be put back, check before you use them: {}", lost.join(", ")));
    let changes: Vec<String> = restored.into_iter().chain(lost).collect();
    (!changes.is_empty()).then(|| format!("the command changed protected files; {}", changes.join("; ")))
}

/// The exit status that Codex and Claude Code write above an output.
fn status_above(text: &str) -> Option<i64> {
    let framed = text.starts_with("Chunk ID:") || text.starts_with("Wall time:") || text.starts_with("Exit code");
    let head = text.lines().take(if framed { 5 } else { 0 });
    head.take_while(|line| *line != "Output:").find_map(number)
}

fn number(line: &str) -> Option<i64> {
    let rest = LINES.iter().find_map(|begin| line.strip_prefix(begin))?;
    rest.trim_end_matches('.').parse().ok()
}

/// The last lines of the output of a failed command, at most `most`, and the number of lines before them; without a line
/// that only
/// repeats the exit status.
pub fn last_lines(text: &str, most: usize) -> (usize, Vec<&str>) {
    let mut lines: Vec<&str> = text.lines().collect();
    let is_blank = |line: &&str| line.trim().is_empty() || number(line).is_some();
    while lines.last().is_some_and(is_blank) {
        lines.pop();
    }
    let first = lines.iter().position(|line| !is_blank(line)).unwrap_or(lines.len());
    let before = lines.len().saturating_sub(most).max(first);
    (before - first, lines.split_off(before))
}

#[cfg(test)]
mod tests {
    use super::{CommandFailure, command_failure, last_lines, sandbox_warning};
    use annals_core::{Json, NoBlobs};

    #[test]
    fn a_command_failed_whatever_the_agent_calls_it() {
        let exit = |structured: &str, text: &str| {
            let structured = (!structured.is_empty()).then(|| Json::received(structured));
            match command_failure(structured.as_ref(), text, &NoBlobs) {
                Some(CommandFailure::Exit(exit)) => Some(exit),
                Some(failure) => panic!("{failure}"),
                None => None,
            }
        };
        assert_eq!(exit(r#"{"exit":3,"truncated":false}"#, ""), Some(3));
        assert_eq!(exit(r#"{"exit":0}"#, "Exit code 3"), None);
        assert_eq!(exit(r#"{"metadata":{"exit":2}}"#, ""), Some(2));
        assert_eq!(exit(r#"{"exit":null}"#, ""), None);
        assert_eq!(exit("[1]", "text"), None);
        assert_eq!(
            exit("", "Chunk ID: 7\nWall time: 0.1 seconds\nProcess exited with code 101\nOutput:\nx"),
            Some(101)
        );
        assert_eq!(exit("", "Exit code 1\nno such file"), Some(1));
        // What a program prints is not how it ended.
        assert_eq!(exit("", "all good\nExit code 1"), None);
        assert_eq!(exit("", "Wall time: 1\nOutput:\nExit code 4"), None);
    }

    #[test]
    fn a_command_that_was_killed_or_took_too_long_failed() {
        let failure = |structured: &str| {
            let failure = command_failure(Some(&Json::received(structured)), "", &NoBlobs);
            failure.map(|failure| failure.to_string())
        };
        let killed = r#"{"exit":null,"signal":9,"timed_out":false,"bytes":0}"#;
        assert_eq!(failure(killed).as_deref(), Some("signal 9"));
        assert_eq!(failure(r#"{"exit":null,"signal":null,"timed_out":true}"#).as_deref(), Some("time limit"));
        assert_eq!(failure(r#"{"id":"cmd_4","running":false,"exit":null,"signal":15}"#).as_deref(), Some("signal 15"));
        assert_eq!(failure(r#"{"exit":0,"signal":null,"timed_out":false}"#), None);
        assert_eq!(failure(r#"{"exit":1,"signal":null,"timed_out":false}"#).as_deref(), Some("exit 1"));
        assert_eq!(failure(r#"[{"signal":9}]"#), None);
    }

    #[test]
    fn protected_files_that_a_command_changed_are_named() {
        let warning = |structured: &str| sandbox_warning(Some(&Json::received(structured)), &NoBlobs);
        assert_eq!(warning(r#"{"exit":0,"sandbox":{"put_back":[]}}"#), None);
        assert_eq!(warning("[1]"), None);
        assert_eq!(
            warning(r#"{"sandbox":{"put_back":["/p/.git","/p/.envrc"],"not_restored":["/p/.git"]}}"#).as_deref(),
            Some(
                "the command changed protected files; put back: /p/.envrc; could not be put back, check before you use them: /p/.git"
            )
        );
    }

    #[test]
    fn the_last_lines_are_those_that_say_something() {
        let text = "a\nb\nc\n\nCommand exited with code 1.\n";
        assert_eq!(last_lines(text, 2), (1, vec!["b", "c"]));
        assert_eq!(last_lines(text, 9), (0, vec!["a", "b", "c"]));
        assert_eq!(last_lines("Exit code 3\nto-stdout\n", 9), (0, vec!["to-stdout"]));
        assert_eq!(last_lines("\n", 3), (0, vec![]));
    }
}
