//! Damage in a log is told with its place, all of it, once (`fixtures/FORMAT.md`).

use annals_core::{Batch, BlobHash, Blobs, Digest, Seq, SessionId, Time};
use annals_store::conformance::material::{KEY, begin, draft, fork, session, story, synthetic, two};
use annals_store::exchange::{ExportError, VerifyReport, export, verify_file, verify_session, verify_store};
use annals_store::{Boxed, EventLog, Head, LogLayer, MemoryLog, PageToken, ReadError, SessionListPage, Slice};
use std::sync::Arc;

/// A log whose reads give what a damaged store would.
#[derive(Clone, Copy)]
enum Harm {
    /// The batch that begins here says something else.
    Altered(SessionId, Seq),
    /// The batch that begins here names another digest before it.
    Relinked(SessionId, Seq),
    /// The batch that begins here cannot be read.
    Gone(SessionId, Seq),
    /// The batch that begins here is not there, and nothing says so.
    Skipped(SessionId, Seq),
    /// This blob is another text.
    OtherBlob(BlobHash),
    /// This blob is not there.
    NoBlob(BlobHash),
    /// The head is elsewhere than the log.
    Head(SessionId),
}

struct Damaged {
    log: MemoryLog,
    harm: Harm,
}

impl Damaged {
    fn slices(&self, session: SessionId, slices: Vec<Slice>) -> Result<Vec<Slice>, ReadError> {
        let mut given = Vec::new();
        for mut slice in slices {
            let batch: &mut Batch = Arc::make_mut(&mut slice.batch);
            let here = (batch.session, batch.first);
            match self.harm {
                Harm::Altered(of, at) if here == (of, at) => batch.at = Time(7),
                Harm::Relinked(of, at) if here == (of, at) => {
                    batch.prev = Some(Digest::of(b"elsewhere"));
                    batch.digest = batch.compute_digest(&KEY, &*self.log.blobs()).unwrap();
                }
                Harm::Gone(of, at) if here == (of, at) => {
                    if given.is_empty() {
                        let reason = "bits were flipped".into();
                        return Err(ReadError::Damaged { session, seq: slice.from, reason });
                    }
                    return Ok(given);
                }
                Harm::Skipped(of, at) if here == (of, at) => continue,
                _ => {}
            }
            given.push(slice);
        }
        Ok(given)
    }
}

impl Blobs for Damaged {
    fn text(&self, hash: &BlobHash) -> Option<String> {
        match self.harm {
            Harm::OtherBlob(blob) if blob == *hash => Some("another text".into()),
            Harm::NoBlob(blob) if blob == *hash => None,
            _ => self.log.blobs().text(hash),
        }
    }
}

impl LogLayer for Damaged {
    fn inner(&self) -> &dyn EventLog {
        &self.log
    }

    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        Box::pin(async move {
            let head = self.log.head(session).await?;
            Ok(head.map(|head| match self.harm {
                Harm::Head(of) if of == session => Head { digest: Digest::of(b"elsewhere"), ..head },
                _ => head,
            }))
        })
    }

    fn sessions_page(&self, from: Option<PageToken>, limit: usize) -> Boxed<'_, Result<SessionListPage, ReadError>> {
        Box::pin(async move {
            let mut all = self.log.sessions_page(from, limit).await?;
            for one in &mut all.sessions {
                one.head = LogLayer::head(self, one.session).await?.unwrap_or(one.head);
            }
            Ok(all)
        })
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move { self.slices(session, self.log.read(session, from, limit).await?) })
    }

    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        Arc::new(Self { log: self.log.clone(), harm: self.harm })
    }
}

/// `a` of 0 | 1 2 | 3 4 | 5 6 | 7 (a blob), `b` forked from it at 4 and ending at 7, `c` on its own.
async fn stories() -> (MemoryLog, BlobHash) {
    let log = MemoryLog::new();
    let (a, b, c) = (session(1), session(2), session(3));
    story(&log, a, 3).await.unwrap();
    let large = "l".repeat(9_000);
    log.append(draft(a, Seq(7), vec![synthetic(large.clone())])).await.unwrap();
    fork(&log, a, Seq(4), b).await.unwrap();
    two(&log, b, Seq(5)).await.unwrap();
    begin(&log, c).await.unwrap();
    (log, Digest::of(large.as_bytes()))
}

/// Where and what, one line a damage.
fn reported(report: &VerifyReport) -> Vec<String> {
    let line = |damage: &annals_store::exchange::Damage| {
        let session = damage.place.session.map_or(0, |one| one.millis() - session(0).millis());
        format!("{session} {} {}", damage.place.seq.map_or(0, |seq| seq.0), damage.flaw.word())
    };
    report.damage.iter().map(line).collect()
}

#[tokio::test]
async fn every_damage_of_a_store_is_told_once_with_its_place_and_the_rest_is_verified() {
    let (log, blob) = stories().await;
    let (a, b) = (session(1), session(2));
    for (harm, of_store, of_fork) in [
        (Harm::Altered(a, Seq(3)), vec!["1 3 digest"], vec!["1 3 digest"]),
        (Harm::Altered(a, Seq(0)), vec!["1 0 digest"], vec!["1 0 digest"]),
        (Harm::Altered(b, Seq(4)), vec!["2 4 digest"], vec!["2 4 digest"]),
        (Harm::Altered(a, Seq(5)), vec!["1 5 digest"], vec![]),
        // Who relinks a batch changes its digest, and the next one, or the fork, tells that.
        (Harm::Relinked(a, Seq(5)), vec!["1 5 prev", "1 7 prev"], vec![]),
        (Harm::Gone(a, Seq(5)), vec!["1 5 unreadable"], vec![]),
        (Harm::Gone(a, Seq(0)), vec!["1 0 unreadable"], vec!["2 0 unreadable"]),
        (Harm::Gone(a, Seq(7)), vec!["1 7 unreadable"], vec![]),
        (Harm::Skipped(a, Seq(7)), vec!["1 7 head"], vec![]),
        (Harm::Skipped(a, Seq(5)), vec!["1 7 seq", "1 7 prev"], vec![]),
        (Harm::OtherBlob(blob), vec!["1 7 blob"], vec![]),
        (Harm::NoBlob(blob), vec!["1 7 blob"], vec![]),
        (Harm::Head(b), vec!["2 7 head"], vec!["2 7 head"]),
    ] {
        let damaged = Damaged { log: log.clone(), harm };
        let report = verify_store(&damaged, &mut |_| {}).await.unwrap();
        assert_eq!(reported(&report), of_store);
        assert_eq!(report.sessions.len(), 3);
        assert!(report.batches >= 7, "{}", report.batches);
        let report = verify_session(&damaged, b, None, &mut |_| {}).await.unwrap();
        assert_eq!(reported(&report), of_fork);
    }
}

#[tokio::test]
async fn a_session_that_is_not_all_there_is_not_exported_in_silence() {
    let (log, blob) = stories().await;
    let a = session(1);
    let mut out = Vec::new();
    let no_blob = Damaged { log: log.clone(), harm: Harm::NoBlob(blob) };
    let refused = export(&no_blob, a, &mut out, &mut |_| {}).await;
    assert!(matches!(refused, Err(ExportError::MissingBlob { seq: Seq(7), .. })), "{refused:?}");
    let gone = Damaged { log, harm: Harm::Gone(a, Seq(5)) };
    let refused = export(&gone, a, &mut out, &mut |_| {}).await;
    assert!(matches!(refused, Err(ExportError::Read(ReadError::Damaged { seq: Seq(5), .. }))), "{refused:?}");
}

/// A line takes memory for what is found in it, however short it is.
#[test]
fn few_lines_are_read_at_a_time() {
    let mut read = Vec::new();
    let report =
        verify_file(&mut "\n".repeat(10_000).as_bytes(), None, &mut |progress| read.push(progress.done)).unwrap();
    assert_eq!((report.damage.len() as u64 + report.more, read.last()), (10_000, Some(&10_000)));
    let most = read.iter().zip([0].iter().chain(&read)).map(|(done, before)| done - before).max();
    assert!(most < Some(5_000), "{read:?}");
}
