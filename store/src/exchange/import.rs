//! Import: an export back into a log, with the digests that it had.

use super::line::{Ancestor, Header, Line, key_for};
use super::verify::{Flaw, VerifyReport, verify_file};
use super::{OnProgress, Progress};
use crate::log::{AppendError, Appended, Draft, EventLog};
use annals_core::exported::{Unprovable, digest_of_line};
use annals_core::{Batch, BlobHash, Digest, Seq, SessionId};
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
pub async fn import_file(log: &dyn EventLog, path: &Path, tell: OnProgress<'_>) -> Result<Imported, ImportError> {
    let report = verify_file(&mut BufReader::new(std::fs::File::open(path)?), None, tell)?;
    if !report.is_sound() {
        return Err(ImportError::Unsound(Box::new(report)));
    }
    import(log, &mut BufReader::with_capacity(1 << 20, std::fs::File::open(path)?), tell).await
}

/// Imports what a reader gives, as it comes. Batches that are in the log already add nothing; a file that continues
/// where the log ends extends it.
///
/// # Errors
/// See [`ImportError`].
pub async fn import(
    log: &dyn EventLog,
    source: &mut (dyn BufRead + Send),
    tell: OnProgress<'_>,
) -> Result<Imported, ImportError> {
    let mut import = Import { log, imported: Imported::default(), section: None, gathered: Vec::new() };
    let (mut progress, mut bytes, mut line) = (Progress::default(), Vec::new(), 0);
    loop {
        bytes.clear();
        let length = source.read_until(b'\n', &mut bytes)?;
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
        progress.done += length as u64;
        if line % 1024 == 0 {
            tell(progress);
        }
    }
    import.end().await?;
    tell(progress);
    match import.imported.sessions.is_empty() {
        true => Err(ImportError::Damaged { line: 1, flaw: Flaw::Line { reason: "no header".into() } }),
        false => Ok(import.imported),
    }
}

struct Import<'a> {
    log: &'a dyn EventLog,
    imported: Imported,
    section: Option<ImportSection>,
    /// Batches to append together, with their lines.
    gathered: Vec<(u64, Draft)>,
}

/// The export that is being read.
struct ImportSection {
    line: u64,
    session: ImportedSession,
    last: Option<(SessionId, Seq, Digest)>,
    ancestors: Vec<Ancestor>,
}

impl<'a> Import<'a> {
    async fn take(&mut self, line: u64, read: Line) -> Result<(), ImportError> {
        let damaged = |flaw| ImportError::Damaged { line, flaw };
        if let Line::Header(header) = read {
            self.end().await?;
            let session = ImportedSession { header, new: 0, known: 0, blobs: 0 };
            self.section = Some(ImportSection { line, session, last: None, ancestors: Vec::new() });
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
            Line::Blob { line: blob, .. } => {
                section.session.blobs += 1;
                self.put(line, blob.text).await.map(|_| ())
            }
            Line::Batch { mut batch, value, .. } => {
                let keys = section.session.header.keys.as_ref();
                let key = keys.map(|keys| key_for(&batch, keys)).transpose().map_err(damaged)?;
                let (session, seq, expected) = (batch.session, batch.first, batch.digest);
                let found = digest_of_line(&value, key.as_ref(), &*self.log.blobs()).map_err(|error| match error {
                    Unprovable::Key => damaged(Flaw::Key { reason: error.to_string() }),
                    Unprovable::Blob(blob) => {
                        ImportError::Append { line, source: AppendError::MissingBlob { session, seq, blob } }
                    }
                })?;
                if found != expected {
                    return Err(damaged(Flaw::Digest { session, seq, expected, found }));
                }
                if let (Some(begins), Some(key)) = (batch.events.first_mut(), key) {
                    begins.set_key(key);
                }
                if let Some((before, ..)) = section.last.filter(|(before, ..)| *before != batch.session) {
                    section.ancestors.push(Ancestor { session: before, cut: batch.first });
                }
                section.last = Some((batch.session, batch.next(), batch.digest));
                self.append(line, batch).await
            }
            Line::Opaque { reason, .. } => Err(damaged(Flaw::Line { reason })),
            Line::Header(_) => Ok(()),
        }
    }

    async fn put(&mut self, line: u64, text: String) -> Result<BlobHash, ImportError> {
        self.log.put_blob(text).await.map_err(|source| ImportError::Append { line, source })
    }

    async fn append(&mut self, line: u64, batch: Batch) -> Result<(), ImportError> {
        let Batch { session, first, at, events, digest, states, .. } = batch;
        let draft = Draft { session, expected: first, at, events, digest: Some(digest), states };
        self.gathered.push((line, draft));
        if self.gathered.len() < WINDOW { Ok(()) } else { self.land().await }
    }

    /// Appends what was gathered.
    async fn land(&mut self) -> Result<(), ImportError> {
        let gathered = std::mem::take(&mut self.gathered);
        let drafts = gathered.iter().map(|(_, draft)| draft.clone()).collect();
        let Appended { committed, refused } = self.log.append_all(drafts).await;
        for committed in &committed {
            if let Some(section) = &mut self.section {
                let session = &mut section.session;
                *(if committed.known { &mut session.known } else { &mut session.new }) += 1;
            }
        }
        match (gathered.get(committed.len()), refused) {
            (Some((line, draft)), Some(AppendError::Conflict { .. } | AppendError::Diverged { .. })) => {
                Err(self.diverged(*line, draft).await)
            }
            (Some((line, _)), Some(source)) => Err(ImportError::Append { line: *line, source }),
            _ => Ok(()),
        }
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
        let Some(ImportSection { line, session, last, ancestors }) = self.section.take() else { return Ok(()) };
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
