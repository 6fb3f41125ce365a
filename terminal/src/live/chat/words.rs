//! What can be said to the chat itself: lines that begin with a slash.

/// A line that begins with a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatCommand {
    /// What can be said.
    Help,
    /// Which model answers, or another one.
    Model(Option<String>),
    /// Which agent works, or another one.
    Agent(Option<String>),
    /// A new session.
    New,
    /// Takes the last prompt back, with all that followed it.
    Undo,
    /// Takes an undo back.
    Redo,
    /// Makes a summary take the place of the history.
    Compact,
    /// Pins the last prompt.
    Pin,
    /// The title, or another one.
    Title(Option<String>),
    /// What the session has taken so far.
    Cost,
    /// What runs in the background.
    Tasks,
    /// Continues another session: the named one, or one that is picked.
    Resume(Option<String>),
    /// Leaves.
    Quit,
    /// None of them.
    Unknown(String),
}

/// Each with what it does, for people.
pub const WORDS: &[(&str, &str)] = &[
    ("/help", "list commands"),
    ("/model [NAME]", "show the model, or switch to NAME"),
    ("/agent [NAME]", "show the agent, or switch to NAME"),
    ("/new", "start a new session; this one is kept"),
    ("/resume [SESSION]", "continue another session; without a name, pick one"),
    ("/undo", "undo the last prompt, its answer and the files that changed with it"),
    ("/redo", "redo what was undone"),
    ("/compact", "replace the history by a summary; the log keeps everything"),
    ("/pin", "pin the last prompt: compactions keep it word for word"),
    ("/title [TITLE]", "show the title, or give another one"),
    ("/cost", "show tokens and cost so far"),
    ("/tasks", "list tasks and commands in the background"),
    ("!COMMAND", "run a shell command yourself; the model reads it with your next prompt"),
    ("@PATH", "attach a file to the prompt; @AGENT names an agent for a task"),
    ("/quit", "exit, as Ctrl-D does; the session is kept"),
];

impl ChatCommand {
    /// Reads a line; `None` for a prompt. A path such as `/etc/hosts` begins a prompt.
    pub fn of(line: &str) -> Option<Self> {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let name = word.strip_prefix('/')?;
        if name.is_empty() || name.contains('/') || line.contains('\n') {
            return None;
        }
        let argument = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
        Some(match (name, &argument) {
            ("help" | "?", None) => Self::Help,
            ("model", _) => Self::Model(argument),
            ("agent", _) => Self::Agent(argument),
            ("new" | "clear", None) => Self::New,
            ("resume", _) => Self::Resume(argument),
            ("undo", None) => Self::Undo,
            ("redo", None) => Self::Redo,
            ("compact", None) => Self::Compact,
            ("pin", None) => Self::Pin,
            ("title", _) => Self::Title(argument),
            ("cost" | "usage", None) => Self::Cost,
            ("tasks" | "bashes", None) => Self::Tasks,
            ("quit" | "exit" | "q", None) => Self::Quit,
            _ => Self::Unknown(word.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{ChatCommand, WORDS};

    #[test]
    fn a_line_that_begins_with_a_slash_is_a_word_unless_it_is_a_path() {
        assert_eq!(ChatCommand::of("/model  openai/gpt-5 "), Some(ChatCommand::Model(Some("openai/gpt-5".into()))));
        assert_eq!(ChatCommand::of("/undo"), Some(ChatCommand::Undo));
        assert_eq!(ChatCommand::of("/undo it all"), Some(ChatCommand::Unknown("/undo".into())));
        assert_eq!(ChatCommand::of("/frobnicate"), Some(ChatCommand::Unknown("/frobnicate".into())));
        assert_eq!(
            [ChatCommand::of("/etc/hosts says what"), ChatCommand::of("hello /undo"), ChatCommand::of("/ or not")],
            [None, None, None]
        );
    }

    #[test]
    fn every_word_that_help_tells_is_understood() {
        for (usage, _) in WORDS.iter().filter(|(usage, _)| usage.starts_with('/')) {
            let word = usage.split_whitespace().next().unwrap_or_default();
            assert!(!matches!(ChatCommand::of(word), None | Some(ChatCommand::Unknown(_))), "{usage}");
        }
    }
}
