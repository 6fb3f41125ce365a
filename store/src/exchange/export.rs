//! Export: a session, and what it inherits, as lines.

use super::bounded_line::too_large;
use super::keys::{ancestors, keys};
use super::line::{BlobLine, Header, HeaderHead};
use super::matching::left_in;
use super::rule::WithholdRule;
use super::verify::WithheldTexts;
use super::withhold::{SelectableText, TextSelection, WithholdRules, Withholding};
use super::{OnProgress, Progress};
use crate::log::{EventLog, ReadError, Slice};
use annals_core::canonical::{self, CanonicalError};
use annals_core::exported::{ExportedText, visit_texts};
use annals_core::{Batch, BlobHash, BlobRef, Blobs, DiscloseError, Disclosure, Seq, SessionId, SessionKey};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io::Write;

/// What was exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The header, as written.
    pub header: Header,
    /// How many batches, inherited ones included.
    pub batches: u64,
    /// How many blobs.
    pub blobs: u64,
    /// How many bytes.
    pub bytes: u64,
    /// The texts that are in it or withheld, when it was written without the key of the session.
    pub texts: WithheldTexts,
    /// The events in which an expression of the rules still matches: in names and ids, which cannot be withheld.
    pub left: Vec<Seq>,
}

/// A Session could not be exported. What was written so far is incomplete: remove it.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The log could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A blob is missing: the export would be incomplete. `verify` lists every such place.
    #[error("session {session}, event {seq}: blob {blob} is not in the store")]
    MissingBlob {
        /// Who wrote the batch.
        session: SessionId,
        /// The batch's first Seq.
        seq: Seq,
        /// Which blob.
        blob: BlobHash,
    },
    /// The key of the session is not in the store: its texts cannot be verified.
    #[error("session {0}: its key is not in the store")]
    NoKey(SessionId),
    /// The batch holds a number that has no exact JSON form.
    #[error("session {session}, event {seq}: {source}")]
    Canonical {
        /// Who wrote the batch.
        session: SessionId,
        /// The batch's first Seq.
        seq: Seq,
        /// Which number.
        source: CanonicalError,
    },
    /// A rule selects no text: nothing was written, since more might be given away than was meant.
    #[error("{rule} matches no text of session {session}")]
    NoMatch {
        /// The rule as written.
        rule: String,
        /// The session.
        session: SessionId,
    },
    /// A line would be larger than a checker reads.
    #[error("session {session} cannot be exported: a line would be {reason}")]
    TooLarge {
        /// The session.
        session: SessionId,
        /// What is too large.
        reason: &'static str,
    },
    /// A text could not be withheld.
    #[error("session {session}, event {seq}: {source}")]
    Disclose {
        /// Who wrote the batch.
        session: SessionId,
        /// The batch's first Seq.
        seq: Seq,
        /// Why.
        source: DiscloseError,
    },
    /// The output refused.
    #[error("the export could not be written: {0}")]
    Io(#[from] std::io::Error),
}

/// Writes a session as it is now. A fork's export holds the batches of its ancestors that it reads, oldest first; a
/// batch with a cut inside is there whole.
pub async fn export(
    log: &dyn EventLog,
    session: SessionId,
    out: &mut (dyn Write + Send),
    on_progress: OnProgress<'_>,
) -> Result<Exported, ExportError> {
    let head = log.head(session).await?.ok_or(ReadError::NoSession(session))?;
    export_to(log, session, HeaderHead { next: head.next, digest: head.digest }, out, on_progress).await
}

/// Writes a session as it was before `until`, a cut. Before the first event of its own a fork has no form of its own: from
/// such a cut, and of a log without its key, the whole session is written.
pub async fn export_until(
    log: &dyn EventLog,
    session: SessionId,
    until: Seq,
    out: &mut (dyn Write + Send),
    on_progress: OnProgress<'_>,
) -> Result<Exported, ExportError> {
    let last = match until.0.checked_sub(1) {
        Some(last) => log.batch_at(session, Seq(last)).await?,
        None => None,
    };
    match last.filter(|slice| slice.until == until && slice.batch.next() == until && slice.batch.session == session) {
        Some(slice) => {
            export_to(log, session, HeaderHead { next: until, digest: slice.batch.digest }, out, on_progress).await
        }
        None => export(log, session, out, on_progress).await,
    }
}

async fn export_to(
    log: &dyn EventLog,
    session: SessionId,
    head: HeaderHead,
    out: &mut (dyn Write + Send),
    on_progress: OnProgress<'_>,
) -> Result<Exported, ExportError> {
    let ancestors = ancestors(log, session, head.next).await?;
    let keys = match keys(log, session, &ancestors, head.next).await {
        Ok(keys) => keys,
        // It was imported with texts withheld, and leaves as it came.
        Err(ExportError::NoKey(_)) => {
            return export_withheld(log, session, &WithholdRules::Withhold(Vec::new()), out, on_progress).await;
        }
        Err(error) => return Err(error),
    };
    let header = Header::new(session, HeaderHead { next: head.next, digest: head.digest }, ancestors, keys);
    let mut writer = ExportWriter::begin(out, header)?;
    let blobs = log.blobs();
    let mut pages = log.pages(session, Seq::ZERO..head.next);
    while let Some(page) = pages.next_page().await? {
        for slice in &page {
            writer.batch(slice, &*blobs)?;
        }
        let done = pages.position();
        on_progress(Progress { batches: writer.exported.batches, done: done.0, total: Some(head.next.0) });
    }
    ends_at(pages.position(), head.next, session)?;
    writer.out.flush()?;
    Ok(writer.exported)
}

/// Writes a session without its key and without the texts that the rules select: commitments take their place, and each other text
/// carries the key of its own. A hash is withheld together with what may have gone into it.
///
/// Reads the session twice: a call may be selected by what ended it.
///
/// # Errors
/// [`ExportError::NoMatch`] before anything is written; see [`ExportError`].
pub async fn export_withheld(
    log: &dyn EventLog,
    session: SessionId,
    rules: &WithholdRules,
    out: &mut (dyn Write + Send),
    on_progress: OnProgress<'_>,
) -> Result<Exported, ExportError> {
    let head = log.head(session).await?.ok_or(ReadError::NoSession(session))?;
    let total = Some(head.next.0 * 2);
    let (blobs, mut batches) = (log.blobs(), 0);
    let mut selection = TextSelection::new(rules);
    let mut pages = log.pages(session, Seq::ZERO..head.next);
    while let Some(page) = pages.next_page().await? {
        for slice in &page {
            selection.take(&slice.batch, &texts_of(&slice.batch, &*blobs)?);
        }
        on_progress(Progress { batches, done: pages.position().0, total });
    }
    if let Some(rule) = selection.unmatched() {
        return Err(ExportError::NoMatch { rule: rule.to_owned(), session });
    }
    let ancestors = ancestors(log, session, head.next).await?;
    let header = Header::withheld(session, HeaderHead { next: head.next, digest: head.digest }, ancestors);
    let mut writer = ExportWriter::begin(out, header)?;
    let (expressions, mut left) = (rules.expressions(), Vec::new());
    let (mut withholding, mut keys) = (Withholding::new(selection), BTreeMap::new());
    let mut pages = log.pages(session, Seq::ZERO..head.next);
    while let Some(page) = pages.next_page().await? {
        for slice in &page {
            let batch = &slice.batch;
            keys.extend(batch.session_key().map(|key| (batch.session, key)));
            let decided = withholding.decide(slice, &texts_of(batch, &*blobs)?);
            let disclosed = writer.disclose(batch, keys.get(&batch.session), &decided, &*blobs)?;
            if !expressions.is_empty() {
                left.extend(left_in(&disclosed, &*blobs, slice.until, &expressions));
            }
        }
        batches = writer.exported.batches;
        on_progress(Progress { batches, done: head.next.0 + pages.position().0, total });
    }
    ends_at(pages.position(), head.next, session)?;
    writer.out.flush()?;
    writer.exported.texts = WithheldTexts { texts: withholding.texts, withheld: withholding.withheld, erased: 0 };
    writer.exported.left = left;
    Ok(writer.exported)
}

/// The events of a session in which rules `text:REGEX` still match, in any field.
///
/// # Errors
/// [`ReadError::NoSession`], or when the log cannot be read.
pub async fn matches_left(
    log: &dyn EventLog,
    session: SessionId,
    rules: &[WithholdRule],
) -> Result<Vec<Seq>, ReadError> {
    let expressions: Vec<&Regex> = rules.iter().filter_map(WithholdRule::text).collect();
    let head = log.head(session).await?.ok_or(ReadError::NoSession(session))?;
    let (blobs, mut left) = (log.blobs(), Vec::new());
    let mut pages = log.pages(session, Seq::ZERO..head.next);
    while let Some(page) = pages.next_page().await?.filter(|_| !expressions.is_empty()) {
        left.extend(page.iter().flat_map(|slice| left_in(&slice.batch, &*blobs, slice.until, &expressions)));
    }
    Ok(left)
}

/// The texts of a batch, in the order in which they are decided about.
pub(crate) fn texts_of(batch: &Batch, blobs: &dyn Blobs) -> Result<Vec<SelectableText>, ExportError> {
    let mut texts = Vec::new();
    let visited = batch.disclose(None, blobs, &mut |text| {
        texts.push((text.seq, text.place.to_owned(), text.text.map(str::to_owned)));
        Disclosure::Keep
    });
    visited.map(|_| texts).map_err(|source| refused(batch, source))
}

pub(super) fn refused(batch: &Batch, source: DiscloseError) -> ExportError {
    let (session, seq) = (batch.session, batch.first);
    match source {
        DiscloseError::Canonical(CanonicalError::MissingBlob(blob)) => ExportError::MissingBlob { session, seq, blob },
        DiscloseError::Canonical(CanonicalError::NoKey) => ExportError::NoKey(session),
        source => ExportError::Disclose { session, seq, source },
    }
}

/// The blobs that a line names, in order: a text with a key of its own is written whole, also where the log has it as a blob.
fn named_blobs(batch: &Batch, line: &str) -> Vec<BlobRef> {
    if batch.states.is_empty() {
        return batch.blobs();
    }
    let mut named = Vec::new();
    // The line was just written from the batch.
    let mut value = serde_json::from_str(line).unwrap_or_default();
    let visited: Result<(), Infallible> = visit_texts(&mut value, &mut |_, _, text| {
        if let ExportedText::Blob(blob) = text {
            named.push(blob);
        }
        Ok(None)
    });
    let Ok(()) = visited;
    named
}

fn ends_at(found: Seq, head: Seq, session: SessionId) -> Result<(), ReadError> {
    match found < head {
        true => Err(ReadError::Damaged { session, seq: found, reason: "the log ends before its head".to_owned() }),
        false => Ok(()),
    }
}

struct ExportWriter<'a> {
    out: &'a mut (dyn Write + Send),
    exported: Exported,
    /// The blobs already written: 32 bytes each is all that is kept of them.
    seen: BTreeSet<BlobHash>,
}

impl<'a> ExportWriter<'a> {
    fn begin(out: &'a mut (dyn Write + Send), header: Header) -> Result<Self, ExportError> {
        let session = header.session;
        let exported =
            Exported { header, batches: 0, blobs: 0, bytes: 0, texts: WithheldTexts::default(), left: Vec::new() };
        let mut writer = Self { out, exported, seen: BTreeSet::new() };
        let canonical = |source| ExportError::Canonical { session, seq: Seq::ZERO, source };
        let first = canonical::own(&writer.exported.header).map_err(canonical)?;
        writer.line(&first)?;
        Ok(writer)
    }

    fn line(&mut self, text: &str) -> Result<(), ExportError> {
        if let Some(reason) = too_large(text.as_bytes()) {
            return Err(ExportError::TooLarge { session: self.exported.header.session, reason });
        }
        self.out.write_all(text.as_bytes())?;
        self.out.write_all(b"\n")?;
        self.exported.bytes += text.len() as u64 + 1;
        Ok(())
    }

    fn batch(&mut self, slice: &Slice, blobs: &(dyn annals_core::Blobs + Send + Sync)) -> Result<(), ExportError> {
        let (batch, session, seq) = (&slice.batch, slice.batch.session, slice.batch.first);
        let canonical = |source| ExportError::Canonical { session, seq, source };
        let line = batch.to_canonical_with(blobs).map_err(canonical)?;
        for named in named_blobs(batch, &line) {
            if self.seen.insert(named.blob) {
                let blob = named.blob;
                let text = blobs.text(&blob).ok_or(ExportError::MissingBlob { session, seq, blob })?;
                self.line(&canonical::own(&BlobLine { blob, text }).map_err(canonical)?)?;
                self.exported.blobs += 1;
            }
        }
        self.line(&line)?;
        self.exported.batches += 1;
        Ok(())
    }

    fn disclose(
        &mut self,
        batch: &Batch,
        key: Option<&SessionKey>,
        withheld: &[bool],
        blobs: &dyn Blobs,
    ) -> Result<Batch, ExportError> {
        let mut withheld = withheld.iter();
        let disclosed = batch.disclose(key, blobs, &mut |_| match withheld.next() {
            Some(false) => Disclosure::Disclose,
            _ => Disclosure::Withhold,
        });
        let disclosed = disclosed.map_err(|source| refused(batch, source))?;
        let line = disclosed.to_canonical_with(blobs);
        self.line(&line.map_err(|source| refused(batch, source.into()))?)?;
        self.exported.batches += 1;
        Ok(disclosed)
    }
}
