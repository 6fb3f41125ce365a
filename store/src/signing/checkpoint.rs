//! Checkpoints (<https://c2sp.org/tlog-checkpoint>): which log, how many leaves, which root.

use super::note::SignedNote;
use super::tree::TreeHash;
use crate::store_id::StoreId;
use std::fmt;
use std::str::FromStr;

/// What a checkpoint states: the three lines of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeHead {
    /// The name of the log.
    pub origin: String,
    /// The number of leaves.
    pub size: u64,
    /// The root of the tree with these leaves.
    pub root: TreeHash,
}

/// A checkpoint with its signatures, none of which is verified by parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedCheckpoint {
    /// What it states.
    pub head: TreeHead,
    /// The same as text, with what a log adds behind the three lines, and the signatures.
    pub note: SignedNote,
}

/// A text is not a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a checkpoint: {0}")]
pub struct CheckpointError(pub &'static str);

/// The origin of the checkpoints of a store.
pub fn origin_of(store: StoreId) -> String {
    format!("annals/store/{store}")
}

impl fmt::Display for TreeHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}\n{}\n", self.origin, self.size, self.root)
    }
}

impl FromStr for TreeHead {
    type Err = CheckpointError;

    /// Reads the text of a note; lines behind the third are left out.
    fn from_str(text: &str) -> Result<Self, CheckpointError> {
        let mut lines = text.split_inclusive('\n').map(|line| line.strip_suffix('\n'));
        let mut line = || lines.next().flatten().filter(|line| !line.is_empty());
        let (Some(origin), Some(size), Some(root)) = (line(), line(), line()) else {
            return Err(CheckpointError("expected three lines: origin, size and root"));
        };
        if lines.any(|line| line.is_none_or(str::is_empty)) {
            return Err(CheckpointError("a line is empty"));
        }
        let number: u64 = size.parse().map_err(|_| CheckpointError("the size is not a number"))?;
        if number.to_string() != size {
            return Err(CheckpointError("the size is not written as a plain number"));
        }
        let root = root.parse().map_err(|_| CheckpointError("the root is not a hash of 32 bytes in base64"))?;
        Ok(Self { origin: origin.to_owned(), size: number, root })
    }
}

impl fmt::Display for SignedCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.note.fmt(f)
    }
}

impl FromStr for SignedCheckpoint {
    type Err = CheckpointError;

    fn from_str(note: &str) -> Result<Self, CheckpointError> {
        let note: SignedNote = note.parse().map_err(|super::note::NoteError(why)| CheckpointError(why))?;
        Ok(Self { head: note.text.parse()?, note })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";

    #[test]
    fn the_checkpoint_of_the_specification_is_read_and_written() -> Result<(), CheckpointError> {
        let head: TreeHead = TEXT.parse()?;
        assert_eq!((head.origin.as_str(), head.size), ("example.com/behind-the-sofa", 20_852_163));
        assert_eq!(head.to_string(), TEXT);
        let note = format!(
            "{TEXT}\n— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
        );
        let checkpoint: SignedCheckpoint = note.parse()?;
        assert_eq!((&checkpoint.head, checkpoint.to_string()), (&head, note));
        assert_eq!(format!("{TEXT}more\n").parse::<TreeHead>()?, head, "a further line is opaque");
        Ok(())
    }

    #[test]
    fn what_is_no_checkpoint_is_refused() {
        let wrong = [
            TEXT.replace("20852163", "020852163"),
            TEXT.replace("20852163", "+20852163"),
            TEXT.replace("20852163", "-1"),
            TEXT.replace("20852163", ""),
            TEXT.replace("jxq2I=", "jxq2J="),
            TEXT.trim_end().to_owned(),
            format!("{TEXT}\n"),
            format!("\n{TEXT}"),
            String::new(),
        ];
        for text in wrong {
            assert!(text.parse::<TreeHead>().is_err(), "{text}");
        }
    }
}
