//! sled, used so that its faults cannot hurt (`docs/durability.md#why-two-copies-and-why-sled-is-not-trusted`).
//!
//! One tree; key = Session ++ first Seq, value = the frame of the journal as a [`record`]. Never `flush_async`; opened in
//! a thread of its own, since a damaged file makes it panic; every call that reads is guarded the same way.

use super::record;
use crate::disk::folder::Folder;
use crate::disk::folder::files::{Access, Disk};
use crate::disk::journal::frame::{self, Frame, FrameKind};
use annals_core::codec::{self, BatchHeader};
use annals_core::{Seq, SessionId};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The length of a key.
const KEY: usize = 24;

/// How often it is tried to open a database whose handle before is still held, at 25 ms each: longer than any one read.
const TRIES: u32 = 400;

/// An open sled database.
#[derive(Clone, Debug)]
pub struct SledTree {
    db: sled::Db,
    path: PathBuf,
    /// sled opens files by a path that goes through it.
    _folder: Option<Arc<Folder>>,
}

/// sled refused or broke.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SledError {
    /// It said so.
    #[error("{}", message(.0))]
    Sled(#[from] sled::Error),
    /// It panicked: its files are damaged.
    #[error("sled stopped with a panic: its files are damaged")]
    Panicked,
    /// Another batch is where this one belongs.
    #[error("session {session}, event {seq}: sled contains another batch")]
    Taken {
        /// Whose place.
        session: SessionId,
        /// Which Seq.
        seq: Seq,
    },
    /// Something in its folder is not what belongs there, or the folder cannot be used.
    #[error("{0}")]
    Folder(#[source] Arc<io::Error>),
    /// Its file could not be flushed.
    #[error("sled's file could not be flushed: {0}")]
    Flush(#[source] Arc<io::Error>),
}

/// The message of an error of sled.
fn message(error: &sled::Error) -> String {
    match error {
        sled::Error::Corruption { .. } => "its files are damaged".to_owned(),
        sled::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// The key of a batch.
pub fn key(session: SessionId, first: Seq) -> [u8; KEY] {
    let mut key = [0; KEY];
    key[..16].copy_from_slice(&session.0);
    key[16..].copy_from_slice(&first.0.to_be_bytes());
    key
}

/// The frame of a record of sled, checked against its key.
pub fn checked<'a>(key: &[u8], frame: &'a [u8]) -> Option<(Frame<'a>, BatchHeader)> {
    let frame = frame::parse(frame).ok().filter(|frame| frame.kind == FrameKind::Batch)?;
    let header = codec::decode_header(frame.payload).ok()?;
    (key == self::key(header.session, header.first)).then_some((frame, header))
}

fn guarded<T>(call: impl FnOnce() -> Result<T, sled::Error>) -> Result<T, SledError> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|_| SledError::Panicked)?.map_err(SledError::Sled)
}

/// Takes the rights of others from the files in a folder: sled makes them with those of the umask.
fn make_private(folder: &Path) -> io::Result<()> {
    for entry in folder.read_dir()? {
        let entry = entry?;
        let metadata = match entry.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
            std::fs::set_permissions(entry.path(), std::fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

/// The segment size that a database was made with: sled opens it with no other.
fn made_with(path: &Path) -> Option<usize> {
    let kept = std::fs::read(path.join("conf")).ok()?;
    let size =
        String::from_utf8_lossy(&kept).lines().find_map(|line| line.strip_prefix("segment_size: ")?.parse().ok());
    size.filter(|size: &usize| size.is_power_of_two() && (256..=16 << 20).contains(size))
}

impl SledTree {
    /// Opens or creates the database at a path in the folder of a store, also after the folder was moved. It is for the user
    /// alone with every umask, and no link in it is followed.
    pub fn open_in(
        folder: &Arc<Folder>,
        disk: &dyn Disk,
        path: &Path,
        cache: u64,
        segment: usize,
    ) -> Result<Self, SledError> {
        let failed = |error: io::Error| SledError::Folder(error.into());
        let blobs = path.join("blobs");
        for made in [path, &blobs] {
            disk.create_dir(made).map_err(failed)?;
            folder.has_no_links(made).map_err(failed)?;
        }
        let reached = folder.reach_inside(path).map_err(failed)?;
        let opened = Self::open(&reached, cache, segment)?;
        make_private(&reached).map_err(failed)?;
        Ok(Self { path: path.to_owned(), _folder: Some(folder.clone()), ..opened })
    }

    /// Opens or makes the database.
    pub fn open(path: &Path, cache: u64, segment: usize) -> Result<Self, SledError> {
        let segment = made_with(path).unwrap_or(segment);
        let config = sled::Config::new().path(path).cache_capacity(cache).segment_size(segment).flush_every_ms(None);
        for tries in 0.. {
            let config = config.clone();
            let opening = std::thread::Builder::new().name("annals-sled-open".into()).spawn(move || config.open());
            let opened = opening.map_err(|error| SledError::Flush(error.into()))?.join();
            match opened.map_err(|_| SledError::Panicked)? {
                // A reader of the previous handle may keep it for a moment longer; that is not damage.
                Err(sled::Error::Io(error)) if tries < TRIES && error.to_string().contains("acquire lock") => {
                    std::thread::sleep(std::time::Duration::from_millis(25));
                }
                opened => return Ok(Self { db: opened?, path: path.to_owned(), _folder: None }),
            }
        }
        Err(SledError::Panicked)
    }

    /// Inserts a frame. True when it was new, false when exactly this was there.
    pub fn insert(&self, session: SessionId, first: Seq, frame: &[u8]) -> Result<bool, SledError> {
        let (key, record) = (key(session, first), record::of(frame));
        match guarded(|| self.db.compare_and_swap(key, None as Option<&[u8]>, Some(&*record)))? {
            Ok(()) => Ok(true),
            Err(taken) => match taken.current {
                // Compared unpacked: another version may have compressed it in another way.
                Some(found) if record::frame(&found, &mut Vec::new()) == frame => Ok(false),
                // Reserved, and never given what belongs there.
                Some(found) if found.is_empty() => self.replace(session, first, frame).map(|()| true),
                _ => Err(SledError::Taken { session, seq: first }),
            },
        }
    }

    /// Puts a frame in the place of a damaged one.
    pub fn replace(&self, session: SessionId, first: Seq, frame: &[u8]) -> Result<(), SledError> {
        guarded(|| self.db.insert(key(session, first), &*record::of(frame))).map(drop)
    }

    /// Makes the place of a record that [`SledTree::replace`] will put there. sled writes a leaf anew whenever it splits; when
    /// the leaves are there before what they hold, each record is written once.
    pub fn reserve(&self, session: SessionId, first: Seq) -> Result<(), SledError> {
        guarded(|| self.db.insert(key(session, first), &[])).map(drop)
    }

    /// The last record of a session's own log that begins at `at` or before.
    pub fn at_or_before(&self, session: SessionId, at: Seq) -> Result<Option<(sled::IVec, sled::IVec)>, SledError> {
        let range = key(session, Seq::ZERO)..=key(session, at);
        guarded(|| self.db.range(range).next_back().transpose())
    }

    /// The position behind the newest of each session's last records: how far sled goes at least.
    pub fn reaches(&self) -> u64 {
        let (mut reaches, mut room) = (0, Vec::new());
        let mut from: sled::IVec = (&[]).into();
        let walked = guarded(|| {
            while let Some(record) = self.db.range(from.clone()..).next() {
                let (at, _) = record?;
                let Some(session) = at.get(..16).and_then(|id| id.try_into().ok()).map(SessionId) else { break };
                let last = key(session, Seq(u64::MAX));
                if let Some(record) = self.db.range(..=last).next_back() {
                    let (at, value) = record?;
                    let frame = record::frame(&value, &mut room);
                    reaches = checked(&at, frame).map_or(reaches, |(frame, _)| reaches.max(frame.position + 1));
                }
                let mut beyond = last.to_vec();
                beyond.push(0);
                from = beyond.into();
            }
            Ok(())
        });
        if let Err(error) = walked {
            tracing::warn!(%error, "sled could not be read to its end");
        }
        reaches
    }

    /// Up to `limit` records of a session from the one that holds `from` on. Ends before an error, which is given.
    pub fn forwards(&self, session: SessionId, from: Seq, limit: usize) -> (Records, Option<SledError>) {
        // Mostly a batch begins there: one look is enough.
        let exact = key(session, from);
        let at = match guarded(|| self.db.get(exact)) {
            Ok(Some(value)) => Ok(Some((sled::IVec::from(&exact), value))),
            Ok(None) => self.at_or_before(session, from),
            Err(error) => Err(error),
        };
        let start = match at {
            Ok(Some(record)) if limit == 1 => return (vec![record], None),
            Ok(found) => found.map_or_else(|| sled::IVec::from(&exact), |(key, _)| key),
            Err(error) => return (Vec::new(), Some(error)),
        };
        let mut found = Vec::with_capacity(limit.min(1024));
        let end: sled::IVec = (&key(session, Seq(u64::MAX))).into();
        let result = guarded(|| {
            for record in self.db.range(start..=end).take(limit) {
                found.push(record?);
            }
            Ok(())
        });
        (found, result.err())
    }

    /// Up to `limit` records of a session that begin before `before`, newest first.
    pub fn backwards(&self, session: SessionId, before: Seq, limit: usize) -> (Records, Option<SledError>) {
        let mut found = Vec::with_capacity(limit.min(1024));
        let range = key(session, Seq::ZERO)..key(session, before);
        let result = guarded(|| {
            for record in self.db.range(range).rev().take(limit) {
                found.push(record?);
            }
            Ok(())
        });
        (found, result.err())
    }

    /// The frames of the batches at some positions (rising ranges), read in one pass; what was found before an error, and the
    /// error.
    pub fn at_positions(&self, positions: &[Range<u64>]) -> (BTreeMap<u64, Vec<u8>>, Option<SledError>) {
        let (mut found, mut room) = (BTreeMap::new(), Vec::new());
        let wanted = positions.iter().fold(0u64, |sum, range| sum.saturating_add(range.end - range.start));
        let within = |position: u64| {
            let behind = positions.partition_point(|range| range.start <= position);
            behind.checked_sub(1).and_then(|at| positions.get(at)).is_some_and(|range| position < range.end)
        };
        let walked = guarded(|| {
            for record in self.db.iter() {
                if found.len() as u64 == wanted {
                    break;
                }
                let (key, value) = record?;
                if let Some((frame, _)) = checked(&key, record::frame(&value, &mut room))
                    && within(frame.position)
                {
                    found.insert(frame.position, frame.bytes.to_vec());
                }
            }
            Ok(())
        });
        (found, walked.err())
    }

    /// Gives the key and the frame of every record that can be read to `each`; ends at the first error, which is given.
    pub fn every(&self, mut each: impl FnMut(&[u8], &[u8])) -> Option<SledError> {
        let mut room = Vec::new();
        guarded(|| {
            for record in self.db.iter() {
                let (key, value) = record?;
                each(&key, record::frame(&value, &mut room));
            }
            Ok(())
        })
        .err()
    }

    /// Makes everything inserted so far durable: `flush` alone does not (on Linux it does not flush the device).
    pub fn checkpoint(&self, disk: &dyn Disk) -> Result<(), SledError> {
        guarded(|| self.db.flush())?;
        let flushed = disk.open(&self.path.join("db"), Access::Write).and_then(|file| file.sync_data());
        flushed.map_err(|error| SledError::Flush(error.into()))
    }

    /// Makes a new database's files and names durable.
    pub fn settle(&self, disk: &dyn Disk) -> Result<(), SledError> {
        self.checkpoint(disk)?;
        let settle = || {
            disk.open(&self.path.join("conf"), Access::Write)?.sync_data()?;
            disk.sync_dir(&self.path)?;
            self.path.parent().map_or(Ok(()), |parent| disk.sync_dir(parent))
        };
        settle().map_err(|error: io::Error| SledError::Flush(error.into()))
    }
}

/// Keys and values as sled holds them.
pub type Records = Vec<(sled::IVec, sled::IVec)>;
