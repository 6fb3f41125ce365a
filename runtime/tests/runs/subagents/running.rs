//! Children that still run: interrupted with their parent, in the background, and after the end of a process.

use super::{begin, child_of, prompted, subagents, task};
use crate::world::{Tested, World, history};
use annals_core::event::{ChildEvent, ChildOutcome};
use annals_core::{Event, Seq};
use annals_providers::provider::AnswerStream;
use annals_runtime::ports::{Provider, ProviderRequest};
use annals_runtime::testing::{ScriptedAttempt, ScriptedProvider};
use annals_runtime::tools::{FunctionTool, ToolOutput};
use annals_runtime::{NewInput, Outcome, Session};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;

/// A tool that tells when it runs, and ends when it is told to.
fn waits(running: &Arc<Notify>, go: &Arc<Notify>) -> FunctionTool<Value> {
    let (running, go) = (running.clone(), go.clone());
    FunctionTool::new("wait", "Waits.", &json!({"type": "object"}), move |_: Value, _| {
        let (running, go) = (running.clone(), go.clone());
        async move {
            running.notify_one();
            go.notified().await;
            Ok(ToolOutput::text("waited"))
        }
    })
}

/// Waits until the newest child is settled.
async fn settled(session: &Session) -> Result<ChildOutcome, Box<dyn std::error::Error>> {
    loop {
        if let Some(outcome) = session.view().await?.session.children.last().and_then(|child| child.outcome) {
            return Ok(outcome);
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_interrupted_parent_cancels_its_child() -> Tested {
    let (running, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let world =
        World::new([task("c1", json!({})), ScriptedAttempt::call("d1", "wait", "{}")]).tool(waits(&running, &go));
    let (runtime, session) = begin(&world, subagents()).await?;
    session.admit(NewInput::steer("go")).await?;
    session.wake();
    running.notified().await;
    session.interrupt();
    session.idle().await;
    assert_eq!(settled(&session).await?, ChildOutcome::Cancelled);
    let id = child_of(&session).await?;
    assert_eq!(history(&session).await?[1], "assistant tool-calls: task=error(Tool execution interrupted)");
    let child = runtime.session(id).await?;
    child.idle().await;
    assert_eq!(history(&child).await?[1], "assistant tool-calls: wait=error(Tool execution interrupted)");
    assert!(child.view().await?.anomalies().is_empty() && session.view().await?.anomalies().is_empty());
    Ok(())
}

#[tokio::test]
async fn a_task_in_the_background_lets_the_parent_go_on_and_its_result_comes_as_an_input() -> Tested {
    let (running, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let parent = ScriptedProvider::new([task("c1", json!({"background": true})), ScriptedAttempt::text("going on")]);
    let child = ScriptedProvider::new([ScriptedAttempt::call("d1", "wait", "{}"), ScriptedAttempt::text("four files")]);
    let world = World::new([]).provider(Arc::new(Both { parent, child })).tool(waits(&running, &go));
    let (_runtime, session) = begin(&world, subagents()).await?;
    prompted(&session, "go").await?;
    running.notified().await;
    assert_eq!(history(&session).await?[2..], ["assistant stop: going on"]);
    let id = child_of(&session).await?;
    go.notify_one();
    assert_eq!(settled(&session).await?, ChildOutcome::Completed);
    session.idle().await;
    let all = history(&session).await?;
    assert!(all[1].contains(&format!("<task id=\"{id}\" state=\"running\">")), "{}", all[1]);
    assert!(all[3].starts_with(&format!("user <task id=\"{id}\" state=\"completed\">\n<task_result>\nfour files")));
    assert_eq!(all[4..], ["assistant stop: ok"]);
    Ok(())
}

/// Answers a session and its children by scripts of their own.
struct Both {
    parent: ScriptedProvider,
    child: ScriptedProvider,
}

impl Provider for Both {
    fn send(&self, request: ProviderRequest) -> AnswerStream {
        if request.parent.is_some() { self.child.send(request) } else { self.parent.send(request) }
    }
}

#[tokio::test]
async fn a_child_whose_process_ended_is_settled_when_its_parent_runs_again() -> Tested {
    let (running, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let world =
        World::new([task("c1", json!({})), ScriptedAttempt::call("d1", "wait", "{}")]).tool(waits(&running, &go));
    let (runtime, session) = begin(&world, subagents()).await?;
    session.admit(NewInput::steer("go")).await?;
    session.wake();
    running.notified().await;
    runtime.halt().await;
    let id = session.id();
    let runtime = world.runtime();
    let session = runtime.session(id).await?;
    assert_eq!(session.view().await?.session.children[0].outcome, None, "nothing was written");
    assert_eq!(session.run().await?, Outcome::Idle);
    assert_eq!(session.view().await?.session.children[0].outcome, Some(ChildOutcome::Cancelled));
    let slices = world.log.read(id, Seq::ZERO, 1000).await?;
    let settlements = slices.iter().flat_map(|slice| slice.records().collect::<Vec<_>>());
    assert_eq!(settlements.filter(|record| matches!(record.event, Event::Child(ChildEvent::Settled(_)))).count(), 1);
    Ok(())
}

#[tokio::test]
async fn a_task_in_the_background_whose_process_ended_is_an_input_of_the_next_run() -> Tested {
    let (running, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let parent = ScriptedProvider::new([task("c1", json!({"background": true})), ScriptedAttempt::text("going on")]);
    let child = ScriptedProvider::new([ScriptedAttempt::call("d1", "wait", "{}")]);
    let world = World::new([]).provider(Arc::new(Both { parent, child })).tool(waits(&running, &go));
    let (runtime, session) = begin(&world, subagents()).await?;
    prompted(&session, "go").await?;
    running.notified().await;
    let (id, child) = (session.id(), child_of(&session).await?);
    drop(session);
    runtime.halt().await;
    let runtime = world.runtime();
    let session = runtime.session(id).await?;
    assert_eq!(prompted(&session, "and?").await?, Outcome::Idle);
    let lost = format!("user Subagent failed (task_id: {child}): The process ended before the subagent did");
    assert_eq!(history(&session).await?[3..], ["user and?".into(), lost, "assistant stop: ok".into()]);
    assert_eq!(session.view().await?.session.children[0].outcome, Some(ChildOutcome::Cancelled));
    assert_eq!(prompted(&session, "more").await?, Outcome::Idle);
    let again = history(&session).await?.into_iter().filter(|line| line.contains("Subagent failed")).count();
    assert_eq!(again, 1, "it is said once");
    Ok(())
}

#[tokio::test]
async fn a_host_waits_for_the_tasks_in_the_background_and_the_turns_that_they_lead_to() -> Tested {
    let (running, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let parent = ScriptedProvider::new([task("c1", json!({"background": true})), ScriptedAttempt::text("going on")]);
    let child = ScriptedProvider::new([ScriptedAttempt::call("d1", "wait", "{}"), ScriptedAttempt::text("four files")]);
    let world = World::new([]).provider(Arc::new(Both { parent, child })).tool(waits(&running, &go));
    let (_runtime, session) = begin(&world, subagents()).await?;
    prompted(&session, "go").await?;
    assert_eq!(session.background(), [child_of(&session).await?]);
    running.notified().await;
    go.notify_one();
    let ended = session.background_ended().await.ok_or("a task runs")?;
    assert!(matches!(ended.turns, Some(Ok(Outcome::Idle))), "{ended:?}");
    assert_eq!(history(&session).await?.last().map(String::as_str), Some("assistant stop: ok"));
    assert!(session.background_ended().await.is_none() && session.background().is_empty());
    Ok(())
}

#[tokio::test]
async fn a_cancelled_task_in_the_background_is_settled_and_begins_no_turn() -> Tested {
    let (running, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let parent = ScriptedProvider::new([task("c1", json!({"background": true})), ScriptedAttempt::text("going on")]);
    let child = ScriptedProvider::new([ScriptedAttempt::call("d1", "wait", "{}")]);
    let world = World::new([]).provider(Arc::new(Both { parent, child })).tool(waits(&running, &go));
    let (runtime, session) = begin(&world, subagents()).await?;
    prompted(&session, "go").await?;
    running.notified().await;
    let child = child_of(&session).await?;
    assert_eq!(session.cancel_background(), [child]);
    let ended = session.background_ended().await.ok_or("it was not settled yet")?;
    assert!(ended.turns.is_none() && !session.is_running(), "{ended:?}");
    let view = session.view().await?;
    assert_eq!(view.session.children[0].outcome, Some(ChildOutcome::Cancelled));
    assert_eq!(view.inbox.pending.len(), 1, "the model reads it in its next turn");
    runtime.shut_down().await;
    assert_eq!(session.view().await?.inbox.pending.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_runtime_that_shuts_down_settles_tasks_in_the_background_and_begins_no_turn() -> Tested {
    let (running, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let parent = ScriptedProvider::new([task("c1", json!({"background": true})), ScriptedAttempt::text("going on")]);
    let child = ScriptedProvider::new([ScriptedAttempt::call("d1", "wait", "{}")]);
    let world = World::new([]).provider(Arc::new(Both { parent, child })).tool(waits(&running, &go));
    let (runtime, session) = begin(&world, subagents()).await?;
    prompted(&session, "go").await?;
    running.notified().await;
    runtime.shut_down().await;
    let view = session.view().await?;
    assert_eq!(view.session.children[0].outcome, Some(ChildOutcome::Cancelled));
    assert_eq!((view.inbox.pending.len(), session.is_running()), (1, false));
    Ok(())
}
