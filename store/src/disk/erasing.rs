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
use super::folder::Folder;
use super::folder::files::{Disk, read_whole, write_whole};
use super::folder::identity::Identity;
use super::folder::layout::Layout;
use super::index::rebuild;
use super::journal::SegmentWriter;
use super::journal::frame::{self, FrameKind, Scan};
use super::journal::segment::{self, Segment};
use super::sessions::{checked, number, take};
use super::state::Tuning;
use annals_core::event::ErasureEvent;
use annals_core::{Batch, BlobHash, Blobs, Digest, Event, KnownText, Seq, SessionId, SessionKey, codec};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// What removing erased texts came to.
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

/// What the log says about the erased texts of a session.
#[derive(Debug, Default)]
struct ErasedSession {
    /// Which texts.
    texts: BTreeSet<(Seq, String)>,
    /// The last `texts.erased`: batches from there on keep the key that it started.
    last: Seq,
    /// The key of its first batch, if it is still there.
    key: Option<SessionKey>,
}

/// Removes erased texts from a store that is not open.
pub(in crate::disk) struct Eraser<'a> {
    /// The file layer.
    pub disk: &'a Arc<dyn Disk>,
    /// Where things lie.
    pub layout: &'a Layout,
    /// The folder, held open.
    pub folder: &'a Folder,
    /// Which store it is.
    pub identity: &'a Identity,
    /// Sizes.
    pub tuning: &'a Tuning,
    /// The blobs of the store.
    pub blobs: &'a dyn Blobs,
    /// Hears how many segments are done, of how many.
    pub progress: &'a dyn Fn(usize, usize),
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
        let sessions = self.survey(segments)?;
        let mut erased = ErasedCopies::default();
        let mut named: BTreeMap<BlobHash, BTreeSet<SessionId>> = BTreeMap::new();
        let ends = segments.iter().skip(1).map(|next| next.first).chain([u64::MAX]);
        for (index, (segment, end)) in segments.iter().zip(ends).enumerate() {
            (self.progress)(index, segments.len());
            let again = self.rewritten(segment, end, pending, &sessions, &mut named, &mut erased)?;
            if let Some(out) = again {
                segment.write_again(&**self.disk, &self.layout.journal(), self.tuning.segment_bytes, &out)?;
                erased.segments += 1;
                if end == u64::MAX && writer.is_some() {
                    let room = segment.file().len()?;
                    *writer = Some(SegmentWriter::resume(segment.clone(), out.len() as u64, room));
                }
            }
        }
        self.remove_blobs(pending, named, &mut erased)?;
        self.remove_derived(&mut erased)?;
        (self.progress)(segments.len(), segments.len());
        Ok(erased)
    }

    /// The texts that the log says are erased.
    fn survey(&self, segments: &[Arc<Segment>]) -> io::Result<BTreeMap<SessionId, ErasedSession>> {
        let mut sessions: BTreeMap<SessionId, ErasedSession> = BTreeMap::new();
        let mut keys: BTreeMap<SessionId, SessionKey> = BTreeMap::new();
        let ends = segments.iter().skip(1).map(|next| next.first).chain([u64::MAX]);
        for (segment, end) in segments.iter().zip(ends) {
            let bytes = segment.load()?;
            for batch in batches(segment, &bytes, end) {
                match batch.events.first() {
                    Some(Event::Erasure(ErasureEvent::TextsErased(texts))) => {
                        let session = sessions.entry(batch.session).or_default();
                        session.texts.extend(texts.what.iter().map(|text| (text.seq, text.place.clone())));
                        session.last = batch.first;
                        session.key = keys.get(&batch.session).copied();
                    }
                    Some(event) if event.begins() => {
                        keys.extend(batch.session_key().map(|key| (batch.session, key)));
                    }
                    _ => {}
                }
            }
        }
        Ok(sessions)
    }

    /// The bytes of a segment without the erased texts; `None` when it holds none of them.
    fn rewritten(
        &self,
        segment: &Segment,
        end: u64,
        pending: &PendingErasure,
        sessions: &BTreeMap<SessionId, ErasedSession>,
        named: &mut BTreeMap<BlobHash, BTreeSet<SessionId>>,
        erased: &mut ErasedCopies,
    ) -> io::Result<Option<Vec<u8>>> {
        let bytes = segment.load()?;
        let mut out = segment::header(segment.first, self.identity.id).to_vec();
        let (mut changed, mut next) = (false, segment.first);
        for found in frame::scan(&bytes, segment::HEADER) {
            let Scan::Frame(_, frame) = found else { continue };
            // What a failed write left behind the end of the segment may hold any text.
            if frame.position < next || frame.position >= end {
                changed = true;
                continue;
            }
            next = frame.next();
            let decoded = match frame.kind {
                FrameKind::Batch => codec::decode(frame.payload).ok(),
                FrameKind::Gap => None,
            };
            let Some(batch) = decoded else {
                out.extend_from_slice(frame.bytes);
                continue;
            };
            let again = match sessions.get(&batch.session).filter(|session| batch.first < session.last) {
                Some(session) => self.without_texts(&batch, session, pending)?,
                None => None,
            };
            let left = match again {
                Some((batch, encoded, texts)) => {
                    frame::write(&mut out, FrameKind::Batch, frame.in_group, frame.position, &encoded);
                    (changed, erased.batches, erased.texts) = (true, erased.batches + 1, erased.texts + texts);
                    batch
                }
                None => {
                    out.extend_from_slice(frame.bytes);
                    batch
                }
            };
            for blob in left.blobs().into_iter().map(|named| named.blob).filter(|blob| pending.blobs.contains(blob)) {
                named.entry(blob).or_default().insert(left.session);
            }
        }
        Ok(changed.then_some(out))
    }

    /// A batch of a session without its erased texts, its codec form, and how many texts went; `None` when nothing is to be done.
    fn without_texts(
        &self,
        batch: &Batch,
        session: &ErasedSession,
        pending: &PendingErasure,
    ) -> io::Result<Option<(Batch, Vec<u8>, u64)>> {
        let is_erased = |seq: Seq, place: &str| session.texts.contains(&(seq, place.to_owned()));
        let wrong = |what: String| {
            let (session, seq) = (batch.session, batch.first);
            io::Error::other(format!("session {session}, event {seq}: {what}"))
        };
        let before = absent(batch);
        let own_keys = batch.has_own_keys(self.blobs).map_err(|error| wrong(error.to_string()))?;
        let seq_of = |event: u32| batch.first.plus(u64::from(event));
        let mut chosen = batch.states.iter().filter(|state| is_erased(seq_of(state.event), &state.place));
        let done = chosen.all(|state| matches!(state.known, KnownText::Absent(it) if it.erased));
        if own_keys && done {
            return Ok(None);
        }
        let key = batch.session_key().or_else(|| pending.keys.get(&batch.session).copied()).or(session.key);
        let erased = batch.erase(key.as_ref(), self.blobs, &is_erased).map_err(|error| wrong(error.to_string()))?;
        let packed = erased.pack().map_err(|error| wrong(error.to_string()))?;
        for (hash, text) in &packed.blobs {
            // They were blobs before, under these names.
            if self.blobs.text(hash).as_ref() != Some(text) {
                return Err(wrong(format!("blob {hash} is not in the store")));
            }
        }
        let digest = packed.batch.compute_digest(None, self.blobs).map_err(|error| wrong(error.to_string()))?;
        if digest != batch.digest {
            return Err(wrong("its digest would change".to_owned()));
        }
        let texts = absent(&packed.batch).saturating_sub(before);
        Ok(Some((packed.batch, packed.encoded, texts)))
    }

    fn remove_blobs(
        &self,
        pending: &PendingErasure,
        named: BTreeMap<BlobHash, BTreeSet<SessionId>>,
        erased: &mut ErasedCopies,
    ) -> io::Result<()> {
        let files = BlobFiles::new(self.disk.clone(), self.layout.blobs());
        for blob in pending.blobs.iter().filter(|blob| !named.contains_key(*blob)) {
            match self.disk.remove(&files.path(blob)) {
                Ok(()) => erased.blobs += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        for (path, _) in files.list()?.unfinished {
            self.disk.remove(&path)?;
            erased.set_aside += 1;
        }
        erased.shared = named;
        Ok(())
    }

    /// Removes what is derived from the log, or was set aside: sled, saved views, damaged files.
    fn remove_derived(&self, erased: &mut ErasedCopies) -> io::Result<()> {
        for damaged in self.disk.list(&self.layout.damaged())? {
            tracing::debug!(file = %damaged.name, "a file that was set aside is removed: it may hold an erased text");
            erased.set_aside += 1;
        }
        let derived = [self.layout.damaged(), self.layout.cache()];
        for path in derived.into_iter().chain(rebuild::folders(self.layout)) {
            match std::fs::remove_dir_all(self.folder.reach_inside(&path)?) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        match self.disk.remove(&self.layout.checkpoint()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.disk.sync_dir(&self.layout.dir)
    }
}

/// How many texts of a batch are absent.
fn absent(batch: &Batch) -> u64 {
    batch.states.iter().filter(|state| matches!(state.known, KnownText::Absent(it) if it.erased)).count() as u64
}

/// The batches of a segment, in order.
fn batches<'a>(segment: &Segment, bytes: &'a [u8], end: u64) -> impl Iterator<Item = Batch> + use<'a> {
    let mut next = segment.first;
    frame::scan(bytes, segment::HEADER).filter_map(move |found| {
        let Scan::Frame(_, frame) = found else { return None };
        if frame.position < next || frame.position >= end {
            return None;
        }
        next = frame.next();
        (frame.kind == FrameKind::Batch).then(|| codec::decode(frame.payload).ok()).flatten()
    })
}
