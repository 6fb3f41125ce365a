//! Removing erased texts from every copy of the log (`docs/reference/erasure.md`).
//!
//! ```text
//! file `erasing` ──1──► texts.erased appended ──2──► closed ──3──► opened: thorough recovery ──4──► segments written again
//! (keys, blobs)          (journal, as always)                      (both copies are whole)           (one after the other)
//!      ──5──► blobs, cache, damaged, sled removed ──6──► `erasing` removed ──7──► sled rebuilt from the journal
//!
//! 1        nothing was erased: the next opening finds no new texts.erased, and removes the file
//! 2, 3     the next opening finishes the erasure
//! 4, 5     the same: what is erased already is skipped. The keys of the sessions are in `erasing` until no record needs them
//! 6, 7     sled is missing, and rebuilt by the next opening
//! ```
//! When a segment cannot be written again (a full disk), the store opens with a remark, and the next opening tries again.

use super::blobs::BlobFiles;
use super::folder::files::{Disk, read_whole, write_whole};
use super::folder::layout::Layout;
use super::index::private_copy::remove_abandoned;
use super::index::rebuild;
use super::journal::SegmentWriter;
use super::journal::segment::Segment;
use super::rewriting::{self, BatchRewrite, Rewriter, RewrittenBatch};
use super::sessions::{checked, number, take};
use crate::text_removal::{ErasedSession, without_texts};
use annals_core::{Batch, BlobHash, Blobs, Digest, SessionId, SessionKey};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Result of removing erased texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasedCopies {
    /// How many texts were removed from the log.
    pub texts: u64,
    /// How many batches were written again: every batch of a session with erased texts gets new keys.
    pub batches: u64,
    /// How many segments of the journal were written again.
    pub segments: u64,
    /// How many blobs were removed.
    pub blobs: u64,
    /// The blobs that stay, since other sessions name them, and which.
    pub shared: BTreeMap<BlobHash, BTreeSet<SessionId>>,
    /// How many files were removed that were set aside as damaged, or that a stopped process left.
    pub set_aside: u64,
}

/// What has to be known until an erasure is finished: the file `erasing`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::disk) struct PendingErasure {
    /// The key that each session had before.
    pub keys: BTreeMap<SessionId, SessionKey>,
    /// The blobs of erased texts.
    pub blobs: BTreeSet<BlobHash>,
}

const MAGIC: [u8; 8] = *b"\xFFAneras1";

impl PendingErasure {
    /// Makes it durable.
    pub fn save(&self, disk: &dyn Disk, layout: &Layout) -> io::Result<()> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&(self.keys.len() as u64).to_le_bytes());
        for (session, key) in &self.keys {
            out.extend_from_slice(&session.0);
            out.extend_from_slice(&key.0);
        }
        out.extend_from_slice(&(self.blobs.len() as u64).to_le_bytes());
        for blob in &self.blobs {
            out.extend_from_slice(&blob.0);
        }
        out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
        write_whole(disk, &layout.erasing(), &out)
    }

    /// Reads it; `None` when no erasure is pending. A damaged one reads as empty: the log knows most of what is in it.
    pub fn load(disk: &dyn Disk, layout: &Layout) -> io::Result<Option<Self>> {
        match read_whole(disk, &layout.erasing()) {
            Ok(bytes) => Ok(Some(Self::decode(&bytes).unwrap_or_default())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = checked(bytes)?.strip_prefix(&MAGIC)?;
        let mut pending = Self::default();
        for _ in 0..number(&mut rest)? {
            pending.keys.insert(SessionId(take(&mut rest)?), SessionKey(take(&mut rest)?));
        }
        for _ in 0..number(&mut rest)? {
            pending.blobs.insert(Digest(take(&mut rest)?));
        }
        rest.is_empty().then_some(pending)
    }

    /// Forgets it: everything is erased.
    pub fn remove(disk: &dyn Disk, layout: &Layout) -> io::Result<()> {
        disk.remove(&layout.erasing())?;
        disk.sync_dir(&layout.dir)
    }
}

/// Removes erased texts from a store that is being opened.
pub(in crate::disk) struct Eraser<'a> {
    /// Writes the segments.
    pub rewriter: &'a Rewriter<'a>,
    /// The blobs of the store.
    pub blobs: &'a dyn Blobs,
}

impl Eraser<'_> {
    /// Writes the segments that hold erased texts again, and removes what else may hold one; sled goes as a whole. `writer` is
    /// where the journal continues. Everything in the journal must be whole, as a thorough recovery leaves it.
    ///
    /// # Errors
    /// When the disk refuses; the same call may be made again later.
    pub fn run(
        &self,
        pending: &PendingErasure,
        segments: &[Arc<Segment>],
        writer: &mut Option<SegmentWriter>,
    ) -> io::Result<ErasedCopies> {
        let sessions = rewriting::erased_texts(segments)?;
        let (erased, named) = (ErasedCopies::default(), BTreeMap::new());
        let mut removal = TextRemoval { sessions, pending, blobs: self.blobs, named, erased };
        let segments = self.rewriter.run(segments, writer, &mut removal)?;
        let TextRemoval { named, mut erased, .. } = removal;
        erased.segments = segments;
        self.remove_blobs(pending, named, &mut erased)?;
        self.remove_set_aside(&mut erased)?;
        self.rewriter.remove_derived()?;
        Ok(erased)
    }

    fn remove_blobs(
        &self,
        pending: &PendingErasure,
        named: BTreeMap<BlobHash, BTreeSet<SessionId>>,
        erased: &mut ErasedCopies,
    ) -> io::Result<()> {
        let Rewriter { disk, layout, .. } = self.rewriter;
        let files = BlobFiles::new((*disk).clone(), layout.blobs());
        let mut folders = BTreeSet::new();
        for blob in pending.blobs.iter().filter(|blob| !named.contains_key(*blob)) {
            let path = files.path(blob);
            match disk.remove(&path) {
                Ok(()) => erased.blobs += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            folders.extend(path.parent().map(Path::to_owned));
        }
        for (path, _) in files.list()?.unfinished {
            disk.remove(&path)?;
            erased.set_aside += 1;
            folders.extend(path.parent().map(Path::to_owned));
        }
        // Before `erasing` is removed: a power cut must not bring a text back that nothing looks for any more.
        for folder in folders {
            match disk.sync_dir(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        erased.shared = named;
        Ok(())
    }

    /// Removes damaged files that were set aside: they may hold an erased text.
    fn remove_set_aside(&self, erased: &mut ErasedCopies) -> io::Result<()> {
        let Rewriter { disk, layout, folder, .. } = self.rewriter;
        for damaged in disk.list(&layout.damaged())? {
            tracing::debug!(file = %damaged.name, "a file that was set aside is removed: it may hold an erased text");
            erased.set_aside += 1;
        }
        // Older versions copied sled there under a name.
        remove_abandoned();
        rebuild::remove_folder(folder, &layout.damaged())
    }
}

/// Takes erased texts out of batches.
struct TextRemoval<'a> {
    sessions: BTreeMap<SessionId, ErasedSession>,
    pending: &'a PendingErasure,
    blobs: &'a dyn Blobs,
    /// The blobs of erased texts that batches name afterwards, and whose.
    named: BTreeMap<BlobHash, BTreeSet<SessionId>>,
    erased: ErasedCopies,
}

impl BatchRewrite for TextRemoval<'_> {
    const REMOVES_STRAYS: bool = true;

    fn rewrite(&mut self, batch: &Batch) -> io::Result<Option<RewrittenBatch>> {
        let Some(session) = self.sessions.get(&batch.session).filter(|session| batch.first < session.last) else {
            return Ok(None);
        };
        let key = self.pending.keys.get(&batch.session).copied().or(session.key);
        let Some(removed) = without_texts(batch, session, key, self.blobs)? else { return Ok(None) };
        self.erased.batches += 1;
        self.erased.texts += removed.texts;
        Ok(Some((removed.batch, removed.encoded)))
    }

    fn after(&mut self, batch: &Batch) {
        for blob in batch.blobs().into_iter().map(|named| named.blob).filter(|blob| self.pending.blobs.contains(blob)) {
            self.named.entry(blob).or_default().insert(batch.session);
        }
    }
}
