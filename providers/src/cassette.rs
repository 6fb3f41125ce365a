//! Recorded answers: a recorder that keeps what a provider answered, and a player that answers the same again without
//! a network. `docs/cassettes.md` describes the folder.
//!
//! An answer is kept under the digest of its request, which has neither time nor ids in it
//! (`docs/reference/turn.md#request`): the same conversation, played again, asks the same requests and is answered the
//! same.

mod erase;
mod folder;
mod line;
mod nearest;
mod player;
mod recorder;
#[cfg(test)]
mod tests;

pub use erase::erase_answers;
pub use nearest::{Nearest, PartDifference};
pub use player::CassettePlayer;
pub use recorder::CassetteRecorder;

use annals_core::Digest;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// What an answer is kept under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CassetteKey {
    /// The digest of the request.
    pub request: Digest,
    /// Which attempt of it, from 1.
    pub attempt: u32,
}

impl fmt::Display for CassetteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {}, attempt {}", self.request.short(), self.attempt)
    }
}

/// A cassette cannot be recorded or played.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// It holds no such answer: record it, or look at what made the request another one.
    #[error("the cassette {} holds no answer to {asked}{}", folder.display(), nearest_in_words(nearest.as_deref()))]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// What was asked for.
        asked: CassetteKey,
        /// The recorded request that is most like it.
        nearest: Option<Box<Nearest>>,
    },
    /// There is no cassette: record one first.
    #[error("{} is not a cassette: there is no such folder", .0.display())]
    NoFolder(PathBuf),
    /// A file is not what docs/cassettes.md describes: record it again.
    #[error("{}, line {line}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The disk refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error that caused it.
        source: io::Error,
    },
}

fn nearest_in_words(nearest: Option<&Nearest>) -> String {
    nearest.map_or_else(|| ": it is empty".into(), |nearest| format!("; {nearest}"))
}
