//! Sessions as files: what goes out comes back the same, and nothing that was altered passes (`fixtures/FORMAT.md`).

use annals_core::event::SessionEvent;
use annals_core::{Digest, Event, Seq, SessionId};
use annals_store::conformance::material::{
    admitted, created, draft, fork, promoted, session, story, synthetic, two, whole,
};
use annals_store::exchange::{
    ImportError, Imported, Progress, VerifyReport, export, import, import_file, verify_file, verify_session,
    verify_store,
};
use annals_store::{EventLog, MemoryLog};

fn quiet() -> impl FnMut(Progress) + Send {
    |_| {}
}

async fn exported(log: &dyn EventLog, session: SessionId) -> Vec<u8> {
    let mut out = Vec::new();
    let exported = export(log, session, &mut out, &mut quiet()).await.unwrap();
    assert_eq!(exported.bytes, out.len() as u64);
    out
}

async fn imported(log: &dyn EventLog, file: &[u8]) -> Result<Imported, ImportError> {
    import(log, &mut &*file, &mut quiet()).await
}

fn verified(file: &[u8], kept: Option<Digest>) -> VerifyReport {
    verify_file(&mut &*file, kept, &mut quiet()).unwrap()
}

/// A Session with blobs (one named twice), texts that need escapes, and batches of several events.
async fn parent(log: &dyn EventLog) -> SessionId {
    let s = session(1);
    let large = "a large text, größer als acht KiB \u{1f600} ".repeat(300);
    story(log, s, 3).await.unwrap();
    for (at, events) in [
        (7, vec![synthetic(large.clone()), synthetic("\"quoted\"\\ \u{8}\t\n\u{c}\r\u{0}\u{1f}\u{7f}\u{2028} ü")]),
        (9, vec![admitted("again", &large), promoted("again"), synthetic("b".repeat(9_000))]),
        (12, vec![synthetic("the end")]),
    ] {
        log.append(draft(s, Seq(at), events)).await.unwrap();
    }
    s
}

/// A fork of a fork, both cut inside a batch.
async fn grandchild(log: &dyn EventLog) -> SessionId {
    let a = parent(log).await;
    let (b, c) = (session(2), session(3));
    fork(log, a, Seq(10), b).await.unwrap();
    two(log, b, Seq(11)).await.unwrap();
    fork(log, b, Seq(12), c).await.unwrap();
    two(log, c, Seq(13)).await.unwrap();
    c
}

#[tokio::test]
async fn an_import_has_the_digests_of_what_was_exported() {
    let (here, there) = (MemoryLog::new(), MemoryLog::new());
    let s = parent(&here).await;
    let file = exported(&here, s).await;
    let done = imported(&there, &file).await.unwrap();
    assert_eq!((done.sessions[0].new, done.sessions[0].known, done.sessions[0].blobs), (7, 0, 2));
    assert_eq!(there.head(s).await.unwrap(), here.head(s).await.unwrap());
    assert_eq!(whole(&there, s).await.unwrap(), whole(&here, s).await.unwrap());
    assert_eq!(exported(&there, s).await, file);
}

#[tokio::test]
async fn importing_again_adds_nothing_and_a_longer_file_goes_on() {
    let (here, there) = (MemoryLog::new(), MemoryLog::new());
    let s = parent(&here).await;
    let short = exported(&here, s).await;
    imported(&there, &short).await.unwrap();
    let again = imported(&there, &short).await.unwrap();
    assert_eq!((again.sessions[0].new, again.sessions[0].known), (0, 7));
    two(&here, s, Seq(13)).await.unwrap();
    let long = exported(&here, s).await;
    let longer = imported(&there, &long).await.unwrap();
    assert_eq!((longer.sessions[0].new, longer.sessions[0].known), (1, 7));
    assert_eq!(exported(&there, s).await, long);
    let shorter = imported(&there, &short).await.unwrap();
    assert_eq!(shorter.sessions[0].new, 0);
    assert_eq!(exported(&there, s).await, long);
}

#[tokio::test]
async fn an_export_of_a_fork_contains_what_it_inherits() {
    let (here, there) = (MemoryLog::new(), MemoryLog::new());
    let c = grandchild(&here).await;
    let file = exported(&here, c).await;
    let report = verified(&file, None);
    assert!(report.is_sound(), "{:?}", report.damage);
    assert_eq!(imported(&there, &file).await.unwrap().sessions[0].header.ancestors.len(), 2);
    assert_eq!(whole(&there, c).await.unwrap(), whole(&here, c).await.unwrap());
    assert_eq!(exported(&there, c).await, file);
    // What the ancestors wrote after the cuts comes with their own exports.
    for ancestor in [session(1), session(2)] {
        assert!(there.head(ancestor).await.unwrap() != here.head(ancestor).await.unwrap() || ancestor == session(2));
        imported(&there, &exported(&here, ancestor).await).await.unwrap();
        assert_eq!(whole(&there, ancestor).await.unwrap(), whole(&here, ancestor).await.unwrap());
    }
}

#[tokio::test]
async fn several_exports_make_one_file() {
    let (here, there) = (MemoryLog::new(), MemoryLog::new());
    grandchild(&here).await;
    let mut file = Vec::new();
    for one in here.sessions().all().await.unwrap() {
        file.extend(exported(&here, one.session).await);
    }
    let report = verified(&file, None);
    assert!(report.is_sound(), "{:?}", report.damage);
    assert_eq!(report.sessions.len(), 3);
    assert_eq!(imported(&there, &file).await.unwrap().sessions.len(), 3);
    assert_eq!(there.sessions().all().await.unwrap(), here.sessions().all().await.unwrap());
}

#[tokio::test]
async fn a_diverged_file_is_refused_with_its_place() {
    let (here, there) = (MemoryLog::new(), MemoryLog::new());
    let s = parent(&here).await;
    story(&there, s, 3).await.unwrap();
    there.append(draft(s, Seq(7), vec![synthetic("something else")])).await.unwrap();
    let before = whole(&there, s).await.unwrap();
    let file = exported(&here, s).await;
    match imported(&there, &file).await {
        Err(ImportError::Diverged { line, session, seq, expected, found }) => {
            assert_eq!((line, session, seq), (7, s, Seq(7)));
            assert_eq!(expected, Some(before[4].batch.digest));
            assert_eq!(found, whole(&here, s).await.unwrap()[4].batch.digest);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(whole(&there, s).await.unwrap(), before);
}

#[tokio::test]
async fn nothing_of_a_damaged_or_shortened_file_is_imported() {
    let here = MemoryLog::new();
    let file = exported(&here, grandchild(&here).await).await;
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let folder = tempfile::tempdir().unwrap();
    for shorter in 1..lines.len() {
        let (there, path) = (MemoryLog::new(), folder.path().join("short.jsonl"));
        std::fs::write(&path, lines[..shorter].concat()).unwrap();
        let refused = import_file(&there, &path, &mut quiet()).await;
        assert!(matches!(refused, Err(ImportError::Unsound(_))), "{shorter} lines: {refused:?}");
        assert!(there.sessions().all().await.unwrap().is_empty());
        // As a stream it is known to be short only at its end; what came before is the session's true beginning.
        let refused = imported(&there, &lines[..shorter].concat()).await;
        assert!(matches!(refused, Err(ImportError::Incomplete { line: 1, .. })), "{shorter} lines: {refused:?}");
        assert!(imported(&there, &file).await.is_ok());
    }
}

#[tokio::test]
async fn every_altered_byte_of_a_file_is_told_at_its_line() {
    let here = MemoryLog::new();
    let (a, b) = (session(1), session(2));
    story(&here, a, 1).await.unwrap();
    here.append(draft(a, Seq(3), vec![synthetic("x".repeat(8_200))])).await.unwrap();
    fork(&here, a, Seq(2), b).await.unwrap();
    here.append(draft(b, Seq(3), vec![synthetic("x".repeat(8_200))])).await.unwrap();
    let file = exported(&here, b).await;
    assert!(verified(&file, None).is_sound());
    for at in (0..file.len()).filter(|at| at % 40 == 0 || !(1_500..9_000).contains(at)) {
        let mut altered = file.clone();
        altered[at] ^= 1;
        let line = 1 + file[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
        let report = verified(&altered, None);
        assert!(!report.is_sound(), "byte {at}, line {line}");
        if altered[at] != b'\n' && file[at] != b'\n' {
            // An altered id also contradicts the header, a digest the batch after it, a blob's hash who names it.
            // That a key of the header is another one shows where its hash is: at the first batch of its session.
            let is_key = line == 1 && report.damage.iter().all(|damage| damage.flaw.word() == "key");
            let at_its_line = report.damage.iter().any(|damage| damage.place.line == Some(line));
            assert!(at_its_line || is_key, "byte {at}, line {line}: {:?}", report.damage);
            let elsewhere = report.damage.iter().filter(|damage| damage.place.line != Some(line));
            let others: Vec<_> = elsewhere.map(|damage| damage.flaw.word()).collect();
            assert!(
                others.iter().all(|word| ["head", "ancestors", "blob", "prev", "key"].contains(word)),
                "byte {at}: {others:?}"
            );
            let there = MemoryLog::new();
            assert!(imported(&there, &altered).await.is_err(), "byte {at}, line {line}");
        }
    }
}

#[tokio::test]
async fn a_digest_kept_elsewhere_tells_a_log_that_was_rewritten() {
    let (here, forged) = (MemoryLog::new(), MemoryLog::new());
    let s = parent(&here).await;
    let kept: Vec<Digest> = whole(&here, s).await.unwrap().iter().map(|slice| slice.batch.digest).collect();
    story(&forged, s, 3).await.unwrap();
    forged.append(draft(s, Seq(7), vec![synthetic("nothing happened")])).await.unwrap();
    let file = exported(&forged, s).await;
    assert!(verified(&file, None).is_sound(), "a log rewritten with all its digests is sound in itself");
    for (at, digest) in kept.iter().enumerate() {
        assert_eq!(verified(&file, Some(*digest)).is_sound(), at < 4);
        assert_eq!(verify_session(&forged, s, Some(*digest), &mut quiet()).await.unwrap().is_sound(), at < 4);
        assert!(verify_session(&here, s, Some(*digest), &mut quiet()).await.unwrap().is_sound());
    }
}

#[tokio::test]
async fn a_sound_store_verifies_whole() {
    let log = MemoryLog::new();
    let c = grandchild(&log).await;
    let report = verify_store(&log, &mut quiet()).await.unwrap();
    assert!(report.is_sound(), "{:?}", report.damage);
    let heads: Vec<_> = log.sessions().all().await.unwrap();
    assert_eq!(report.sessions.len(), heads.len());
    assert!(heads.iter().zip(&report.sessions).all(|(head, proven)| proven.digest == Some(head.head.digest)));
    assert_eq!((report.batches, report.events, report.blobs), (11, 19, 2));
    let of_one = verify_session(&log, c, None, &mut quiet()).await.unwrap();
    assert!(of_one.is_sound());
    assert_eq!(of_one.batches, 5 + 1 + 2 + 2 - 1 + 1 - 1 + 1 - 1 + 1);
}

#[tokio::test]
async fn a_first_event_other_than_a_beginning_is_told() {
    let key = annals_store::conformance::material::KEY;
    let batch = annals_core::Batch::seal(
        &key,
        &annals_core::NoBlobs,
        session(1),
        Seq(0),
        annals_core::Time(1),
        None,
        vec![admitted("a", "b")],
    );
    let line = batch.unwrap().batch.to_canonical().unwrap();
    let report = verified(line.as_bytes(), None);
    let words: Vec<_> = report.damage.iter().map(|damage| damage.flaw.word()).collect();
    assert_eq!(words, ["line", "begin"]);
    let Event::Session(SessionEvent::Created(_)) = created() else { panic!("created() is session.created") };
}
