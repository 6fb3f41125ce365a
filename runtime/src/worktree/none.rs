//! A place where only the talk can be undone.

use super::{Capture, Changes, Files, FilesError, Plan, Transfer, Tree, Undo};
use crate::Boxed;
use std::io::ErrorKind;

/// No files: outside git, or where git cannot work. Every method says so (`docs/reference/revert.md#files`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoFiles {
    why: String,
    gone: bool,
}

impl NoFiles {
    /// With the reason, for the user.
    pub fn because(why: impl Into<String>) -> Self {
        Self { why: why.into(), gone: false }
    }

    /// With the reason why a location could not be opened.
    pub fn since(error: &FilesError) -> Self {
        let gone = match error {
            FilesError::NoWorktree { .. } => true,
            FilesError::Io { source, .. } => matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
            _ => false,
        };
        Self { why: error.to_string(), gone }
    }

    fn answer<T: Send + 'static>(&self) -> Boxed<'_, Result<T, FilesError>> {
        let why = self.why.clone();
        Box::pin(async move { Err(FilesError::ConversationOnly { why }) })
    }
}

impl Files for NoFiles {
    fn conversation_only(&self) -> Option<&str> {
        Some(&self.why)
    }

    fn is_gone(&self) -> bool {
        self.gone
    }

    fn capture(&self) -> Boxed<'_, Result<Capture, FilesError>> {
        self.answer()
    }

    fn changes<'a>(&'a self, _: &'a Tree, _: Option<&'a Tree>) -> Boxed<'a, Result<Changes, FilesError>> {
        self.answer()
    }

    fn plan<'a>(&'a self, _: &'a Undo) -> Boxed<'a, Result<Plan, FilesError>> {
        self.answer()
    }

    fn restore<'a>(&'a self, _: &'a Plan) -> Boxed<'a, Result<(), FilesError>> {
        self.answer()
    }

    fn plan_take_back<'a>(&'a self, _: &'a Tree, _: &'a Tree) -> Boxed<'a, Result<Plan, FilesError>> {
        self.answer()
    }

    fn uncommitted<'a>(&'a self, _: &'a str) -> Boxed<'a, Result<Transfer, FilesError>> {
        self.answer()
    }

    fn plan_arrival<'a>(&'a self, _: &'a Transfer) -> Boxed<'a, Result<Plan, FilesError>> {
        self.answer()
    }

    fn plan_departure<'a>(&'a self, _: &'a Transfer) -> Boxed<'a, Result<Plan, FilesError>> {
        self.answer()
    }

    fn tidy(&self) -> Boxed<'_, Result<(), FilesError>> {
        self.answer()
    }
}
