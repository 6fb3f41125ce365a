//! An owner that does not answer.

use std::path::PathBuf;

/// A process owns a store and does not answer: it was stopped, or hangs. Resume it, or end it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{} owns the store in {} and does not answer; resume it or end it", named(*owner), dir.display())]
pub struct HungOwner {
    /// The store's folder.
    pub dir: PathBuf,
    /// The id of the process, if it is known.
    pub owner: Option<u32>,
}

fn named(owner: Option<u32>) -> String {
    owner.map_or_else(|| "a process".to_owned(), |owner| format!("process {owner}"))
}
