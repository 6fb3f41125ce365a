//! Children of a session: started and resumed by the tool `task`, recorded in both sessions.

mod running;

use crate::world::{Tested, World, events, history, says};
use annals_core::event::{AgentProfile, ChildOutcome, Effect, Location, Parent, Rule, SessionCreated};
use annals_core::{Seq, SessionId, Time};
use annals_runtime::ports::{ProviderError, ProviderErrorKind};
use annals_runtime::subagents::{Subagent, Subagents, TaskTool};
use annals_runtime::testing::ScriptedAttempt;
use annals_runtime::tools::Tool;
use annals_runtime::{NewInput, NewSession, Outcome, Runtime, Session};
use annals_store::Draft;
use serde_json::{Value, json};
use std::sync::Arc;

fn subagents() -> Subagents {
    let agent = |name: &str| Subagent { agent: name.into(), description: "Looks.".into(), model: None };
    Subagents::new(vec![agent("explore"), agent("write")])
}

/// A runtime whose agents may give tasks, and a session in it.
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
    let recorded = events(&world, &session).await?;
    let order: Vec<&str> =
        recorded.into_iter().filter(|name| name.starts_with("child.") || name.starts_with("tool.")).collect();
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
    assert_eq!(world.log.sessions().all().await?.len(), 2);
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
        process: None,
        key: annals_core::SessionKey([0x0f; 32]).into(),
    };
    let id = SessionId::from_parts(7, 7);
    let draft = Draft {
        session: id,
        expected: Seq::ZERO,
        at: Time(7),
        events: vec![child.into()],
        digest: None,
        states: Vec::new(),
    };
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
