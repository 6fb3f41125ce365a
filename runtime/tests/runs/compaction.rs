//! Compaction: what shapes the summary request, and what becomes of the history.

use crate::world::{Tested, World, all_rebuilt, history};
use annals_core::SessionId;
use annals_core::event::{Finish, Purpose};
use annals_runtime::settings::SummaryHook;
use annals_runtime::settings::{CompactionSettings, bare_model};
use annals_runtime::testing::{ScriptedAttempt, ScriptedEnd};
use annals_runtime::{Boxed, NewInput, Outcome, Session};
use std::sync::Arc;

struct Hook;

impl SummaryHook for Hook {
    fn context(&self, _: SessionId) -> Boxed<'_, Option<String>> {
        Box::pin(async { Some("The ticket is 4711.".into()) })
    }

    fn instructions(&self, _: SessionId) -> Boxed<'_, Option<String>> {
        Box::pin(async { Some("Say it in one line.".into()) })
    }
}

fn keeping(keep_tokens: u64) -> CompactionSettings {
    CompactionSettings { keep_tokens, ..CompactionSettings::default() }
}

async fn conversation(world: &mut World, settings: CompactionSettings) -> Result<Session, Box<dyn std::error::Error>> {
    world.settings.compaction = settings;
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("hello")).await?;
    session.run().await?;
    Ok(session)
}

#[tokio::test]
async fn a_hook_and_a_model_of_its_own_shape_the_summary() -> Tested {
    let mut world = World::new([ScriptedAttempt::text("hi"), ScriptedAttempt::text("Greetings were exchanged.")]);
    world.settings.summary = Some(Arc::new(Hook));
    world.definitions = world.definitions.clone().model(bare_model(&"test/small".into(), 50_000, 1_000));
    let settings = CompactionSettings { model: Some("test/small".into()), ..keeping(0) };
    let session = conversation(&mut world, settings).await?;
    assert_eq!(session.compact().await?, Outcome::Idle);
    assert_eq!(history(&session).await?, ["compaction Greetings were exchanged."]);

    let sent = world.scripted.received().pop().ok_or("a summary was asked for")?;
    let shown = sent.request.shape_json().to_string();
    assert!(shown.contains("The ticket is 4711.") && shown.contains("Say it in one line."), "{shown}");
    assert_eq!((sent.request.purpose, sent.request.model.model.as_str()), (Purpose::Summary, "test/small"));
    Ok(())
}

#[tokio::test]
async fn every_request_is_rebuilt_from_the_log_byte_for_byte() -> Tested {
    let mut world =
        World::new([ScriptedAttempt::text("hi"), ScriptedAttempt::text("Summary."), ScriptedAttempt::text("on")]);
    let session = conversation(&mut world, keeping(0)).await?;
    session.compact().await?;
    session.admit(NewInput::steer("go on")).await?;
    session.run().await?;
    assert_eq!(world.scripted.received().len(), 3);
    all_rebuilt(&world, &session).await
}

#[tokio::test]
async fn a_summary_that_was_cut_off_is_none() -> Tested {
    for cut in [Finish::Length, Finish::ContentFilter, Finish::Error] {
        let summary = ScriptedAttempt { outcome: ScriptedEnd::Finish(cut), ..ScriptedAttempt::text("Half a") };
        let mut world = World::new([ScriptedAttempt::text("hi"), summary]);
        let session = conversation(&mut world, keeping(0)).await?;
        let failed = session.compact().await.err().ok_or("it must fail")?;
        assert_eq!(failed.kind(), "compaction-failed");
        assert_eq!(history(&session).await?, ["user hello", "assistant stop: hi"]);
        assert_eq!(session.view().await?.calls.compaction_open, None);
    }
    Ok(())
}

#[tokio::test]
async fn what_exceeds_the_summarising_model_is_sent_without_its_middle() -> Tested {
    let summary = ScriptedAttempt::text("A long text was written.");
    let mut world = World::new([ScriptedAttempt::text("long ".repeat(2_000)), summary]);
    world.definitions = world.definitions.clone().model(bare_model(&"test/tiny".into(), 3_000, 1_000));
    let settings = CompactionSettings { model: Some("test/tiny".into()), ..keeping(0) };
    let session = conversation(&mut world, settings).await?;
    assert_eq!(session.compact().await?, Outcome::Idle);
    let sent = world.scripted.received().pop().ok_or("a summary was asked for")?;
    let shown = sent.request.shape_json().to_string();
    assert!(shown.contains("[User]: hello") && shown.contains("characters left out ...]"), "{shown}");
    Ok(())
}
