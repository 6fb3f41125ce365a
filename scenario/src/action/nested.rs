//! Actions inside other actions: which ones are allowed.

use super::Action;
use crate::Invalid;
use crate::reader::JsonAt;

/// The position of an action.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nesting {
    /// The index in the script of the outermost action.
    index: usize,
    place: NestedIn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NestedIn {
    Script,
    During,
    OnLoad,
}

/// Actions that are not allowed inside others: each needs an idle session.
const ALONE: &[&str] = &["run", "prompt", "compact", "restart", "revert", "fork", "child", "session"];

impl Nesting {
    pub fn script(index: usize) -> Self {
        Self { index, place: NestedIn::Script }
    }

    pub fn index(self) -> usize {
        self.index
    }

    pub fn allows(self, name: &str) -> Result<(), String> {
        if self.place != NestedIn::Script && ALONE.contains(&name) {
            let place = if self.place == NestedIn::During { "during" } else { "on_load" };
            return Err(format!("`{name}` is not allowed inside `{place}`; nor are {}", ALONE.join(", ")));
        }
        if name == "interrupt" && self.place != NestedIn::During {
            return Err("`interrupt` is only allowed inside `during`: elsewhere nothing runs".to_owned());
        }
        Ok(())
    }

    /// The actions of a `during`.
    pub fn during(self, at: &JsonAt<'_>) -> Result<Vec<Action>, Invalid> {
        self.list(at, NestedIn::During)
    }

    /// The actions of an `on_load`.
    pub fn on_load(self, at: &JsonAt<'_>) -> Result<Vec<Action>, Invalid> {
        self.list(at, NestedIn::OnLoad)
    }

    fn list(self, at: &JsonAt<'_>, place: NestedIn) -> Result<Vec<Action>, Invalid> {
        at.items()?.iter().map(|at| Action::read(at, Self { place, ..self })).collect()
    }
}
