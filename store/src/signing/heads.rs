//! The leaves of a store's tree: where its sessions ended when it was signed.

use super::tree::{Frontier, TreeHash};
use annals_core::{Digest, Seq, SessionId};
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

/// 32 random bytes that hide what is hashed with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt(pub [u8; 32]);

/// Where a session ended when its store was signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedHead {
    /// The session.
    pub session: SessionId,
    /// Its last event.
    pub seq: Seq,
    /// The digest of its last batch.
    pub digest: Digest,
    /// The tree over its batches, those inherited from a parent included: proves each of them, not only the last.
    pub batches: Frontier,
    /// Keeps who is given the hash from recognising the session.
    pub salt: Salt,
}

/// The heads of a store in the order in which they were signed: one more whenever a session has grown since.
#[derive(Clone, Debug, Default)]
pub struct HeadList {
    heads: Vec<SignedHead>,
    latest: HashMap<SessionId, usize>,
}

/// A text is not a list of heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: not a signed head (SESSION SEQ DIGEST SALT BATCHES PEAKS)")]
pub struct NotAHead {
    /// Counted from 1.
    pub line: usize,
}

/// The hash of a batch in the tree of its session: of its first and last event, 8 bytes big-endian each, and its digest.
pub fn batch_hash(first: Seq, last: Seq, digest: Digest) -> TreeHash {
    TreeHash::of_leaf(&[&first.0.to_be_bytes()[..], &last.0.to_be_bytes(), &digest.0].concat())
}

/// The hash of a head in the tree of its store: of session (16 bytes), last event (8, big-endian), digest (32), number of
/// batches (8), root of their tree (32) and salt (32).
pub fn head_hash(
    session: SessionId,
    seq: Seq,
    digest: Digest,
    (batches, batches_root): (u64, TreeHash),
    salt: Salt,
) -> TreeHash {
    let entry = [&session.0[..], &seq.0.to_be_bytes(), &digest.0, &batches.to_be_bytes(), &batches_root.0, &salt.0];
    TreeHash::of_leaf(&entry.concat())
}

impl SignedHead {
    /// Its hash as a leaf.
    pub fn hash(&self) -> TreeHash {
        let Self { session, seq, digest, batches, salt } = self;
        head_hash(*session, *seq, *digest, (batches.size(), batches.root()), *salt)
    }
}

impl fmt::Display for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Digest(self.0).fmt(f)
    }
}

impl FromStr for Salt {
    type Err = <Digest as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(|Digest(bytes)| Self(bytes))
    }
}

impl fmt::Display for SignedHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, seq, digest, batches, salt } = self;
        write!(f, "{session} {} {digest} {salt} {}", seq.0, batches.size())?;
        batches.peaks().iter().try_for_each(|peak| write!(f, " {peak}"))
    }
}

impl FromStr for SignedHead {
    type Err = NotAHead;

    fn from_str(line: &str) -> Result<Self, NotAHead> {
        let parsed = || {
            let mut words = line.split(' ');
            let session = words.next()?.parse().ok()?;
            let seq = Seq(words.next()?.parse().ok()?);
            let (digest, salt) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let size = words.next()?.parse().ok()?;
            let peaks = words.map(str::parse).collect::<Result<_, _>>().ok()?;
            Some(Self { session, seq, digest, salt, batches: Frontier::from_parts(size, peaks)? })
        };
        // One text for each head: other spellings of a number or an id are refused.
        parsed().filter(|head: &Self| head.to_string() == line).ok_or(NotAHead { line: 1 })
    }
}

impl HeadList {
    /// Reads the first `size` lines; what is behind them was not signed.
    ///
    /// # Errors
    /// When a line is missing or malformed.
    pub fn parse(text: &str, size: u64) -> Result<Self, NotAHead> {
        let mut list = Self::default();
        let mut lines = text.split_inclusive('\n');
        for number in 1..=usize::try_from(size).unwrap_or(usize::MAX) {
            let wrong = NotAHead { line: number };
            let line = lines.next().and_then(|line| line.strip_suffix('\n')).ok_or(wrong)?;
            list.push(line.parse().map_err(|_| wrong)?);
        }
        Ok(list)
    }

    /// Appends a head.
    pub fn push(&mut self, head: SignedHead) {
        self.latest.insert(head.session, self.heads.len());
        self.heads.push(head);
    }

    /// All heads, oldest first.
    pub fn heads(&self) -> &[SignedHead] {
        &self.heads
    }

    /// The newest head of a session, and its place among all.
    pub fn latest(&self, session: SessionId) -> Option<(usize, &SignedHead)> {
        let at = *self.latest.get(&session)?;
        Some((at, self.heads.get(at)?))
    }

    /// The hash of each leaf.
    pub fn hashes(&self) -> Vec<TreeHash> {
        self.heads.iter().map(SignedHead::hash).collect()
    }
}

impl fmt::Display for HeadList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.heads.iter().try_for_each(|head| writeln!(f, "{head}"))
    }
}
