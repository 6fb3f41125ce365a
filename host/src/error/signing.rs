//! How a command that signs, proves or witnesses ends without an answer.

use annals_inspect::signing::{SignError, SignedError, WitnessError};
use annals_store::signing::checkpoint::CheckpointError;
use annals_store::signing::folder::SignedTreeError;
use annals_store::signing::key_file::SigningKeyError;
use annals_store::signing::proof::ProveError;
use std::path::PathBuf;

/// A command that signs, proves or witnesses gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    /// A key cannot be used.
    #[error(transparent)]
    Key(#[from] SigningKeyError),
    /// No key was named, and the usual one does not exist.
    #[error(
        "no key: {} does not exist; name one with --key FILE or as `sign.key` in your configuration, or create one \
         with `annals sign --new-key FILE`",
        usual.display()
    )]
    NoKey {
        /// The usual file.
        usual: PathBuf,
    },
    /// Nothing was signed.
    #[error(transparent)]
    Sign(#[from] SignError<SigningKeyError>),
    /// There is nothing to verify or to prove.
    #[error(transparent)]
    Signed(#[from] SignedError),
    /// The files of the tree cannot be used.
    #[error(transparent)]
    Tree(#[from] SignedTreeError),
    /// A checkpoint was not counter-signed.
    #[error(transparent)]
    Witness(#[from] WitnessError),
    /// A file is not a checkpoint.
    #[error("{}: {source}", path.display())]
    Checkpoint {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: CheckpointError,
    },
    /// The store has no checkpoint with this text.
    #[error("{}: it is not a checkpoint of this store", path.display())]
    NotOfThisStore {
        /// Which.
        path: PathBuf,
    },
    /// The file names no key that can be used.
    #[error("{}: no key that can be used{}", path.display(), why.as_ref().map_or(String::new(), |why| format!(": {why}")))]
    NoSigners {
        /// Which.
        path: PathBuf,
        /// Why the first line is not used.
        why: Option<String>,
    },
    /// The process that owns the store does not say which store it is.
    #[error("the process that owns the store does not say which store it is: end it and try again")]
    UnknownStore,
}

impl SigningError {
    /// The exit status: 2 when the command was used wrongly, 1 when the answer is bad news.
    pub fn status(&self) -> u8 {
        match self {
            Self::Key(_)
            | Self::NoKey { .. }
            | Self::Sign(SignError::NoSession | SignError::Key(_))
            | Self::Signed(SignedError::NothingSigned | SignedError::Prove(ProveError::NotSigned { .. }))
            | Self::Signed(SignedError::NeverSoLarge { .. })
            | Self::Witness(WitnessError::OtherKey { .. })
            | Self::Checkpoint { .. }
            | Self::NotOfThisStore { .. }
            | Self::NoSigners { .. } => 2,
            Self::Sign(_) | Self::Signed(_) | Self::Tree(_) | Self::Witness(_) | Self::UnknownStore => 1,
        }
    }
}
