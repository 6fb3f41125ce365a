//! Sessions whose texts were erased: their batches up to then are copies under a subject of their own.
//!
//! ```text
//! NAME.sess.K.ID       [originals, deleted] [marker: events below `until` are in the generation] [later batches]
//! NAME.sess.K.ID.GEN   [copies without the erased texts, up to number `last`]
//! ```
//! The marker has the headers of a batch without events, so that it says where the session ends. Every later message repeats which
//! generation is in force: the newest message of a session says all.

use annals_core::Seq;
use std::fmt::{self, Display};
use std::str::FromStr;

/// The header that names the generation in force.
pub const GENERATION: &str = "Sess-Gen";
/// The header of a copy: the number of the message that the batch was first stored as.
pub const WAS: &str = "Sess-Was";

/// A generation of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectGeneration {
    /// The last part of its subject.
    pub id: String,
    /// Events below this are in it.
    pub until: Seq,
    /// The number of its last message. Everything of the session that is older is not read any more, and newer messages are.
    pub last: u64,
}

impl Display for SubjectGeneration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.id, self.until, self.last)
    }
}

impl FromStr for SubjectGeneration {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split(' ');
        let id = parts.next().filter(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok()).ok_or(());
        Ok(Self { id: id.ok_or(())?.to_owned(), until: Seq(number()?), last: number()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_reads_back_from_its_header() {
        let generation = SubjectGeneration { id: "01ab".to_owned(), until: Seq(7), last: 123 };
        assert_eq!(generation.to_string().parse(), Ok(generation));
        for wrong in ["", "a", "a 1", "a.b 1 2", "a 1 x", " 1 2", "* 1 2"] {
            assert!(wrong.parse::<SubjectGeneration>().is_err(), "{wrong}");
        }
    }
}
