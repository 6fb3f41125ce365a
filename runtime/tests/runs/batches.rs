//! Which facts of a turn are appended together, and what may come between them.

use crate::world::{Tested, World, all_rebuilt, events, history, says};
use annals_core::Seq;
use annals_runtime::context::{Source, SystemContext};
use annals_runtime::testing::ScriptedAttempt;
use annals_runtime::{NewInput, Outcome, Session};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The batches of a session from an event on, each as the names of its events.
async fn batches(
    world: &World,
    session: &Session,
    from: Seq,
) -> Result<Vec<Vec<&'static str>>, Box<dyn std::error::Error>> {
    let slices = world.log.read(session.id(), from, 10_000).await?;
    Ok(slices.iter().map(|slice| slice.records().map(|record| record.event.kind().name()).collect()).collect())
}

#[tokio::test]
async fn a_turn_is_flushed_four_times() -> Tested {
    let mut thoughtful = ScriptedAttempt::text("hello again");
    thoughtful.reasoning = Some("a greeting".into());
    let world = World::new([ScriptedAttempt::text("hi"), thoughtful]);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("hello")).await?;
    session.run().await?;
    let from = session.view().await?.cut().next;
    session.admit(NewInput::steer("once more")).await?;
    session.run().await?;
    assert_eq!(
        batches(&world, &session, from).await?,
        [
            vec!["input.admitted"],
            vec!["input.promoted", "request.sent"],
            // Before the first part of the answer is shown.
            vec!["step.started"],
            vec!["reasoning.ended", "text.ended", "step.ended"]
        ]
    );
    all_rebuilt(&world, &session).await
}

#[tokio::test]
async fn a_call_is_durable_with_what_precedes_it_before_it_runs() -> Tested {
    let mut attempt = ScriptedAttempt::call("c1", "look", "{}");
    attempt.text = Some("I look".into());
    let world = World::new([attempt]).tool(says("look", "seen"));
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    session.run().await?;
    let all = batches(&world, &session, Seq::ZERO).await?;
    let called = all.iter().position(|batch| batch.contains(&"tool.called")).ok_or("it was called")?;
    assert_eq!(all[called], ["text.ended", "tool.called"]);
    let after: Vec<_> = all[called + 1..].iter().filter(|batch| !batch[0].starts_with("permission.")).take(2).collect();
    assert_eq!(after, [&vec!["tool.settled"], &vec!["step.ended"]]);
    all_rebuilt(&world, &session).await
}

#[tokio::test]
async fn an_answer_that_pauses_is_recorded_as_far_as_it_came() -> Tested {
    let mut world = World::new([]);
    world.settings.gather = Duration::from_millis(1);
    let log = world.log.clone();
    let session: Arc<Mutex<Option<Session>>> = Arc::default();
    let this = session.clone();
    let mut attempt = ScriptedAttempt::text("slowly");
    attempt.during = Some(Arc::new(move || {
        let (log, this) = (log.clone(), this.clone());
        Box::pin(async move {
            let Some(session) = this.lock().unwrap_or_else(PoisonError::into_inner).clone() else { return };
            // Ends only when the beginning of the step is in the log.
            loop {
                let slices = log.read(session.id(), Seq::ZERO, 100).await.expect("the log is read");
                if slices.iter().flat_map(|slice| slice.records()).any(|it| it.event.kind().name() == "step.started") {
                    return;
                }
                tokio::task::yield_now().await;
            }
        })
    }));
    let scripted = Arc::new(annals_runtime::testing::ScriptedProvider::new([attempt]));
    let world = world.provider(scripted);
    let runtime = world.runtime();
    let created = world.session(&runtime).await?;
    *session.lock().unwrap_or_else(PoisonError::into_inner) = Some(created.clone());
    created.admit(NewInput::steer("go")).await?;
    assert_eq!(created.run().await?, Outcome::Idle);
    let all = batches(&world, &created, Seq::ZERO).await?;
    assert_eq!(all[all.len() - 2..], [vec!["step.started"], vec!["text.ended", "step.ended"]]);
    Ok(())
}

/// A world with a Context Source that changes with every observation and does something first.
fn observing(
    world: World,
    first: impl Fn(u32) -> annals_runtime::Boxed<'static, ()> + Send + Sync + Clone + 'static,
) -> World {
    let seen = Arc::new(AtomicU32::new(0));
    let produce = move |_| {
        let (seen, first) = (seen.clone(), first.clone());
        let load = move || {
            let (count, first) = (seen.fetch_add(1, Ordering::SeqCst), first.clone());
            async move {
                first(count).await;
                count
            }
        };
        let source = Source::new("acme/count".parse().expect("a key"), load, |count: &u32| format!("Count {count}."));
        std::future::ready(Ok(SystemContext::from(source)))
    };
    let registration = world.services.registry.register("acme/count".parse().expect("a key"), produce);
    std::mem::forget(registration.expect("the key is free"));
    world
}

/// What is done to a session while its sources are observed for the second time.
async fn second_boundary<F: Future<Output = ()> + Send + 'static>(
    act: impl Fn(Session) -> F + Send + Sync + Clone + 'static,
    elsewhere: bool,
) -> Result<(World, Session), Box<dyn std::error::Error>> {
    let acting: Arc<Mutex<Option<Session>>> = Arc::default();
    let of = acting.clone();
    let world = observing(World::new([]), move |count| {
        let session = of.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let act = act.clone();
        Box::pin(async move {
            if let Some(session) = session.filter(|_| count == 1) {
                act(session).await;
            }
        })
    });
    let (runtime, other) = (world.runtime(), world.runtime());
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("one")).await?;
    session.run().await?;
    let acts = if elsewhere { other.session(session.id()).await? } else { session.clone() };
    *acting.lock().unwrap_or_else(PoisonError::into_inner) = Some(acts);
    session.admit(NewInput::steer("two").named("in-2")).await?;
    session.run().await?;
    Ok((world, session))
}

#[tokio::test]
async fn an_input_admitted_while_sources_are_observed_joins_at_the_next_boundary() -> Tested {
    for elsewhere in [false, true] {
        let admit = |session: Session| async move {
            session.admit(NewInput::steer("three")).await.expect("it is admitted");
        };
        let (world, session) = second_boundary(admit, elsewhere).await?;
        let lines = history(&session).await?;
        let at = |line: &str| lines.iter().position(|one| one == line);
        let answered = at("user two")
            .and_then(|two| lines[two..].iter().position(|line| line.starts_with("assistant")).map(|n| n + two));
        assert!(at("user three") > answered && answered.is_some(), "{elsewhere}: {lines:?}");
        let all = events(&world, &session).await?;
        assert_eq!(all.iter().filter(|kind| **kind == "input.promoted").count(), 3, "{all:?}");
        all_rebuilt(&world, &session).await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_input_of_a_boundary_that_observes_its_sources_is_not_pending_any_more() -> Tested {
    let refused = Arc::new(Mutex::new(None));
    let result = refused.clone();
    let withdraw = move |session: Session| {
        let result = result.clone();
        async move {
            let withdrawn = session.withdraw(&"in-2".into()).await;
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(withdrawn.is_err());
        }
    };
    let (_, session) = second_boundary(withdraw, false).await?;
    assert_eq!(*refused.lock().unwrap_or_else(PoisonError::into_inner), Some(true));
    assert!(history(&session).await?.contains(&"user two".to_owned()));
    Ok(())
}

#[tokio::test]
async fn what_was_promoted_stays_promoted_when_a_source_fails() -> Tested {
    let fail = |_: Session| async move { panic!("the source is broken") };
    let acting = second_boundary(fail, false).await;
    let Err(error) = acting else { return Err("the run fails".into()) };
    assert!(error.to_string().contains("acme/count"), "{error}");
    Ok(())
}
