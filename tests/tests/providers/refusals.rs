//! Answers that are no answer: statuses, pages, redirects.

use crate::server::{Reply, Server, chat, plain, refusal, stream};
use crate::story::{KEY, Story, Tested, endpoint};
use annals_core::Event;
use annals_core::event::StepEvent;
use annals_runtime::Outcome;
use annals_runtime::ports::Clock;
use annals_runtime::testing::ManualClock;

async fn refused(replies: Vec<Reply>) -> Result<(Story, Server, Vec<String>), Box<dyn std::error::Error>> {
    let server = Server::new(replies).await?;
    let story = Story::at(endpoint(&server)).await?;
    // How it ends is in the failures, and the callers ask for them.
    drop(story.say("hello").await);
    story.holds(&server).await?;
    let failures = story.failures().await?;
    Ok((story, server, failures))
}

/// The waits that the log holds, in milliseconds from when they were recorded.
async fn waited(story: &Story) -> Result<u64, Box<dyn std::error::Error>> {
    let events = story.events().await?;
    let until = events.iter().find_map(|event| match event {
        Event::Step(StepEvent::RetryScheduled(scheduled)) => Some(scheduled.at),
        _ => None,
    });
    Ok(until.ok_or("a retry is scheduled")?.millis() - ManualClock::SCENARIO.millis())
}

#[tokio::test]
async fn too_many_requests_waits_as_long_as_the_provider_asks() -> Tested {
    let asks: [(&[(&str, &str)], u64); 4] = [
        (&[("retry-after", "7")], 7_000),
        (&[("retry-after-ms", "2500"), ("retry-after", "7")], 2_500),
        (&[("retry-after", "Wed, 03 Jun 2026 12:01:00 GMT"), ("date", "Wed, 03 Jun 2026 12:00:00 GMT")], 60_000),
        (&[], 2_000),
    ];
    for (headers, wait) in asks {
        let replies = vec![refusal("429 Too Many Requests", headers, "slow down"), stream(chat::says("hi"))];
        let (story, server, failures) = refused(replies).await?;
        assert_eq!(story.history().await?, ["user hello", "assistant stop: hi"]);
        assert!(failures[0].starts_with("retry rate-limit 429: ") && failures[0].contains("slow down"), "{failures:?}");
        assert_eq!(waited(&story).await?, wait, "{headers:?}");
        assert!(story.clock.now().millis() >= ManualClock::SCENARIO.millis() + wait);
        assert_eq!(server.received().len(), 2);
    }
    Ok(())
}

#[tokio::test]
async fn an_overloaded_provider_is_asked_five_times_and_then_the_turn_has_failed() -> Tested {
    let overloaded = || refusal("529 Overloaded", &[], "overloaded_error");
    let (story, server, failures) = refused((0..9).map(|_| overloaded()).collect()).await?;
    assert_eq!(server.received().len(), 5);
    assert_eq!(failures.len(), 5);
    assert!(failures[4].starts_with("failed provider-internal 529: "), "{failures:?}");
    assert_eq!(story.history().await?, ["user hello", "assistant error: "]);
    Ok(())
}

#[tokio::test]
async fn a_provider_that_wants_no_other_attempt_gets_none() -> Tested {
    let replies = vec![refusal("503 Service Unavailable", &[("x-should-retry", "false")], "gone for good")];
    let (_, server, failures) = refused(replies).await?;
    assert_eq!(server.received().len(), 1);
    assert!(failures[0].starts_with("failed ") && failures[0].contains("gone for good"), "{failures:?}");
    Ok(())
}

#[tokio::test]
async fn a_refused_key_is_told_without_the_key() -> Tested {
    let echo = format!("Incorrect API key provided: {KEY}. Bearer {KEY} is not known.");
    let (_, server, failures) = refused(vec![refusal("401 Unauthorized", &[], &echo)]).await?;
    assert_eq!(server.received().len(), 1, "a wrong key is not tried again");
    assert!(failures[0].starts_with("failed authentication 401: "), "{failures:?}");
    assert!(failures[0].contains("provided: [redacted:key]. Bearer [redacted:key] is"), "{failures:?}");
    Ok(())
}

#[tokio::test]
async fn a_page_says_to_look_at_the_base_url() -> Tested {
    let html = plain("200 OK", &[("content-type", "text/html; charset=utf-8")], "<html>Welcome to nginx</html>");
    let (_, server, failures) = refused(vec![html]).await?;
    let at = format!("{}/chat/completions", server.base());
    let message = "answered with a web page instead of a stream of events: is the base URL right?";
    assert_eq!(failures, [format!("failed invalid-request: {at} {message}")]);
    Ok(())
}

#[tokio::test]
async fn an_error_that_comes_with_a_good_status_counts_as_what_it_says() -> Tested {
    let body = r#"{"error":{"code":502,"message":"upstream is gone"}}"#;
    let json: &[(&str, &str)] = &[("content-type", "application/json")];
    let replies = vec![plain("200 OK", json, body), stream(chat::says("hi"))];
    let (story, _, failures) = refused(replies).await?;
    assert_eq!(story.history().await?, ["user hello", "assistant stop: hi"]);
    assert!(failures[0].starts_with("retry provider-internal 502: "), "{failures:?}");

    let other = format!("{{\"object\": \"chat.completion\",\n \"key\": \"{KEY}\"}}");
    let (_, _, failures) = refused(vec![plain("200 OK", json, &other)]).await?;
    let shown = r#"answered with application/json instead of a stream of events: {"object": "chat.completion", "key": "[redacted:key]"}"#;
    assert!(failures[0].ends_with(shown), "{failures:?}");
    Ok(())
}

#[tokio::test]
async fn a_request_that_is_too_large_is_an_overflow() -> Tested {
    let body = "This model's maximum context length is 8192 tokens.";
    let (_, _, failures) = refused(vec![refusal("400 Bad Request", &[], body)]).await?;
    assert!(failures[0].starts_with("failed overflow 400: "), "{failures:?}");
    Ok(())
}

#[tokio::test]
async fn no_redirect_is_followed() -> Tested {
    let elsewhere = Server::new([stream(chat::says("stolen"))]).await?;
    let to = format!("http://user:sesame-open@127.0.0.1:{}/v1/chat/completions?token=abc", elsewhere.port());
    for status in ["301 Moved", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let (_, _, failures) = refused(vec![plain(status, &[("location", &to)], "")]).await?;
        let message = format!(
            "refers to http://127.0.0.1:{}/v1/chat/completions, where no key is carried: if that is right, set the \
             base URL to it",
            elsewhere.port()
        );
        assert!(failures[0].ends_with(&message), "{failures:?}");
    }
    assert_eq!(elsewhere.connections(), 0);
    Ok(())
}

#[tokio::test]
async fn a_refusal_that_does_not_end_is_told_as_far_as_it_came() -> Tested {
    let head = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 5000\r\n\r\nthe region is not served".to_vec();
    let (_, _, failures) = refused(vec![vec![crate::server::Act::Send(head)]]).await?;
    assert!(failures[0].starts_with("failed authentication 403: "), "{failures:?}");
    assert!(failures[0].contains("the region is not served"), "{failures:?}");
    Ok(())
}

#[tokio::test]
async fn after_a_failed_turn_the_session_goes_on() -> Tested {
    let replies = vec![refusal("400 Bad Request", &[], "no such field"), stream(chat::says("now it works"))];
    let server = Server::new(replies).await?;
    let story = Story::at(endpoint(&server)).await?;
    assert!(story.say("hello").await.is_err_and(|error| error.kind() == "invalid-request"));
    assert_eq!(story.say("again").await?, Outcome::Idle);
    assert_eq!(story.history().await?.last().map(String::as_str), Some("assistant stop: now it works"));
    story.holds(&server).await
}
