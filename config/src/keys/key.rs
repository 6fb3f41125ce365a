//! What a key is.

/// What a key holds.
#[derive(Clone, Copy, Debug)]
pub enum ValueKind {
    /// A text.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number, 0 or more.
    Count,
    /// One of some words.
    Word(&'static [&'static str]),
    /// Dollars per million tokens, exactly.
    Price,
    /// Texts; a later file's list takes the place of an earlier one's.
    Texts,
    /// Texts; a later file's come after an earlier one's.
    Added,
    /// Rules `[action, resource, effect]`; a later file's come after an earlier one's.
    Rules,
    /// Texts by any name.
    Named,
    /// Whole numbers, 0 or more, by any name.
    Counts,
    /// Settings in the shape of the AI SDK, by any name.
    Free,
    /// Keys.
    Table(&'static [ConfigKey]),
    /// Tables of the same keys by any name.
    Each(&'static [ConfigKey]),
}

/// What a project's file may do with a key while its folder is not trusted, and with [`Project::Never`] ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Project {
    /// Set it.
    Free,
    /// Not set it; the text says why.
    Trusted(&'static str),
    /// Not set it, trusted or not; the text says why.
    Never(&'static str),
    /// Set it to paths that stay inside the project.
    Inside,
    /// Set it unless the user did.
    UnlessUser,
    /// Only make it stricter.
    Stricter,
    /// Not switch it off.
    NotOff,
    /// Set those of its settings that only say how a model answers; the text says why no others.
    Tuning(&'static str),
}

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct ConfigKey {
    /// How the file spells it.
    pub name: &'static str,
    /// What it holds.
    pub kind: ValueKind,
    /// Its purpose, in a sentence.
    pub about: &'static str,
    /// What a project may do with it.
    pub project: Project,
    /// The environment variable that says it for one run.
    pub variable: Option<&'static str>,
}

pub(super) const fn key(name: &'static str, kind: ValueKind, about: &'static str) -> ConfigKey {
    ConfigKey { name, kind, about, project: Project::Free, variable: None }
}

impl ConfigKey {
    pub(super) const fn for_project(self, project: Project) -> Self {
        Self { project, ..self }
    }

    pub(super) const fn or_variable(self, variable: &'static str) -> Self {
        Self { variable: Some(variable), ..self }
    }
}
