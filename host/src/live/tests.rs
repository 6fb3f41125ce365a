use super::*;
use annals_core::event::{InputWithdrawn, TextEnded};
use annals_core::{Batch, Digest, RequestId, Seq, SessionId, Time};
use annals_runtime::bus::{Bus, Delta, Fragment, Notice};
use std::sync::Arc;

fn session(n: u64) -> SessionId {
    SessionId::from_parts(n, 1)
}

fn delta(n: u64, text: &str) -> Notice {
    let request = RequestId::from_parts(n, 2);
    Notice::Delta(Delta { session: session(n), request, fragment: Fragment::Text(0), text: text.into() })
}

fn committed(n: u64, event: impl Into<annals_core::Event>) -> Notice {
    let (session, digest, events) = (session(n), Digest::of(b""), vec![event.into()]);
    Notice::Committed(Arc::new(Batch {
        session,
        first: Seq(1),
        at: Time(1),
        prev: None,
        events,
        digest,
        states: Vec::new(),
    }))
}

/// What a cursor says until a fragment is settled: the text, joined.
async fn until_settled(cursor: &mut LiveCursor) -> String {
    let mut whole = String::new();
    loop {
        for update in cursor.next().await {
            match update {
                LiveUpdate::Delta { text, .. } => whole.push_str(&text),
                LiveUpdate::Settled { .. } => return whole,
            }
        }
    }
}

async fn text(cursor: &mut LiveCursor) -> String {
    let updates = cursor.next().await;
    updates.iter().map(|update| if let LiveUpdate::Delta { text, .. } = update { text.as_str() } else { "" }).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_shows_a_fragment_from_its_beginning_until_the_log_has_it() {
    let folder = tempfile::tempdir().unwrap();
    // Longer than the path of a socket may be.
    let store = folder.path().join("d".repeat(120));
    std::fs::create_dir(&store).unwrap();
    let sender = LiveSender::start(&(&store).into(), &Bus::default());
    assert!(!store.join("live").exists(), "nothing is on its way");
    sender.notice(&delta(1, "Seven "));
    let reader = LiveReader::start(&(&store).into());
    let mut cursor = reader.follow(session(1));
    assert_eq!(text(&mut cursor).await, "Seven ");
    sender.notice(&delta(2, "of another session"));
    sender.notice(&delta(1, "jars"));
    assert_eq!(text(&mut cursor).await, "jars");
    let mut late = reader.follow(session(1));
    assert_eq!(text(&mut late).await, "Seven jars");
    sender.notice(&committed(1, InputWithdrawn { input: "i".into() }));
    sender.notice(&delta(1, "."));
    sender.notice(&committed(1, TextEnded { index: 0, text: "Seven jars.".into(), metadata: None }));
    assert!([".", ""].contains(&until_settled(&mut cursor).await.as_str()));
    let mut other = reader.follow(session(2));
    assert_eq!(text(&mut other).await, "of another session");
    drop(sender);
    assert_eq!(until_settled(&mut other).await, "", "given up with its process");
    assert_eq!(std::fs::read_dir(store.join("live")).unwrap().count(), 0);
}
