//! The sessions of a store, in memory: how each begins and where it ends; and the file that keeps them at rotation and
//! shutdown, so that opening reads only what came later.

use crate::disk::folder::files::{Disk, read_whole, write_whole};
use crate::lineage::Birth;
use crate::log::session_pages::behind;
use crate::log::{Head, PageToken, SessionHead, SessionListPage};
use annals_core::codec::BatchHeader;
use annals_core::{Digest, Seq, SessionId, Time};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// A Session's own log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionState {
    /// How it begins.
    pub birth: Birth,
    /// Where it ends.
    pub head: Head,
    /// Set when the last batch is damaged in every copy: nothing can be appended any more, only forked.
    pub lost: bool,
}

/// Every session up to a position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionHeads {
    /// The first position that is not in the list.
    pub next: u64,
    /// By id.
    pub own: BTreeMap<SessionId, SessionState>,
}

const MAGIC: [u8; 8] = *b"\xFFAnhead1";

impl SessionHeads {
    /// Takes in a batch by its header. `birth` is asked when its session is new.
    pub fn take(&mut self, header: &BatchHeader, position: u64, birth: impl FnOnce() -> Birth) {
        let head = Head { next: header.next(), digest: header.digest, at: header.at };
        self.next = self.next.max(position + 1);
        match self.own.get_mut(&header.session) {
            Some(own) => own.head = head,
            None => drop(self.own.insert(header.session, SessionState { birth: birth(), head, lost: false })),
        }
    }

    /// Sessions by id, and where each ends.
    pub fn page(&self, from: Option<PageToken>, limit: usize) -> SessionListPage {
        let heads = self.own.range(behind(from)).take(limit.saturating_add(1));
        let heads = heads.map(|(session, own)| SessionHead { session: *session, head: own.head });
        SessionListPage::of(heads.collect(), limit)
    }

    /// Makes the list durable.
    pub fn save(&self, disk: &dyn Disk, path: &Path) -> io::Result<()> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&self.next.to_le_bytes());
        out.extend_from_slice(&(self.own.len() as u64).to_le_bytes());
        for (session, own) in &self.own {
            out.extend_from_slice(&session.0);
            out.extend_from_slice(&own.birth.first.0.to_le_bytes());
            out.push(u8::from(own.birth.parent.is_some()));
            out.extend_from_slice(&own.birth.parent.map_or([0; 16], |parent| parent.0));
            out.extend_from_slice(&own.head.next.0.to_le_bytes());
            out.extend_from_slice(&own.head.digest.0);
            out.extend_from_slice(&own.head.at.0.to_le_bytes());
            out.push(u8::from(own.lost));
        }
        out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
        write_whole(disk, path, &out)
    }

    /// Reads the list; `None` when it is missing or damaged.
    pub fn load(disk: &dyn Disk, path: &Path) -> io::Result<Option<Self>> {
        match read_whole(disk, path) {
            Ok(bytes) => Ok(Self::decode(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = checked(bytes)?.strip_prefix(&MAGIC)?;
        let next = number(&mut rest)?;
        let mut own = BTreeMap::new();
        for _ in 0..number(&mut rest)? {
            let session = SessionId(take(&mut rest)?);
            let first = Seq(number(&mut rest)?);
            let [forked] = take(&mut rest)?;
            let parent = SessionId(take(&mut rest)?);
            let birth = Birth { first, parent: (forked == 1).then_some(parent) };
            let next = Seq(number(&mut rest)?);
            let digest = Digest(take(&mut rest)?);
            let at = Time(number(&mut rest)?);
            let [lost] = take(&mut rest)?;
            own.insert(session, SessionState { birth, head: Head { next, digest, at }, lost: lost == 1 });
        }
        rest.is_empty().then_some(Self { next, own })
    }
}

/// How far sled is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// Every batch below this position is durable in sled.
    pub next: u64,
}

impl Checkpoint {
    /// Makes it durable.
    pub fn save(self, disk: &dyn Disk, path: &Path) -> io::Result<()> {
        let mut out = b"\xFFAnchck1".to_vec();
        out.extend_from_slice(&self.next.to_le_bytes());
        out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
        write_whole(disk, path, &out)
    }

    /// Reads it; `None` when it is missing or damaged.
    pub fn load(disk: &dyn Disk, path: &Path) -> io::Result<Option<Self>> {
        match read_whole(disk, path) {
            Ok(bytes) => Ok(checked(&bytes)
                .and_then(|body| body.strip_prefix(b"\xFFAnchck1"))
                .and_then(|mut rest| number(&mut rest))
                .map(|next| Self { next })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The bytes before the CRC32C that ends `bytes`, if it matches.
pub(super) fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let (body, sum) = bytes.split_last_chunk::<4>()?;
    (crc32c::crc32c(body) == u32::from_le_bytes(*sum)).then_some(body)
}

/// The next `N` bytes.
pub(super) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (found, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*found)
}

/// The next number.
pub(super) fn number(rest: &mut &[u8]) -> Option<u64> {
    take(rest).map(u64::from_le_bytes)
}
