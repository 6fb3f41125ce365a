//! Interrupts, declined permissions, moves and second runners: at every stage the log stays whole.

use crate::world::{Tested, World, events, history, says};
use annals_core::event::{Delivery, Finish, Location};
use annals_runtime::permission::{Answered, Approver, PermissionAnswer, PermissionQuestion};
use annals_runtime::ports::{AnswerStream, Provider, ProviderError, ProviderErrorKind, ProviderEvent, ProviderRequest};
use annals_runtime::testing::ScriptedAttempt;
use annals_runtime::tools::{FunctionTool, ToolOutput};
use annals_runtime::{Boxed, NewInput, Outcome, Session};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// A tool that tells when it runs and never ends by itself.
fn waits(running: &Arc<Notify>) -> FunctionTool<Value> {
    let running = running.clone();
    FunctionTool::new("wait", "Waits.", &json!({"type": "object"}), move |_: Value, _| {
        let running = running.clone();
        async move {
            running.notify_one();
            std::future::pending::<()>().await;
            Ok(ToolOutput::text("never"))
        }
    })
}

fn call(attempt: &mut ScriptedAttempt, id: &str, tool: &str) {
    attempt.calls.extend(ScriptedAttempt::call(id, tool, "{}").calls);
}

async fn going(session: &Session) -> tokio::task::JoinHandle<Result<Outcome, annals_runtime::RunError>> {
    let session = session.clone();
    tokio::spawn(async move { session.run().await })
}

#[tokio::test]
async fn an_interrupt_puts_running_calls_away_and_keeps_what_has_ended() -> Tested {
    let running = Arc::new(Notify::new());
    let mut attempt = ScriptedAttempt::text("both");
    call(&mut attempt, "c1", "look");
    call(&mut attempt, "c2", "wait");
    let world = World::new([attempt]).tool(says("look", "seen")).tool(waits(&running));
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    let run = going(&session).await;
    running.notified().await;
    session.interrupt();
    session.interrupt();
    assert_eq!(run.await??, Outcome::Interrupted);
    let expected = "assistant tool-calls: both | look=completed(seen) | wait=error(Tool execution interrupted)";
    assert_eq!(history(&session).await?, ["user go", expected]);
    assert!(session.view().await?.calls.open.is_empty() && !session.view().await?.calls.step_open);
    Ok(())
}

#[tokio::test]
async fn interrupting_an_idle_session_does_nothing() -> Tested {
    let world = World::new([]);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.interrupt();
    session.idle().await;
    session.admit(NewInput::steer("go")).await?;
    assert_eq!(session.run().await?, Outcome::Idle);
    Ok(())
}

#[tokio::test]
async fn a_wake_during_cleanup_starts_afresh_and_pending_input_joins_then() -> Tested {
    let running = Arc::new(Notify::new());
    let world =
        World::new([ScriptedAttempt::call("c1", "wait", "{}"), ScriptedAttempt::text("after")]).tool(waits(&running));
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    let run = going(&session).await;
    running.notified().await;
    session.admit(NewInput::steer("forgotten wake")).await?;
    session.wake();
    session.interrupt();
    assert_eq!(session.prompt(NewInput::queue("later")).await?.as_str(), "admitted");
    assert_eq!(run.await??, Outcome::Interrupted);
    session.idle().await;
    let all = history(&session).await?;
    assert_eq!(all[2..], ["user forgotten wake", "assistant stop: after", "user later", "assistant stop: ok"]);
    Ok(())
}

/// Puts questions on a list and answers the first, when told to, with `always`.
#[derive(Default)]
struct Patient {
    asked: Mutex<Vec<String>>,
    both: Notify,
}

impl Approver for Patient {
    fn ask(&self, question: PermissionQuestion) -> Boxed<'_, Answered> {
        Box::pin(async move {
            let count = {
                let mut asked = self.asked.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                asked.push(question.call.to_string());
                asked.len()
            };
            if count == 2 {
                self.both.notify_one();
                std::future::pending::<()>().await;
            }
            self.both.notified().await;
            Answered::by_user(PermissionAnswer::Always)
        })
    }
}

#[tokio::test]
async fn an_always_releases_the_other_questions_that_it_answers() -> Tested {
    let mut attempt = ScriptedAttempt::default();
    call(&mut attempt, "c1", "look");
    call(&mut attempt, "c2", "look");
    let mut world = World::new([attempt]).tool(says("look", "seen"));
    let patient = Arc::new(Patient::default());
    world.approver = patient.clone();
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    assert_eq!(session.run().await?, Outcome::Idle);
    assert_eq!(history(&session).await?[1], "assistant tool-calls: look=completed(seen) | look=completed(seen)");
    let view = session.view().await?;
    assert!(view.permissions.waiting.is_empty() && view.permissions.rules.len() == 1);
    Ok(())
}

#[tokio::test]
async fn a_declined_call_ends_the_run_and_puts_the_others_away() -> Tested {
    let running = Arc::new(Notify::new());
    let mut attempt = ScriptedAttempt::default();
    call(&mut attempt, "c1", "wait");
    call(&mut attempt, "c2", "look");
    let mut world = World::new([attempt]).tool(waits(&running)).tool(says("look", "seen"));
    world.approver = Arc::new(Choosy);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    session.admit(NewInput { delivery: Delivery::Queue, ..NewInput::steer("queued") }).await?;
    assert_eq!(session.run().await?, Outcome::Interrupted);
    let away = "(Tool execution interrupted)";
    let history = history(&session).await?;
    assert_eq!(history.len(), 2);
    assert!(history[1].contains(&format!("wait=error{away} | look=error{away}")), "{history:?}");
    assert_eq!(session.view().await?.inbox.pending.len(), 1);
    Ok(())
}

/// Allows waiting and rejects looking.
struct Choosy;

impl Approver for Choosy {
    fn ask(&self, question: PermissionQuestion) -> Boxed<'_, Answered> {
        let answer = match question.tool.as_str() {
            "wait" => PermissionAnswer::Once,
            _ => PermissionAnswer::Reject { feedback: None },
        };
        Box::pin(async move { Answered { answer, by: "policy".into() } })
    }
}

#[tokio::test]
async fn a_session_that_moves_while_it_runs_ends_interrupted_at_the_old_location() -> Tested {
    let running = Arc::new(Notify::new());
    let attempt = ScriptedAttempt::call("c1", "wait", "{}");
    let world = World::new([attempt]).tool(waits(&running));
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    let run = going(&session).await;
    running.notified().await;
    let elsewhere = Location { directory: "/elsewhere".into(), workspace: None };
    assert!(session.move_to(elsewhere.clone()).await?);
    assert!(!session.move_to(elsewhere).await?, "moving it to where it is does nothing");
    session.admit(NewInput::steer("there")).await?;
    session.interrupt();
    assert_eq!(run.await??, Outcome::Interrupted);
    assert_eq!(session.run().await?, Outcome::Idle);
    let view = session.view().await?;
    let last = view.epochs.current.as_ref().map(|epoch| epoch.location.directory.as_str());
    assert_eq!(last, Some("/elsewhere"));
    Ok(())
}

#[tokio::test]
async fn a_second_runner_of_the_same_log_overtakes_the_first_and_the_log_stays_whole() -> Tested {
    let running = Arc::new(Notify::new());
    let world = World::new([ScriptedAttempt::call("c1", "wait", "{}"), ScriptedAttempt::text("mine now")])
        .tool(waits(&running));
    let (first, second) = (world.runtime(), world.runtime());
    let session = world.session(&first).await?;
    session.admit(NewInput::steer("go")).await?;
    let run = going(&session).await;
    running.notified().await;
    let other = second.session(session.id()).await?;
    assert_eq!(other.run().await?, Outcome::Idle);
    session.interrupt();
    assert_eq!(run.await??, Outcome::Interrupted);
    let view = session.view().await?;
    assert!(view.anomalies().is_empty(), "{:?}", view.anomalies());
    assert_eq!(history(&session).await?.last().map(String::as_str), Some("assistant stop: mine now"));
    Ok(())
}

/// A provider that is busy the first time, while another runner takes the session on to its end.
#[derive(Default)]
struct Overtaken(Mutex<Option<Session>>);

impl Provider for Overtaken {
    fn send(&self, _: ProviderRequest) -> AnswerStream {
        let other = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let answer = async move {
            let Some(other) = other else {
                let text = ProviderEvent::TextDelta { id: "t".into(), text: "mine now".into() };
                return vec![Ok(text), Ok(ProviderEvent::Finished(Finish::Stop))];
            };
            let admitted = other.admit(NewInput::steer("and on")).await;
            assert!(admitted.is_ok() && matches!(other.run().await, Ok(Outcome::Idle)));
            let kind = ProviderErrorKind::RateLimit;
            vec![Err(ProviderError { kind, status: Some(429), retry_after_ms: None, message: "slow".into() })]
        };
        stream::once(answer).flat_map(stream::iter).boxed()
    }
}

#[tokio::test]
async fn a_request_that_another_runner_has_overtaken_is_not_tried_again() -> Tested {
    let provider = Arc::new(Overtaken::default());
    let world = World::new([]).provider(provider.clone());
    let (first, second) = (world.runtime(), world.runtime());
    let session = world.session(&first).await?;
    session.admit(NewInput::steer("go")).await?;
    *provider.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(second.session(session.id()).await?);
    assert_eq!(session.run().await?, Outcome::Interrupted);
    assert_eq!(history(&session).await?, ["user go", "user and on", "assistant stop: mine now"]);
    let view = session.view().await?;
    assert_eq!((view.requests.marks.len(), view.anomalies().len()), (2, 0));
    assert!(!events(&world, &session).await?.contains(&"retry.scheduled"));
    Ok(())
}

#[tokio::test]
async fn what_a_halted_process_left_open_is_settled_and_never_called_again() -> Tested {
    let running = Arc::new(Notify::new());
    let world =
        World::new([ScriptedAttempt::call("c1", "wait", "{}"), ScriptedAttempt::text("on")]).tool(waits(&running));
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    let run = going(&session).await;
    running.notified().await;
    runtime.halt().await;
    assert!(run.await?.is_err_and(|error| error.kind() == "halted"));
    let runtime = world.runtime();
    let session = runtime.session(session.id()).await?;
    assert_eq!(session.run().await?, Outcome::Idle);
    let expected =
        ["user go", "assistant error interrupted: wait=error(Tool execution interrupted)", "assistant stop: on"];
    assert_eq!(history(&session).await?, expected);
    Ok(())
}
