//! What is wrong with a configuration, and why it cannot be used.

use crate::origin::ValueOrigin;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Something wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it is written.
    pub origin: ValueOrigin,
    /// What, and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.message)
    }
}

/// There is no configuration to work with.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A value in a file is invalid; correct it.
    #[error("{}", listed(.0))]
    Wrong(Vec<Problem>),
    /// The project's file does what only a trusted one may: read it, then trust its folder, or take the lines out.
    #[error(
        "{}\nA project's configuration may not do this by itself. Read {}, then say `annals config trust {}`, or \
         take these lines out.", listed(.problems), file.display(), project.display()
    )]
    Untrusted {
        /// What only a trusted file may do.
        problems: Vec<Problem>,
        /// The project's file.
        file: PathBuf,
        /// The folder to trust.
        project: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// There is no home folder: name the file.
    #[error("there is no home folder to keep a configuration in; name a file with ANNALS_CONFIG")]
    NoHome,
    /// There is no project's file to trust.
    #[error("{}: there is no .annals/config.toml here or above, up to the folder with .git", directory.display())]
    NoProject {
        /// Where the search began.
        directory: PathBuf,
    },
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}
