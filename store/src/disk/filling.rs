//! Filling in texts that were withheld, from a fuller export (`docs/reference/erasure.md#filling-in`).
//!
//! ```text
//! file `filling` ──1──► closed ──2──► opened: thorough recovery ──3──► cache, sled removed ──4──► segments written again
//! (batches with their texts; blobs are there)   (both copies are whole)                         (one after the other)
//!      ──5──► `filling` removed ──6──► sled rebuilt from the journal
//!
//! 1 to 4   the next opening finishes it: what is filled in already is skipped
//! 5, 6     sled is missing, and rebuilt by the next opening
//! ```
//! The file is trusted with nothing: each text is compared with its commitment again, and one that was erased meanwhile is skipped.

use super::folder::files::{Access, Disk, DiskFile};
use super::folder::layout::Layout;
use super::journal::SegmentWriter;
use super::journal::segment::Segment;
use super::rewriting::{self, BatchRewrite, Rewriter, RewrittenBatch};
use crate::text_removal::ErasedSession;
use annals_core::batch::{RECORD_MAX, STATES_MAX};
use annals_core::{Batch, Blobs, FillKeys, Seq, SessionId, SessionKey, codec};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// Result of filling in withheld texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilledTexts {
    /// How many texts each session got.
    pub sessions: BTreeMap<SessionId, u64>,
    /// The sessions whose key is in the store now and was not before.
    pub keys: BTreeSet<SessionId>,
    /// How many batches were written again.
    pub batches: u64,
    /// How many segments of the journal were written again.
    pub segments: u64,
}

const MAGIC: [u8; 8] = *b"\xFFAnfill1";

/// The bytes before the content of a record: its length and its CRC32C.
const RECORD: usize = 8;

/// Writes the file `filling`: `length u32 | crc32c u32 | (0, or 1 and the key of the session) | the batch`, for each batch.
#[derive(Debug)]
pub(crate) struct FillingWriter {
    disk: Arc<dyn Disk>,
    layout: Layout,
    file: Arc<dyn DiskFile>,
    end: u64,
}

impl FillingWriter {
    /// Begins a file that is not read before [`FillingWriter::finish`].
    pub(in crate::disk) fn begin(disk: &Arc<dyn Disk>, layout: &Layout) -> io::Result<Self> {
        let file = disk.open(&layout.filling().with_extension("tmp"), Access::Create)?;
        file.write_at(&MAGIC, 0)?;
        Ok(Self { disk: disk.clone(), layout: layout.clone(), file, end: MAGIC.len() as u64 })
    }

    /// Adds a batch in its codec form, with the key of the session at it if the store may hold that.
    pub fn add(&mut self, key: Option<&SessionKey>, encoded: &[u8]) -> io::Result<()> {
        let mut content = vec![u8::from(key.is_some())];
        content.extend(key.into_iter().flat_map(|key| key.0));
        content.extend_from_slice(encoded);
        let length = u32::try_from(content.len()).map_err(io::Error::other)?;
        let mut record = length.to_le_bytes().to_vec();
        record.extend_from_slice(&crc32c::crc32c(&content).to_le_bytes());
        record.extend_from_slice(&content);
        self.file.write_at(&record, self.end)?;
        self.end += record.len() as u64;
        Ok(())
    }

    /// Makes it durable: from here on the texts are going to be filled in. Without a batch nothing is left.
    pub fn finish(self) -> io::Result<bool> {
        let (path, unfinished) = (self.layout.filling(), self.layout.filling().with_extension("tmp"));
        if self.end == MAGIC.len() as u64 {
            self.disk.remove(&unfinished)?;
            return Ok(false);
        }
        self.file.sync_data()?;
        self.disk.rename(&unfinished, &path)?;
        self.disk.sync_dir(&self.layout.dir)?;
        Ok(true)
    }
}

/// The batches of the file `filling`.
#[derive(Debug)]
pub(in crate::disk) struct PendingFilling {
    file: Arc<dyn DiskFile>,
    /// Where the content of each batch's records is, and how long.
    places: BTreeMap<(SessionId, Seq), Vec<(u64, usize)>>,
}

impl PendingFilling {
    /// Reads where its batches are; `None` when nothing is pending. Removes one that was never finished. What is damaged is skipped:
    /// importing the export again brings it.
    pub fn load(disk: &dyn Disk, layout: &Layout) -> io::Result<Option<Self>> {
        let unfinished = layout.filling().with_extension("tmp");
        let is_unfinished = |name: &str| unfinished.file_name().is_some_and(|unfinished| unfinished == name);
        if disk.list(&layout.dir)?.iter().any(|file| is_unfinished(&file.name)) {
            disk.remove(&unfinished)?;
        }
        let file = match disk.open(&layout.filling(), Access::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut pending = Self { file, places: BTreeMap::new() };
        let mut at = MAGIC.len() as u64;
        if pending.bytes(0, MAGIC.len())?.as_deref() == Some(&MAGIC[..]) {
            while let Some((content, place, next)) = pending.record(at)? {
                pending.places.entry(place).or_default().push((at + RECORD as u64, content));
                at = next;
            }
        }
        if at < pending.file.len()? {
            tracing::warn!("the file `filling` is damaged; import the export again");
        }
        Ok(Some(pending))
    }

    /// Whether one is pending.
    pub fn exists(disk: &dyn Disk, layout: &Layout) -> io::Result<bool> {
        match disk.open(&layout.filling(), Access::Read) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Forgets it: everything is filled in.
    pub fn remove(disk: &dyn Disk, layout: &Layout) -> io::Result<()> {
        disk.remove(&layout.filling())?;
        disk.sync_dir(&layout.dir)
    }

    fn bytes(&self, at: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; length];
        Ok((self.file.read_at(&mut bytes, at)? == length).then_some(bytes))
    }

    /// The length of the content of the record at `at`, which batch it is, and where the next one begins; `None` at the end, or
    /// where it is damaged.
    #[expect(clippy::type_complexity, reason = "one caller")]
    fn record(&self, at: u64) -> io::Result<Option<(usize, (SessionId, Seq), u64)>> {
        let Some(head) = self.bytes(at, RECORD)? else { return Ok(None) };
        let number =
            |from: usize| head.get(from..from + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        let (Some(length), Some(sum)) = (number(0), number(4)) else { return Ok(None) };
        let length = length as usize;
        if length > RECORD_MAX + STATES_MAX + 33 {
            return Ok(None);
        }
        let Some(content) = self.bytes(at + RECORD as u64, length)? else { return Ok(None) };
        let place = split(&content).and_then(|(_, encoded)| codec::place(encoded));
        let place = place.filter(|_| crc32c::crc32c(&content) == sum);
        Ok(place.map(|place| (length, place, at + (RECORD + length) as u64)))
    }

    /// The copies of a batch that have texts for it, each with the key of the session.
    fn fuller(&self, batch: &Batch) -> io::Result<Vec<(Option<SessionKey>, Batch)>> {
        let mut found = Vec::new();
        for (at, length) in self.places.get(&(batch.session, batch.first)).into_iter().flatten() {
            let content = self.bytes(*at, *length)?.unwrap_or_default();
            let read = split(&content).and_then(|(key, encoded)| Some((key, codec::decode(encoded).ok()?)));
            found.extend(read);
        }
        Ok(found)
    }
}

/// The key and the batch of a record.
fn split(content: &[u8]) -> Option<(Option<SessionKey>, &[u8])> {
    match content.split_first()? {
        (0, encoded) => Some((None, encoded)),
        (_, rest) => rest.split_first_chunk::<32>().map(|(key, encoded)| (Some(SessionKey(*key)), encoded)),
    }
}

/// Fills in texts in a store that is being opened.
pub(in crate::disk) struct Filler<'a> {
    /// Writes the segments.
    pub rewriter: &'a Rewriter<'a>,
    /// The blobs of the store.
    pub blobs: &'a dyn Blobs,
}

impl Filler<'_> {
    /// Removes sled and saved views, which have the batches as they were, then writes segments again, oldest first: a key is there
    /// before the batches that need it.
    ///
    /// # Errors
    /// When the disk refuses; the same call may be made again later.
    pub fn run(
        &self,
        pending: &PendingFilling,
        segments: &[Arc<Segment>],
        writer: &mut Option<SegmentWriter>,
    ) -> io::Result<FilledTexts> {
        let sessions = rewriting::erased_texts(segments)?;
        self.rewriter.remove_derived()?;
        let mut additions = TextAdditions { pending, sessions, blobs: self.blobs, filled: FilledTexts::default() };
        additions.filled.segments = self.rewriter.run(segments, writer, &mut additions)?;
        Ok(additions.filled)
    }
}

/// Puts texts into batches.
struct TextAdditions<'a> {
    pending: &'a PendingFilling,
    sessions: BTreeMap<SessionId, ErasedSession>,
    blobs: &'a dyn Blobs,
    filled: FilledTexts,
}

impl BatchRewrite for TextAdditions<'_> {
    const REMOVES_STRAYS: bool = false;

    fn rewrite(&mut self, batch: &Batch) -> io::Result<Option<RewrittenBatch>> {
        let erased = self.sessions.get(&batch.session);
        let is_erased = |seq: Seq, place: &str| erased.is_some_and(|erased| erased.names(seq, place));
        let (mut current, mut encoded) = (batch.clone(), None);
        for (key, fuller) in self.pending.fuller(batch)? {
            // A key that erased texts had is never stored again.
            let kept = key.as_ref().filter(|_| erased.is_none_or(|erased| batch.first >= erased.last));
            let keys = FillKeys { kept, fuller: key.as_ref() };
            let filled = match current.fill(&fuller, keys, self.blobs, &is_erased) {
                Ok(Some(filled)) => filled,
                Ok(None) => continue,
                // It was compared when it was imported: a blob may be gone since. Importing again brings it.
                Err(error) => {
                    tracing::warn!(%error, "a text was not filled in");
                    continue;
                }
            };
            let packed = filled.batch.pack().map_err(io::Error::other)?;
            let missing = packed.batch.blobs().into_iter().find(|named| self.blobs.text(&named.blob).is_none());
            if let Some(named) = missing {
                tracing::warn!(blob = %named.blob, "a text was not filled in: its blob is not in the store");
                continue;
            }
            *self.filled.sessions.entry(batch.session).or_default() += filled.texts;
            self.filled.keys.extend(filled.key.then_some(batch.session));
            (current, encoded) = (packed.batch, Some(packed.encoded));
        }
        Ok(encoded.map(|encoded| {
            self.filled.batches += 1;
            (current, encoded)
        }))
    }

    fn after(&mut self, _: &Batch) {}
}
