//! A scenario file in a test of somebody's projection.

use annals_projections::{Statistics, prelude::*};
use annals_testing::{check_laws, scenario};
use annals_tests::scenarios::files;

#[test]
fn a_scenario_file_gives_a_session_for_a_projection() {
    let (name, file) = files().into_iter().find(|(name, _)| name.contains("pin-keeps")).expect("a scenario");
    let session = scenario(&file);
    let pins = session.records().filter(|record| record.event.kind() == Kind::MessagePinned).count();
    assert!(pins > 0, "{name}");
    check_laws::<Statistics>(&session);
}

#[test]
#[should_panic(expected = "expected")]
fn an_expectation_that_does_not_hold_fails_the_test() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wrong.json");
    let (_, right) = files().into_iter().find(|(name, _)| name.contains("pin-keeps")).expect("a scenario");
    let text = std::fs::read_to_string(right).expect("a file");
    let mut text: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let script = text["script"].as_array_mut().expect("a script");
    script.push(serde_json::json!({"expect": {"history": []}}));
    std::fs::write(&file, text.to_string()).expect("a file");
    scenario(&file);
}
