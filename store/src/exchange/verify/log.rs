//! Verifying a log: what it reads back, session by session, hashed on every core.

use super::absent::AbsentTexts;
use super::chain::{Chain, Link};
use super::flaw::Flaw;
use super::report::{DamagePlace, KeptDigest, Proven, VerifyReport};
use crate::exchange::{OnProgress, Progress};
use crate::log::{EventLog, Head, ReadError, Slice};
use annals_core::canonical::CanonicalError;
use annals_core::{Batch, BlobHash, BlobRef, Blobs, Digest, Event, Legality, Seq, SessionId, SessionKey};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::num::NonZero;
use std::sync::Arc;

/// Verifies a session as it is now, with everything that it inherits.
///
/// With `kept`, a digest that was kept elsewhere must be that of a batch in it.
///
/// # Errors
/// When there is no such session, or the store refuses. Damage is in the report.
pub async fn verify_session(
    log: &dyn EventLog,
    session: SessionId,
    kept: Option<Digest>,
    on_progress: OnProgress<'_>,
) -> Result<VerifyReport, ReadError> {
    let head = log.head(session).await?.ok_or(ReadError::NoSession(session))?;
    let progress = Progress { total: Some(head.next.0), ..Progress::default() };
    let mut walk = SessionVerifier::new(log, kept, progress, on_progress);
    walk.session(session, head, Seq::ZERO, Chain::Start).await?;
    walk.strays(Some(session), &|_| true).await?;
    Ok(walk.end())
}

/// Verifies every session of a store as it is now. What forks inherit is read once, with the session that wrote it.
///
/// # Errors
/// When the store refuses. Damage is in the report.
pub async fn verify_store(log: &dyn EventLog, on_progress: OnProgress<'_>) -> Result<VerifyReport, ReadError> {
    verify_sessions(log, &|_| true, on_progress).await
}

/// The same for some sessions of a store, with all that they inherit.
///
/// # Errors
/// When the store refuses. Damage is in the report.
pub async fn verify_sessions(
    log: &dyn EventLog,
    takes: &(dyn Fn(SessionId) -> bool + Sync),
    on_progress: OnProgress<'_>,
) -> Result<VerifyReport, ReadError> {
    let sessions: Vec<_> = log.sessions().all().await?.into_iter().filter(|one| takes(one.session)).collect();
    let mut begun = Vec::with_capacity(sessions.len());
    let mut total = 0;
    for one in sessions {
        let from = match begins(log, one.session, one.head).await? {
            Seq::ZERO => Seq::ZERO,
            cut => match log.batch_at(one.session, Seq(cut.0 - 1)).await {
                // Read here, since the session that wrote it is not.
                Ok(Some(slice)) if !takes(slice.batch.session) => Seq::ZERO,
                _ => cut,
            },
        };
        total += one.head.next.0.saturating_sub(from.0);
        begun.push((one, from));
    }
    let mut walk = SessionVerifier::new(log, None, Progress { total: Some(total), ..Progress::default() }, on_progress);
    for (one, from) in begun {
        let chain = match from {
            Seq::ZERO => Chain::Start,
            cut => match log.batch_at(one.session, Seq(cut.0 - 1)).await {
                Ok(before) => before.map_or(Chain::Unknown, |slice| Chain::After(Link::of(&slice.batch))),
                Err(error) => {
                    walk.damaged(one.session, Seq(cut.0 - 1), error)?;
                    Chain::Unknown
                }
            },
        };
        walk.session(one.session, one.head, from, chain).await?;
    }
    walk.strays(None, takes).await?;
    Ok(walk.end())
}

/// Where a session's own log begins, by bisection: 0, or a fork's cut.
async fn begins(log: &dyn EventLog, session: SessionId, head: Head) -> Result<Seq, ReadError> {
    let (mut inherited, mut own) = (None, head.next.0.saturating_sub(1));
    let mut at = 0;
    loop {
        let is_own = match log.batch_at(session, Seq(at)).await {
            Ok(found) => found.is_none_or(|slice| slice.batch.session == session),
            // What cannot be read below the cut is an ancestor's; verification reports it.
            Err(ReadError::Damaged { .. }) => at >= own,
            Err(error) => return Err(error),
        };
        if is_own {
            own = at;
        } else {
            inherited = Some(at);
        }
        match inherited {
            None => return Ok(Seq(own)),
            Some(inherited) if own - inherited <= 1 => return Ok(Seq(own)),
            Some(inherited) => at = inherited + (own - inherited) / 2,
        }
    }
}

struct SessionVerifier<'a> {
    log: &'a dyn EventLog,
    blobs: Arc<dyn Blobs + Send + Sync>,
    kept: Option<Digest>,
    report: VerifyReport,
    /// The keys of the sessions, as the batches read so far bring them.
    keys: BTreeMap<SessionId, Option<SessionKey>>,
    /// Blobs that were hashed and found right: 48 bytes each.
    sound: HashSet<BlobRef>,
    texts: AbsentTexts,
    progress: Progress,
    on_progress: OnProgress<'a>,
}

impl<'a> SessionVerifier<'a> {
    fn new(log: &'a dyn EventLog, kept: Option<Digest>, progress: Progress, on_progress: OnProgress<'a>) -> Self {
        let (blobs, report) = (log.blobs(), VerifyReport::default());
        let (keys, sound, texts) = (BTreeMap::new(), HashSet::new(), AbsentTexts::default());
        Self { log, blobs, kept, report, keys, sound, texts, progress, on_progress }
    }

    async fn session(&mut self, session: SessionId, head: Head, from: Seq, mut chain: Chain) -> Result<(), ReadError> {
        let (mut last, mut tail_reported): (Option<Link>, bool) = (None, false);
        let mut legality = (from == Seq::ZERO).then(Legality::default);
        let log = self.log;
        let mut pages = log.pages(session, from..head.next);
        loop {
            let before = pages.position();
            let page = match pages.next_page().await {
                Ok(Some(page)) => page,
                Ok(None) => break,
                Err(error) => {
                    self.damaged(session, before, error)?;
                    (chain, legality) = (Chain::Unknown, None);
                    match self.readable_after(session, before, head.next).await? {
                        Some(readable) => pages = log.pages(session, readable..head.next),
                        None => {
                            tail_reported = true;
                            break;
                        }
                    }
                    continue;
                }
            };
            let keyed: Vec<_> = page.iter().map(|slice| (slice, self.key(slice))).collect();
            for (slice, checked) in page.iter().zip(check(&keyed, &*self.blobs)) {
                self.batch(slice, checked, &mut chain);
                if let Some(legality) = &mut legality {
                    self.report.judge(legality, session, &slice.batch, slice.until);
                }
                last = Some(Link::of(&slice.batch));
            }
            self.progress.done += pages.position().0.saturating_sub(before.0);
            self.progress.batches = self.report.batches;
            (self.on_progress)(self.progress);
        }
        let (found, found_digest) = (last.map_or(from, |last| last.next), last.map(|last| last.digest));
        if !tail_reported && (found != head.next || found_digest != Some(head.digest)) {
            let place = DamagePlace { line: None, session: Some(session), seq: Some(found) };
            let flaw = Flaw::Head { expected: head.next, expected_digest: head.digest, found, found_digest };
            self.report.add(place, flaw);
        }
        self.report.sessions.push(Proven { session, next: found, digest: found_digest });
        Ok(())
    }

    /// The key of the session that wrote a batch: it is in its first batch, or in the last one that erased texts.
    fn key(&mut self, slice: &Slice) -> Option<SessionKey> {
        let batch = &slice.batch;
        if batch.events.first().is_some_and(|event| event.stored_key().is_some()) {
            self.keys.insert(batch.session, batch.session_key());
        }
        self.keys.get(&batch.session).copied().flatten()
    }

    fn batch(&mut self, slice: &Slice, checked: Checked, chain: &mut Chain) {
        let batch = &slice.batch;
        let (session, seq) = (batch.session, batch.first);
        let place = DamagePlace { line: None, session: Some(session), seq: Some(seq) };
        let report = &mut self.report;
        report.batches += 1;
        report.events += batch.events.len() as u64;
        report.note_erasure(batch, &*self.blobs);
        self.texts.take(batch, checked.texts);
        let found = checked.digest.as_ref().ok().copied();
        match checked.digest {
            Ok(found) if found == batch.digest => {}
            Ok(found) => report.add(place, Flaw::Digest { session, seq, expected: batch.digest, found }),
            Err(Some(flaw)) => report.add(place, flaw),
            Err(None) => {}
        }
        chain.take(batch, found, |flaw| report.add(place, flaw));
        for (blob, flaw) in checked.blobs {
            report.blobs += u64::from(flaw.is_some() || self.sound.insert(blob));
            if let Some(flaw) = flaw {
                report.add(place, flaw);
            }
        }
        note_kept(report, self.kept, batch.digest, batch.next());
    }

    /// Reports stored messages that are not batches, of the selected sessions and of no session.
    async fn strays(
        &mut self,
        of: Option<SessionId>,
        takes: &(dyn Fn(SessionId) -> bool + Sync),
    ) -> Result<(), ReadError> {
        for stray in self.log.strays(of).await? {
            if stray.session.is_none_or(takes) {
                let place = DamagePlace { session: stray.session, ..DamagePlace::default() };
                self.report.add(place, Flaw::Unreadable { reason: stray.what });
            }
        }
        Ok(())
    }

    /// Reports a damaged place; any other error ends the verification.
    fn damaged(&mut self, session: SessionId, asked: Seq, error: ReadError) -> Result<(), ReadError> {
        let ReadError::Damaged { session: of, seq, reason } = error else { return Err(error) };
        let place = DamagePlace { line: None, session: Some(of), seq: Some(seq.max(asked)) };
        let elsewhere = format!("{reason} (read as event {asked} of session {session})");
        self.report.add(place, Flaw::Unreadable { reason: if of == session { reason } else { elsewhere } });
        Ok(())
    }

    /// The first place after a damaged one that can be read.
    async fn readable_after(&self, session: SessionId, damaged: Seq, end: Seq) -> Result<Option<Seq>, ReadError> {
        for at in damaged.0 + 1..end.0 {
            match self.log.batch_at(session, Seq(at)).await {
                Ok(_) => return Ok(Some(Seq(at))),
                Err(ReadError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn end(mut self) -> VerifyReport {
        settle_kept(&mut self.report, self.kept);
        self.report.withheld = self.texts.end();
        self.report
    }
}

/// What hashing a batch and its blobs gave.
struct Checked {
    /// The digest; else what prevents its proof, unless that is reported already.
    digest: Result<Digest, Option<Flaw>>,
    /// How many texts the batch has; 0 where it cannot be hashed.
    texts: u64,
    /// Every blob that was looked at, and what is wrong with it.
    blobs: Vec<(BlobRef, Option<Flaw>)>,
}

/// Hashes a page on every core, in order.
fn check(page: &[(&Slice, Option<SessionKey>)], blobs: &(dyn Blobs + Send + Sync)) -> Vec<Checked> {
    let one = |(slice, key): &(&Slice, Option<SessionKey>)| check_batch(&slice.batch, key.as_ref(), blobs);
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    if cores == 1 || page.len() < 8 * cores {
        return page.iter().map(one).collect();
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = page
            .chunks(page.len().div_ceil(cores))
            .map(|share| (share.len(), scope.spawn(move || share.iter().map(one).collect::<Vec<_>>())))
            .collect();
        let lost = || {
            let reason = "checking it failed inside the program".into();
            Checked { digest: Err(Some(Flaw::Unreadable { reason })), texts: 0, blobs: Vec::new() }
        };
        let joined = workers
            .into_iter()
            .map(|(count, worker)| worker.join().unwrap_or_else(|_| (0..count).map(|_| lost()).collect()));
        joined.flatten().collect()
    })
}

fn check_batch(batch: &Batch, key: Option<&SessionKey>, blobs: &(dyn Blobs + Send + Sync)) -> Checked {
    let stored = batch.events.first().and_then(Event::stored_key);
    let key = key.filter(|key| stored.is_none_or(|stored| stored.hash == key.hash()));
    let reading = BlobReader { blobs, found: RefCell::default() };
    let computed = batch.compute_digest_of_texts(key, &reading);
    let texts = computed.as_ref().map_or(0, |(_, texts)| *texts);
    let digest = computed.map(|(digest, _)| digest).map_err(|error| match error {
        CanonicalError::MissingBlob(_) => None,
        // Where the first batch of the session cannot be read, that is reported already.
        CanonicalError::NoKey => {
            stored.map(|_| Flaw::Key { reason: "the key of the session is not here, or another one".into() })
        }
        error => Some(Flaw::Unreadable { reason: error.to_string() }),
    });
    if reading.found.borrow().is_empty() {
        return Checked { digest, texts, blobs: Vec::new() };
    }
    // The first one that is missing ends the computation: the others are looked at as well.
    let blobs = batch.blobs().into_iter().map(|named| (named, reading.flaw(&named))).collect();
    Checked { digest, texts, blobs }
}

/// Gives the texts of blobs that have their hash, and remembers what was found.
struct BlobReader<'a> {
    blobs: &'a (dyn Blobs + Send + Sync),
    found: RefCell<BTreeMap<BlobHash, Option<BlobRef>>>,
}

impl Blobs for BlobReader<'_> {
    fn text(&self, hash: &BlobHash) -> Option<String> {
        let text = self.blobs.text(hash);
        let found = text.as_deref().map(BlobRef::to);
        self.found.borrow_mut().insert(*hash, found);
        text.filter(|_| found.is_some_and(|found| found.blob == *hash))
    }
}

impl BlobReader<'_> {
    fn flaw(&self, named: &BlobRef) -> Option<Flaw> {
        let flaw = |found, reason: &str| Some(Flaw::Blob { blob: named.blob, found, reason: reason.into() });
        let known = self.found.borrow().get(&named.blob).copied();
        let found = known.unwrap_or_else(|| self.blobs.text(&named.blob).as_deref().map(BlobRef::to));
        match found {
            None => flaw(None, "it is not in the store, or cannot be read"),
            Some(found) if found.blob != named.blob => flaw(Some(found.blob), "its text has another hash"),
            Some(found) if found != *named => flaw(None, "its text has another length than is named here"),
            Some(_) => None,
        }
    }
}

/// Notes when a batch has the digest that was kept elsewhere.
fn note_kept(report: &mut VerifyReport, kept: Option<Digest>, digest: Digest, next: Seq) {
    if kept == Some(digest) {
        report.kept = Some(KeptDigest::Before(next));
    }
}

/// Says in the end what became of a digest that was kept elsewhere.
fn settle_kept(report: &mut VerifyReport, kept: Option<Digest>) {
    let Some(expected) = kept else { return };
    if report.sessions.iter().any(|proven| proven.digest == Some(expected)) {
        report.kept = Some(KeptDigest::Head);
    } else if report.kept.is_none() {
        report.kept = Some(KeptDigest::Missing);
        report.add(DamagePlace::default(), Flaw::Kept { expected });
    }
}
