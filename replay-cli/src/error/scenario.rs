//! How `annals dev scenario` ends without an answer.

use annals_scenario::{LoadError, PlayError, RecordError};

/// A scenario was not played or recorded.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file is not a scenario.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A scenario cannot be played.
    #[error(transparent)]
    Play(#[from] PlayError),
    /// A session cannot be written as a scenario.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl ScenarioError {
    /// The exit status: 2 when the command was used wrongly, 1 when the answer is bad news.
    pub fn status(&self) -> u8 {
        match self {
            Self::Load(_) | Self::Play(PlayError::NotFresh(_)) => 2,
            Self::Play(_) | Self::Record(_) => 1,
        }
    }
}
