//! Answers that come in odd pieces, break off, or are not what the protocol allows.

use crate::server::{Act, Server, chat, chunk, end, head, stream};
use crate::story::{Story, Tested, endpoint};
use annals_runtime::Outcome;
use serde_json::json;
use std::time::Duration;

/// The answer after the one that failed.
fn then() -> Vec<Act> {
    stream(chat::says("whole"))
}

async fn heard(first: Vec<Act>) -> Result<(Story, Server), Box<dyn std::error::Error>> {
    let server = Server::new([first, then()]).await?;
    let story = Story::at(endpoint(&server)).await?;
    assert_eq!(story.say("hello").await?, Outcome::Idle);
    story.holds(&server).await?;
    Ok((story, server))
}

#[tokio::test]
async fn an_answer_is_the_same_however_it_is_split_and_whatever_ends_its_lines() -> Tested {
    let events =
        ": a comment\n\n".to_string() + &chat::text("Grüße, ") + ":\n" + &chat::text("🦀!") + &chat::done("stop");
    for line_end in ["\n", "\r\n", "\r"] {
        let mut bytes = "\u{feff}".to_string() + &events.replace('\n', line_end);
        // A carriage return ends its line only when it is known that no line feed follows.
        bytes += ": the end\n";
        let mut pieces = vec![head()];
        pieces.extend(bytes.as_bytes().chunks(1).map(chunk));
        pieces.push(end());
        let (story, _) = heard(pieces).await?;
        assert_eq!(story.history().await?, ["user hello", "assistant stop: Grüße, 🦀!"], "{line_end:?}");
        assert_eq!(story.session.view().await?.usage.tokens.input, 12);
    }
    Ok(())
}

#[tokio::test]
async fn a_field_without_a_space_and_data_over_several_lines_are_events_too() -> Tested {
    let events = chat::says("hi").replace("data: ", "data:").replacen("\"choices\":", "\ndata:\"choices\":", 1);
    let (story, _) = heard(stream(format!("event: chunk\nid: 7\nretry: 5\n{events}"))).await?;
    assert_eq!(story.history().await?, ["user hello", "assistant stop: hi"]);
    Ok(())
}

#[tokio::test]
async fn a_stream_that_breaks_off_keeps_what_arrived_and_goes_on_in_another_request() -> Tested {
    let cut = chat::text("half of");
    let broken = [
        // Closed within the chunks, after the last chunk, and in the middle of an event.
        vec![head(), chunk(&cut)],
        vec![head(), chunk(&cut), end()],
        vec![head(), chunk(cut.clone() + &chat::text("never seen")[..20]), end()],
    ];
    for broken in broken {
        let (story, server) = heard(broken).await?;
        let history = story.history().await?;
        assert_eq!(history, ["user hello", "assistant error: half of", "synthetic", "assistant stop: whole"]);
        let failures = story.failures().await?;
        assert!(failures[0].starts_with("failed incomplete-stream: "), "{failures:?}");
        assert_eq!(server.received().len(), 2);
    }
    Ok(())
}

#[tokio::test]
async fn a_stream_that_breaks_off_before_anything_arrived_is_asked_for_again() -> Tested {
    for broken in [vec![head()], vec![head(), end()], vec![head(), chunk(": waiting\n\n")]] {
        let (story, server) = heard(broken).await?;
        assert_eq!(story.history().await?, ["user hello", "assistant stop: whole"]);
        let received = server.received();
        assert_eq!(received[0].body, received[1].body, "it is the same request");
    }
    Ok(())
}

#[tokio::test]
async fn bytes_that_are_no_text_are_an_answer_that_broke_off() -> Tested {
    let mut half = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"".to_vec();
    half.extend_from_slice(&"🦀".as_bytes()[..2]);
    let mut within = half.clone();
    within.extend_from_slice(b"\"}}]}\n\n");
    for bytes in [within, half] {
        let (story, _) = heard(vec![head(), chunk(chat::text("so ")), chunk(bytes), end()]).await?;
        let history = story.history().await?;
        assert_eq!(history, ["user hello", "assistant error: so ", "synthetic", "assistant stop: whole"]);
    }
    Ok(())
}

#[tokio::test]
async fn events_that_are_not_json_break_the_answer_off() -> Tested {
    for data in ["{\"choices\":", "nonsense", "[]", "{\"choices\":[{\"delta\":{\"content\":7e999}}]}"] {
        let (story, _) = heard(stream(format!("data: {data}\n\n"))).await?;
        assert_eq!(story.history().await?, ["user hello", "assistant stop: whole"], "{data}");
        assert!(story.failures().await?[0].starts_with("retry incomplete-stream: "), "{data}");
    }
    Ok(())
}

#[tokio::test]
async fn two_calls_that_share_an_id_are_run_once_each() -> Tested {
    let twice = chat::call(0, "c1", "look", "{}") + &chat::call(1, "c1", "look", "{}") + &chat::done("tool_calls");
    let (story, server) = heard(stream(twice)).await?;
    let expected = "assistant tool-calls: look=completed(seen) | look=completed(seen)";
    assert_eq!(story.history().await?, ["user hello", expected, "assistant stop: whole"]);
    assert_eq!(server.received().len(), 2);
    Ok(())
}

#[tokio::test]
async fn parallel_calls_are_run_and_their_results_are_sent() -> Tested {
    let both = chat::call(0, "c1", "look", "{}") + &chat::call(1, "c2", "look", "{}") + &chat::done("tool_calls");
    let (story, server) = heard(stream(both)).await?;
    let expected = "assistant tool-calls: look=completed(seen) | look=completed(seen)";
    assert_eq!(story.history().await?, ["user hello", expected, "assistant stop: whole"]);
    assert_eq!(server.received().len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_connection_serves_more_than_one_turn() -> Tested {
    let server = Server::new((0..20).map(|_| stream(chat::says("hi")))).await?;
    let story = Story::at(endpoint(&server)).await?;
    for _ in 0..20 {
        story.say("hello").await?;
    }
    assert_eq!(server.received().len(), 20);
    assert!(server.connections() < 20, "each turn opened a connection of its own");
    story.holds(&server).await
}

#[tokio::test]
async fn an_error_inside_the_stream_is_the_turns_error() -> Tested {
    let error = json!({"error": {"code": 429, "message": "rate limit reached for sk-planted-0123456789abcdef"}});
    let (story, _) = heard(stream(chat::event(&error))).await?;
    let failures = story.failures().await?;
    assert!(failures[0].starts_with("retry rate-limit"), "{failures:?}");
    assert!(failures[0].contains("[redacted:key]"), "{failures:?}");
    Ok(())
}

#[tokio::test]
async fn what_follows_the_end_of_the_answer_is_not_heard() -> Tested {
    let events = chat::says("done") + "data: nonsense\n\n";
    let reply = vec![head(), chunk(events), Act::Wait(Duration::from_millis(1)), chunk("more"), end()];
    let (story, server) = heard(reply).await?;
    assert_eq!(story.history().await?, ["user hello", "assistant stop: done"]);
    assert_eq!(server.received().len(), 1);
    Ok(())
}
