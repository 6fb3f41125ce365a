//! Verifying a log: what it reads back, Session by Session, hashed on every core.

use super::chain::{Chain, Link};
use super::file::{note_kept, settle_kept};
use super::report::{DamagePlace, Flaw, Proven, VerifyReport};
use crate::exchange::line::{digest_of_line, named_in};
use crate::exchange::{OnProgress, Progress};
use crate::log::{EventLog, Head, ReadError, Slice};
use annals_core::{BlobRef, Blobs, Digest, Legality, Seq, SessionId};
use std::collections::HashSet;
use std::num::NonZero;
use std::sync::Arc;

/// Verifies a Session as it is now, with everything that it inherits.
///
/// With `kept`, a digest that was kept elsewhere must be that of a Batch in it.
///
/// # Errors
/// When there is no such Session, or the store refuses. Damage is in the report.
pub async fn verify_session(
    log: &dyn EventLog,
    session: SessionId,
    kept: Option<Digest>,
    tell: OnProgress<'_>,
) -> Result<VerifyReport, ReadError> {
    let head = log.head(session).await?.ok_or(ReadError::NoSession(session))?;
    let progress = Progress { total: Some(head.next.0), ..Progress::default() };
    let mut walk = SessionVerifier::new(log, kept, progress, tell);
    walk.session(session, head, Seq::ZERO, Chain::Start).await?;
    Ok(walk.end())
}

/// Verifies every Session of a store as it is now. What forks inherit is read once, with the Session that wrote it.
///
/// # Errors
/// When the store refuses. Damage is in the report.
pub async fn verify_store(log: &dyn EventLog, tell: OnProgress<'_>) -> Result<VerifyReport, ReadError> {
    let sessions = log.sessions().await?;
    let mut begun = Vec::with_capacity(sessions.len());
    let mut total = 0;
    for one in sessions {
        let from = begins(log, one.session, one.head).await?;
        total += one.head.next.0.saturating_sub(from.0);
        begun.push((one, from));
    }
    let mut walk = SessionVerifier::new(log, None, Progress { total: Some(total), ..Progress::default() }, tell);
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
    Ok(walk.end())
}

/// Where a Session's own log begins, by bisection: 0, or a fork's cut.
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
    /// Blobs that were hashed and found right: 48 bytes each.
    sound: HashSet<BlobRef>,
    progress: Progress,
    tell: OnProgress<'a>,
}

impl<'a> SessionVerifier<'a> {
    fn new(log: &'a dyn EventLog, kept: Option<Digest>, progress: Progress, tell: OnProgress<'a>) -> Self {
        let (blobs, report) = (log.blobs(), VerifyReport::default());
        Self { log, blobs, kept, report, sound: HashSet::new(), progress, tell }
    }

    async fn session(&mut self, session: SessionId, head: Head, from: Seq, mut chain: Chain) -> Result<(), ReadError> {
        let (mut last, mut tail_told): (Option<Link>, bool) = (None, false);
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
                            tail_told = true;
                            break;
                        }
                    }
                    continue;
                }
            };
            for (slice, checked) in page.iter().zip(check(&page, &*self.blobs, &self.sound)) {
                self.batch(slice, checked, &mut chain);
                if let Some(legality) = &mut legality {
                    self.report.judge(legality, session, &slice.batch, slice.until);
                }
                last = Some(Link::of(&slice.batch));
            }
            self.progress.done += pages.position().0.saturating_sub(before.0);
            self.progress.batches = self.report.batches;
            (self.tell)(self.progress);
        }
        let (found, found_digest) = (last.map_or(from, |last| last.next), last.map(|last| last.digest));
        if !tail_told && (found != head.next || found_digest != Some(head.digest)) {
            let place = DamagePlace { line: None, session: Some(session), seq: Some(found) };
            let flaw = Flaw::Head { expected: head.next, expected_digest: head.digest, found, found_digest };
            self.report.tell(place, flaw);
        }
        self.report.sessions.push(Proven { session, next: found, digest: found_digest });
        Ok(())
    }

    fn batch(&mut self, slice: &Slice, checked: Checked, chain: &mut Chain) {
        let batch = &slice.batch;
        let (session, seq) = (batch.session, batch.first);
        let place = DamagePlace { line: None, session: Some(session), seq: Some(seq) };
        let report = &mut self.report;
        report.batches += 1;
        report.events += batch.events.len() as u64;
        let found = checked.digest.as_ref().ok().copied();
        match checked.digest {
            Ok(found) if found == batch.digest => {}
            Ok(found) => report.tell(place, Flaw::Digest { session, seq, expected: batch.digest, found }),
            Err(reason) => report.tell(place, Flaw::Unreadable { reason }),
        }
        chain.take(batch, found, |flaw| report.tell(place, flaw));
        for (blob, flaw) in checked.blobs {
            report.blobs += u64::from(flaw.is_some() || self.sound.insert(blob));
            if let Some(flaw) = flaw {
                report.tell(place, flaw);
            }
        }
        note_kept(report, self.kept, batch.digest, batch.next());
    }

    /// Tells a damaged place; any other error ends the verification.
    fn damaged(&mut self, session: SessionId, asked: Seq, error: ReadError) -> Result<(), ReadError> {
        let ReadError::Damaged { session: of, seq, reason } = error else { return Err(error) };
        let place = DamagePlace { line: None, session: Some(of), seq: Some(seq.max(asked)) };
        let told = format!("{reason} (read as event {asked} of session {session})");
        self.report.tell(place, Flaw::Unreadable { reason: if of == session { reason } else { told } });
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
        self.report
    }
}

/// What hashing a Batch and its blobs gave.
struct Checked {
    digest: Result<Digest, String>,
    /// Every blob that was looked at, and what is wrong with it.
    blobs: Vec<(BlobRef, Option<Flaw>)>,
}

/// Hashes a page on every core, in order.
fn check(page: &[Slice], blobs: &(dyn Blobs + Send + Sync), sound: &HashSet<BlobRef>) -> Vec<Checked> {
    let one = |slice: &Slice| {
        let batch = &slice.batch;
        let text = match batch.to_canonical() {
            Ok(text) => text,
            Err(error) => return Checked { digest: Err(error.to_string()), blobs: Vec::new() },
        };
        let named = named_in(&text, batch).into_iter().filter(|named| !sound.contains(named));
        let blobs = named.map(|named| (named, check_blob(&named, blobs))).collect();
        Checked { digest: digest_of_line(&text, &batch.digest).ok_or_else(|| "it has no canonical form".into()), blobs }
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    if cores == 1 || page.len() < 8 * cores {
        return page.iter().map(one).collect();
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = page
            .chunks(page.len().div_ceil(cores))
            .map(|share| (share.len(), scope.spawn(move || share.iter().map(one).collect::<Vec<_>>())))
            .collect();
        let lost = || Checked { digest: Err("checking it failed inside the program".into()), blobs: Vec::new() };
        let joined = workers
            .into_iter()
            .map(|(count, worker)| worker.join().unwrap_or_else(|_| (0..count).map(|_| lost()).collect()));
        joined.flatten().collect()
    })
}

fn check_blob(named: &BlobRef, blobs: &(dyn Blobs + Send + Sync)) -> Option<Flaw> {
    let flaw = |found, reason: &str| Some(Flaw::Blob { blob: named.blob, found, reason: reason.into() });
    match blobs.text(&named.blob).map(|text| BlobRef::to(&text)) {
        None => flaw(None, "it is not in the store, or cannot be read"),
        Some(found) if found.blob != named.blob => flaw(Some(found.blob), "its text has another hash"),
        Some(found) if found != *named => flaw(None, "its text has another length than is named here"),
        Some(_) => None,
    }
}
