//! Verifying a file: lines are read in order, checked by themselves on every core, and linked in order.

use super::absent::AbsentTexts;
use super::chain::{Chain, Link};
use super::flaw::{Flaw, KeptPlace};
use super::known_batches::KnownBatches;
use super::proving::{self, ComputedDigest, ProvingContext};
use super::report::{DamagePlace, KeptDigest, Proven, VerifyReport};
use crate::exchange::line::{Ancestor, Header, HeaderKeys, Line};
use crate::exchange::{OnProgress, Progress, read_line};
use annals_core::{Batch, BlobHash, BlobRef, Digest, Seq, SessionId};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::num::NonZero;

/// How many bytes of lines are checked at a time, at least one line. Read, they take some twenty times as much memory.
const CHUNK: usize = 1 << 20;

/// How many lines are checked at a time: a line of one byte takes as much memory as one of a few hundred.
const CHUNK_LINES: usize = 4_096;

/// Verifies every export in a file.
///
/// With `kept`, a digest that was kept elsewhere must be that of a batch in the file. Without one, an attacker who
/// rewrites everything after some place, header included, stays unnoticed: that is what keeping a digest is for.
///
/// # Errors
/// When the file cannot be read. What is wrong with its content is in the report.
pub fn verify_file(
    source: &mut (dyn BufRead + Send),
    kept: Option<Digest>,
    on_progress: OnProgress<'_>,
) -> std::io::Result<VerifyReport> {
    let mut file = File {
        report: VerifyReport::default(),
        kept,
        line: 0,
        section: None,
        texts: AbsentTexts::default(),
        known: KnownBatches::default(),
        places: BTreeMap::new(),
        first: None,
        found: None,
        elsewhere: None,
        given: ProvingContext::default(),
    };
    let (mut chunk, mut ends, mut progress) = (Vec::new(), Vec::new(), Progress::default());
    loop {
        chunk.clear();
        ends.clear();
        while chunk.len() < CHUNK && ends.len() < CHUNK_LINES && read_line(source, &mut chunk)? > 0 {
            ends.push(chunk.len());
        }
        if ends.is_empty() {
            break;
        }
        let mut read = check(&chunk, &ends);
        let digests = file.digests(&mut read)?;
        for (read, digest) in read.into_iter().zip(digests) {
            file.take(read, digest);
        }
        progress.done += chunk.len() as u64;
        progress.batches = file.report.batches;
        on_progress(progress);
    }
    Ok(file.end())
}

/// Reads lines on every core, in order.
fn check(chunk: &[u8], ends: &[usize]) -> Vec<Result<Line, Flaw>> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let lines: Vec<&[u8]> = starts.zip(ends).filter_map(|(start, end)| chunk.get(start..*end)).collect();
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let read = |line: &&[u8]| Line::read(line.strip_suffix(b"\n").unwrap_or(line));
    if cores == 1 || lines.len() < 2 * cores {
        return lines.iter().map(read).collect();
    }
    std::thread::scope(|scope| {
        let share = lines.len().div_ceil(cores);
        let workers: Vec<_> = lines
            .chunks(share)
            .map(|share| (share.len(), scope.spawn(move || share.iter().map(read).collect::<Vec<_>>())))
            .collect();
        let lost = || Err(Flaw::Unreadable { reason: "checking this line failed inside the program".into() });
        let joined = workers
            .into_iter()
            .map(|(lines, worker)| worker.join().unwrap_or_else(|_| (0..lines).map(|_| lost()).collect()));
        joined.flatten().collect()
    })
}

struct File {
    report: VerifyReport,
    kept: Option<Digest>,
    line: u64,
    section: Option<Section>,
    texts: AbsentTexts,
    known: KnownBatches,
    /// Where each session is in the report.
    places: BTreeMap<SessionId, usize>,
    /// The session of the first export.
    first: Option<SessionId>,
    /// The last batch with the kept digest in an export of the first session, and in one of another: the Seq after it, and its place.
    found: Option<(Seq, KeptPlace)>,
    elsewhere: Option<KeptPlace>,
    /// What the lines before the chunk gave to prove digests with.
    given: ProvingContext,
}

/// The export that is being read.
struct Section {
    /// Its header and that line, unless it is damaged.
    header: Option<(u64, Header)>,
    chain: Chain,
    last: Option<Link>,
    ancestors: Vec<Ancestor>,
    /// Every blob so far, with its lengths. 48 bytes each; their texts are gone.
    blobs: BTreeMap<BlobHash, BlobRef>,
    /// Blobs since the last batch, with their lines.
    waiting: Vec<(u64, BlobHash)>,
    /// The keys of the header.
    keys: HeaderKeys,
    /// The sessions of which a text could not be proved without a key; each is reported once.
    unproved: BTreeSet<SessionId>,
}

impl Section {
    fn new(header: Option<(u64, Header)>) -> Self {
        let keys = header.as_ref().and_then(|(_, header)| header.keys.clone()).unwrap_or_default();
        Self {
            keys: HeaderKeys::new(keys),
            header,
            chain: Chain::Start,
            last: None,
            ancestors: Vec::new(),
            blobs: BTreeMap::new(),
            waiting: Vec::new(),
            unproved: BTreeSet::new(),
        }
    }
}

impl File {
    /// The digests of the batches of a chunk, computed on every core. Takes the texts out of blob lines.
    fn digests(&mut self, read: &mut [Result<Line, Flaw>]) -> std::io::Result<Vec<ComputedDigest>> {
        let mut jobs = Vec::with_capacity(read.len());
        for line in read.iter_mut() {
            jobs.push(self.given.take(line)?);
        }
        Ok(proving::digests(read, &jobs))
    }

    fn take(&mut self, read: Result<Line, Flaw>, found: ComputedDigest) {
        self.line += 1;
        let (line, here) = (self.line, DamagePlace { line: Some(self.line), ..DamagePlace::default() });
        let read = match read {
            Ok(Line::Header(header)) => {
                self.end_section();
                self.known.next_export();
                self.first.get_or_insert(header.session);
                self.section = Some(Section::new(Some((line, header))));
                return;
            }
            other => other,
        };
        if self.section.is_none() {
            if read.is_ok() {
                self.report.add(here, Flaw::Line { reason: "a header was expected".into() });
            }
            self.section = Some(Section::new(None));
        }
        let Some(section) = &mut self.section else { return };
        match read {
            Err(flaw) => {
                self.report.add(here, flaw);
                // A damaged first line of the file is its header; what follows is still a beginning.
                if line > 1 {
                    section.chain = Chain::Unknown;
                    section.waiting.clear();
                }
            }
            Ok(Line::Blob { line: blob, found, bytes, chars }) => {
                self.report.blobs += 1;
                let known = BlobRef { blob: blob.blob, bytes, chars };
                if blob.blob != found {
                    let reason = "its text has another hash".into();
                    self.report.add(here, Flaw::Blob { blob: blob.blob, found: Some(found), reason });
                }
                if section.blobs.insert(blob.blob, known).is_some() {
                    let reason = "it occurs a second time".into();
                    self.report.add(here, Flaw::Blob { blob: blob.blob, found: None, reason });
                } else {
                    section.waiting.push((line, blob.blob));
                }
            }
            Ok(Line::Batch { batch, texts }) => {
                self.texts.take(&batch, texts.count);
                self.report.note_erasure(&batch, &annals_core::NoBlobs);
                let Some(section) = &mut self.section else { return };
                let is_proved = found.digest == Some(batch.digest);
                section.batch(&mut self.report, line, &batch, found, &texts.blobs);
                self.link(line, Link::of(&batch), is_proved);
            }
            Ok(Line::Opaque { envelope, reason }) => {
                let (session, first, digest) = (envelope.session, envelope.first, envelope.digest);
                let place = DamagePlace { line: Some(line), session: Some(session), seq: Some(first) };
                self.report.batches += 1;
                self.report.events += envelope.events.len() as u64;
                self.report.add(place, Flaw::Line { reason });
                let link = Link { session, first, next: first.plus(envelope.events.len() as u64), digest };
                section.note_link(link);
                section.keys.take_opaque(session);
                section.chain = Chain::Altered(digest);
                // Which blobs it names is not known.
                section.waiting.clear();
                self.link(line, link, false);
            }
            Ok(Line::Header(_)) => {}
        }
    }

    /// Compares a batch with those of earlier exports, and with the digest that was kept elsewhere.
    fn link(&mut self, line: u64, link: Link, is_proved: bool) {
        let Link { session, first, next, digest } = link;
        if let Some(expected) = is_proved.then(|| self.known.take(session, first, digest)).flatten() {
            let place = DamagePlace { line: Some(line), session: Some(session), seq: Some(first) };
            self.report.add(place, Flaw::Other { expected, found: digest });
        }
        if self.kept == Some(digest) {
            let header = self.section.as_ref().and_then(|section| section.header.as_ref());
            let of = header.map_or(session, |(_, header)| header.session);
            let place = KeptPlace { session: of, line };
            match self.first.is_none_or(|first| first == of) {
                true => self.found = Some((next, place)),
                false => self.elsewhere = Some(place),
            }
        }
    }

    /// Says in the end what became of a digest that was kept elsewhere.
    fn settle_kept(&mut self) {
        let Some(expected) = self.kept else { return };
        let Some((next, place)) = self.found else {
            self.report.kept = Some(KeptDigest::Missing);
            let flaw = match self.elsewhere {
                Some(place) => Flaw::KeptElsewhere { expected, place },
                None => Flaw::Kept { expected },
            };
            return self.report.add(DamagePlace::default(), flaw);
        };
        let is_head = |proven: &Proven| proven.session == place.session && proven.digest == Some(expected);
        self.report.kept_in = Some(place);
        self.report.kept = Some(match self.report.sessions.iter().any(is_head) {
            true => KeptDigest::Head,
            false => KeptDigest::Before(next),
        });
    }

    fn end_section(&mut self) {
        let Some(mut section) = self.section.take() else { return };
        section.stray(&mut self.report, &[]);
        let next = section.last.map_or(Seq::ZERO, |last| last.next);
        let session =
            section.header.as_ref().map(|(_, header)| header.session).or(section.last.map(|last| last.session));
        let digest = section.last.map(|last| last.digest);
        if let Some((line, header)) = &section.header {
            let place = DamagePlace { line: Some(*line), session, seq: None };
            let head = header.head;
            if session != section.last.map(|last| last.session) || head.next != next || Some(head.digest) != digest {
                let (expected, expected_digest) = (head.next, head.digest);
                self.report.add(place, Flaw::Head { expected, expected_digest, found: next, found_digest: digest });
            }
            if header.ancestors != section.ancestors {
                self.report.add(place, Flaw::Ancestors);
            }
            let unused = section.keys.unused().find(|session| !section.unproved.contains(session));
            if let Some(session) = unused {
                let reason = format!("the header has a key for session {session} that none of its batches here names");
                self.report.add(place, Flaw::Key { reason });
            }
        }
        let Some(session) = session else { return };
        // A session that is exported more than once is one session.
        let sessions = &mut self.report.sessions;
        let at = *self.places.entry(session).or_insert(sessions.len());
        match sessions.get_mut(at) {
            Some(known) if known.next < next => *known = Proven { session, next, digest },
            Some(_) => {}
            None => sessions.push(Proven { session, next, digest }),
        }
    }

    fn end(mut self) -> VerifyReport {
        self.end_section();
        if self.line == 0 {
            self.report.add(
                DamagePlace { line: Some(1), ..DamagePlace::default() },
                Flaw::Line { reason: "no header".into() },
            );
        }
        self.settle_kept();
        self.report.withheld = self.texts.end();
        self.report
    }
}

impl Section {
    fn batch(&mut self, report: &mut VerifyReport, line: u64, batch: &Batch, found: ComputedDigest, named: &[BlobRef]) {
        let (session, seq) = (batch.session, batch.first);
        let place = DamagePlace { line: Some(line), session: Some(session), seq: Some(seq) };
        report.batches += 1;
        report.events += batch.events.len() as u64;
        let ComputedDigest { digest: found, flaw } = found;
        self.keys.take(batch);
        if let Some(flaw) = flaw {
            let is_reported =
                matches!(flaw, Flaw::Key { .. }) && self.header_has_keys() && !self.unproved.insert(session);
            if !is_reported {
                report.add(place, flaw);
            }
        }
        if let Some(found) = found.filter(|found| *found != batch.digest) {
            report.add(place, Flaw::Digest { session, seq, expected: batch.digest, found });
        }
        self.chain.take(batch, found, |flaw| report.add(place, flaw));
        self.note_link(Link::of(batch));
        for one in named {
            let reason = match self.blobs.get(&one.blob) {
                None => "it is referred to here and does not occur before",
                Some(known) if known != one => "its text has another length than is named here",
                Some(_) => continue,
            };
            report.add(place, Flaw::Blob { blob: one.blob, found: None, reason: reason.into() });
        }
        self.stray(report, named);
    }

    fn header_has_keys(&self) -> bool {
        self.header.as_ref().is_some_and(|(_, header)| header.keys.is_some())
    }

    fn note_link(&mut self, link: Link) {
        if let Some(last) = self.last.filter(|last| last.session != link.session) {
            self.ancestors.push(Ancestor { session: last.session, cut: link.first });
        }
        self.last = Some(link);
    }

    /// Reports the waiting blobs that no batch names.
    fn stray(&mut self, report: &mut VerifyReport, named: &[BlobRef]) {
        for (line, blob) in self.waiting.drain(..) {
            if named.iter().all(|one| one.blob != blob) {
                let place = DamagePlace { line: Some(line), ..DamagePlace::default() };
                let reason = "the next batch does not name it".into();
                report.add(place, Flaw::Blob { blob, found: None, reason });
            }
        }
    }
}
