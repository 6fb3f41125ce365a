//! What goes wrong while a System Context is made. Nothing is appended, and the turn fails
//! (`docs/reference/context.md#sources`).

use annals_core::Key;
use futures_util::FutureExt;
use std::any::Any;
use std::panic::AssertUnwindSafe;

/// A System Context could not be made: a mistake in a contribution, to be mended there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    /// Two sources have one key: rename one of them.
    #[error("Duplicate system context key: {key}")]
    DuplicateSource {
        /// The key.
        key: Key,
        /// Who contributed the first and the second one.
        contributors: [String; 2],
    },
    /// A producer of the registry failed.
    #[error("system context contribution {contribution} {fault}")]
    Contribution {
        /// The key of the contribution.
        contribution: Key,
        /// The failure of the code.
        fault: Fault,
    },
    /// A source failed, which is not the same as being unavailable for now.
    #[error("system context source {key} {fault}")]
    Source {
        /// The key.
        key: Key,
        /// The failure of the code.
        fault: Fault,
    },
}

impl ContextError {
    /// The word for it in the outcome of a run.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::DuplicateSource { .. } => "duplicate-source",
            Self::Contribution { .. } => "contribution-failed",
            Self::Source { .. } => "source-failed",
        }
    }

    /// The key that it is about.
    pub const fn key(&self) -> &Key {
        match self {
            Self::DuplicateSource { key, .. }
            | Self::Contribution { contribution: key, .. }
            | Self::Source { key, .. } => key,
        }
    }
}

/// How a contributor's code failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It panicked, with this message.
    #[error("panicked: {0}")]
    Panicked(String),
    /// It said so itself.
    #[error("failed: {0}")]
    Failed(String),
    /// Its value does not survive its own codec, so that it could never be compared with the snapshot.
    #[error("has a value that its codec does not give back: {0}")]
    Codec(String),
}

/// Runs a contributor's code; a panic stays with it.
pub(crate) async fn caught<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(panic) => Err(Fault::Panicked(panic_message(panic.as_ref()))),
    }
}

/// The text of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".into())
}
