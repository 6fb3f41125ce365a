//! Names of what a capture holds.

use super::FilesError;
use std::fmt;
use std::str::FromStr;

/// The files at one moment: the id of a git tree in the shadow repository. Equal files have equal ids, except that a
/// file too large to be taken counts as changed with its time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tree(String);

impl Tree {
    /// The id as text, as events hold it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The files in it, as git names them, together with the exclude rules of that moment.
    pub fn files(&self) -> String {
        format!("{}:files", self.0)
    }

    /// The exclude rules that held beyond the project's own `.gitignore` files.
    pub fn excludes(&self) -> String {
        format!("{}:excludes", self.0)
    }
}

impl FromStr for Tree {
    type Err = FilesError;

    fn from_str(text: &str) -> Result<Self, FilesError> {
        // Anything else would be read as a revision or an option.
        let hex = text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if hex { Ok(Self(text.into())) } else { Err(FilesError::NoTree { id: text.into() }) }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Tree> for String {
    fn from(tree: Tree) -> Self {
        tree.0
    }
}

/// The entry of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeEntry {
    /// A file, by the git id of its bytes.
    File {
        /// The id.
        id: String,
        /// Whether its owner may execute it.
        executable: bool,
    },
    /// A symbolic link, by the git id of its target's text.
    Link {
        /// The id.
        id: String,
    },
    /// Something that a capture does not hold: too large, unreadable, or a repository of its own. It is never touched.
    Uncaptured {
        /// Differs when it is known to have changed.
        id: String,
    },
}

impl TreeEntry {
    /// From git's mode and id; `None` for "nothing there".
    pub fn parse(mode: &str, id: &str) -> Option<Self> {
        let id = id.to_string();
        match mode {
            "000000" => None,
            "120000" => Some(Self::Link { id }),
            "160000" => Some(Self::Uncaptured { id }),
            _ => Some(Self::File { id, executable: mode == "100755" }),
        }
    }

    /// `mode id`, as git writes it.
    pub fn git(&self) -> (&'static str, &str) {
        match self {
            Self::File { id, executable: true } => ("100755", id),
            Self::File { id, executable: false } => ("100644", id),
            Self::Link { id } => ("120000", id),
            Self::Uncaptured { id } => ("160000", id),
        }
    }

    /// Whether a capture holds it.
    pub fn is_captured(&self) -> bool {
        !matches!(self, Self::Uncaptured { .. })
    }
}
