//! Turns against a scripted world: what the log and the history hold afterwards.

use crate::world::{Tested, World, events, history, says};
use annals_core::event::Finish;
use annals_runtime::ports::{ProviderError, ProviderErrorKind};
use annals_runtime::testing::{ScriptedAttempt, ScriptedEnd};
use annals_runtime::{NewInput, Outcome};

fn error(kind: ProviderErrorKind) -> ProviderError {
    ProviderError { kind, status: None, retry_after_ms: None, message: format!("the provider said {kind}") }
}

#[tokio::test]
async fn a_first_turn_begins_an_epoch_promotes_and_answers() -> Tested {
    let world = World::new([ScriptedAttempt::text("hi")]);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("hello")).await?;
    assert_eq!(session.run().await?, Outcome::Idle);
    assert_eq!(history(&session).await?, ["user hello", "assistant stop: hi"]);
    assert_eq!(
        events(&world, &session).await?,
        [
            "session.created",
            "input.admitted",
            "epoch.started",
            "input.promoted",
            "agent.profile_recorded",
            "model.profile_recorded",
            "options.recorded",
            "request.sent",
            "step.started",
            "text.ended",
            "step.ended"
        ]
    );
    Ok(())
}

#[tokio::test]
async fn calls_settle_before_the_next_request() -> Tested {
    let world = World::new([ScriptedAttempt::call("c1", "look", "{}"), ScriptedAttempt::text("done")])
        .tool(says("look", "seen"));
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    session.run().await?;
    let expected = ["user go", "assistant tool-calls: look=completed(seen)", "assistant stop: done"];
    assert_eq!(history(&session).await?, expected);
    Ok(())
}

#[tokio::test]
async fn passing_failures_are_retried_as_the_same_request() -> Tested {
    let world = World::new([
        ScriptedAttempt::error(error(ProviderErrorKind::RateLimit)),
        ScriptedAttempt::error(error(ProviderErrorKind::Transport)),
        ScriptedAttempt::text("at last"),
    ]);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    assert_eq!(session.run().await?, Outcome::Idle);
    let view = session.view().await?;
    let marks: Vec<_> = view.requests.marks.iter().collect();
    assert_eq!(marks.iter().map(|mark| mark.attempt).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(marks.iter().all(|mark| mark.digest == marks[0].digest && mark.request == marks[0].request));
    assert_eq!(history(&session).await?, ["user go", "assistant stop: at last"]);
    Ok(())
}

#[tokio::test]
async fn a_turn_that_its_provider_paused_goes_on_by_itself() -> Tested {
    let mut paused = ScriptedAttempt::text("so far");
    paused.outcome = ScriptedEnd::Finish(Finish::Paused);
    let world = World::new([paused, ScriptedAttempt::text("done")]);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    assert_eq!(session.run().await?, Outcome::Idle);
    assert_eq!(history(&session).await?, ["user go", "assistant paused: so far", "synthetic", "assistant stop: done"]);
    let received = world.scripted.received();
    let asked = received.last().map(|sent| format!("{:?}", sent.request.messages.last())).unwrap_or_default();
    assert!(asked.contains("User") && asked.contains("Your turn was paused by the provider."), "{asked}");

    // A pause of nothing could come for ever.
    let nothing = ScriptedAttempt { outcome: ScriptedEnd::Finish(Finish::Paused), ..ScriptedAttempt::text("") };
    let world = World::new([nothing]);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    assert_eq!(session.run().await?, Outcome::Idle);
    assert_eq!(history(&session).await?, ["user go", "assistant paused: "]);
    Ok(())
}

#[tokio::test]
async fn an_answer_that_broke_off_stays_and_is_gone_on_from() -> Tested {
    let mut half = ScriptedAttempt::text("half");
    half.outcome = ScriptedEnd::Error(error(ProviderErrorKind::IncompleteStream));
    let world = World::new([half, ScriptedAttempt::text("whole")]);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    assert_eq!(session.run().await?, Outcome::Idle);
    let expected = ["user go", "assistant error incomplete-stream: half", "synthetic", "assistant stop: whole"];
    assert_eq!(history(&session).await?, expected);
    Ok(())
}

#[tokio::test]
async fn a_failure_that_is_not_retried_is_an_answer_with_an_error() -> Tested {
    let world = World::new([ScriptedAttempt::error(error(ProviderErrorKind::Authentication))]);
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    let failed = session.run().await.err().ok_or("the run must fail")?;
    assert_eq!(failed.kind(), "authentication");
    assert_eq!(history(&session).await?, ["user go", "assistant error authentication: "]);
    Ok(())
}
