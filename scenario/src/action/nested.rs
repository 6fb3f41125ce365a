//! Where an action stands, and what may stand there.

use super::Action;
use crate::Invalid;
use crate::reader::At;

/// Where an action stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    /// The index in the script of the outermost action.
    index: usize,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Script,
    During,
    OnLoad,
}

/// What a list inside an action may not hold: each of these needs the Session to itself.
const ALONE: &[&str] = &["run", "prompt", "compact", "restart", "revert", "fork", "child", "session"];

impl Within {
    pub fn script(index: usize) -> Self {
        Self { index, place: Place::Script }
    }

    pub fn index(self) -> usize {
        self.index
    }

    pub fn allows(self, name: &str) -> Result<(), String> {
        if self.place != Place::Script && ALONE.contains(&name) {
            let place = if self.place == Place::During { "during" } else { "on_load" };
            return Err(format!("`{name}` is not allowed inside `{place}`; neither is {}", ALONE.join(", ")));
        }
        if name == "interrupt" && self.place != Place::During {
            return Err("`interrupt` is allowed only inside `during`: elsewhere nothing runs".to_owned());
        }
        Ok(())
    }

    /// The actions of a `during`.
    pub fn during(self, at: &At<'_>) -> Result<Vec<Action>, Invalid> {
        self.list(at, Place::During)
    }

    /// The actions of an `on_load`.
    pub fn on_load(self, at: &At<'_>) -> Result<Vec<Action>, Invalid> {
        self.list(at, Place::OnLoad)
    }

    fn list(self, at: &At<'_>, place: Place) -> Result<Vec<Action>, Invalid> {
        at.items()?.iter().map(|at| Action::read(at, Self { place, ..self })).collect()
    }
}
