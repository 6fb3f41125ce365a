//! What can be said to the chat itself: lines that begin with a slash.

/// A line that begins with a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// What can be said.
    Help,
    /// Which model answers, or another one.
    Model(Option<String>),
    /// Which agent works, or another one.
    Agent(Option<String>),
    /// A new Session.
    New,
    /// Takes the last prompt back, with all that followed it.
    Undo,
    /// Takes an undo back.
    Redo,
    /// Makes a summary take the place of the history.
    Compact,
    /// What the Session has taken so far.
    Cost,
    /// Leaves.
    Quit,
    /// None of them.
    Unknown(String),
}

/// Each with what it does, for people.
pub const WORDS: &[(&str, &str)] = &[
    ("/help", "what can be said here"),
    ("/model [NAME]", "which model answers; NAME lets another one answer from now on"),
    ("/agent [NAME]", "which agent works; NAME lets another one work from now on"),
    ("/new", "a new Session; this one stays"),
    ("/undo", "takes the last prompt back, with its answer and what that changed in files"),
    ("/redo", "takes an undo back"),
    ("/compact", "a summary takes the place of the history; the log keeps all of it"),
    ("/cost", "tokens and money so far"),
    ("/quit", "leaves, as Ctrl-D does; the Session stays"),
];

impl Word {
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
            ("undo", None) => Self::Undo,
            ("redo", None) => Self::Redo,
            ("compact", None) => Self::Compact,
            ("cost" | "usage", None) => Self::Cost,
            ("quit" | "exit" | "q", None) => Self::Quit,
            _ => Self::Unknown(word.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{WORDS, Word};

    #[test]
    fn a_line_that_begins_with_a_slash_is_a_word_unless_it_is_a_path() {
        assert_eq!(Word::of("/model  openai/gpt-5 "), Some(Word::Model(Some("openai/gpt-5".into()))));
        assert_eq!(Word::of("/undo"), Some(Word::Undo));
        assert_eq!(Word::of("/undo it all"), Some(Word::Unknown("/undo".into())));
        assert_eq!(Word::of("/frobnicate"), Some(Word::Unknown("/frobnicate".into())));
        assert_eq!(
            [Word::of("/etc/hosts says what"), Word::of("hello /undo"), Word::of("/ or not")],
            [None, None, None]
        );
    }

    #[test]
    fn every_word_that_help_tells_is_understood() {
        for (told, _) in WORDS {
            let word = told.split_whitespace().next().unwrap_or_default();
            assert!(!matches!(Word::of(word), None | Some(Word::Unknown(_))), "{told}");
        }
    }
}
