//! Answers as they arrive: live pieces, violations, hosted calls, ids.

use crate::world::{Tested, World, history, says};
use annals_core::event::{Finish, Usage};
use annals_runtime::bus::{Fragment, Notice};
use annals_runtime::ports::{AnswerStream, Provider, ProviderError, ProviderEvent, ProviderRequest};
use annals_runtime::testing::ScriptedAttempt;
use annals_runtime::tools::{FunctionTool, ToolOutput};
use annals_runtime::{NewInput, Outcome};
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Answers with given events, then with a plain text.
pub(crate) struct Raw(Mutex<VecDeque<Vec<Result<ProviderEvent, ProviderError>>>>);

impl Raw {
    pub(crate) fn new(answers: impl IntoIterator<Item = Vec<ProviderEvent>>) -> Arc<Self> {
        Self::of(answers.into_iter().map(|answer| answer.into_iter().map(Ok).collect()))
    }

    pub(crate) fn of(answers: impl IntoIterator<Item = Vec<Result<ProviderEvent, ProviderError>>>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(answers.into_iter().collect())))
    }
}

impl Provider for Raw {
    fn send(&self, _: ProviderRequest) -> AnswerStream {
        let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let plain = || vec![Ok(text("t", "ok")), Ok(ProviderEvent::Finished(Finish::Stop))];
        stream::iter(next.unwrap_or_else(plain)).boxed()
    }
}

pub(crate) fn text(id: &str, piece: &str) -> ProviderEvent {
    ProviderEvent::TextDelta { id: id.into(), text: piece.into() }
}

pub(crate) fn call(id: &str, name: &str, input: &str, hosted: bool) -> ProviderEvent {
    ProviderEvent::ToolCalled { call: id.into(), name: name.into(), input: input.into(), hosted, metadata: None }
}

#[tokio::test]
async fn pieces_are_told_live_and_the_log_gets_whole_fragments() -> Tested {
    let answer = vec![text("t", "he"), text("t", ""), text("t", "llo"), ProviderEvent::Finished(Finish::Stop)];
    let world = World::new([]).provider(Raw::new([answer]));
    let runtime = world.runtime();
    let mut pieces = runtime.bus().subscribe(16, |notice| match notice {
        Notice::Delta(delta) if delta.fragment == Fragment::Text(0) => Some(delta.text.clone()),
        _ => None,
    });
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    session.run().await?;
    assert_eq!((pieces.next().await, pieces.next().await), (Some(Ok("he".into())), Some(Ok("llo".into()))));
    assert_eq!(history(&session).await?, ["user go", "assistant stop: hello"]);
    Ok(())
}

#[tokio::test]
async fn a_stream_that_the_protocol_forbids_is_an_answer_that_broke_off() -> Tested {
    let ended = |id: &str| ProviderEvent::TextEnded { id: id.into(), metadata: None };
    let forbidden = [
        vec![ended("never began")],
        vec![text("t", "a"), ended("t"), text("t", "b")],
        vec![
            text("t", "c"),
            ProviderEvent::HostedSettled { call: "c9".into(), result: "1".into(), error: None, metadata: None },
        ],
        vec![text("t", "d")],
    ];
    for answer in forbidden {
        let begins = matches!(answer.first(), Some(ProviderEvent::TextDelta { .. }));
        let world = World::new([]).provider(Raw::new([answer]));
        let runtime = world.runtime();
        let session = world.session(&runtime).await?;
        session.admit(NewInput::steer("go")).await?;
        assert_eq!(session.run().await?, Outcome::Idle);
        let history = history(&session).await?;
        assert_eq!(history.last().map(String::as_str), Some("assistant stop: ok"));
        assert_eq!(
            history.iter().any(|line| line.starts_with("assistant error incomplete-stream")),
            begins,
            "{history:?}"
        );
        assert!(session.view().await?.calls.open.is_empty());
    }
    Ok(())
}

#[tokio::test]
async fn hosted_calls_are_not_run_here_and_do_not_go_on_by_themselves() -> Tested {
    let settled =
        ProviderEvent::HostedSettled { call: "h1".into(), result: "{\"hits\":3}".into(), error: None, metadata: None };
    let answer = vec![
        call("h1", "search", "{}", true),
        settled,
        call("h2", "search", "{}", true),
        text("t", "found"),
        ProviderEvent::Usage(Usage { input: 7, ..Usage::default() }),
        ProviderEvent::Finished(Finish::Stop),
    ];
    let world = World::new([]).provider(Raw::new([answer]));
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    assert_eq!(session.run().await?, Outcome::Idle);
    let expected = "assistant stop: search=completed() | search=error(Provider did not return a tool result) | found";
    assert_eq!(history(&session).await?, ["user go", expected]);
    let view = session.view().await?;
    assert_eq!((view.requests.marks.len(), view.usage.tokens.input), (1, 7));
    Ok(())
}

#[tokio::test]
async fn a_provider_that_numbers_its_calls_anew_every_turn_works() -> Tested {
    let again = || ScriptedAttempt::call("tool_0", "look", "{}");
    let world = World::new([again(), again(), again()]).tool(says("look", "seen"));
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    session.run().await?;
    let view = session.view().await?;
    assert!(view.anomalies().is_empty(), "{:?}", view.anomalies());
    let used = ["tool_0", "tool_0-2", "tool_0-3"].map(|call| view.calls.is_used(&call.into()));
    assert_eq!(used, [true; 3]);
    Ok(())
}

#[tokio::test]
async fn a_tool_that_panics_fails_alone_and_one_that_shows_progress_is_seen() -> Tested {
    let schema = json!({"type": "object"});
    let panics = FunctionTool::new("panics", "", &schema, |_: Value, _| async move {
        if true {
            panic!("a mistake");
        }
        Ok(ToolOutput::text(""))
    });
    let shows = FunctionTool::new("shows", "", &schema, |_: Value, context| async move {
        for n in 0..1_000 {
            context.progress.show(&context.call, Some(format!("{n}")), None);
        }
        tokio::task::yield_now().await;
        Ok(ToolOutput::text("done"))
    });
    let mut attempt = ScriptedAttempt::call("c1", "panics", "{}");
    attempt.calls.extend(ScriptedAttempt::call("c2", "shows", "{}").calls);
    let world = World::new([attempt]).tool(panics).tool(shows);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    assert_eq!(session.run().await?, Outcome::Idle);
    let expected = "assistant tool-calls: panics=error(Tool execution failed: a mistake) | shows=completed(done)";
    assert_eq!(history(&session).await?[1], expected);
    let progressed = crate::world::events(&world, &session).await?;
    let progressed = progressed.into_iter().filter(|name| *name == "tool.progressed").count();
    assert!((1..10).contains(&progressed), "a fast tool does not flood the log: {progressed} facts");
    Ok(())
}
