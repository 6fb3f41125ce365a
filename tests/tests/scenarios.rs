//! Every scenario of `fixtures/scenarios` holds, on both backends, with the same bytes of report.

use annals_runtime::scenario::{Backend, Outcome, Report, START, Scenario, play};
use std::path::{Path, PathBuf};

fn fixtures() -> Vec<(String, Scenario)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/scenarios");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("fixtures").map(|entry| entry.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    // `SCENARIO=part-of-a-name` plays only some of them.
    let only = std::env::var("SCENARIO").unwrap_or_default();
    files
        .into_iter()
        .map(|file| (file.file_stem().expect("a name").to_string_lossy().into_owned(), file))
        .filter(|(name, _)| name.contains(&only))
        .map(|(name, file)| (name, Scenario::load(&file).unwrap_or_else(|error| panic!("{error}"))))
        .collect()
}

fn on_disk(name: &str, scenario: &Scenario) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store");
    play(name, scenario, &Backend::Sled(store)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn in_memory(name: &str, scenario: &Scenario) -> Outcome {
    play(name, scenario, &Backend::Memory).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What did not hold, for people: one line for each place.
fn told(outcome: &Outcome) -> String {
    let lines: Vec<String> = outcome.failures.iter().map(|failure| format!("    {failure}")).collect();
    format!("  {}\n{}", outcome.file, lines.join("\n"))
}

fn bytes(outcome: Outcome) -> String {
    Report { scenarios: vec![outcome] }.to_json().to_string()
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

#[test]
fn every_scenario_gives_the_same_report_on_disk() {
    let differing: Vec<String> = fixtures()
        .into_iter()
        .filter(|(name, scenario)| bytes(on_disk(name, scenario)) != bytes(in_memory(name, scenario)))
        .map(|(name, _)| name)
        .collect();
    assert!(differing.is_empty(), "{} reports differ between the backends: {}", differing.len(), differing.join(", "));
}

#[test]
fn the_start_that_is_written_for_people_holds() {
    let scenario = Scenario::parse(START, Path::new("start")).unwrap_or_else(|error| panic!("{error}"));
    let outcome = in_memory("start", &scenario);
    assert!(outcome.passed(), "{}", told(&outcome));
}
