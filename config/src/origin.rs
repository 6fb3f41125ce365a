//! Where a value comes from.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Whose a configuration file is. Later ones are laid over earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigLayer {
    /// The user's.
    User,
    /// The project's.
    Project,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueOrigin {
    /// The default.
    BuiltIn,
    /// An environment variable.
    Environment(&'static str),
    /// A line of a file, from 1.
    File {
        /// Whose file it is.
        layer: ConfigLayer,
        /// Where the file is.
        path: Arc<PathBuf>,
        /// The line that sets it.
        line: usize,
    },
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::Environment(name) => write!(f, "${name}"),
            Self::File { path, line, .. } => write!(f, "{}:{line}", path.display()),
        }
    }
}
