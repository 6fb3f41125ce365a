//! Connections that hang, drop or never stand, and what is sent on those that do.

use crate::server::{Act, Server, chat, chunk, head, stream};
use crate::story::{KEY, Story, Tested, endpoint, in_time};
use annals_providers::http::{Endpoint, EndpointLimits, KeySource};
use annals_runtime::{NewInput, Outcome};
use std::time::Duration;
use tokio::io::AsyncWriteExt;

fn impatient(server: &Server) -> Endpoint {
    let limits = EndpointLimits { idle: Duration::from_millis(200), ..EndpointLimits::default() };
    endpoint(server).limits(limits)
}

#[tokio::test]
async fn a_server_that_does_not_begin_to_answer_is_asked_again() -> Tested {
    let server = Server::new([vec![Act::Hang], stream(chat::says("hi"))]).await?;
    let story = Story::at(impatient(&server)).await?;
    assert_eq!(story.say("hello").await?, Outcome::Idle);
    in_time(server.hung_up()).await;
    let failures = story.failures().await?;
    assert!(failures[0].starts_with("retry transport: ") && failures[0].ends_with("within 0.2 s"), "{failures:?}");
    assert_eq!(story.history().await?, ["user hello", "assistant stop: hi"]);
    story.holds(&server).await
}

#[tokio::test]
async fn a_server_that_falls_silent_is_left() -> Tested {
    let server = Server::new([vec![head(), chunk(chat::text("half")), Act::Hang], stream(chat::says("hi"))]).await?;
    let story = Story::at(impatient(&server)).await?;
    assert_eq!(story.say("hello").await?, Outcome::Idle);
    in_time(server.hung_up()).await;
    assert!(story.failures().await?[0].starts_with("failed incomplete-stream: "));
    assert_eq!(story.history().await?[1], "assistant error: half");
    story.holds(&server).await
}

#[tokio::test]
async fn an_answer_that_drips_for_ever_ends_with_the_total_limit() -> Tested {
    let drip = (0..10_000).flat_map(|_| [chunk(": still here\n\n"), Act::Wait(Duration::from_millis(5))]);
    let drips = std::iter::once(head()).chain(drip).collect();
    let server = Server::new([drips, stream(chat::says("hi"))]).await?;
    let limits = EndpointLimits {
        idle: Duration::from_secs(20),
        total: Duration::from_millis(400),
        ..EndpointLimits::default()
    };
    let story = Story::at(endpoint(&server).limits(limits)).await?;
    assert_eq!(story.say("hello").await?, Outcome::Idle);
    let failures = story.failures().await?;
    assert!(failures[0].ends_with("the answer was not complete after 0.4 s"), "{failures:?}");
    story.holds(&server).await
}

#[tokio::test]
async fn a_connection_that_is_dropped_before_an_answer_is_opened_again() -> Tested {
    let half = Act::Send(b"HTTP/1.1 200 OK\r\ncontent-ty".to_vec());
    let server = Server::new([vec![], vec![half], stream(chat::says("hi"))]).await?;
    let story = Story::at(endpoint(&server)).await?;
    assert_eq!(story.say("hello").await?, Outcome::Idle);
    let failures = story.failures().await?;
    assert!(
        failures.len() == 2 && failures.iter().all(|message| message.starts_with("retry transport: ")),
        "{failures:?}"
    );
    story.holds(&server).await
}

#[tokio::test]
async fn what_is_no_http_at_all_is_a_failed_connection() -> Tested {
    let noise = || vec![Act::Send(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec())];
    let server = Server::new([noise(), stream(chat::says("hi"))]).await?;
    let story = Story::at(endpoint(&server)).await?;
    assert_eq!(story.say("hello").await?, Outcome::Idle);
    assert!(story.failures().await?[0].starts_with("retry transport: "));
    story.holds(&server).await
}

#[tokio::test]
async fn where_nothing_listens_on_this_machine_that_is_said_at_once() -> Tested {
    let server = Server::new([]).await?;
    let endpoint = endpoint(&server);
    let at = format!("{}/chat/completions", server.base());
    drop(server);
    tokio::task::yield_now().await;
    let story = Story::at(endpoint).await?;
    let error = story.say("hello").await.err().ok_or("nobody answers")?;
    assert_eq!(error.kind(), "invalid-request");
    let message = format!("nothing listens at {at}: is the server running, and is the base URL right?");
    assert_eq!(error.to_string(), message);
    assert_eq!(story.failures().await?.len(), 1);
    story.is_sound().await
}

#[tokio::test]
async fn a_name_that_nobody_knows_is_said() -> Tested {
    let story = Story::at(Endpoint::at("http://no-such-host.invalid/v1")).await?;
    let error = story.say("hello").await.err().ok_or("nobody answers")?;
    // A proxy of the environment answers in the place of the name service.
    assert!(error.kind() == "transport" || error.to_string().contains("HTTP"), "{error}");
    story.is_sound().await
}

#[tokio::test]
async fn an_interrupt_closes_the_connection() -> Tested {
    let server = Server::new([vec![head(), chunk(chat::text("so far")), Act::Hang]]).await?;
    let story = Story::at(endpoint(&server)).await?;
    let mut heard = story.runtime.bus().subscribe(16, |notice| match notice {
        annals_runtime::bus::Notice::Delta(delta) => Some(delta.text.clone()),
        _ => None,
    });
    story.session.admit(NewInput::steer("hello")).await?;
    let session = story.session.clone();
    let run = tokio::spawn(async move { session.run().await });
    assert_eq!(in_time(heard.next()).await, Some(Ok("so far".into())));
    story.session.interrupt();
    assert_eq!(in_time(run).await??, Outcome::Interrupted);
    in_time(server.hung_up()).await;
    assert_eq!(story.history().await?, ["user hello", "assistant error: so far"]);
    story.holds(&server).await
}

#[tokio::test]
async fn an_interrupt_closes_the_connection_before_the_first_byte() -> Tested {
    let server = Server::new([vec![Act::Hang]]).await?;
    let story = Story::at(endpoint(&server)).await?;
    story.session.admit(NewInput::steer("hello")).await?;
    let session = story.session.clone();
    let run = tokio::spawn(async move { session.run().await });
    in_time(async {
        while server.received().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    story.session.interrupt();
    assert_eq!(in_time(run).await??, Outcome::Interrupted);
    in_time(server.hung_up()).await;
    story.holds(&server).await
}

#[tokio::test]
async fn a_request_names_its_session_and_carries_the_configured_headers() -> Tested {
    let server = Server::new([stream(chat::says("hi"))]).await?;
    let endpoint = endpoint(&server).header("X-Gateway-Team", "annals-team");
    let story = Story::at(endpoint).await?;
    story.say("hello").await?;
    let received = server.received();
    let header = |name: &str| received[0].headers.get(name).cloned().unwrap_or_default();
    let session = story.session.id().to_string();
    assert_eq!(received[0].line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!((header("x-session-affinity"), header("x-session-id")), (session.clone(), session));
    assert_eq!((header("content-type"), header("accept")), ("application/json".into(), "text/event-stream".into()));
    assert_eq!((header("x-gateway-team"), header("x-parent-session-id")), ("annals-team".into(), String::new()));
    assert_eq!(header("authorization"), format!("Bearer {KEY}"));
    assert!(header("user-agent").starts_with("annals/"));
    story.holds(&server).await
}

#[tokio::test]
async fn without_a_key_nothing_is_sent_and_what_to_set_is_said() -> Tested {
    let server = Server::new([]).await?;
    let endpoint = endpoint(&server).key(KeySource::Env("ANNALS_TEST_NO_SUCH_KEY".into()));
    let story = Story::at(endpoint).await?;
    let error = story.say("hello").await.err().ok_or("there is no key")?;
    assert_eq!(error.kind(), "authentication");
    let message = "there is no key for the model test/alpha: the environment variable ANNALS_TEST_NO_SUCH_KEY is not set: \
                it must hold the key";
    assert_eq!(error.to_string(), message);
    assert_eq!(server.connections(), 0);
    story.is_sound().await
}

#[tokio::test]
async fn an_address_that_is_none_is_said_before_anything_is_sent() -> Tested {
    let wrong = [
        ("localhost:8080/v1", "the base URL is not an http or https address"),
        ("not an address", "the base URL is invalid: relative URL without a base"),
        ("ftp://host/v1", "the base URL is not an http or https address"),
    ];
    for (base, message) in wrong {
        let story = Story::at(Endpoint::at(base)).await?;
        let error = story.say("hello").await.err().ok_or("it is no address")?;
        assert!(error.to_string().starts_with(message), "{base}: {error}");
        assert_eq!(story.failures().await?.len(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn credentials_in_an_address_are_sent_and_never_told() -> Tested {
    let unavailable = "no service for sesame-open at /v1";
    let reply = crate::server::refusal("400 Bad Request", &[], unavailable);
    let server = Server::new([reply]).await?;
    let base = format!("http://ali:sesame-open@127.0.0.1:{}/v1?deployment=forty-thieves", server.port());
    let story = Story::at(Endpoint::at(base)).await?;
    assert!(story.say("hello").await.is_err());
    let received = server.received();
    assert_eq!(received[0].line, "POST /v1/chat/completions?deployment=forty-thieves HTTP/1.1");
    assert!(received[0].headers.get("authorization").is_some_and(|sent| sent.starts_with("Basic ")));
    let failures = story.failures().await?;
    assert!(failures[0].contains("no service for [redacted:url] at"), "{failures:?}");
    assert!(!format!("{:?}{}", story.events().await?, crate::traces::all()).contains("sesame-open"));
    story.is_sound().await
}

#[tokio::test]
async fn a_proxy_of_the_environment_is_taken_except_on_this_machine() -> Tested {
    const CHILD: &str = "ANNALS_TEST_BEHIND_A_PROXY";
    if let Ok(base) = std::env::var(CHILD) {
        let story = Story::at(Endpoint::at("http://provider.invalid/v1")).await?;
        assert_eq!(story.say("hello").await?, Outcome::Idle);
        assert_eq!(story.history().await?, ["user hello", "assistant stop: from afar"]);
        let here = Story::at(Endpoint::at(base)).await?;
        here.say("hello").await?;
        assert_eq!(here.history().await?, ["user hello", "assistant stop: from here"]);
        return Ok(());
    }
    let (proxy, here) =
        (Server::new([stream(chat::says("from afar"))]).await?, Server::new([stream(chat::says("from here"))]).await?);
    // A process of its own: the environment belongs to all tests of this one.
    let name = "connections::a_proxy_of_the_environment_is_taken_except_on_this_machine";
    let mut child = tokio::process::Command::new(std::env::current_exe()?);
    child.args(["--exact", name]).env(CHILD, here.base());
    for variable in ["NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "REQUEST_METHOD"] {
        child.env_remove(variable);
    }
    child.env("http_proxy", format!("http://127.0.0.1:{}", proxy.port()));
    let output = in_time(child.kill_on_drop(true).output()).await?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let lines = |server: &Server| server.received().into_iter().map(|received| received.line).collect::<Vec<_>>();
    assert_eq!(lines(&proxy), ["POST http://provider.invalid/v1/chat/completions HTTP/1.1"]);
    assert_eq!(lines(&here), ["POST /v1/chat/completions HTTP/1.1"]);
    Ok(())
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_a_failed_connection() -> Tested {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let at = format!("https://{}/v1/chat/completions", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await);
        }
    });
    let story = Story::at(Endpoint::at(at.clone())).await?;
    let error = story.say("hello").await.err().ok_or("it speaks no TLS")?;
    // Without certificates on this machine there is no TLS at all.
    let refusal = error.to_string();
    assert!(refusal.starts_with(&format!("no connection to {at}: ")) || refusal.contains("certificates"), "{refusal}");
    story.is_sound().await
}

#[tokio::test]
async fn a_command_is_asked_once_for_its_key_and_again_after_the_key_was_refused() -> Tested {
    let folder = tempfile::tempdir()?;
    let asked = folder.path().join("asked");
    let script = format!("echo x >> '{}'; echo {KEY}", asked.display());
    let command = KeySource::Command(["sh", "-c", &script].map(Into::into).to_vec());
    let refused = || crate::server::refusal("401 Unauthorized", &[], "no");
    let server =
        Server::new([stream(chat::says("a")), stream(chat::says("b")), refused(), stream(chat::says("c"))]).await?;
    let story = Story::at(endpoint(&server).key(command)).await?;
    for (said, times) in [("one", 1), ("two", 1), ("three", 1), ("four", 2)] {
        let ended = story.say(said).await;
        assert_eq!(ended.is_err(), said == "three");
        assert_eq!(std::fs::read_to_string(&asked)?.lines().count(), times, "{said}");
    }
    story.holds(&server).await
}
