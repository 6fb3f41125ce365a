//! A recorded session becomes a scenario that plays it again (`docs/scenarios.md#recording`).

use crate::played;
use annals_scenario::{Backend, RecordError, Scenario, record};
use annals_store::{DiskLog, EventLog};
use std::error::Error;
use std::path::Path;

/// What the log of a scenario does not say, so that its session cannot be recorded. It is reported, and never guessed.
pub const GAPS: [(&str, &str); 8] = [
    ("a-blocked-replacement-is-recorded-once", "which incompatible value waits for a source that is unavailable"),
    ("a-second-block-by-the-same-keys-is-recorded", "which incompatible value waits for a source that is unavailable"),
    ("agent-switch-while-a-change-is-observed", "an action while the sources were observed"),
    ("an-unanswered-input-gets-its-turn-before-the-queue", "an action while the sources were observed"),
    ("request-that-cannot-fit-is-an-overflow", "an action while the sources were observed"),
    ("switches-during-a-turn-apply-to-the-next-one", "a switch while the sources were observed"),
    (
        "unavailable-source-blocks-a-removal-without-text",
        "which incompatible value waits for a source that is unavailable",
    ),
    ("unavailable-source-blocks-a-replacement", "which incompatible value waits for a source that is unavailable"),
];

/// Records every session that a scenario left in a store, and plays the recordings.
pub async fn plays_again(name: &str, log: &DiskLog) -> Result<(), Box<dyn Error>> {
    let mut gaps = Vec::new();
    for head in log.sessions().all().await? {
        let text = match record(log, head.session).await {
            Ok(text) => text,
            Err(RecordError::Untold { what, .. }) => {
                gaps.push(what.clone());
                continue;
            }
            Err(error) => return Err(format!("not recorded: {error}").into()),
        };
        let scenario = Scenario::parse(&text, Path::new(name)).map_err(|error| format!("{error}\n{text}"))?;
        let outcome = played::on(name, &scenario, &Backend::Memory)?;
        played::passed(&outcome).map_err(|failures| format!("recorded, it does not hold:\n{failures}\n{text}"))?;
    }
    let expected: Vec<&str> = GAPS.iter().filter(|(file, _)| *file == name).map(|(_, what)| *what).collect();
    match gaps == expected {
        true => Ok(()),
        false => Err(format!("its log does not say {gaps:?}; expected: {expected:?}").into()),
    }
}
