//! Answers that are too large: they end with an error that says so, before they fill the memory.

use crate::server::{Act, Server, chat, head};
use crate::story::{Story, Tested, endpoint};
use annals_providers::http::EndpointLimits;

const MEGABYTE: usize = 1 << 20;

/// 50 MB in chunks of what `piece` gives.
fn flood(piece: &str) -> Vec<Act> {
    let chunk = format!("{:x}\r\n{piece}\r\n", piece.len()).into_bytes();
    let times = 50 * MEGABYTE / chunk.len();
    vec![head(), Act::Flood(chunk, times), Act::Hang]
}

async fn flooded(first: Act, piece: &str, limits: EndpointLimits, message: &str) -> Tested {
    let mut reply = flood(piece);
    reply.insert(1, first);
    let server = Server::new([reply]).await?;
    let story = Story::at(endpoint(&server).limits(limits)).await?;
    let error = story.say("hello").await.err().ok_or("it is too large")?;
    assert!(error.to_string().ends_with(message), "{error}");
    assert_eq!(server.received().len(), 1, "another attempt would bring the same");
    // What the limit allows, and what the sockets between the two hold.
    assert!(server.sent() < 30 * MEGABYTE, "{} bytes were taken", server.sent());
    story.holds(&server).await
}

#[tokio::test]
async fn one_endless_line_ends_the_answer() -> Tested {
    let piece = "x".repeat(64 << 10);
    flooded(Act::Send(Vec::new()), &piece, EndpointLimits::default(), "an event of the answer exceeds 8388608 bytes")
        .await
}

#[tokio::test]
async fn one_endless_event_ends_the_answer() -> Tested {
    let piece = format!("data: {}\n", "x".repeat(32 << 10));
    flooded(Act::Send(Vec::new()), &piece, EndpointLimits::default(), "an event of the answer exceeds 8388608 bytes")
        .await
}

#[tokio::test]
async fn an_endless_text_ends_the_answer_and_what_arrived_stays() -> Tested {
    let limits = EndpointLimits { content_bytes: 2 * MEGABYTE, ..EndpointLimits::default() };
    let piece = chat::text(&"x".repeat(60_000));
    let server = Server::new([flood(&piece)]).await?;
    let story = Story::at(endpoint(&server).limits(limits)).await?;
    let error = story.say("hello").await.err().ok_or("it is too large")?;
    assert!(error.to_string().ends_with("the content of the answer exceeds 2097152 bytes"), "{error}");
    assert_eq!(story.history().await?[1].len(), "assistant error: ".len() + 34 * 60_000);
    assert!(server.sent() < 20 * MEGABYTE, "{} bytes were taken", server.sent());
    story.holds(&server).await
}

#[tokio::test]
async fn endless_names_and_details_that_await_their_end_end_the_answer() -> Tested {
    let limits = EndpointLimits { content_bytes: 2 * MEGABYTE, ..EndpointLimits::default() };
    let message = "the content of the answer exceeds 2097152 bytes";
    let long = "x".repeat(60_000);
    // With a whole input each piece is a call of its own.
    let named = format!(r#"{{"tool_calls":[{{"function":{{"name":"{long}","arguments":"{{}}"}}}}]}}"#);
    let detail = format!(r#"{{"reasoning_details":[{{"type":"reasoning.encrypted","data":"{long}"}}]}}"#);
    let told_detail = format!(r#"{{"reasoning_details":[{{"type":"reasoning.summary","summary":"{long}"}}]}}"#);
    for delta in [named, detail, told_detail] {
        let piece = format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n");
        flooded(Act::Send(Vec::new()), &piece, limits, message).await?;
    }
    Ok(())
}

#[tokio::test]
async fn endless_comments_end_the_answer() -> Tested {
    let limits = EndpointLimits { answer_bytes: 4 * MEGABYTE as u64, ..EndpointLimits::default() };
    let piece = format!(": {}\n\n", "x".repeat(32 << 10));
    flooded(Act::Send(Vec::new()), &piece, limits, "the answer exceeds 4194304 bytes").await
}

#[tokio::test]
async fn a_long_answer_within_the_limits_is_taken_whole() -> Tested {
    let piece = "y".repeat(50_000);
    let mut reply = vec![head()];
    reply.extend((0..100).map(|_| crate::server::chunk(chat::text(&piece))));
    reply.extend([crate::server::chunk(chat::done("stop")), crate::server::end()]);
    let server = Server::new([reply]).await?;
    let story = Story::at(endpoint(&server)).await?;
    story.say("hello").await?;
    assert_eq!(story.history().await?[1].len(), "assistant stop: ".len() + 5_000_000);
    story.holds(&server).await
}
