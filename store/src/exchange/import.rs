//! Import: an export back into a log, with the digests that it had.

use super::ExportBlobs;
use super::line::{Ancestor, Header, HeaderKeys, Line, digest_of};
use super::verify::{Flaw, VerifyReport, verify_file};
use super::{OnProgress, Progress, read_line};
use crate::append_rules::NO_KEY;
use crate::log::{AppendError, Appended, Draft, EventLog};
use annals_core::exported::Unprovable;
use annals_core::{
    AbsentText, Batch, BlobHash, Digest, Disclosure, FillError, FillKeys, KnownText, Seq, SessionId, SessionKey,
};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// How many batches are appended together: enough to share a flush of the disk.
const WINDOW: usize = 256;

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Each export of the file, in order.
    pub sessions: Vec<ImportedSession>,
}

/// What became of one export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedSession {
    /// The header.
    pub header: Header,
    /// Batches that were appended, inherited ones included.
    pub new: u64,
    /// Batches that were there already.
    pub known: u64,
    /// Blobs that came along.
    pub blobs: u64,
    /// Whether the file may have texts or a key that the log was given without: see [`crate::filling`].
    pub is_fuller: bool,
}

/// An import stopped. What was appended before stays: it is an unaltered beginning of the session, and importing a
/// sound file later continues from there.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A line is not what the format says, or its content is not what its digest says.
    #[error("line {line}: {flaw}")]
    Damaged {
        /// Which line, from 1.
        line: u64,
        /// What is wrong with it.
        flaw: Flaw,
    },
    /// The log holds something else at this place: the two have diverged, and neither is changed.
    #[error(
        "line {line}: session {session}, event {seq}: the store has {}, the file has {found}",
        match expected { Some(expected) => format!("batch {expected}"), None => "no batch that begins here".into() }
    )]
    Diverged {
        /// Which line, from 1.
        line: u64,
        /// Which session.
        session: SessionId,
        /// The first Seq of the file's batch.
        seq: Seq,
        /// The digest of the log's batch that begins there, if one does.
        expected: Option<Digest>,
        /// The digest of the file's batch.
        found: Digest,
    },
    /// The log refused a batch.
    #[error("line {line}: {source}")]
    Append {
        /// Which line, from 1.
        line: u64,
        /// The error that caused it.
        #[source]
        source: AppendError,
    },
    /// The file ends before the head that its header names: it was shortened.
    #[error("the export that begins at line {line} ends after {found} of {expected} events")]
    Incomplete {
        /// The line of the header.
        line: u64,
        /// The Seq of the head.
        expected: Seq,
        /// Where it ends.
        found: Seq,
    },
    /// The file does not verify; nothing was imported.
    #[error("the file does not verify ({} places); nothing was imported", .0.damage.len())]
    Unsound(Box<VerifyReport>),
    /// The file could not be read.
    #[error("the export could not be read: {0}")]
    Io(#[from] std::io::Error),
}

/// Imports a file after verifying all of it: nothing of a damaged or shortened one is appended.
///
/// # Errors
/// [`ImportError::Unsound`] with every damage; see [`ImportError`].
pub async fn import_file(
    log: &dyn EventLog,
    path: &Path,
    on_progress: OnProgress<'_>,
) -> Result<Imported, ImportError> {
    let report = verify_file(&mut BufReader::new(std::fs::File::open(path)?), None, on_progress)?;
    if !report.is_sound() {
        return Err(ImportError::Unsound(Box::new(report)));
    }
    import(log, &mut BufReader::with_capacity(1 << 20, std::fs::File::open(path)?), on_progress).await
}

/// Imports what a reader gives, as it comes. Batches that are in the log already add nothing; a file that continues
/// where the log ends extends it.
pub async fn import(
    log: &dyn EventLog,
    source: &mut (dyn BufRead + Send),
    on_progress: OnProgress<'_>,
) -> Result<Imported, ImportError> {
    let mut import = Import { log, imported: Imported::default(), section: None, gathered: Vec::new() };
    let (mut progress, mut bytes, mut line) = (Progress::default(), Vec::new(), 0);
    loop {
        bytes.clear();
        let length = read_line(source, &mut bytes)?;
        if length == 0 {
            break;
        }
        line += 1;
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let taken = match Line::read(text) {
            Ok(read) => {
                progress.batches += u64::from(matches!(read, Line::Batch { .. }));
                import.take(line, read).await
            }
            Err(flaw) => Err(ImportError::Damaged { line, flaw }),
        };
        if let Err(error) = taken {
            // What came before the damage is sound and is kept.
            import.land().await?;
            return Err(error);
        }
        progress.done += length;
        if line % 1024 == 0 {
            on_progress(progress);
        }
    }
    import.end().await?;
    on_progress(progress);
    match import.imported.sessions.is_empty() {
        true => Err(ImportError::Damaged { line: 1, flaw: Flaw::Line { reason: "no header".into() } }),
        false => Ok(import.imported),
    }
}

struct Import<'a> {
    log: &'a dyn EventLog,
    imported: Imported,
    section: Option<ImportSection>,
    /// Batches to append together.
    gathered: Vec<GatheredBatch>,
}

/// A batch to append.
struct GatheredBatch {
    line: u64,
    draft: Draft,
    /// The key of the session that its texts are proved with, if the file has it.
    key: Option<SessionKey>,
}

/// The export that is being read.
struct ImportSection {
    line: u64,
    session: ImportedSession,
    last: Option<(SessionId, Seq, Digest)>,
    ancestors: Vec<Ancestor>,
    keys: HeaderKeys,
    blobs: ExportBlobs,
    /// Where each session ended before.
    heads: BTreeMap<SessionId, Seq>,
}

impl<'a> Import<'a> {
    async fn take(&mut self, line: u64, read: Line) -> Result<(), ImportError> {
        let damaged = |flaw| ImportError::Damaged { line, flaw };
        if let Line::Header(header) = read {
            self.end().await?;
            let keys = HeaderKeys::new(header.keys.clone().unwrap_or_default());
            let session = ImportedSession { header, new: 0, known: 0, blobs: 0, is_fuller: false };
            let (blobs, heads) = (ExportBlobs::new(self.log.blobs()), BTreeMap::new());
            self.section = Some(ImportSection { line, session, last: None, ancestors: Vec::new(), keys, blobs, heads });
            return Ok(());
        }
        let Some(section) = &mut self.section else {
            return Err(damaged(Flaw::Line { reason: "a header was expected".into() }));
        };
        match read {
            Line::Blob { line: blob, found, .. } if blob.blob != found => Err(damaged(Flaw::Blob {
                blob: blob.blob,
                found: Some(found),
                reason: "its text has another hash".into(),
            })),
            Line::Blob { line: blob, found, .. } => {
                section.session.blobs += 1;
                section.blobs.take(found, blob.text);
                Ok(())
            }
            Line::Batch { mut batch, texts } => {
                let key = section.keys.take(&batch);
                let (session, seq, expected) = (batch.session, batch.first, batch.digest);
                let found = digest_of(&batch, key.as_ref(), &section.blobs).map_err(|error| match error {
                    Unprovable::Key => damaged(Flaw::Key { reason: error.to_string() }),
                    Unprovable::Blob(blob) => {
                        ImportError::Append { line, source: AppendError::MissingBlob { session, seq, blob } }
                    }
                })?;
                if found != expected {
                    let flaw = Flaw::Digest { session, seq, expected, found };
                    return Err(damaged(self.forged(&batch, key).await.unwrap_or(flaw)));
                }
                if let (Some(begins), Some(key)) = (batch.events.first_mut(), key) {
                    begins.set_key(key);
                }
                if let Some((before, ..)) = section.last.filter(|(before, ..)| *before != batch.session) {
                    section.ancestors.push(Ancestor { session: before, cut: batch.first });
                }
                section.last = Some((batch.session, batch.next(), batch.digest));
                self.put(line, &batch, texts.blobs.into_iter().map(|named| named.blob).collect()).await?;
                self.append(line, batch, key).await
            }
            Line::Opaque { reason, .. } => Err(damaged(Flaw::Line { reason })),
            Line::Header(_) => Ok(()),
        }
    }

    /// The text of a batch that does not match the commitment which the log has; `None` when that does not say which it is.
    async fn forged(&self, batch: &Batch, key: Option<SessionKey>) -> Option<Flaw> {
        let blobs = &self.section.as_ref()?.blobs;
        let stored = self.log.batch_at(batch.session, batch.first).await.ok()??;
        let keys = FillKeys { kept: None, fuller: key.as_ref() };
        match stored.batch.fill(batch, keys, blobs, &|_, _| false) {
            Err(FillError::Text { session, seq, place }) => Some(Flaw::Text { session, seq, place }),
            _ => None,
        }
    }

    /// Stores the blobs that a new batch names.
    async fn put(&mut self, line: u64, batch: &Batch, named: Vec<BlobHash>) -> Result<(), ImportError> {
        let Some(section) = self.section.as_mut().filter(|_| !named.is_empty()) else { return Ok(()) };
        let head = match section.heads.get(&batch.session) {
            Some(head) => *head,
            None => {
                let failed = |_| AppendError::Unknown;
                let head = self.log.head(batch.session).await.map_err(failed);
                let head = head.map_err(|source| ImportError::Append { line, source })?;
                let head = head.map_or(Seq::ZERO, |head| head.next);
                section.heads.insert(batch.session, head);
                head
            }
        };
        match batch.first < head {
            true => Ok(()),
            false => store(self.log, line, &mut section.blobs, &named).await,
        }
    }

    async fn append(&mut self, line: u64, batch: Batch, key: Option<SessionKey>) -> Result<(), ImportError> {
        self.gathered.push(GatheredBatch { line, draft: drafted(batch), key });
        if self.gathered.len() < WINDOW { Ok(()) } else { self.land().await }
    }

    /// Appends what was gathered.
    async fn land(&mut self) -> Result<(), ImportError> {
        let mut gathered = std::mem::take(&mut self.gathered);
        while !gathered.is_empty() {
            let drafts = gathered.iter().map(|batch| batch.draft.clone()).collect();
            let Appended { committed, refused } = self.log.append_all(drafts).await;
            let mut rest = gathered.split_off(committed.len());
            if let Some(section) = &mut self.section {
                for (GatheredBatch { line, draft, .. }, committed) in gathered.iter().zip(&committed) {
                    let session = &mut section.session;
                    *(if committed.known { &mut session.known } else { &mut session.new }) += 1;
                    if committed.known {
                        session.is_fuller |= is_fuller(draft, &committed.batch);
                        // One that the store has lost.
                        let named: Vec<_> = committed.batch.blobs().into_iter().map(|named| named.blob).collect();
                        store(self.log, *line, &mut section.blobs, &named).await?;
                    }
                }
            }
            let (Some(first), Some(refused)) = (rest.first(), refused) else { return Ok(()) };
            match (refused, first.key) {
                (AppendError::Conflict { .. } | AppendError::Diverged { .. }, _) => {
                    return Err(self.diverged(first.line, &first.draft).await);
                }
                // The store has the session without its key: until that is filled in, each text has a key of its own.
                (AppendError::Misplaced { reason: NO_KEY, .. }, Some(_)) => {
                    let Some(section) = &mut self.section else { return Ok(()) };
                    let of = first.draft.session;
                    for batch in rest.iter_mut().filter(|batch| batch.draft.session == of) {
                        batch.disclose(&section.blobs)?;
                    }
                    section.session.is_fuller = true;
                }
                (source, _) => return Err(ImportError::Append { line: first.line, source }),
            }
            gathered = rest;
        }
        Ok(())
    }

    async fn diverged(&self, line: u64, draft: &Draft) -> ImportError {
        let (session, seq, found) = (draft.session, draft.expected, draft.digest.unwrap_or(Digest([0; 32])));
        let existing = self.log.batch_at(session, seq).await.unwrap_or_default();
        let existing = existing.filter(|slice| slice.batch.first == seq && slice.batch.session == session);
        ImportError::Diverged { line, session, seq, expected: existing.map(|slice| slice.batch.digest), found }
    }

    /// Ends an export: everything landed, and the head was reached.
    async fn end(&mut self) -> Result<(), ImportError> {
        self.land().await?;
        let Some(ImportSection { line, session, last, ancestors, .. }) = self.section.take() else { return Ok(()) };
        let head = session.header.head;
        if last != Some((session.header.session, head.next, head.digest)) {
            let found = last.map_or(Seq::ZERO, |(_, next, _)| next);
            return Err(ImportError::Incomplete { line, expected: head.next, found });
        }
        if session.header.ancestors != ancestors {
            return Err(ImportError::Damaged { line, flaw: Flaw::Ancestors });
        }
        self.imported.sessions.push(session);
        Ok(())
    }
}

impl GatheredBatch {
    /// Gives each text a key of its own in place of the session's.
    fn disclose(&mut self, blobs: &ExportBlobs) -> Result<(), ImportError> {
        let Some(key) = self.key.take() else { return Ok(()) };
        let Draft { session, expected: first, at, events, digest, states } = self.draft.clone();
        let digest = digest.unwrap_or(Digest([0; 32]));
        let batch = Batch { session, first, at, prev: None, events, digest, states };
        let disclosed = batch.disclose(Some(&key), blobs, &mut |_| Disclosure::Disclose);
        let reason = |error: annals_core::DiscloseError| Flaw::Line { reason: error.to_string() };
        let line = self.line;
        self.draft = drafted(disclosed.map_err(|error| ImportError::Damaged { line, flaw: reason(error) })?);
        Ok(())
    }
}

pub(super) fn drafted(batch: Batch) -> Draft {
    let Batch { session, first, at, events, digest, states, .. } = batch;
    Draft { session, expected: first, at, events, digest: Some(digest), states }
}

/// Stores those of these blobs that the export brought and the store does not hold.
async fn store(
    log: &dyn EventLog,
    line: u64,
    brought: &mut ExportBlobs,
    named: &[BlobHash],
) -> Result<(), ImportError> {
    for blob in named {
        if let Some(text) = brought.give(blob) {
            log.put_blob(text).await.map_err(|source| ImportError::Append { line, source })?;
        }
    }
    Ok(())
}

/// Whether a draft has a text or the key of its session that the log's batch lacks, and that was not erased here.
fn is_fuller(draft: &Draft, stored: &Batch) -> bool {
    let key = |events: &[annals_core::Event]| events.first().and_then(|event| event.stored_key()?.key);
    let is_absent = |known: KnownText| matches!(known, KnownText::Absent(AbsentText { erased: false, .. }));
    let lacks = |at: &annals_core::TextState| {
        let known = draft.states.iter().find(|state| (state.event, &state.place) == (at.event, &at.place));
        is_absent(at.known) && known.is_none_or(|state| !is_absent(state.known))
    };
    (key(&draft.events).is_some() && key(&stored.events).is_none()) || stored.states.iter().any(lacks)
}
