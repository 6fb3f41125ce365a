use super::{Answer, Ask, Unreadable, WireAppendError, draft_of, hello, store_of, understands};
use crate::conformance::material::{admitted, draft, session};
use crate::displaced::Displaced;
use crate::log::{AppendError, ReadError};
use crate::store_id::StoreId;
use annals_core::{Batch, Digest, SealError, Seq};
use std::sync::Arc;

#[test]
fn sides_with_other_kinds_or_another_protocol_do_not_understand_each_other() {
    let ours = hello(None);
    let later = |at: usize| {
        let mut words: Vec<&str> = ours.split(' ').collect();
        words[at] = "9";
        words.join(" ")
    };
    assert!(understands(&ours, &ours));
    assert!(understands(&ours, &later(3)), "the version is for people");
    assert!(understands(&ours, &hello(Some(StoreId([7; 16])))), "who compares stores says more about them");
    assert!(!understands(&ours, &later(1)));
    assert!(!understands(&ours, &later(2)));
    assert!(!understands(&ours, "GET / HTTP/1.1"));
}

#[test]
fn a_greeting_names_the_store() {
    let store = StoreId([0xb7; 16]);
    assert_eq!(store_of(&hello(Some(store))), Some(store));
    for none in [hello(None), "annals 1 x 0.1.0".into(), "annals 1 x 0.1.0 b7".into(), String::new()] {
        assert_eq!(store_of(&none), None, "{none:?}");
    }
}

#[test]
fn a_draft_arrives_as_it_was_sent() {
    let mut sent = draft(session(1), Seq(7), vec![admitted("a", "ü")]);
    for digest in [None, Some(Digest::of(b"x"))] {
        sent.digest = digest;
        let (first, at, events) = (sent.expected, sent.at, sent.events.clone());
        let states = sent.states.clone();
        let batch = Batch { session: sent.session, first, at, prev: None, events, digest: Digest([0; 32]), states };
        let sealed = batch.pack().unwrap();
        let message = Ask::Append { batch: sealed.encoded, digest }.write().unwrap();
        let Ask::Append { batch, digest } = Ask::read(&message).unwrap() else { panic!("another message") };
        assert_eq!(draft_of(&batch, digest).unwrap(), sent);
        for length in 0..message.len() {
            assert!(Ask::read(&message[..length]).is_err(), "{length} of {} bytes", message.len());
        }
    }
}

#[test]
fn a_large_blob_fits_a_message() {
    let text = "b".repeat(9 << 20);
    let message = Answer::Blob { text: Some(text.clone()) }.write().unwrap();
    assert!(matches!(Answer::read(&message).unwrap(), Answer::Blob { text: Some(read) } if read == text));
}

#[test]
fn errors_arrive_in_the_same_words() {
    let (session, seq, digest) = (session(1), Seq(4), Digest::of(b"x"));
    let full = || Arc::new(std::io::Error::from_raw_os_error(28));
    let mut misplaced: Vec<_> =
        crate::append_rules::MISPLACED.iter().map(|reason| AppendError::Misplaced { session, reason }).collect();
    misplaced.extend([
        AppendError::Conflict { session, expected: seq, actual: Seq(9) },
        AppendError::Diverged { session, seq, expected: digest, found: Digest::of(b"y") },
        AppendError::MissingBlob { session, seq, blob: digest },
        AppendError::Seal { session, source: SealError::Empty },
        AppendError::Seal { session, source: SealError::TooLarge { bytes: 70_000 } },
        AppendError::Io { source: full() },
        AppendError::Displaced(Displaced::Removed { dir: "/a".into() }),
        AppendError::Displaced(Displaced::Replaced { dir: "/a".into(), expected: StoreId([1; 16]), found: None }),
        AppendError::Displaced(Displaced::Replaced {
            dir: "/a".into(),
            expected: StoreId([1; 16]),
            found: Some(StoreId([2; 16])),
        }),
        AppendError::Unknown,
        AppendError::Closed,
    ]);
    for error in misplaced {
        let shown = error.to_string();
        let message = Answer::Refused { refusal: WireAppendError::from(error) }.write().unwrap();
        let Answer::Refused { refusal } = Answer::read(&message).unwrap() else { panic!("{shown}") };
        let arrived = AppendError::from(refusal);
        assert_eq!(arrived.to_string(), shown);
        if let AppendError::Io { source } = arrived {
            assert_eq!(source.raw_os_error(), Some(28));
        }
    }
    for error in [
        ReadError::NoSession(session),
        ReadError::Damaged { session, seq, reason: "bits".into() },
        ReadError::Io { source: full() },
        ReadError::Closed,
    ] {
        let shown = error.to_string();
        let message = Answer::Unreadable { reason: Unreadable::from(error) }.write().unwrap();
        let Answer::Unreadable { reason } = Answer::read(&message).unwrap() else { panic!("{shown}") };
        assert_eq!(ReadError::from(reason).to_string(), shown);
    }
}
