//! Sessions that speak the three protocols, without a network: bodies go out, recorded answers come back, and the log
//! alone gives every body again.

use crate::cli::command::{Annals, Answer};
use crate::wire::world::{World, last_request};
use annals_core::event::{ModelProfileRecorded, RequestSent};
use annals_core::{Digest, Event};
use annals_projections::{SessionView, rebuild};
use annals_providers::wire::Protocol;

/// Runs a command, which brings an executor of its own.
fn run(annals: &Annals, args: &[&str]) -> Answer {
    std::thread::scope(|scope| scope.spawn(|| annals.run(args)).join().unwrap())
}

/// Three requests of two turns, the second after a restart, and the request of a summary.
async fn story(protocol: Protocol) -> World {
    let world = World::new(protocol, crate::wire::answers::of(protocol));
    let session = world.begin().await;
    world.prompt(session, "one", "Read both.").await;
    world.prompt(session, "two", "And now?").await;
    world.compact(session).await;
    world
}

async fn is_proved(protocol: Protocol) {
    let world = story(protocol).await;
    let sent = world.sent();
    assert_eq!(sent.len(), 4, "{protocol}");
    let annals = Annals::new();
    let file = world.export(&annals).await;
    let answer = run(&annals, &["verify", &file, "--requests", "--wire"]);
    assert_eq!(answer.status, 0, "{protocol}: {}", answer.out);
    assert!(
        answer.out.ends_with("✓ 4 bodies encoded again, identical to what was sent\n"),
        "{protocol}: {}",
        answer.out
    );
    for (at, body) in sent.iter().enumerate() {
        let answer = run(&annals, &["requests", &file, "--step", &(at + 1).to_string(), "--wire"]);
        assert_eq!((answer.status, answer.out.as_bytes()), (0, &body.bytes[..]), "{protocol}: {}", answer.remarks);
    }
}

#[tokio::test]
async fn every_body_of_chat_completions_is_proved_from_the_log() {
    is_proved(Protocol::OpenAiChat).await;
}

#[tokio::test]
async fn every_body_of_responses_is_proved_from_the_log() {
    is_proved(Protocol::OpenAiResponses).await;
}

#[tokio::test]
async fn every_body_of_messages_is_proved_from_the_log() {
    is_proved(Protocol::AnthropicMessages).await;
}

#[tokio::test]
async fn what_a_model_said_goes_back_to_it_as_it_came() {
    for (protocol, native) in [
        (Protocol::OpenAiChat, r#""reasoning_content":"I need both files.""#),
        (
            Protocol::OpenAiResponses,
            r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"I need both files."}],"encrypted_content":"gAAAA=="}"#,
        ),
        (Protocol::AnthropicMessages, r#"{"type":"thinking","thinking":"I need both files.","signature":"EqQB+/=="}"#),
    ] {
        let sent = story(protocol).await.sent();
        let second = String::from_utf8_lossy(&sent[1].bytes).into_owned();
        assert!(second.contains(native), "{protocol}: {second}");
        for input in ["a.csv", "b.csv", "12345678901234567890123"] {
            assert!(second.contains(input), "{protocol}: {second}");
        }
        assert!(second.contains("no such file"), "{protocol}: {second}");
    }
}

#[tokio::test]
async fn a_request_that_cannot_be_encoded_fails_before_anything_is_sent_or_recorded() {
    let mut world = World::new(Protocol::OpenAiResponses, Vec::new());
    world.control("top_k", "5");
    let session = world.begin().await;
    let error = world.try_prompt(session, "one", "Hello").await.unwrap_err();
    assert_eq!(error.kind(), "request");
    assert_eq!(
        error.to_string(),
        "the request cannot be encoded: openai-responses has no generation control top_k; it has max_tokens, \
         temperature, top_p"
    );
    assert!(world.sent().is_empty());
    assert!(world.view(session).await.requests.marks.is_empty());
}

/// Appends a request of the present history, changed as a test wants it, with the digest that the views give.
async fn records(world: &World, session: annals_core::SessionId, change: impl FnOnce(&mut RequestSent)) {
    let view: SessionView = world.view(session).await;
    let mut sent = last_request(world, session).await;
    change(&mut sent);
    sent.digest = rebuild(&view, &sent, &*world.log.blobs()).unwrap().digest();
    world.append(session, vec![Event::from(sent)]).await;
}

#[tokio::test]
async fn another_body_is_a_difference_and_an_unknown_encoding_is_not_provable_by_this_build() {
    let world = World::new(Protocol::OpenAiChat, crate::wire::answers::of(Protocol::OpenAiChat));
    let session = world.begin().await;
    world.prompt(session, "one", "Read both.").await;
    // A body that was never sent.
    records(&world, session, |sent| sent.wire = Some(Digest([7; 32]))).await;
    // A body that nobody recorded.
    records(&world, session, |sent| sent.wire = None).await;
    // An encoding of a later build.
    let mut profile = world.model();
    profile.encoding = 9;
    let digest = profile.digest().unwrap();
    world.append(session, vec![ModelProfileRecorded { profile }.into()]).await;
    records(&world, session, |sent| (sent.model_profile, sent.wire) = (digest, Some(Digest([9; 32])))).await;
    let annals = Annals::new();
    let file = world.export(&annals).await;
    let plain = run(&annals, &["verify", &file, "--requests"]);
    assert_eq!(plain.status, 0, "{}", plain.out);
    let answer = run(&annals, &["verify", &file, "--requests", "--wire"]);
    assert_eq!(answer.status, 1);
    let out: Vec<&str> = answer.out.lines().skip(3).collect();
    insta::assert_snapshot!(out.join("\n") + "\n" + &answer.remarks);
    let shown = run(&annals, &["requests", &file, "--step", "5", "--wire"]);
    assert_eq!((shown.status, shown.out.as_str()), (1, ""));
    assert!(shown.remarks.contains("cannot be verified by this build"), "{}", shown.remarks);
    let json = run(&annals, &["verify", &file, "--requests", "--wire", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["requests"]["wire"]["proved"], 2);
    assert_eq!(json["requests"]["wire"]["without"], 1);
}

#[tokio::test]
async fn a_fork_is_sent_with_a_cache_key_of_its_own() {
    let world = World::new(Protocol::OpenAiResponses, crate::wire::answers::of(Protocol::OpenAiResponses));
    let session = world.begin().await;
    world.prompt(session, "one", "Read both.").await;
    let child = world.fork(session).await;
    world.prompt(child, "two", "And now?").await;
    let sent = world.sent();
    let last = String::from_utf8_lossy(&sent.last().unwrap().bytes).into_owned();
    assert!(last.contains(&format!(r#""prompt_cache_key":"{child}""#)), "{last}");
    let annals = Annals::new();
    let file = world.export_of(&annals, child).await;
    let answer = run(&annals, &["verify", &file, "--requests", "--wire"]);
    assert_eq!(answer.status, 0, "{}{}", answer.out, answer.remarks);
}

#[tokio::test]
async fn every_attempt_records_the_body_that_it_sends() {
    let mut answers = crate::wire::answers::of(Protocol::OpenAiChat);
    let half = r#"{"choices":[{"index":0,"delta":{"content":"I will"}}]}"#.to_owned();
    answers.splice(0..0, [vec!["!transport".to_owned()], vec![half, "!incomplete-stream".to_owned()]]);
    let world = World::new(Protocol::OpenAiChat, answers);
    let session = world.begin().await;
    world.prompt(session, "one", "Read both.").await;
    let sent = world.sent();
    // The second attempt is the same request; the third tells what arrived of the second.
    assert_eq!(sent[0], sent[1]);
    assert_ne!(sent[1], sent[2]);
    assert!(String::from_utf8_lossy(&sent[2].bytes).contains("I will"));
    let recorded = world.wires(session).await;
    assert_eq!(recorded, sent.iter().map(|body| Some(body.digest)).collect::<Vec<_>>());
    let annals = Annals::new();
    let file = world.export(&annals).await;
    let answer = run(&annals, &["verify", &file, "--requests", "--wire"]);
    assert!(answer.out.ends_with("✓ 4 bodies encoded again, identical to what was sent\n"), "{}", answer.out);
}
