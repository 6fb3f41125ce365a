//! A Session that was recorded runs again without a server.

use crate::server::{Server, chat, refusal, stream};
use crate::story::{KEY, Story, Tested, endpoint};
use annals_core::Digest;
use annals_guard::redaction::Redactor;
use annals_providers::http::{Endpoint, HttpProvider, OneEndpoint};
use annals_providers::{CassettePlayer, CassetteRecorder};
use annals_runtime::ports::now_of;
use annals_runtime::testing::ManualClock;
use std::path::Path;
use std::sync::Arc;

async fn record(folder: &Path) -> Result<(Vec<Digest>, Vec<String>), Box<dyn std::error::Error>> {
    let server = Server::new([
        refusal("429 Too Many Requests", &[("retry-after", "3")], "slow down"),
        stream(chat::text("Let me see. ") + &chat::call(0, "c1", "look", "{\"at\":1e400}") + &chat::done("tool_calls")),
        stream(chat::says("I saw it.")),
        stream(chat::says("Good bye.")),
    ])
    .await?;
    let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
    let http = HttpProvider::new(Arc::new(OneEndpoint(endpoint(&server))), now_of(clock.clone()));
    let story = Story::with(Arc::new(CassetteRecorder::new(http, folder)), clock).await?;
    story.say("look at it").await?;
    story.say("thank you").await?;
    story.holds(&server).await?;
    digests_and_texts(&story).await
}

async fn digests_and_texts(story: &Story) -> Result<(Vec<Digest>, Vec<String>), Box<dyn std::error::Error>> {
    let marks = story.session.view().await?.requests.marks.iter().map(|mark| mark.digest).collect();
    Ok((marks, story.history().await?))
}

async fn play(folder: &Path) -> Result<Story, Box<dyn std::error::Error>> {
    let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
    Story::with(Arc::new(CassettePlayer::open(folder)?), clock).await
}

#[tokio::test]
async fn a_recorded_session_runs_again_without_a_server_to_the_same_requests_and_history() -> Tested {
    let folder = tempfile::tempdir()?;
    let recorded = record(folder.path()).await?;
    let again = play(folder.path()).await?;
    again.say("look at it").await?;
    again.say("thank you").await?;
    assert_eq!(digests_and_texts(&again).await?, recorded);
    assert_eq!(again.failures().await?.len(), 1, "the refusal is played, too");
    again.is_sound().await
}

#[tokio::test]
async fn a_session_that_says_something_else_is_told_where_it_parts_from_the_recording() -> Tested {
    let folder = tempfile::tempdir()?;
    record(folder.path()).await?;
    let other = play(folder.path()).await?;
    other.say("look at it").await?;
    let error = other.say("thank you very much").await.err().ok_or("that was not recorded")?;
    assert_eq!(error.kind(), "invalid-request");
    let message = r#"message 4 differs first; recorded is …"text","text":"thank you"}],"role":"user"}, asked was …"text","text":"thank you very much"}],"role":"user"}"#;
    assert!(error.to_string().ends_with(message), "{error}");
    other.is_sound().await
}

#[tokio::test]
async fn a_cassette_holds_no_key() -> Tested {
    let folder = tempfile::tempdir()?;
    record(folder.path()).await?;
    let mut files = 0;
    for place in [folder.path().to_path_buf(), folder.path().join("parts")] {
        for entry in std::fs::read_dir(place)? {
            let path = entry?.path();
            if path.is_file() {
                files += 1;
                assert!(!std::fs::read_to_string(&path)?.contains(KEY), "{}", path.display());
            }
        }
    }
    assert!(files > 8, "{files}");
    Ok(())
}

#[tokio::test]
async fn no_key_of_an_address_and_no_known_secret_is_in_log_errors_traces_or_cassette() -> Tested {
    let said = "no route /planted-path-key/v1?token=planted-query-key for planted-env-secret";
    let server = Server::new([refusal("404 Not Found", &[], said)]).await?;
    let base = format!("http://127.0.0.1:{}/planted-path-key/v1?token=planted-query-key", server.port());
    let folder = tempfile::tempdir()?;
    let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
    let http = HttpProvider::new(Arc::new(OneEndpoint(Endpoint::at(base))), now_of(clock.clone()));
    let redactor = Redactor::default().with_variable("PLANTED", "planted-env-secret");
    let recorder = CassetteRecorder::new(http, folder.path()).redacting(Some(Redactor::scrub(Arc::new(redactor))));
    let story = Story::with(Arc::new(recorder), clock).await?;
    let error = story.say("look at it").await.err().ok_or("it is refused")?;
    let message = "no route /[redacted:url]/v1?token=[redacted:url] for [redacted:env:PLANTED]";
    assert!(error.to_string().ends_with(message), "{error}");
    assert_eq!(server.received().len(), 1);
    story.is_sound().await?;
    let mut kept = String::new();
    for entry in std::fs::read_dir(folder.path())? {
        let path = entry?.path();
        if path.is_file() {
            kept.push_str(&std::fs::read_to_string(path)?);
        }
    }
    assert!(kept.contains("no route") && !kept.contains("planted"), "{kept}");
    Ok(())
}
