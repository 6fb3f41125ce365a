//! Earlier inputs: gone through by keys, and kept in a file for later chats.

use annals_store::disk::StorePath;
use rustyline::history::{FileHistory, History};

/// How many inputs are kept in memory.
const MOST: usize = 1_000;

/// Earlier inputs, and which of them is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct InputHistory {
    inputs: Vec<String>,
    /// Which one is shown, and what was typed before.
    shown: Option<(usize, String)>,
    /// What is searched for.
    searched: Option<String>,
}

impl InputHistory {
    pub(super) fn new(inputs: Vec<String>) -> Self {
        Self { inputs, shown: None, searched: None }
    }

    pub(super) fn add(&mut self, text: &str) {
        self.leave();
        if !text.trim().is_empty() && self.inputs.last().is_none_or(|last| last != text) {
            self.inputs.push(text.to_owned());
        }
        let surplus = self.inputs.len().saturating_sub(MOST);
        self.inputs.drain(..surplus);
    }

    /// Another text is edited now.
    pub(super) fn leave(&mut self) {
        (self.shown, self.searched) = (None, None);
    }

    /// The input before the one that is shown; `typed` is what is typed now.
    pub(super) fn older(&mut self, typed: &str) -> Option<String> {
        let at = match &self.shown {
            Some((at, _)) => at.checked_sub(1)?,
            None => self.inputs.len().checked_sub(1)?,
        };
        let typed = self.shown.take().map_or_else(|| typed.to_owned(), |(_, typed)| typed);
        self.shown = Some((at, typed));
        self.inputs.get(at).cloned()
    }

    /// The input after the one that is shown, or what was typed before.
    pub(super) fn newer(&mut self) -> Option<String> {
        let (at, typed) = self.shown.take()?;
        match self.inputs.get(at + 1) {
            Some(text) => {
                self.shown = Some((at + 1, typed));
                Some(text.clone())
            }
            None => Some(typed),
        }
    }

    /// The next older input that contains a text; `typed` is searched for unless a search is under way.
    pub(super) fn containing(&mut self, typed: &str) -> Option<String> {
        let wanted = self.searched.get_or_insert_with(|| typed.to_owned()).clone();
        let from = self.shown.as_ref().map_or(self.inputs.len(), |(at, _)| *at);
        let at = self.inputs.get(..from)?.iter().rposition(|text| text.contains(&wanted))?;
        let typed = self.shown.take().map_or(wanted, |(_, typed)| typed);
        self.shown = Some((at, typed));
        self.inputs.get(at).cloned()
    }
}

/// The file with the inputs of all chats with a store; the line editor uses the same one.
pub(super) struct HistoryFile {
    path: StorePath,
    file: FileHistory,
}

impl HistoryFile {
    /// Without a readable file there are no earlier inputs.
    pub(super) fn open(path: StorePath) -> (Self, Vec<String>) {
        let mut file = FileHistory::new();
        drop(path.reach().map(|path| file.load(&path)));
        let mut inputs: Vec<String> = file.iter().cloned().collect();
        let surplus = inputs.len().saturating_sub(MOST);
        inputs.drain(..surplus);
        (Self { path, file }, inputs)
    }

    /// Keeps an input. One that cannot be kept is gone with the chat.
    pub(super) fn keep(&mut self, text: &str) {
        if self.file.add(text).unwrap_or(false) {
            drop(self.path.reach().map(|path| self.file.append(&path)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::InputHistory;

    #[test]
    fn earlier_inputs_are_gone_through_and_what_was_typed_comes_back() {
        let mut history = InputHistory::new(["a", "b"].map(str::to_owned).to_vec());
        assert_eq!(history.older("typed").as_deref(), Some("b"));
        assert_eq!(history.older("b").as_deref(), Some("a"));
        assert_eq!((history.older("a"), history.newer().as_deref()), (None, Some("b")));
        assert_eq!((history.newer().as_deref(), history.newer()), (Some("typed"), None));
        history.add("b");
        history.add("c");
        assert_eq!(history.older("").as_deref(), Some("c"));
        assert_eq!(history.older("c").as_deref(), Some("b"));
        assert_eq!(history.older("b").as_deref(), Some("a"), "the same input is not kept twice in a row");
    }

    #[test]
    fn a_search_goes_back_through_what_contains_the_text() {
        let mut history = InputHistory::new(["cargo test", "ls", "cargo fmt"].map(str::to_owned).to_vec());
        assert_eq!(history.containing("cargo").as_deref(), Some("cargo fmt"));
        assert_eq!(history.containing("cargo fmt").as_deref(), Some("cargo test"));
        assert_eq!(history.containing("cargo test"), None);
    }
}
