//! The answer to one input.

use crate::world::{Tested, World, history, says};
use annals_core::event::Finish;
use annals_runtime::ports::{ProviderError, ProviderErrorKind};
use annals_runtime::testing::{ScriptedAttempt, ScriptedEnd};
use annals_runtime::tools::{FunctionTool, ToolOutput};
use annals_runtime::{InputAnswerError, NewInput, RunError};
use std::sync::Arc;
use tokio::sync::Notify;

#[tokio::test]
async fn asking_gives_the_text_after_the_last_call() -> Tested {
    let mut call = ScriptedAttempt::call("c1", "look", "{}");
    call.text = Some("Let me look.".into());
    let world =
        World::new([call, ScriptedAttempt::text("seen"), ScriptedAttempt::text("again")]).tool(says("look", "a thing"));
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    assert_eq!(session.ask("what is there?").await?, "seen");
    assert_eq!(session.ask("and now?").await?, "again");
    assert_eq!(world.scripted.received().len(), 3);
    Ok(())
}

#[tokio::test]
async fn a_paused_answer_is_one_text() -> Tested {
    let mut paused = ScriptedAttempt::text("so ");
    paused.outcome = ScriptedEnd::Finish(Finish::Paused);
    let world = World::new([paused, ScriptedAttempt::text("far")]);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    assert_eq!(session.ask("go").await?, "so far");
    Ok(())
}

#[tokio::test]
async fn parallel_questions_have_their_own_answers() -> Tested {
    let world = World::new([ScriptedAttempt::text("one"), ScriptedAttempt::text("two")]);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    let (first, second) = tokio::join!(session.ask("1"), session.ask("2"));
    assert_eq!((first?.as_str(), second?.as_str()), ("one", "two"));
    assert_eq!(history(&session).await?, ["user 1", "assistant stop: one", "user 2", "assistant stop: two"]);
    Ok(())
}

#[tokio::test]
async fn what_is_queued_behind_an_input_is_not_waited_for() -> Tested {
    let attempts =
        [ScriptedAttempt::text("one"), ScriptedAttempt::call("c1", "wait", "{}"), ScriptedAttempt::text("two")];
    let gate = Arc::new(Notify::new());
    let opened = gate.clone();
    let schema = serde_json::json!({"type": "object"});
    let wait = FunctionTool::new("wait", "Waits.", &schema, move |_: serde_json::Value, _| {
        let gate = opened.clone();
        async move {
            gate.notified().await;
            Ok(ToolOutput::text("waited"))
        }
    });
    let world = World::new(attempts).tool(wait);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::queue("1").named("first")).await?;
    session.admit(NewInput::queue("2").named("second")).await?;
    let first = session.answer(&"first".into()).await?;
    assert_eq!((first.text.as_str(), first.messages.len()), ("one", 1));
    gate.notify_one();
    let second = session.answer(&"second".into()).await?;
    assert_eq!((second.text.as_str(), second.messages.len()), ("two", 2));
    let sent = world.scripted.received().len();
    assert_eq!(session.answer(&"first".into()).await?, first);
    assert_eq!(world.scripted.received().len(), sent, "an answer that is there is not asked for again");
    Ok(())
}

#[tokio::test]
async fn an_input_without_an_answer_says_why() -> Tested {
    let denied = ProviderError {
        kind: ProviderErrorKind::Authentication,
        status: Some(401),
        retry_after_ms: None,
        message: "no such key".into(),
    };
    let world = World::new([ScriptedAttempt::error(denied), ScriptedAttempt::text("")]);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    let unknown = session.answer(&"nobody".into()).await.map_err(|error| error.to_string());
    assert_eq!(unknown, Err("there is no input nobody".into()));

    session.admit(NewInput::queue("x").named("gone")).await?;
    session.withdraw(&"gone".into()).await?;
    let gone = session.answer(&"gone".into()).await;
    assert!(matches!(gone, Err(InputAnswerError::TakenBack(_))), "{gone:?}");

    session.admit(NewInput::queue("x").named("denied")).await?;
    let failed = session.answer(&"denied".into()).await;
    assert!(matches!(failed, Err(InputAnswerError::Run(RunError::Provider { .. }))), "{failed:?}");
    let later = session.answer(&"denied".into()).await;
    assert!(matches!(&later, Err(InputAnswerError::Failed { kind, .. }) if kind == "authentication"), "{later:?}");

    let empty = session.ask("y").await;
    assert!(matches!(empty, Err(InputAnswerError::Empty)), "{empty:?}");
    Ok(())
}
