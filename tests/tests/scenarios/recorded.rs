//! A recorded session becomes a scenario that plays it again (`docs/scenarios.md#recording`).

use annals_scenario::{Backend, RecordError, Scenario, play, record};
use annals_store::{DiskLog, EventLog, OpenMode};
use annals_tests::scenarios::files;
use std::path::Path;

/// Every session that a scenario leaves behind, recorded.
fn recordings(name: &str, file: &Path) -> Vec<Result<String, RecordError>> {
    let scenario = Scenario::load(file).unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store");
    play(name, &scenario, &Backend::Sled(store.clone())).unwrap_or_else(|error| panic!("{name}: {error}"));
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("an event loop");
    let (log, _) = DiskLog::open(&store, OpenMode::Existing).unwrap_or_else(|error| panic!("{name}: {error}"));
    events.block_on(async {
        let mut recorded = Vec::new();
        for head in log.sessions().all().await.expect("sessions") {
            recorded.push(record(&log, head.session).await);
        }
        recorded
    })
}

#[test]
fn every_recorded_session_plays_again_to_the_same_views() {
    let (mut failed, mut untold) = (Vec::new(), Vec::new());
    for (name, file) in files() {
        for recorded in recordings(&name, &file) {
            let text = match recorded {
                Ok(text) => text,
                Err(RecordError::Untold { what, .. }) => {
                    untold.push(format!("{name}: {what}"));
                    continue;
                }
                Err(error) => panic!("{name}: {error}"),
            };
            let scenario = Scenario::parse(&text, Path::new(&name)).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let outcome = play(&name, &scenario, &Backend::Memory).unwrap_or_else(|error| panic!("{name}: {error}"));
            if !outcome.passed() {
                let lines: Vec<String> = outcome.failures.iter().map(|failure| format!("    {failure}")).collect();
                failed.push(format!("  {name}\n{}\n{text}", lines.join("\n")));
            }
        }
    }
    assert!(failed.is_empty(), "{} recordings do not hold:\n{}", failed.len(), failed.join("\n"));
    // What a log does not tell is said, and never guessed.
    let expected = [
        "a-blocked-replacement-is-recorded-once: which incompatible value waits for a source that is unavailable",
        "a-second-block-by-the-same-keys-is-recorded: which incompatible value waits for a source that is unavailable",
        "agent-switch-while-a-change-is-observed: an action while the sources were observed",
        "an-unanswered-input-gets-its-turn-before-the-queue: an action while the sources were observed",
        "request-that-cannot-fit-is-an-overflow: an action while the sources were observed",
        "switches-during-a-turn-apply-to-the-next-one: a switch while the sources were observed",
        "unavailable-source-blocks-a-removal-without-text: which incompatible value waits for a source that is unavailable",
        "unavailable-source-blocks-a-replacement: which incompatible value waits for a source that is unavailable",
    ];
    if std::env::var_os("SCENARIO").is_none() {
        assert_eq!(untold, expected);
    }
}
