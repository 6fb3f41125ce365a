//! Titles: asked for beside the turns, and told whatever becomes of the request.

use crate::world::{Tested, World, events, history, says};
use annals_core::event::{Purpose, SessionEvent, StepEvent, Usage};
use annals_core::{Event, Seq};
use annals_projections::{Projection, Role, SessionView, rebuild};
use annals_providers::provider::AnswerStream;
use annals_runtime::ports::{Provider, ProviderError, ProviderErrorKind, ProviderRequest};
use annals_runtime::settings::{TitleSettings, bare_model};
use annals_runtime::testing::{ScriptedAttempt, ScriptedProvider};
use annals_runtime::{Extent, MessagePlace, NewInput, NewSession, Outcome, Refusal, Session};
use futures_util::StreamExt;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Answers titles apart from everything else, each once it is let through.
struct Titling {
    turns: Arc<dyn Provider>,
    titles: ScriptedProvider,
    gate: Arc<Semaphore>,
}

impl Provider for Titling {
    fn send(&self, request: ProviderRequest) -> AnswerStream {
        if request.request.purpose != Purpose::Title {
            return self.turns.send(request);
        }
        let (gate, answer) = (self.gate.clone(), self.titles.send(request));
        let opened = futures_util::stream::once(async move {
            if let Ok(permit) = gate.acquire_owned().await {
                permit.forget();
            }
        });
        Box::pin(opened.filter_map(|()| std::future::ready(None)).chain(answer))
    }
}

/// A world whose titles are answered so, with a gate that lets `open` of them through.
fn titled(attempts: Vec<ScriptedAttempt>, titles: Vec<ScriptedAttempt>, open: usize) -> (World, Arc<Titling>) {
    let mut world = World::new(attempts);
    world.settings.title = Some(TitleSettings { agent: None, model: Some("test/small".into()) });
    world.definitions = world.definitions.model(bare_model(&"test/small".into(), 8_000, 1_000));
    let titling = Arc::new(Titling {
        turns: world.provider.clone(),
        titles: ScriptedProvider::new(titles),
        gate: Arc::new(Semaphore::new(open)),
    });
    (world.provider(titling.clone()), titling)
}

fn usage() -> Usage {
    Usage { input: 10, output: 3, ..Usage::default() }
}

fn title(text: &str) -> ScriptedAttempt {
    ScriptedAttempt { usage: Some(usage()), ..ScriptedAttempt::text(text) }
}

async fn prompted(session: &Session, text: &str) -> Result<Outcome, Box<dyn std::error::Error>> {
    session.admit(NewInput::steer(text)).await?;
    Ok(session.run().await?)
}

async fn count(world: &World, session: &Session, kind: &str) -> Result<usize, Box<dyn std::error::Error>> {
    Ok(events(world, session).await?.into_iter().filter(|event| *event == kind).count())
}

/// How each title request ended, in order.
async fn ends(world: &World, session: &Session) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut found = Vec::new();
    for slice in world.log.read(session.id(), Seq::ZERO, 10_000).await? {
        for record in slice.records() {
            match record.event {
                Event::Session(SessionEvent::Titled(titled)) => found.push(titled.title.clone()),
                Event::Session(SessionEvent::TitleFailed(failed)) => {
                    found.push(format!("failed: {}", failed.error.kind));
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

#[tokio::test]
async fn a_title_is_asked_of_the_small_model_beside_the_turns_and_nobody_waits_for_it() -> Tested {
    let attempts =
        vec![ScriptedAttempt::call("c1", "look", "{}"), ScriptedAttempt::text("hi"), ScriptedAttempt::text("more")];
    let (world, titling) = titled(attempts, vec![title("<think>Hm.</think>\n\"Mend the clock\"\n")], 0);
    let world = world.tool(says("look", "seen"));
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    assert_eq!(prompted(&session, "mend the clock").await?, Outcome::Idle);
    while count(&world, &session, "request.sent").await? < 3 {
        tokio::task::yield_now().await;
    }
    let view = session.view().await?;
    assert!(!session.is_running() && !view.session.running, "the request keeps nobody busy");
    assert!(view.session.titling.open.is_some() && view.session.title.is_none());
    // Turns go on meanwhile.
    assert_eq!(prompted(&session, "and now").await?, Outcome::Idle);
    titling.gate.add_permits(1);
    session.title_settled().await;
    let view = session.view().await?;
    assert_eq!(view.session.title.as_deref(), Some("Mend the clock"));
    assert_eq!((view.usage.tokens, view.usage.attempts), (usage(), 1));
    assert_eq!(view.session.titling.open, None);
    assert_eq!(view.session.anomalies, SessionView::default().session.anomalies);
    let asked = titling.titles.received();
    assert_eq!(asked.len(), 1, "once");
    assert_eq!(asked[0].request.model.model.as_str(), "test/small");
    assert!(asked[0].request.messages.iter().all(|message| message.role == Role::User));
    Ok(())
}

#[tokio::test]
async fn a_title_request_is_rebuilt_from_the_log() -> Tested {
    let (world, titling) = titled(vec![ScriptedAttempt::text("hi")], vec![title("A title")], 1);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    prompted(&session, "hello").await?;
    session.title_settled().await;
    let (mut view, mut found) = (SessionView::default(), 0);
    let blobs = world.log.blobs();
    for slice in world.log.read(session.id(), Seq::ZERO, 10_000).await? {
        for record in slice.records() {
            if let Event::Step(StepEvent::RequestSent(sent)) = record.event
                && sent.purpose == Purpose::Title
            {
                let rebuilt = rebuild(&view, sent, &*blobs)?;
                assert_eq!((&rebuilt, rebuilt.digest()), (&*titling.titles.received()[0].request, sent.digest));
                found += 1;
            }
            view.apply(&record);
        }
    }
    assert_eq!(found, 1);
    Ok(())
}

#[tokio::test]
async fn a_failing_title_is_a_fact_that_disturbs_nothing_and_a_session_asks_three_times_at_most() -> Tested {
    let failing = || {
        ScriptedAttempt::error(ProviderError {
            kind: ProviderErrorKind::RateLimit,
            status: Some(429),
            retry_after_ms: None,
            message: "slow down".into(),
        })
    };
    let titles = vec![failing(), title(" \n"), failing(), title("Too late")];
    let (world, _) = titled(Vec::new(), titles, 9);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    for prompt in ["one", "two", "three", "four"] {
        assert_eq!(prompted(&session, prompt).await?, Outcome::Idle);
        session.title_settled().await;
    }
    assert_eq!(ends(&world, &session).await?, ["failed: rate-limit", "failed: blank", "failed: rate-limit"]);
    let view = session.view().await?;
    assert_eq!((view.session.title.as_deref(), view.usage.attempts), (None, 1));
    assert_eq!(history(&session).await?.len(), 8, "no turn noticed");
    Ok(())
}

#[tokio::test]
async fn within_an_activity_a_title_is_asked_for_once() -> Tested {
    let attempts = (1..4).map(|n| ScriptedAttempt::call(format!("c{n}"), "look", "{}")).collect();
    let (world, _) = titled(attempts, vec![title(""), title("Late")], 9);
    let runtime = world.tool(says("look", "seen"));
    let (world, runtime) = (runtime.clone(), runtime.runtime());
    let session = world.session(&runtime).await?;
    prompted(&session, "go").await?;
    session.title_settled().await;
    assert_eq!(ends(&world, &session).await?, ["failed: blank"]);
    Ok(())
}

#[tokio::test]
async fn a_title_that_somebody_gives_meanwhile_stands() -> Tested {
    let (world, titling) = titled(vec![ScriptedAttempt::text("hi")], vec![title("The model's")], 0);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    prompted(&session, "hello").await?;
    while count(&world, &session, "request.sent").await? < 2 {
        tokio::task::yield_now().await;
    }
    session.set_title("Mine").await?;
    titling.gate.add_permits(1);
    session.title_settled().await;
    assert_eq!(ends(&world, &session).await?, ["Mine", "failed: overtaken"]);
    let view = session.view().await?;
    assert_eq!((view.session.title.as_deref(), view.usage.attempts), (Some("Mine"), 1), "and what it used counts");
    Ok(())
}

#[tokio::test]
async fn a_request_that_its_process_did_not_survive_is_ended_by_the_next_run_and_asked_again() -> Tested {
    let (world, titling) = titled(Vec::new(), vec![title("Lost"), title("Found")], 0);
    let id = {
        let runtime = world.runtime();
        let session = world.session(&runtime).await?;
        prompted(&session, "hello").await?;
        while count(&world, &session, "request.sent").await? < 2 {
            tokio::task::yield_now().await;
        }
        runtime.halt().await;
        session.id()
    };
    titling.gate.add_permits(9);
    let runtime = world.runtime();
    let session = runtime.session(id).await?;
    assert_eq!(ends(&world, &session).await?, Vec::<String>::new(), "nothing was written after the end");
    prompted(&session, "again").await?;
    session.title_settled().await;
    assert_eq!(ends(&world, &session).await?, ["failed: interrupted", "Found"]);
    Ok(())
}

#[tokio::test]
async fn shutting_down_ends_a_title_request_at_once() -> Tested {
    let (world, _) = titled(Vec::new(), vec![title("Never")], 0);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    prompted(&session, "hello").await?;
    while count(&world, &session, "request.sent").await? < 2 {
        tokio::task::yield_now().await;
    }
    runtime.shut_down().await;
    assert_eq!(ends(&world, &session).await?, ["failed: interrupted"]);
    Ok(())
}

#[tokio::test]
async fn titled_sessions_children_and_hosts_that_want_none_ask_for_none() -> Tested {
    let (mut world, titling) = titled(Vec::new(), Vec::new(), 9);
    let asked = || titling.titles.received().len();
    let runtime = world.runtime();
    let new = NewSession { title: Some("Given".into()), ..NewSession::at("/project", "build", "test/alpha") };
    let given = runtime.create(new).await?;
    prompted(&given, "hello").await?;
    given.title_settled().await;
    let parent = Some(annals_core::event::Parent { session: given.id(), call: None });
    let new = NewSession { parent, ..NewSession::at("/project", "build", "test/alpha") };
    let child = runtime.create(new).await?;
    prompted(&child, "hello").await?;
    child.title_settled().await;
    assert_eq!(asked(), 0);
    world.settings.title = None;
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    prompted(&session, "hello").await?;
    session.title_settled().await;
    assert_eq!(asked(), 0);
    assert_eq!(session.view().await?.session.title, None);
    Ok(())
}

#[tokio::test]
async fn a_title_request_from_its_beginning_to_its_end_outdates_no_plan_and_a_prompt_does() -> Tested {
    let (world, titling) = titled(vec![ScriptedAttempt::text("hi")], vec![title("Mend the clock")], 0);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("mend the clock")).await?;
    session.run().await?;
    let plan = session.plan_revert(MessagePlace::User(1), Extent::Conversation).await?;
    titling.gate.add_permits(1);
    session.title_settled().await;
    assert_eq!(session.view().await?.session.title.as_deref(), Some("Mend the clock"));
    session.stage(&plan).await?;
    assert!(session.clear_revert().await?.is_some());
    session.admit(NewInput::steer("and now")).await?;
    assert!(matches!(session.stage(&plan).await, Err(Refusal::Outdated)));
    Ok(())
}
