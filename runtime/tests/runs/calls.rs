//! Calls as providers send them: repeated ids, broken answers, names in another case.

use crate::stream::{Raw, call, text};
use crate::world::{Tested, World, history, says};
use annals_core::event::{Finish, ModelProfile};
use annals_runtime::ports::{ProviderErrorKind, ProviderEvent};
use annals_runtime::settings::{FixedDefinitions, bare_model};
use annals_runtime::{NewInput, Outcome, RunError};

fn result(id: &str, result: &str) -> ProviderEvent {
    ProviderEvent::HostedSettled { call: id.into(), result: result.into(), error: None, metadata: None }
}

#[tokio::test]
async fn hosted_calls_that_share_an_id_have_each_its_own_result() -> Tested {
    let answer = vec![
        call("h", "search", r#"{"q":1}"#, true),
        call("h", "search", r#"{"q":2}"#, true),
        result("h", "1"),
        result("h", "2"),
        ProviderEvent::Finished(Finish::Stop),
    ];
    let world = World::new([]).provider(Raw::new([answer]));
    let runtime = world.runtime();
    let session = world.session(&runtime).await?;
    session.admit(NewInput::steer("go")).await?;
    assert_eq!(session.run().await?, Outcome::Idle);
    assert_eq!(history(&session).await?, ["user go", "assistant stop: search=completed() | search=completed()"]);
    let view = session.view().await?;
    assert!(view.anomalies().is_empty(), "{:?}", view.anomalies());
    assert_eq!(["h", "h-2", "h-3"].map(|call| view.calls.is_used(&call.into())), [true, true, false]);
    Ok(())
}

#[tokio::test]
async fn an_answer_that_breaks_the_protocol_after_a_call_is_not_tried_again() -> Tested {
    use annals_runtime::ports::ProviderError;
    let kind = ProviderErrorKind::Violation;
    // What the runtime finds, and what the decoder of a protocol does.
    let found = || Ok(ProviderEvent::TextEnded { id: "never began".into(), metadata: None });
    let decoded = || Err(ProviderError { kind, status: None, retry_after_ms: None, message: "no such block".into() });
    for (before, attempts) in [(call("c1", "look", "{}", false), 1), (text("t", "hm"), 2)] {
        for violation in [found(), decoded()] {
            let answer = vec![Ok(before.clone()), violation];
            let world = World::new([]).provider(Raw::of([answer])).tool(says("look", "seen"));
            let runtime = world.runtime();
            let session = world.session(&runtime).await?;
            session.admit(NewInput::steer("go")).await?;
            let ended = session.run().await;
            assert_eq!(session.view().await?.requests.marks.len(), attempts);
            if attempts == 1 {
                assert!(matches!(&ended, Err(RunError::Provider { kind: found, .. }) if *found == kind), "{ended:?}");
                let expected = "assistant error incomplete-stream: look=completed(seen)";
                assert_eq!(history(&session).await?, ["user go", expected]);
            } else {
                assert_eq!(ended?, Outcome::Idle);
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_name_in_another_case_means_the_one_tool_that_it_can_mean() -> Tested {
    for (protocol, name, expected) in [
        ("openai-chat", "LOOK", "look=completed(seen)"),
        ("openai-chat", "TELL", "TELL=error(Unknown tool: TELL)"),
        ("openai-chat", "Tell", "Tell=completed(said)"),
        ("openai-chat", "looks", "looks=error(Unknown tool: looks)"),
        ("scripted", "LOOK", "LOOK=error(Unknown tool: LOOK)"),
    ] {
        let answer = vec![call("c1", name, "{}", false), ProviderEvent::Finished(Finish::ToolCalls)];
        let world = World::new([]).provider(Raw::new([answer]));
        let world = world.tool(says("look", "seen")).tool(says("Tell", "said")).tool(says("tell", "said"));
        let model = bare_model(&"test/alpha".into(), 200_000, 32_000);
        let model = ModelProfile { protocol: protocol.into(), id: "alpha".into(), ..model };
        let world = World { definitions: FixedDefinitions::default().model(model), ..world };
        let runtime = world.runtime();
        let session = world.session(&runtime).await?;
        session.admit(NewInput::steer("go")).await?;
        assert_eq!(session.run().await?, Outcome::Idle);
        assert_eq!(history(&session).await?[1], format!("assistant tool-calls: {expected}"));
    }
    Ok(())
}

#[tokio::test]
async fn the_error_of_a_run_says_how_many_attempts_failed() -> Tested {
    use annals_runtime::ports::ProviderError;
    use annals_runtime::testing::ScriptedAttempt;
    let failing = |kind| {
        ScriptedAttempt::error(ProviderError { kind, status: None, retry_after_ms: None, message: "it is busy".into() })
    };
    for (kind, message) in
        [(ProviderErrorKind::RateLimit, "it is busy (5 attempts)"), (ProviderErrorKind::InvalidRequest, "it is busy")]
    {
        let world = World::new((0..9).map(|_| failing(kind)));
        let runtime = world.runtime();
        let session = world.session(&runtime).await?;
        session.admit(NewInput::steer("go")).await?;
        let ended = session.run().await;
        assert_eq!(ended.err().map(|error| error.to_string()).as_deref(), Some(message));
    }
    Ok(())
}
