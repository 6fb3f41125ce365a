//! How a command ended that a tool ran: agents call a call completed although its command failed.

use annals_core::{Blobs, Json};
use serde_json::Value;

/// Fields of a structured value that hold an exit status.
const FIELDS: [&str; 3] = ["exit", "exit_code", "exitCode"];

/// Ways in which agents begin a line that says the exit status.
const LINES: [&str; 4] = ["Process exited with code ", "Command exited with code ", "Exit code: ", "Exit code "];

/// The exit status of a failed command, from the structured value of a result or from its text; `None` where the command
/// succeeded, or there was none.
pub fn failed_exit(structured: Option<&Json>, text: &str, blobs: &dyn Blobs) -> Option<i64> {
    let exit = match structured.map(|value| value.value(blobs)) {
        Some(Value::Object(fields)) => {
            let inner = fields.get("metadata").and_then(Value::as_object);
            let status = |name: &&str| fields.get(*name).or_else(|| inner?.get(*name)).and_then(Value::as_i64);
            FIELDS.iter().find_map(status)
        }
        _ => None,
    };
    exit.or_else(|| said(text)).filter(|exit| *exit != 0)
}

/// The exit status that Codex and Claude Code write above an output.
fn said(text: &str) -> Option<i64> {
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
    let says_nothing = |line: &&str| line.trim().is_empty() || number(line).is_some();
    while lines.last().is_some_and(says_nothing) {
        lines.pop();
    }
    let first = lines.iter().position(|line| !says_nothing(line)).unwrap_or(lines.len());
    let before = lines.len().saturating_sub(most).max(first);
    (before - first, lines.split_off(before))
}

#[cfg(test)]
mod tests {
    use super::{failed_exit, last_lines};
    use annals_core::{Json, NoBlobs};

    #[test]
    fn a_command_failed_whatever_the_agent_calls_it() {
        let exit = |structured: &str, text: &str| {
            let structured = (!structured.is_empty()).then(|| Json::received(structured));
            failed_exit(structured.as_ref(), text, &NoBlobs)
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
    fn the_last_lines_are_those_that_say_something() {
        let text = "a\nb\nc\n\nCommand exited with code 1.\n";
        assert_eq!(last_lines(text, 2), (1, vec!["b", "c"]));
        assert_eq!(last_lines(text, 9), (0, vec!["a", "b", "c"]));
        assert_eq!(last_lines("Exit code 3\nto-stdout\n", 9), (0, vec!["to-stdout"]));
        assert_eq!(last_lines("\n", 3), (0, vec![]));
    }
}
