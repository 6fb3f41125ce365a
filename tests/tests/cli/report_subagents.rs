//! Reports of a session that started a sub-agent.

use super::command::{Annals, ends, text};
use annals_tests::deadline::WithDeadline;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What only the sub-agent was asked, and what only it answered: invented.
const KEY: &str = "ghp_aZ81kQm3RtY7wLx0Bv5Nc9Hd2Jf6Sg4PqEuI";
const ANSWER: &str = "four files";

/// A store with a session and its sub-agent; the id of the first.
fn store() -> (Annals, String) {
    let annals = Annals::new();
    let input = serde_json::json!({"description": "Count files", "prompt": format!("count with {KEY}"), "subagent_type": "explore"});
    let scenario = serde_json::json!({
        "scenario": 1, "name": "report",
        "agents": {"build": {"permissions": [["task", "*", "allow"]]}},
        "subagents": {"explore": {"description": "Looks around."}},
        "script": [
            {"provider": [{"calls": [{"id": "t1", "tool": "task", "input": input}]}, {"text": ANSWER}, {"text": "done"}]},
            {"prompt": "go"},
        ],
    });
    let file = annals.file("report.json");
    std::fs::write(&file, scenario.to_string()).unwrap();
    ends(&annals, 0, &["scenario", "run", &text(&file), "--keep", "--store", &text(&annals.store())]);
    let rows: serde_json::Value = serde_json::from_str(&annals.run(&["sessions", "--all", "--json"]).out).unwrap();
    let main = rows.as_array().unwrap().iter().find(|row| row["parent"].is_null()).unwrap();
    let id = main["id"].as_str().unwrap().to_owned();
    (annals, id)
}

fn report(annals: &Annals, session: &str, options: &[&str]) -> (PathBuf, String) {
    let file = annals.file("report.html");
    let remarks = ends(annals, 0, &[&["report", session, "-o", &text(&file)], options].concat());
    (file, remarks)
}

/// The export and the data in a report.
fn blocks(file: &Path) -> [String; 2] {
    const PROGRAM: &str = "import sys, base64, gzip
lines = open(sys.argv[1], 'rb').read().split(b'\\n')
at = lines.index(b'<script type=\"application/octet-stream\" id=\"annals-%s\">' % sys.argv[2].encode())
sys.stdout.buffer.write(gzip.decompress(base64.b64decode(lines[at + 1], validate=True)))";
    ["export", "data"].map(|block| {
        let output = Command::new("python3").args(["-c", PROGRAM, &text(file), block]).output_watched().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    })
}

fn shown(data: &str) -> serde_json::Value {
    serde_json::from_str(data).unwrap()
}

#[test]
fn a_report_has_the_sub_agents_shows_them_and_proves_them() {
    annals_tests::needs!("python3");
    let (annals, main) = store();
    let (file, _) = report(&annals, &main, &[]);
    let [export, data] = blocks(&file);
    let data = shown(&data);
    let child = data["session"]["children"][0].as_str().unwrap();
    assert_eq!(
        (&data["subagents"][0]["session"]["session"], &data["subagents"][0]["session"]["parent"]),
        (&child.into(), &main.as_str().into())
    );
    let of = |session: &str| annals.run(&["export", session]).out;
    assert_eq!(export, of(&main) + &of(child));
    let verified = ends(&annals, 0, &["verify", &text(&file)]);
    assert!(verified.contains("integrity verified") && verified.contains("the page shows what"), "{verified}");
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("verify_log.py");
    assert!(Command::new("python3").arg("-B").arg(python).arg(&file).status().unwrap().success());
    // A command that takes the file means the session that the report is about.
    assert_eq!(ends(&annals, 0, &["history", &text(&file), "--json"]), annals.run(&["history", &main, "--json"]).out);
    let other = Annals::new();
    ends(&other, 0, &["import", &text(&file)]);
    assert_eq!(other.run(&["export", child]).out, of(child));
    let (file, _) = report(&annals, &main, &["--alone"]);
    assert_eq!(blocks(&file)[0], of(&main));
}

#[test]
fn rules_and_redaction_reach_sub_agents_and_only_leaves_them_out() {
    annals_tests::needs!("python3");
    let (annals, main) = store();
    let (file, remarks) = report(&annals, &main, &["--redact", "--withhold", "text:four f"]);
    assert!(remarks.contains("secrets were found in"), "{remarks}");
    for block in blocks(&file) {
        assert!(!block.contains(KEY) && !block.contains(ANSWER), "a text is in the report");
    }
    assert_eq!(shown(&blocks(&file)[1])["subagents"].as_array().unwrap().len(), 1);
    ends(&annals, 0, &["verify", &text(&file)]);
    // An event number means an event of the session itself.
    let (file, _) = report(&annals, &main, &["--withhold", "seq:0-99"]);
    let data = shown(&blocks(&file)[1]);
    assert!(data["subagents"].to_string().contains(ANSWER) && !data["events"].to_string().contains(ANSWER));
    let (file, _) = report(&annals, &main, &["--only", "seq:0-1"]);
    assert_eq!(shown(&blocks(&file)[1])["subagents"], serde_json::json!([]));
    let unmatched =
        ends(&annals, 2, &["report", &main, "--withhold", "text:nowhere", "-o", &text(&annals.file("none.html"))]);
    assert!(unmatched.contains("matches no text") && !annals.file("none.html").exists(), "{unmatched}");
}
