use super::*;
use crate::provider::test_model;
use crate::provider::{AnswerStream, Provider, ProviderError, ProviderErrorKind, ProviderEvent, ProviderRequest};
use annals_core::event::{Finish, Purpose, RequestOptions, Usage};
use annals_core::{RequestId, SessionId};
use annals_projections::{Block, Request, RequestMessage, Role, ToolChoice};
use futures_util::{StreamExt, stream};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

type Arrived = Result<ProviderEvent, ProviderError>;
type Tested = Result<(), Box<dyn std::error::Error>>;

/// Answers with given events, one list after the other.
#[derive(Default)]
struct Raw(Mutex<VecDeque<Vec<Arrived>>>);

impl Raw {
    fn new(answers: impl IntoIterator<Item = Vec<Arrived>>) -> Self {
        Self(Mutex::new(answers.into_iter().collect()))
    }
}

impl Provider for Raw {
    fn send(&self, _: ProviderRequest) -> AnswerStream {
        let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        stream::iter(next.unwrap_or_default()).boxed()
    }
}

fn asks(said: &[&str], attempt: u32) -> ProviderRequest {
    let message = |text: &&str| RequestMessage {
        role: Role::User,
        blocks: vec![Block::Text { text: (*text).into(), metadata: None, seq: None }],
    };
    let request = Request {
        purpose: Purpose::Turn,
        agent: "build".into(),
        model: test_model(&"test/alpha".into(), 200_000, 32_000),
        system: Vec::new(),
        messages: said.iter().map(message).collect(),
        tools: Vec::new(),
        tool_choice: ToolChoice::None,
        options: RequestOptions::default(),
    };
    ProviderRequest {
        session: SessionId([1; 16]),
        parent: None,
        id: RequestId([2; 16]),
        attempt,
        request: Arc::new(request),
        body: None,
    }
}

fn says(text: &str) -> Vec<Arrived> {
    let id = || "t".to_string();
    vec![
        Ok(ProviderEvent::TextDelta { id: id(), text: text.into() }),
        Ok(ProviderEvent::TextEnded { id: id(), metadata: None }),
        Ok(ProviderEvent::Finished(Finish::Stop)),
    ]
}

fn fails(kind: ProviderErrorKind) -> Vec<Arrived> {
    vec![Err(ProviderError { kind, status: Some(429), retry_after_ms: Some(1_500), message: "slow down".into() })]
}

async fn all(provider: &impl Provider, request: ProviderRequest) -> Vec<Arrived> {
    provider.send(request).collect().await
}

async fn recorded(
    folder: &std::path::Path,
    answers: impl IntoIterator<Item = (ProviderRequest, Vec<Arrived>)>,
) -> Vec<Vec<Arrived>> {
    let (requests, answers): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
    let recorder = CassetteRecorder::new(Raw::new(answers), folder);
    let mut given = Vec::new();
    for request in requests {
        given.push(all(&recorder, request).await);
    }
    given
}

fn message(arrived: &[Arrived]) -> String {
    match arrived {
        [Err(error)] => error.message.clone(),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn takes_of_one_request_are_played_in_order_and_the_last_one_again() -> Tested {
    let folder = tempfile::tempdir()?;
    let answers = ["one", "two"].map(|text| (asks(&["hello"], 1), says(text)));
    recorded(folder.path(), answers).await;
    let player = CassettePlayer::open(folder.path())?;
    for text in ["one", "two", "two"] {
        assert_eq!(all(&player, asks(&["hello"], 1)).await, says(text));
    }
    Ok(())
}

#[tokio::test]
async fn a_new_recording_replaces_what_the_folder_held_of_the_same_request() -> Tested {
    let folder = tempfile::tempdir()?;
    let old = ["old", "older", "oldest"].map(|text| (asks(&["hello"], 1), says(text)));
    recorded(folder.path(), old).await;
    recorded(folder.path(), [(asks(&["hello"], 1), says("new"))]).await;
    let player = CassettePlayer::open(folder.path())?;
    for _ in 0..2 {
        assert_eq!(all(&player, asks(&["hello"], 1)).await, says("new"));
    }
    Ok(())
}

#[tokio::test]
async fn attempts_are_answered_each_with_its_own() -> Tested {
    let folder = tempfile::tempdir()?;
    let limited = fails(ProviderErrorKind::RateLimit);
    recorded(folder.path(), [(asks(&["hello"], 1), limited.clone()), (asks(&["hello"], 2), says("hi"))]).await;
    let player = CassettePlayer::open(folder.path())?;
    assert_eq!(all(&player, asks(&["hello"], 2)).await, says("hi"));
    assert_eq!(all(&player, asks(&["hello"], 1)).await, limited);
    let missed = message(&all(&player, asks(&["hello"], 3)).await);
    assert!(missed.ends_with("attempt 2, the same request"), "{missed}");
    Ok(())
}

#[tokio::test]
async fn a_miss_names_the_nearest_request_and_where_the_two_part() -> Tested {
    let folder = tempfile::tempdir()?;
    let said = ["add two and two", "and three"];
    let answers = [(asks(&said[..1], 1), says("4")), (asks(&said, 1), says("7")), (asks(&["else"], 1), says("no"))];
    recorded(folder.path(), answers).await;
    let player = CassettePlayer::open(folder.path())?;
    let miss = async |said: &[&str]| {
        let text = message(&all(&player, asks(said, 1)).await);
        text.split_once("attempt 1: ").map(|(_, text)| text.to_owned()).unwrap_or(text)
    };
    assert_eq!(
        miss(&["add two and two", "and four"]).await,
        r#"message 1 differs first; recorded is …ock":"text","text":"and three"}],"role":"user"}, asked was …ock":"text","text":"and four"}],"role":"user"}"#
    );
    assert_eq!(
        miss(&["add two and two", "and three", "and one"]).await,
        r#"it has no message 2: {"blocks":[{"block":"text","text":"and one"}],"role":"user"}"#
    );
    assert_eq!(
        miss(&["else"; 0]).await,
        r#"it has a message 0 besides: {"blocks":[{"block":"text","text":"add two and two"}],"role":"user"}"#
    );
    let whole = message(&all(&player, asks(&["add two and two", "and four"], 1)).await);
    let near = asks(&said, 1).request.digest();
    assert!(whole.contains(&format!("of 3 recorded the nearest is request {}", near.short())), "{whole}");
    assert!(whole.starts_with(&format!("the cassette {} holds no answer", folder.path().display())), "{whole}");
    Ok(())
}

#[tokio::test]
async fn an_empty_folder_and_none_at_all_say_so() -> Tested {
    let folder = tempfile::tempdir()?;
    let player = CassettePlayer::open(folder.path())?;
    let missed = all(&player, asks(&["hello"], 1)).await;
    assert!(message(&missed).ends_with("attempt 1: it is empty"), "{missed:?}");
    assert!(matches!(&missed[..], [Err(error)] if !error.kind.retried(false)));
    let none = CassettePlayer::open(folder.path().join("none")).err().ok_or("there is none")?;
    assert!(matches!(none, CassetteError::NoFolder(_)));
    Ok(())
}

#[tokio::test]
async fn an_answer_that_nobody_waited_for_is_not_kept() -> Tested {
    let folder = tempfile::tempdir()?;
    let recorder = CassetteRecorder::new(Raw::new([says("long")]), folder.path());
    let mut answer = recorder.send(asks(&["hello"], 1));
    assert!(answer.next().await.is_some());
    drop(answer);
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
    Ok(())
}

#[tokio::test]
async fn an_answer_that_cannot_be_kept_is_an_error() -> Tested {
    let folder = tempfile::tempdir()?;
    let taken = folder.path().join("a file");
    std::fs::write(&taken, "")?;
    let given = recorded(&taken, [(asks(&["hello"], 1), says("hi"))]).await;
    assert!(matches!(given[0].last(), Some(Err(error)) if error.message.contains("a file")), "{given:?}");
    assert_eq!(given[0].len(), 3);
    Ok(())
}

#[tokio::test]
async fn a_damaged_file_is_named_with_its_line() -> Tested {
    let folder = tempfile::tempdir()?;
    recorded(folder.path(), [(asks(&["hello"], 1), says("hi"))]).await;
    let name = format!("{}.1.jsonl", asks(&["hello"], 1).request.digest());
    let path = folder.path().join(&name);
    let text = std::fs::read_to_string(&path)?;
    let lines: Vec<&str> = text.lines().collect();
    let damages = [
        (String::new(), "line 1"),
        (lines[..4].join("\n"), "line 5: the end is missing"),
        ([lines[0], lines[1], lines[4]].join("\n"), "line 3: lines are missing before the end"),
        ([lines[0], "{\"event\":\"sang\"}"].join("\n"), "line 2: unknown variant"),
        (text.replacen("\"cassette\":1", "\"cassette\":9", 1), "format 9 is not known"),
        (text.replacen("\"attempt\":1", "\"attempt\":2", 1), "another request"),
    ];
    for (damaged, why) in damages {
        std::fs::write(&path, damaged)?;
        let text = message(&all(&CassettePlayer::open(folder.path())?, asks(&["hello"], 1)).await);
        assert!(text.contains(&name) && text.contains(why), "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn parts_that_requests_share_are_kept_once() -> Tested {
    let folder = tempfile::tempdir()?;
    let said: Vec<String> = (0..20).map(|n| format!("message {n}")).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let answers: Vec<_> = (1..=20).map(|n| (asks(&said[..n], 1), says("ok"))).collect();
    recorded(folder.path(), answers).await;
    // 20 messages; tools, tool choice, options and model are the same in all of them.
    assert_eq!(std::fs::read_dir(folder.path().join("parts"))?.count(), 20 + 4);
    Ok(())
}

const FINISHES: [Finish; 6] =
    [Finish::Stop, Finish::ToolCalls, Finish::Length, Finish::ContentFilter, Finish::Error, Finish::Other];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), Just("\u{2028}\r\n\"\\\u{0}".to_string()), "[ -~]{0,40}"]
}

fn arrived() -> impl Strategy<Value = Arrived> {
    let maybe = || proptest::option::of(text());
    let call = || text().prop_map(annals_core::CallId::from);
    prop_oneof![
        (text(), text()).prop_map(|(id, text)| Ok(ProviderEvent::TextDelta { id, text })),
        (text(), maybe()).prop_map(|(id, metadata)| Ok(ProviderEvent::TextEnded { id, metadata })),
        (text(), text()).prop_map(|(id, text)| Ok(ProviderEvent::ReasoningDelta { id, text })),
        (text(), maybe()).prop_map(|(id, metadata)| Ok(ProviderEvent::ReasoningEnded { id, metadata })),
        (call(), text(), text()).prop_map(|(call, name, text)| Ok(ProviderEvent::ToolInputDelta { call, name, text })),
        (call(), text(), text(), any::<bool>(), maybe()).prop_map(|(call, name, input, hosted, metadata)| {
            Ok(ProviderEvent::ToolCalled { call, name, input, hosted, metadata })
        }),
        (call(), text(), maybe(), maybe()).prop_map(|(call, result, error, metadata)| {
            Ok(ProviderEvent::HostedSettled { call, result, error, metadata })
        }),
        any::<[u64; 5]>().prop_map(|[input, output, reasoning, cache_read, cache_write]| {
            Ok(ProviderEvent::Usage(Usage { input, output, reasoning, cache_read, cache_write }))
        }),
        any::<proptest::sample::Index>().prop_map(|at| Ok(ProviderEvent::Finished(*at.get(&FINISHES)))),
        (any::<proptest::sample::Index>(), any::<Option<u16>>(), any::<Option<u64>>(), text()).prop_map(
            |(at, status, retry_after_ms, message)| {
                let kinds = [ProviderErrorKind::ALL.as_slice(), &[ProviderErrorKind::Violation]].concat();
                let kind = *at.get(&kinds);
                Err(ProviderError { kind, status, retry_after_ms, message })
            }
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_played_is_what_arrived(answer in proptest::collection::vec(arrived(), 0..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let folder = tempfile::tempdir()?;
        runtime.block_on(async {
            let given = recorded(folder.path(), [(asks(&["hello"], 1), answer)]).await;
            let player = CassettePlayer::open(folder.path()).map_err(|error| TestCaseError::fail(error.to_string()))?;
            prop_assert_eq!(&all(&player, asks(&["hello"], 1)).await, &given[0]);
            Ok(())
        })?;
    }
}
