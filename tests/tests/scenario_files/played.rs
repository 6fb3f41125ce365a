//! What must be true of a scenario that was played.

use annals_core::event::StepEvent;
use annals_core::{Event, Seq, SessionId};
use annals_projections::{Projection, SessionView, rebuild};
use annals_scenario::{Backend, Scenario, ScenarioOutcome, play};
use annals_store::{DiskLog, EventLog};
use serde_json::Value;
use std::collections::BTreeSet;
use std::error::Error;

/// Plays a scenario on a backend.
pub fn on(name: &str, scenario: &Scenario, backend: &Backend) -> Result<ScenarioOutcome, String> {
    play(name, scenario, backend).map_err(|error| error.to_string())
}

/// Fails with a line for each expectation that does not hold.
pub fn passed(outcome: &ScenarioOutcome) -> Result<(), String> {
    let lines: Vec<String> = outcome.failures.iter().map(ToString::to_string).collect();
    if outcome.passed() { Ok(()) } else { Err(lines.join("\n")) }
}

/// Fails unless each request that the log announces is rebuilt from the events before it, and each that reached the provider is announced.
pub async fn proved(log: &DiskLog, reached: &[Value]) -> Result<(), Box<dyn Error>> {
    let mut digests = BTreeSet::new();
    for head in log.sessions().all().await? {
        digests.extend(digests_of(log, head.session).await?);
    }
    for request in reached {
        let digest = request["digest"].as_str().ok_or("a request without a digest")?;
        if !digests.contains(digest) {
            return Err(format!("request {digest} reached the provider, and no log announces it").into());
        }
    }
    Ok(())
}

/// The digests of the requests that the log of a session announces, each of them recomputed.
async fn digests_of(log: &DiskLog, session: SessionId) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let blobs = log.blobs();
    let (mut view, mut digests, mut from) = (SessionView::default(), BTreeSet::new(), Seq::ZERO);
    loop {
        let page = log.read(session, from, 64).await?;
        let Some(last) = page.last() else { break };
        from = last.until.min(last.batch.next());
        for record in page.iter().flat_map(|slice| slice.records()) {
            if let Event::Step(StepEvent::RequestSent(sent)) = record.event {
                let request = rebuild(&view, sent, blobs.as_ref())
                    .map_err(|error| format!("{session}, event {}: {error}", record.seq))?;
                if request.digest() != sent.digest {
                    return Err(format!("{session}, event {}: another request is rebuilt", record.seq).into());
                }
                digests.insert(sent.digest.to_string());
            }
            view.apply(&record);
        }
    }
    match view.anomalies().first() {
        Some(anomaly) => Err(format!("{session}: {anomaly:?}").into()),
        None => Ok(digests),
    }
}
