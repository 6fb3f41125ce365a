//! Many sessions at once, and many callers of one.

use crate::world::{Tested, World, events, history, says};
use annals_runtime::testing::ScriptedAttempt;
use annals_runtime::{NewInput, Outcome};
use futures_util::future::{join_all, try_join_all};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_sessions_run_their_turns_in_parallel() -> Tested {
    // Which session gets which answers is left to chance, and one may get many: equal calls would end its turn.
    let call = |n| ScriptedAttempt::call(format!("c{n}"), "look", format!("{{\"n\":{n}}}"));
    let world = World::new((0..100).map(call)).tool(says("look", "seen"));
    let runtime = world.runtime();
    let sessions = try_join_all((0..100).map(|_| world.session(&runtime))).await?;
    for session in &sessions {
        session.admit(NewInput::steer("go")).await?;
    }
    let ended = join_all(sessions.iter().map(annals_runtime::Session::run)).await;
    assert!(ended.iter().all(|ended| matches!(ended, Ok(Outcome::Idle))));
    assert!(runtime.running().is_empty(), "an idle Session costs no task");
    for session in &sessions {
        let view = session.view().await?;
        assert!(view.anomalies().is_empty() && view.calls.open.is_empty());
        assert!(history(session).await?.last().is_some_and(|last| last.starts_with("assistant stop")));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_of_one_session_never_lose_or_double_an_input() -> Tested {
    let world = World::new([]);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    let callers = (0..50).map(|n| {
        let (session, again) = (session.clone(), n / 2);
        tokio::spawn(async move {
            session.prompt(NewInput::steer(format!("input {again}")).named(format!("in-{again}"))).await
        })
    });
    let admitted = try_join_all(callers).await?;
    let new = admitted.iter().filter(|admitted| matches!(admitted, Ok(annals_runtime::Admitted::New))).count();
    assert_eq!((new, admitted.iter().filter(|admitted| admitted.is_ok()).count()), (25, 50));
    while session.is_running() {
        session.idle().await;
    }
    let view = session.view().await?;
    assert!(view.inbox.pending.is_empty() && view.anomalies().is_empty());
    let promoted = events(&world, &session).await?.iter().filter(|name| **name == "input.promoted").count();
    assert_eq!(promoted, 25);
    Ok(())
}

#[tokio::test]
async fn runs_that_join_take_no_turn_of_their_own() -> Tested {
    let world = World::new([]);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    let ended = join_all((0..10).map(|_| session.run())).await;
    assert!(ended.iter().all(|ended| matches!(ended, Ok(Outcome::Idle))));
    assert_eq!(world.scripted.received().len(), 1);
    Ok(())
}
