//! The digest rule and the line of an export, checked against an independent writer of canonical JSON.

use super::{Anything, KEY, PREV, SESSION, seal};
use crate::event::samples::{samples, variants};
use crate::event::{DecodeError, Event, SessionEvent};
use crate::exported::digest_of_line;
use crate::{Batch, Digest, SealError, Seq, Time};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use proptest::prelude::*;
use serde_json::{Value, json};

/// What anyone can do in another language, without knowing a kind of event.
fn recomputed(line: &str) -> (Digest, Digest) {
    let fields: Value = serde_json::from_str(line).unwrap();
    let claimed = fields["digest"].as_str().unwrap().parse().unwrap();
    (claimed, digest_of_line(&fields, Some(&KEY), &Anything).unwrap())
}

fn line(batch: &Batch) -> String {
    batch.to_canonical().unwrap()
}

#[test]
fn the_digest_of_a_batch_is_pinned() {
    let batch = seal(samples()).batch;
    assert_eq!(recomputed(&line(&batch)), (batch.digest, batch.digest));
    let first = seal(samples().into_iter().take(1).collect()).batch;
    let digest = "247603ad254a60ac7848df893197ce2045afbef80d29824c2dbb02f035b0a5de";
    assert_eq!(first.digest.to_string(), digest);
    let mut event = samples().remove(0);
    if let Event::Session(SessionEvent::Created(created)) = &mut event {
        created.process = None;
    }
    let first = seal([event].into()).batch;
    insta::assert_snapshot!(line(&first), @r#"{"at":1780488000000,"digest":"f05670e007e1f762f877d75184957bb871e47d5492d69ca6100d5fc374b810ea","events":[{"agent":"build","key_hash":"af3a03beb61762079e2f795a1a0b06bebe1f5618c4046f5ffc72c3a1fcc7f2ce","location":{"directory":{"text":"/work/project"},"workspace":{"text":"main"}},"model":"openai/gpt-5","origin":{"agent":"opencode","form":"v2-events","id":"ses_1","importer":1,"version":"2.0.10"},"parent":{"call":"call_7","session":"01JZ0000000000000000000002"},"policy":{"agent_switch":"keep","model_switch":"replace"},"title":{"text":"Größe prüfen 😀"},"type":"session.created"}],"first":41,"prev":"abababababababababababababababababababababababababababababababab","session":"070W3GE1R70W3GE1R70W3GE1R7"}"#);
}

#[test]
fn a_digest_commits_to_session_place_time_predecessor_and_every_fact() {
    let whole = seal(samples()).batch;
    let digest = |batch: &Batch| batch.compute_digest(&KEY, &Anything).unwrap();
    assert_eq!(digest(&whole), whole.digest);
    let mut others = alloc::vec![
        Batch { session: crate::SessionId([8; 16]), ..whole.clone() },
        Batch { first: Seq(42), ..whole.clone() },
        Batch { at: Time(0), ..whole.clone() },
        Batch { prev: None, ..whole.clone() },
        Batch { prev: Some(Digest([0; 32])), ..whole.clone() },
    ];
    for at in 0..whole.events.len() {
        let mut less = whole.clone();
        less.events.remove(at);
        others.push(less);
    }
    for other in &others {
        assert_ne!(digest(other), whole.digest);
    }
    assert_eq!(digest(&Batch { digest: Digest([0; 32]), ..whole.clone() }), whole.digest, "but not to itself");
}

#[test]
fn a_line_with_a_field_too_many_or_too_few_is_an_error() {
    let batch = seal(samples().into_iter().take(1).collect()).batch;
    let line: Value = serde_json::from_str(&line(&batch)).unwrap();
    assert_eq!(Batch::from_json(line.clone()), Ok(batch));
    let with = |field: &str, value: Value| {
        let mut line = line.clone();
        line[field] = value;
        Batch::from_json(line).expect_err(field).to_string()
    };
    assert!(with("surprise", json!(1)).contains("surprise"));
    assert_eq!(with("events", json!([])), "malformed payload of batch: no events");
    assert!(with("digest", json!("AB".repeat(32))).contains("64 lower-case hex digits"));
    assert!(with("session", json!("8ZZZZZZZZZZZZZZZZZZZZZZZZZ")).contains("Crockford"));
    assert!(with("first", json!(-1)).contains("-1"));
    assert_eq!(with("events", json!([{"type": "x.y"}])), "unknown event type \"x.y\"");
    for field in ["session", "first", "at", "events", "digest"] {
        let mut line = line.clone();
        line.as_object_mut().unwrap().remove(field);
        let error = Batch::from_json(line);
        assert!(matches!(&error, Err(DecodeError::Malformed { kind: "batch", message }) if message.contains(field)));
    }
}

#[test]
fn a_number_of_ours_at_two_to_the_53_cannot_be_sealed() {
    let event = crate::event::MessagePinned { message: Seq(1 << 53) }.into();
    let sealed = Batch::seal(&KEY, &Anything, SESSION, Seq(0), Time(0), PREV, alloc::vec![event]);
    assert!(matches!(sealed, Err(SealError::Canonical(_))));
    let sealed = Batch::seal(&KEY, &Anything, SESSION, Seq(1 << 53), Time(0), PREV, samples());
    assert!(matches!(sealed, Err(SealError::Canonical(_))));
}

proptest! {
    #[test]
    fn any_exported_line_reads_back_and_proves_itself(
        events in prop::collection::vec(prop::sample::select(variants()), 1..10),
        first in 0..(1_u64 << 53),
        at in 0..(1_u64 << 53),
        prev: Option<[u8; 32]>,
    ) {
        let mut events = events;
        events.iter_mut().for_each(|event| event.set_key(KEY));
        let prev = prev.map(Digest);
        let sealed = Batch::seal(&KEY, &Anything, SESSION, Seq(first), Time(at), prev, events).unwrap();
        let line = line(&sealed.batch);
        prop_assert_eq!(recomputed(&line), (sealed.batch.digest, sealed.batch.digest));
        prop_assert_eq!(Batch::from_json(serde_json::from_str(&line).unwrap()).unwrap(), sealed.batch);
    }

    #[test]
    fn a_digest_is_64_lower_case_hex_digits(bytes: [u8; 32]) {
        let digest = Digest(bytes);
        let text = digest.to_string();
        prop_assert_eq!(text.parse(), Ok(digest));
        prop_assert_eq!(digest.short(), &text[..12]);
        let parts: Vec<Result<Digest, _>> = [&text[1..], &text.to_uppercase(), &text.replace(|c: char| c.is_ascii(), "é")]
            .map(str::parse).into();
        prop_assert!(parts[0].is_err() && parts[2].is_err());
        prop_assert_eq!(parts[1].is_ok(), !text.contains(|c: char| c.is_ascii_lowercase()));
    }
}
