//! Filling in texts that were withheld, from exports that have them (`docs/reference/erasure.md#filling-in`).
//!
//! ```text
//! export, verified and imported ─► Filling::add (what the store lacks of it) ─► Filling::commit ─► closed
//!     ─► DiskLog::finish_filling, or any opening that writes: every copy is written again
//! ```
//! An erased text is never filled in, and the key that it had is not stored: other texts get keys of their own.

use crate::disk::DiskLog;
use crate::disk::filling::FillingWriter;
use crate::exchange::{ExportBlobs, Flaw, HeaderKeys, ImportError, Line, digest_of, read_line};
use crate::log::{EventLog, ReadError};
use annals_core::event::ErasureEvent;
use annals_core::exported::Unprovable;
use annals_core::{Batch, Blobs, Digest, Event, FillError, FillKeys, Seq, SessionId, SessionKey};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::sync::Arc;

/// Collects what exports have that the store lacks.
#[derive(Debug)]
pub struct Filling<'a> {
    log: &'a DiskLog,
    writer: FillingWriter,
    erased: BTreeMap<SessionId, ErasedPlaces>,
}

/// What the log says is erased of a session.
#[derive(Debug, Default)]
struct ErasedPlaces {
    texts: BTreeSet<(Seq, String)>,
    /// The last `texts.erased`, if there is one: keys from before it are not stored.
    last: Seq,
}

/// Withheld texts cannot be filled in; the store is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum FillingError {
    /// The log could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The export is damaged.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A text is not the one that was withheld.
    #[error("line {line}: {source}")]
    Fill {
        /// Which line, from 1.
        line: u64,
        /// Which text.
        source: FillError,
    },
    /// The disk refused, or an earlier erasure or filling is unfinished.
    #[error("withheld texts could not be filled in: {0}")]
    Io(#[from] std::io::Error),
}

impl<'a> Filling<'a> {
    /// Begins to collect.
    ///
    /// # Errors
    /// When the disk refuses, or an earlier erasure or filling is unfinished.
    pub fn begin(log: &'a DiskLog) -> Result<Self, FillingError> {
        Ok(Self { log, writer: log.begin_filling()?, erased: BTreeMap::new() })
    }

    /// Adds the texts and keys of an export that was imported: those of batches that the store holds without them.
    pub async fn add(&mut self, source: &mut (dyn BufRead + Send)) -> Result<(), FillingError> {
        let mut batches = ExportBatches::of(source, self.log.blobs());
        while let Some(LineBatch { line, batch, key, digest }) = batches.next()? {
            let (session, seq, expected) = (batch.session, batch.first, batch.digest);
            let flaw = match digest {
                Ok(found) if found == expected => {
                    self.batch(line, batch, key, &mut batches.brought).await?;
                    continue;
                }
                Ok(found) => Flaw::Digest { session, seq, expected, found },
                Err(error @ Unprovable::Key) => Flaw::Key { reason: error.to_string() },
                Err(Unprovable::Blob(blob)) => Flaw::Blob { blob, found: None, reason: "it is missing".into() },
            };
            return Err(ImportError::Damaged { line, flaw }.into());
        }
        Ok(())
    }

    /// Adds what a batch has that the store's copy of it lacks.
    async fn batch(
        &mut self,
        line: u64,
        mut fuller: Batch,
        key: Option<SessionKey>,
        brought: &mut ExportBlobs,
    ) -> Result<(), FillingError> {
        let (session, first) = (fuller.session, fuller.first);
        let Some(stored) = self.log.batch_at(session, first).await? else { return Ok(()) };
        if stored.batch.digest != fuller.digest {
            return Ok(());
        }
        if let (Some(begins), Some(key)) = (fuller.events.first_mut(), key) {
            begins.set_key(key);
        }
        if !self.erased.contains_key(&session) {
            let places = self.erased_places(session).await?;
            self.erased.insert(session, places);
        }
        let own_key = || self.log.session_key(session);
        let erased = self.erased.get(&session);
        let kept = key.or_else(own_key).filter(|_| erased.is_none_or(|erased| first >= erased.last));
        let keys = FillKeys { kept: kept.as_ref(), fuller: key.as_ref() };
        let is_erased =
            |seq: Seq, place: &str| erased.is_some_and(|erased| erased.texts.contains(&(seq, place.to_owned())));
        let failed = |source| FillingError::Fill { line, source };
        let Some(filled) = stored.batch.fill(&fuller, keys, brought, &is_erased).map_err(failed)? else {
            return Ok(());
        };
        let packed = filled.batch.pack().map_err(std::io::Error::other)?;
        let append = |source| FillingError::Import(ImportError::Append { line, source });
        for (_, text) in packed.blobs {
            self.log.put_blob(text).await.map_err(append)?;
        }
        for blob in packed.needed {
            if let Some(text) = brought.give(&blob) {
                self.log.put_blob(text).await.map_err(append)?;
            }
        }
        self.writer.add(kept.as_ref(), &packed.encoded)?;
        Ok(())
    }

    async fn erased_places(&self, session: SessionId) -> Result<ErasedPlaces, ReadError> {
        let mut erased = ErasedPlaces::default();
        let end = self.log.head(session).await?.ok_or(ReadError::NoSession(session))?.next;
        let mut pages = self.log.pages(session, Seq::ZERO..end);
        while let Some(page) = pages.next_page().await? {
            for slice in page.iter().filter(|slice| slice.batch.session == session) {
                if let Some(Event::Erasure(ErasureEvent::TextsErased(texts))) = slice.batch.events.first() {
                    erased.texts.extend(texts.what.iter().map(|text| (text.seq, text.place.clone())));
                    erased.last = slice.batch.first;
                }
            }
        }
        Ok(erased)
    }

    /// Makes what was collected durable. Returns whether there is anything to fill in: then close the store, and call
    /// [`DiskLog::finish_filling`].
    pub fn commit(self) -> Result<bool, FillingError> {
        Ok(self.writer.finish()?)
    }
}

/// Finds the first text of an export that does not match the commitment which the log has: for an export that does not verify.
/// Returns its line, from 1.
///
/// # Errors
/// When the log cannot be read. A line that cannot be read ends the search.
pub async fn forged_text(
    log: &dyn EventLog,
    source: &mut (dyn BufRead + Send),
) -> Result<Option<(u64, Flaw)>, ReadError> {
    let mut batches = ExportBatches::of(source, log.blobs());
    while let Ok(Some(LineBatch { line, batch, key, digest })) = batches.next() {
        if digest == Ok(batch.digest) {
            continue;
        }
        let Some(stored) = log.batch_at(batch.session, batch.first).await? else { continue };
        let keys = FillKeys { kept: None, fuller: key.as_ref() };
        let filled = stored.batch.fill(&batch, keys, &batches.brought, &|_, _| false);
        if let Err(FillError::Text { session, seq, place }) = filled {
            return Ok(Some((line, Flaw::Text { session, seq, place })));
        }
    }
    Ok(None)
}

/// The batches of an export, in order.
struct ExportBatches<'a> {
    source: &'a mut (dyn BufRead + Send),
    bytes: Vec<u8>,
    line: u64,
    keys: HeaderKeys,
    brought: ExportBlobs,
}

/// A batch of an export.
struct LineBatch {
    line: u64,
    batch: Batch,
    /// The key of the session that its texts are proved with, if the file has it.
    key: Option<SessionKey>,
    /// The digest of its content.
    digest: Result<Digest, Unprovable>,
}

impl<'a> ExportBatches<'a> {
    fn of(source: &'a mut (dyn BufRead + Send), stored: Arc<dyn Blobs + Send + Sync>) -> Self {
        Self { source, bytes: Vec::new(), line: 0, keys: HeaderKeys::default(), brought: ExportBlobs::new(stored) }
    }

    fn next(&mut self) -> Result<Option<LineBatch>, ImportError> {
        loop {
            self.bytes.clear();
            if read_line(self.source, &mut self.bytes)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            let line = self.line;
            let damaged = |flaw| ImportError::Damaged { line, flaw };
            match Line::read(self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes)).map_err(damaged)? {
                Line::Header(header) => {
                    self.keys = HeaderKeys::new(header.keys.unwrap_or_default());
                    self.brought.clear();
                }
                Line::Blob { line: blob, found, .. } if blob.blob == found => self.brought.take(found, blob.text),
                Line::Blob { line: blob, found, .. } => {
                    let reason = "its text has another hash".into();
                    return Err(damaged(Flaw::Blob { blob: blob.blob, found: Some(found), reason }));
                }
                Line::Opaque { reason, .. } => return Err(damaged(Flaw::Line { reason })),
                Line::Batch { batch, .. } => {
                    let key = self.keys.take(&batch);
                    let digest = digest_of(&batch, key.as_ref(), &self.brought);
                    return Ok(Some(LineBatch { line, batch, key, digest }));
                }
            }
        }
    }
}
