//! The tests of the page "Write a projection" (`docs/projection.md`).

use annals_testing::{assert_projection, laws, session, story};
use own_projection::ToolUse;
use serde_json::json;

laws!(ToolUse);

#[test]
fn a_failed_call_counts_twice() {
    let session = story()
        .prompt("Run the tests")
        .call("bash", json!({"command": "make"}))
        .failure("no rule")
        .call("bash", json!({"command": "cargo test"}))
        .result("ok")
        .session();
    let view: ToolUse = session.fold();
    let bash = view.tools["bash"];
    assert_eq!((bash.calls, bash.failed), (2, 1));
    assert_eq!(session.at(4).fold::<ToolUse>().tools["bash"].failed, 0, "the call was made, and not settled");
}

#[test]
fn a_recorded_session_keeps_its_view() {
    let recorded = session(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/session.jsonl"));
    annals_testing::check_laws::<ToolUse>(&recorded);
    assert_projection!("tools", recorded.fold::<ToolUse>());
}
