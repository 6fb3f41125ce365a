//! `annals audit --where` and `--rules`: findings with the events that explain them, as text, JSON and SARIF, and exit status.

use crate::cli::command::{Annals, ends, fixture, text};
use crate::cli::validate::wrong;
use serde_json::Value;
use std::fs;

/// A call after the end of an earlier one.
const LATER: &str = "call as next { tool == \"Bash\" } after result { outcome == \"completed\" } within 1 turn";

fn session() -> String {
    fixture("claude-code/tools-and-compaction.jsonl")
}

fn parsed(annals: &Annals, arguments: &[&str]) -> Value {
    serde_json::from_str(&annals.run(arguments).out).expect("JSON")
}

#[test]
fn findings_are_shown_with_their_place_their_call_and_the_events_that_explain_them() {
    let annals = Annals::new();
    let answer = annals.run(&["audit", &session(), "--where", LATER]);
    assert_eq!(answer.status, 0, "{}", answer.remarks);
    let found = parsed(&annals, &["audit", &session(), "--where", LATER, "--json"]);
    let schema = parsed(&annals, &["schema", "audit-rules"]);
    assert_eq!(wrong(&schema, &found), None);
    let first = &found["findings"][0];
    let place = format!("{}@{}", first["session"].as_str().unwrap(), first["fact"]["seq"]);
    assert!(answer.out.contains(&place), "{}", answer.out);
    assert!(answer.out.contains(first["fact"]["call"].as_str().unwrap()), "{}", answer.out);
    assert_eq!(first["fact"]["name"], "next");
    assert_eq!(first["related"][0]["kind"], "result");
    assert!(first["related"][0]["seq"].as_u64() < first["fact"]["seq"].as_u64());
}

#[test]
fn the_exit_status_is_1_for_findings_with_deny_and_2_for_a_wrong_expression() {
    let annals = Annals::new();
    let audit = |status, more: &[&str]| {
        let session = session();
        ends(&annals, status, &[&["audit", session.as_str()][..], more].concat())
    };
    audit(0, &["--where", "call"]);
    audit(1, &["--where", "call", "--deny"]);
    assert!(audit(0, &["--where", "reply", "--deny"]).contains("nothing found by 1 rule in 1 session"));
    let wrong = audit(2, &["--where", "call { tol == \"bash\" }"]);
    assert!(wrong.contains("1:8: call has no field `tol`; did you mean `tool`?"), "{wrong}");
    assert!(audit(2, &["--rules", "no-such-rule"]).contains("there is no rule or file \"no-such-rule\""));
}

#[test]
fn rules_are_files_folders_and_names() {
    let annals = Annals::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reads.rule");
    fs::write(&path, "title: A file is read\nlevel: note\nwhere: call { action == \"read\" }\n").unwrap();
    fs::write(folder.path().join("notes.txt"), "no rule").unwrap();
    let rules = |names: &[&str]| {
        let session = session();
        let found = parsed(&annals, &[&["audit", session.as_str(), "--json", "--rules"][..], names].concat());
        let ids = found["rules"].as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(rules(&[&text(&path)]), ["reads"]);
    assert_eq!(rules(&[&text(folder.path()), "secret-sent"]), ["reads", "secret-sent"]);
    assert_eq!(rules(&[]).len(), 10);
    fs::write(&path, "title: x\nlevel: grave\nwhere: call\n").unwrap();
    let wrong = ends(&annals, 2, &["audit", &session(), "--rules", &text(&path)]);
    assert!(wrong.contains("reads.rule:2: the level is note, warning or error, not \"grave\""), "{wrong}");
    fs::write(&path, "title: x\n\nwhere:\ncall {\n  pth == \"x\"\n}\n").unwrap();
    let wrong = ends(&annals, 2, &["audit", &session(), "--rules", &text(&path)]);
    assert!(wrong.contains("reads.rule:5:3: call has no field `pth`; did you mean `path`?"), "{wrong}");
    assert!(ends(&annals, 0, &["audit", "--list-rules"]).contains("edit-after-pruned-read"));
    assert!(ends(&annals, 0, &["audit", "--fields"]).contains("confinement"));
}

#[test]
fn sarif_has_a_place_for_each_finding_and_a_print_that_stays() {
    let annals = Annals::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("found.sarif");
    ends(&annals, 1, &["audit", &session(), "--where", LATER, "--deny", "--sarif", &text(&file)]);
    let report: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(report, parsed(&annals, &["audit", &session(), "--where", LATER, "--sarif"]));
    assert_eq!(report["version"], "2.1.0");
    let run = &report["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "where");
    let result = &run["results"][0];
    assert_eq!((&result["ruleId"], &result["ruleIndex"]), (&"where".into(), &0.into()));
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uriBaseId"], "%SRCROOT%");
    assert!(place["region"]["startLine"].as_u64().unwrap() > 0);
    assert!(result["relatedLocations"][0]["message"]["text"].as_str().unwrap().starts_with("event "));
    assert_eq!(result["partialFingerprints"]["annalsFinding/v1"].as_str().unwrap().len(), 64);
}

#[test]
fn a_store_is_audited_by_project_agent_and_time() {
    let annals = Annals::with_fixtures();
    let count = |more: &[&str]| {
        let found = parsed(&annals, &[&["audit", "--all", "--where", "session", "--json"][..], more].concat());
        assert_eq!(found["findings"].as_array().unwrap().len() as u64, found["sessions"].as_u64().unwrap());
        found["sessions"].as_u64().unwrap()
    };
    let (all, codex) = (count(&[]), count(&["--agent", "codex"]));
    assert!(0 < codex && codex < all, "{codex} of {all}");
    assert_eq!(count(&["--since", "2027-01-01"]), 0);
}

#[test]
fn the_rules_of_the_program_find_nothing_wrong_in_the_fixtures() {
    let annals = Annals::with_fixtures();
    let found = parsed(&annals, &["audit", "--all", "--rules", "--json"]);
    let found = found["findings"].as_array().unwrap().iter();
    let found: Vec<String> = found.map(|it| format!("{} {}", it["rule"], it["fact"]["excerpt"])).collect();
    assert_eq!(found, Vec::<String>::new());
}
