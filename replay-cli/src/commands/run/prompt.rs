//! The prompt: its words, and what comes through stdin.

use crate::command_context::CommandContext;
use crate::error::RunCommandError;
use std::io::{self, IsTerminal, Read};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// After this long it is said what is waited for: most pipes have ended by then.
const MOMENT: Duration = Duration::from_secs(1);

/// The words of the prompt, and what comes through stdin; `None` when there is neither.
pub(super) fn prompt(words: &[String], cli: &CommandContext) -> Result<Option<String>, RunCommandError> {
    let piped = match words.iter().any(|word| word == "-") || !io::stdin().is_terminal() {
        true => whole_stdin(|| cli.remark(waits_for(words)))?,
        false => String::new(),
    };
    Ok(joined(words, &piped))
}

/// Everything that comes through stdin. A program may hold a pipe open that it never writes to, and what it would have written is not
/// known: it is waited for, and said.
fn whole_stdin(waiting: impl FnOnce()) -> Result<String, RunCommandError> {
    let (send, read) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes);
        // Nothing waits for it if the process ends.
        drop(send.send(read.map(|_| bytes)));
    });
    let received = match read.recv_timeout(MOMENT) {
        Err(RecvTimeoutError::Timeout) => {
            waiting();
            read.recv().ok()
        }
        received => received.ok(),
    };
    let stopped = || Err(io::Error::other("the thread that reads it stopped"));
    let bytes = received.unwrap_or_else(stopped).map_err(RunCommandError::Stdin)?;
    String::from_utf8(bytes).map_err(|_| RunCommandError::NotText)
}

fn waits_for(words: &[String]) -> &'static str {
    match (words.is_empty(), words.iter().any(|word| word == "-")) {
        (true, _) => "waiting for stdin to end: it is the prompt",
        (_, true) => "waiting for stdin to end: it replaces - in the prompt",
        _ => "waiting for stdin to end: it is appended to the prompt (with < /dev/null the prompt is complete)",
    }
}

fn joined(words: &[String], piped: &str) -> Option<String> {
    let piped = piped.trim_end();
    let placed = words.iter().any(|word| word == "-");
    let prompt: Vec<&str> = words.iter().map(|word| if word == "-" { piped } else { word }).collect();
    let prompt = prompt.join(" ");
    let prompt = match (placed || piped.trim().is_empty(), prompt.is_empty()) {
        (true, _) => prompt,
        (false, true) => piped.to_owned(),
        (false, false) => format!("{prompt}\n\n{piped}"),
    };
    Some(prompt.trim().to_owned()).filter(|prompt| !prompt.is_empty())
}

#[cfg(test)]
mod tests {
    use super::joined;

    fn prompt(words: &[&str], piped: &str) -> Option<String> {
        joined(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), piped)
    }

    #[test]
    fn a_prompt_is_its_words_and_what_comes_through_the_pipe() {
        assert_eq!(prompt(&["fix", "the test"], "").as_deref(), Some("fix the test"));
        assert_eq!(prompt(&["why does this fail"], "error\n").as_deref(), Some("why does this fail\n\nerror"));
        assert_eq!(prompt(&[], "only this\n").as_deref(), Some("only this"));
        assert_eq!(prompt(&["-"], "only this\n").as_deref(), Some("only this"));
        assert_eq!(prompt(&["say", "-", "twice"], "it\n").as_deref(), Some("say it twice"));
        assert_eq!(prompt(&["what is a - b"], "").as_deref(), Some("what is a - b"));
        assert_eq!(prompt(&[], " \n"), None);
    }
}
