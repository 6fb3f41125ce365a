//! Every scenario of `fixtures/scenarios` holds, on both backends, with the same bytes of report.

use annals_core::event::StepEvent;
use annals_core::{Event, Seq, SessionId};
use annals_projections::{Projection, SessionView, rebuild};
use annals_scenario::{Backend, STARTER, Scenario, ScenarioOutcome, ScenarioReport, play};
use annals_store::{DiskLog, EventLog, OpenMode};
use annals_tests::scenarios::files;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn fixtures() -> Vec<(String, Scenario)> {
    let load = |file: PathBuf| Scenario::load(&file).unwrap_or_else(|error| panic!("{error}"));
    files().into_iter().map(|(name, file)| (name, load(file))).collect()
}

fn in_memory(name: &str, scenario: &Scenario) -> ScenarioOutcome {
    play(name, scenario, &Backend::Memory).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What did not hold, for people: one line for each place.
fn told(outcome: &ScenarioOutcome) -> String {
    let lines: Vec<String> = outcome.failures.iter().map(|failure| format!("    {failure}")).collect();
    format!("  {}\n{}", outcome.file, lines.join("\n"))
}

fn bytes(outcome: ScenarioOutcome) -> String {
    ScenarioReport { scenarios: vec![outcome] }.to_json().to_string()
}

#[test]
fn every_scenario_holds_in_memory_and_twice_alike() {
    let mut failed = Vec::new();
    for (name, scenario) in fixtures() {
        let outcome = in_memory(&name, &scenario);
        if !outcome.passed() {
            failed.push(told(&outcome));
        }
        assert_eq!(bytes(outcome), bytes(in_memory(&name, &scenario)), "{name}: two runs differ");
    }
    assert!(failed.is_empty(), "{} scenarios do not hold:\n{}", failed.len(), failed.join("\n"));
}

/// The digests of the requests that a session's own log announces, each of them recomputed from the facts before it.
async fn proved(name: &str, log: &DiskLog, session: SessionId) -> BTreeSet<String> {
    let blobs = log.blobs();
    let mut view = SessionView::default();
    let mut digests = BTreeSet::new();
    let mut from = Seq::ZERO;
    loop {
        let page = log.read(session, from, 64).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let Some(last) = page.last() else { break };
        from = last.until.min(last.batch.next());
        for record in page.iter().flat_map(|slice| slice.records()) {
            if let Event::Step(StepEvent::RequestSent(sent)) = record.event {
                let request = rebuild(&view, sent, blobs.as_ref())
                    .unwrap_or_else(|error| panic!("{name}, {session}, seq {}: {error}", record.seq));
                assert_eq!(request.digest(), sent.digest, "{name}, {session}, seq {}", record.seq);
                digests.insert(sent.digest.to_string());
            }
            view.apply(&record);
        }
    }
    assert_eq!(view.anomalies(), Vec::<&annals_projections::Anomaly>::new(), "{name}: {session}");
    digests
}

#[test]
fn every_scenario_gives_the_same_report_on_disk_and_proves_every_request() {
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("an event loop");
    let mut differing = Vec::new();
    for (name, scenario) in fixtures() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().join("store");
        let outcome =
            play(&name, &scenario, &Backend::Sled(store.clone())).unwrap_or_else(|error| panic!("{name}: {error}"));
        let reached = outcome.last["requests"].as_array().expect("requests").clone();
        if bytes(outcome) != bytes(in_memory(&name, &scenario)) {
            differing.push(name.clone());
        }
        let (log, _) = DiskLog::open(&store, OpenMode::Existing).unwrap_or_else(|error| panic!("{name}: {error}"));
        events.block_on(async {
            let mut digests = BTreeSet::new();
            for head in log.sessions().all().await.expect("sessions") {
                digests.extend(proved(&name, &log, head.session).await);
            }
            for request in reached {
                let digest = request["digest"].as_str().expect("a digest");
                assert!(digests.contains(digest), "{name}: a request reached the provider that no log announces");
            }
        });
    }
    assert!(differing.is_empty(), "{} reports differ between the backends: {}", differing.len(), differing.join(", "));
}

#[test]
fn the_start_that_is_written_for_people_holds() {
    let scenario = Scenario::parse(STARTER, Path::new("start")).unwrap_or_else(|error| panic!("{error}"));
    let outcome = in_memory("start", &scenario);
    assert!(outcome.passed(), "{}", told(&outcome));
}
