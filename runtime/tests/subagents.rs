//! Children of a Session: begun and resumed by the tool `task`, told on both sides.

#[path = "runs/world.rs"]
#[allow(dead_code, reason = "shared with the tests of runs")]
mod world;

use annals_core::event::{AgentProfile, ChildEvent, ChildOutcome, Effect, Location, Parent, Rule, SessionCreated};
use annals_core::{Event, Seq, SessionId, Time};
use annals_providers::provider::AnswerStream;
use annals_providers::provider::ScriptedAttempt;
use annals_runtime::ports::{Provider, ProviderError, ProviderErrorKind, ProviderRequest, ScriptedProvider};
use annals_runtime::subagents::{Subagent, Subagents, TaskTool};
use annals_runtime::tools::{FunctionTool, Tool, ToolOutput};
use annals_runtime::{NewInput, NewSession, Outcome, Runtime, Session};
use annals_store::Draft;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;
use world::{Tested, World, events, history, says};

fn subagents() -> Subagents {
    let agent = |name: &str| Subagent { agent: name.into(), description: "Looks.".into(), model: None };
    Subagents::new(vec![agent("explore"), agent("write")])
}

/// A runtime whose agents may give tasks, and a Session in it.
async fn begin(world: &World, subagents: Subagents) -> Result<(Runtime, Session), Box<dyn std::error::Error>> {
    let runtime = world.runtime();
    let task: Arc<dyn Tool> = Arc::new(TaskTool::of(&runtime, subagents));
    world.services.tools.register([task])?.detach();
    let session = world.session(&runtime).await?;
    Ok((runtime, session))
}

fn task(call: &str, extra: Value) -> ScriptedAttempt {
    let mut input = json!({"description": "Count files", "prompt": "count them", "subagent_type": "explore"});
    if let (Some(input), Value::Object(extra)) = (input.as_object_mut(), extra) {
        input.extend(extra);
    }
    ScriptedAttempt::call(call, "task", input.to_string())
}

async fn prompted(session: &Session, text: &str) -> Result<Outcome, Box<dyn std::error::Error>> {
    session.admit(NewInput::steer(text)).await?;
    Ok(session.run().await?)
}

async fn child_of(session: &Session) -> Result<SessionId, Box<dyn std::error::Error>> {
    let view = session.view().await?;
    Ok(view.session.children.last().ok_or("there is a child")?.child)
}

fn rule(action: &str, effect: Effect) -> Rule {
    Rule { action: action.into(), resource: "*".into(), effect }
}

fn agent(name: &str, permissions: Vec<Rule>) -> AgentProfile {
    AgentProfile { agent: name.into(), system: None, steps: None, permissions }
}

#[tokio::test]
async fn a_task_begins_a_child_and_gives_its_last_text_and_both_sides_tell_it() -> Tested {
    let world = World::new([task("c1", json!({})), ScriptedAttempt::text("four files"), ScriptedAttempt::text("done")]);
    let (runtime, session) = begin(&world, subagents()).await?;
    assert_eq!(prompted(&session, "go").await?, Outcome::Idle);
    let id = child_of(&session).await?;
    let result = format!("<task id=\"{id}\" state=\"completed\">\n<task_result>\nfour files\n</task_result>\n</task>");
    let expected =
        ["user go".into(), format!("assistant tool-calls: task=completed({result})"), "assistant stop: done".into()];
    assert_eq!(history(&session).await?, expected);
    let child = runtime.session(id).await?;
    assert_eq!(history(&child).await?, ["user count them", "assistant stop: four files"]);
    let view = child.view().await?;
    assert_eq!(view.session.title.as_deref(), Some("Count files (@explore subagent)"));
    assert_eq!((view.session.agent.as_str(), view.session.model.as_str()), ("explore", "test/alpha"));
    let parent = view.session.parent.clone().ok_or("it has a parent")?;
    assert_eq!((parent.session, parent.call), (session.id(), Some("c1".into())));
    let linked = session.view().await?.session.children[0].clone();
    assert_eq!((linked.call, linked.outcome), (Some("c1".into()), Some(ChildOutcome::Completed)));
    let told = events(&world, &session).await?;
    let order: Vec<&str> =
        told.into_iter().filter(|name| name.starts_with("child.") || name.starts_with("tool.")).collect();
    assert_eq!(order, ["tool.called", "child.started", "child.settled", "tool.settled"]);
    Ok(())
}

#[tokio::test]
async fn a_child_is_resumed_by_its_id_and_an_unknown_id_is_an_error_not_a_new_child() -> Tested {
    let world = World::new([task("c1", json!({})), ScriptedAttempt::text("four"), ScriptedAttempt::text("done")]);
    let (runtime, session) = begin(&world, subagents()).await?;
    prompted(&session, "go").await?;
    let id = child_of(&session).await?;
    let unknown = SessionId::from_parts(1, 1);
    let attempts = [
        task("c2", json!({"task_id": id, "prompt": "and now"})),
        ScriptedAttempt::text("five"),
        task("c3", json!({"task_id": unknown})),
        task("c4", json!({"task_id": id, "subagent_type": "write"})),
        task("c5", json!({"subagent_type": "nobody"})),
        ScriptedAttempt::text("done"),
    ];
    world.scripted.push(attempts);
    prompted(&session, "again").await?;
    let child = runtime.session(id).await?;
    let expected = ["user count them", "assistant stop: four", "user and now", "assistant stop: five"];
    assert_eq!(history(&child).await?, expected);
    let all = history(&session).await?;
    assert!(all[4].contains("\nfive\n"), "{}", all[4]);
    assert!(all[5].contains(&format!("error(Unknown task: {unknown}.")), "{}", all[5]);
    assert!(all[6].contains("is done by explore, not by write"), "{}", all[6]);
    assert!(all[7].contains("Unknown agent type: nobody. Available: explore, write"), "{}", all[7]);
    assert_eq!(session.view().await?.session.children.len(), 2, "begun once, resumed once");
    assert_eq!(world.log.sessions().await?.len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_child_gives_no_tasks_beyond_the_depth_limit() -> Tested {
    let mut world = World::new([
        task("c1", json!({})),
        task("d1", json!({"subagent_type": "write"})),
        ScriptedAttempt::text("did it myself"),
        ScriptedAttempt::text("done"),
    ]);
    world.definitions = world.definitions.agent(agent("explore", vec![rule("task", Effect::Allow)]));
    let (runtime, session) = begin(&world, subagents()).await?;
    prompted(&session, "go").await?;
    let child = runtime.session(child_of(&session).await?).await?;
    let all = history(&child).await?;
    assert!(all[1].contains("task=error(Subagent depth limit reached (1)."), "{}", all[1]);
    assert_eq!(child.view().await?.session.children, Vec::new());
    Ok(())
}

#[tokio::test]
async fn a_child_gives_tasks_where_the_limit_allows_it_and_its_agent_may() -> Tested {
    let mut world = World::new([
        task("c1", json!({})),
        task("d1", json!({"subagent_type": "write"})),
        ScriptedAttempt::text("leaf"),
        ScriptedAttempt::text("branch"),
        ScriptedAttempt::text("done"),
    ]);
    world.definitions = world.definitions.agent(agent("explore", vec![rule("task", Effect::Allow)]));
    let (runtime, session) = begin(&world, Subagents { depth: 2, ..subagents() }).await?;
    prompted(&session, "go").await?;
    let child = runtime.session(child_of(&session).await?).await?;
    let leaf = runtime.session(child_of(&child).await?).await?;
    assert_eq!(history(&leaf).await?, ["user count them", "assistant stop: leaf"]);
    Ok(())
}

#[tokio::test]
async fn a_child_may_do_nothing_that_its_parent_is_denied_and_no_tasks_unless_its_agent_says_so() -> Tested {
    let mut calls = ScriptedAttempt::call("d1", "edit", "{}");
    for tool in ["look", "task", "todowrite"] {
        calls.calls.extend(ScriptedAttempt::call(format!("d-{tool}"), tool, "{}").calls);
    }
    let attempts = [task("c1", json!({})), calls, ScriptedAttempt::text("tried"), ScriptedAttempt::text("done")];
    let mut world = World::new(attempts).tool(says("edit", "edited")).tool(says("look", "seen"));
    world = world.tool(says("todowrite", "noted"));
    let everything = vec![rule("*", Effect::Allow)];
    let careful = vec![rule("*", Effect::Allow), rule("edit", Effect::Deny)];
    world.definitions = world.definitions.agent(agent("build", careful)).agent(agent("explore", everything));
    let (runtime, session) = begin(&world, subagents()).await?;
    prompted(&session, "go").await?;
    let child = runtime.session(child_of(&session).await?).await?;
    let expected = "assistant tool-calls: edit=error(Unknown tool: edit) | look=completed(seen) | \
                    task=error(Unknown tool: task) | todowrite=error(Unknown tool: todowrite)";
    assert_eq!(history(&child).await?[1], expected);
    Ok(())
}

#[tokio::test]
async fn what_a_parent_was_denied_holds_for_its_child_when_nobody_defines_the_parents_agent_any_more() -> Tested {
    let attempts = [
        task("c1", json!({})),
        ScriptedAttempt::text("four"),
        ScriptedAttempt::text("done"),
        ScriptedAttempt::call("d1", "edit", "{}"),
        ScriptedAttempt::text("tried"),
    ];
    let mut world = World::new(attempts).tool(says("edit", "edited"));
    let everything = agent("explore", vec![rule("*", Effect::Allow)]);
    let careful = vec![rule("*", Effect::Allow), rule("edit", Effect::Deny)];
    let without = world.definitions.clone().agent(everything);
    world.definitions = without.clone().agent(agent("build", careful));
    let (_before, session) = begin(&world, subagents()).await?;
    prompted(&session, "go").await?;
    let id = child_of(&session).await?;
    // Another process, whose configuration lacks the agent.
    world.definitions = without;
    assert!(!world.definitions.agents.contains_key(&"build".into()));
    let runtime = world.runtime();
    let child = runtime.session(id).await?;
    prompted(&child, "now change it").await?;
    assert_eq!(history(&child).await?[3], "assistant tool-calls: edit=error(Unknown tool: edit)");
    Ok(())
}

#[tokio::test]
async fn a_child_of_an_agent_of_which_nothing_is_known_may_do_nothing() -> Tested {
    let attempts = [ScriptedAttempt::call("d1", "look", "{}"), ScriptedAttempt::text("tried")];
    let mut world = World::new(attempts).tool(says("look", "seen"));
    world.definitions = world.definitions.agent(agent("explore", vec![rule("*", Effect::Allow)]));
    let runtime = world.runtime();
    let parent = NewSession::at("/project", "gone", "test/alpha");
    let parent = runtime.create(parent).await?;
    let child = SessionCreated {
        location: Location { directory: "/project".into(), workspace: None },
        agent: "explore".into(),
        model: "test/alpha".into(),
        policy: parent.view().await?.session.policy,
        title: None,
        parent: Some(Parent { session: parent.id(), call: None }),
        origin: None,
        key: annals_core::SessionKey([0x0f; 32]).into(),
    };
    let id = SessionId::from_parts(7, 7);
    let draft = Draft { session: id, expected: Seq::ZERO, at: Time(7), events: vec![child.into()], digest: None, states: Vec::new() };
    world.log.append(draft).await?;
    let child = runtime.session(id).await?;
    prompted(&child, "look").await?;
    assert_eq!(history(&child).await?[1], "assistant tool-calls: look=error(Unknown tool: look)");
    Ok(())
}

#[tokio::test]
async fn a_child_that_fails_is_an_error_that_names_it() -> Tested {
    let error = ProviderError {
        kind: ProviderErrorKind::Authentication,
        status: None,
        retry_after_ms: None,
        message: "no key".into(),
    };
    let world = World::new([task("c1", json!({})), ScriptedAttempt::error(error), ScriptedAttempt::text("done")]);
    let (_runtime, session) = begin(&world, subagents()).await?;
    assert_eq!(prompted(&session, "go").await?, Outcome::Idle);
    let id = child_of(&session).await?;
    let all = history(&session).await?;
    assert!(all[1].contains(&format!("task=error(Subagent failed (task_id: {id}): ")), "{}", all[1]);
    assert!(all[1].contains("no key"), "{}", all[1]);
    assert_eq!(session.view().await?.session.children[0].outcome, Some(ChildOutcome::Failed));
    Ok(())
}

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

/// Answers a Session and its children by scripts of their own.
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
