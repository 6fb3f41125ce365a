//! Views that a program folds: shown, compared, bisected, kept as goldens.

use crate::cli::command::{Annals, ends, fixture, text};
use serde_json::Value;

const COMPACTION: &str = "opencode/v2/compaction.events.jsonl";
/// Counts summaries.
const SUMMARIES: &str = "grep -c compaction.ended || true";

#[test]
fn a_program_reads_one_event_a_line_and_its_output_is_printed_unchanged() {
    let (annals, file) = (Annals::new(), fixture(COMPACTION));
    let lines = ends(&annals, 0, &["fold", &file, "--", "cat"]);
    let listed: Vec<Value> = serde_json::from_str(&annals.run(&["log", &file, "--json"]).out).expect("a list");
    let read: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    assert_eq!(read, listed);
    assert!(read.iter().enumerate().all(|(at, event)| event["seq"] == at && event["at"].is_u64()));
    assert_eq!(ends(&annals, 0, &["fold", &file, "--at", "12", "--", "sh", "-c", "printf '%s' $(wc -l)"]), "13");
}

#[test]
fn texts_above_the_inline_limit_are_whole() {
    let (annals, file) = (Annals::new(), fixture("opencode/v2/long-output.events.jsonl"));
    let lines = ends(&annals, 0, &["fold", &file, "--", "cat"]);
    let strings = |value: &Value, name: &str| value[name].as_str().map_or(0, str::len);
    let events = lines.lines().map(|line| serde_json::from_str(line).expect("an event"));
    assert_eq!(events.map(|event: Value| strings(&event, "output")).max(), Some(51_200));
    for command in ["fold", "log"] {
        let args: &[&str] = if command == "fold" { &["fold", &file, "--", "cat"] } else { &["log", &file, "--json"] };
        assert!(!ends(&annals, 0, args).contains("\"blob\""), "{command}");
    }
}

#[test]
fn views_are_taken_at_every_turn_and_every_cut() {
    let (annals, file) = (Annals::new(), fixture(COMPACTION));
    let turns = ends(&annals, 0, &["fold", &file, "--every", "turn", "--json", "--", "sh", "-c", SUMMARIES]);
    let turns: Vec<Value> = serde_json::from_str(&turns).expect("a list");
    let views: Vec<(u64, u64)> =
        turns.iter().filter_map(|it| Some((it["at"].as_u64()?, it["view"].as_u64()?))).collect();
    assert_eq!(views, [(7, 0), (17, 0), (32, 1), (37, 1), (44, 1), (56, 2), (61, 2)]);
    let cuts = annals.run(&["fold", &file, "--every", "cut", "--", "wc", "-l"]).out;
    assert_eq!(cuts.lines().last(), Some("62"));
    assert!(cuts.lines().count() > 40);
}

#[test]
fn the_exit_status_is_that_of_the_program_and_one_that_is_missing_is_wrong_use() {
    let (annals, file) = (Annals::new(), fixture(COMPACTION));
    assert_eq!(annals.run(&["fold", &file, "--", "sh", "-c", "exit 7"]).status, 7);
    // One that does not read everything is no failure.
    assert_eq!(ends(&annals, 0, &["fold", &file, "--", "head", "-c", "1"]), "{");
    assert!(ends(&annals, 2, &["fold", &file, "--", "no-such-program"]).contains("could not be started"));
}

#[test]
fn views_of_a_program_are_compared_between_events_and_sessions() {
    let (annals, file) = (Annals::new(), fixture(COMPACTION));
    let shown = ends(&annals, 1, &["diff", &file, "26", "27", "--fold", SUMMARIES]);
    assert_eq!(shown, "    - 0\n    + 1\n");
    assert_eq!(ends(&annals, 1, &["diff", "--fold", &file, "26", "27", "--", "sh", "-c", SUMMARIES]), shown);
    assert_eq!(ends(&annals, 0, &["diff", &file, "27", "28", "--fold", "--", "sh", "-c", SUMMARIES]), "");
    let other = fixture("opencode/v2/tools.events.jsonl");
    let found: Value = serde_json::from_str(&ends(&annals, 1, &["diff", &file, &other, "--fold", SUMMARIES, "--json"]))
        .expect("an object");
    assert_eq!((&found["from"]["view"], &found["to"]["view"], &found["same"]), (&2.into(), &0.into(), &false.into()));
    assert!(ends(&annals, 2, &["diff", &file, "1", "--fold", "exit 3"]).contains("exit status 3"));
}

#[test]
fn a_program_is_bisected_by_its_output_its_status_or_a_pattern() {
    let (annals, file) = (Annals::new(), fixture(COMPACTION));
    let first = |args: &[&str]| {
        let mut all = vec!["bisect", "--json"];
        all.extend(args);
        let found: Value = serde_json::from_str(&annals.run(&all).out).expect("an answer");
        found["facts"][0]["seq"].as_u64()
    };
    assert_eq!(first(&[&file, "--bad", "28", "--fold", SUMMARIES]), Some(27));
    assert_eq!(first(&[&file, "--fold", "! grep -q compaction.ended"]), Some(27));
    assert_eq!(first(&[&file, "--fold", SUMMARIES, "--where", "2"]), Some(51));
    assert_eq!(first(&["--fold", &file, "--", "sh", "-c", "! grep -q compaction.ended"]), Some(27));
    let same = ends(&annals, 2, &["bisect", &file, "--bad", "20", "--fold", SUMMARIES]);
    assert!(same.contains("prints the same after --good and --bad"), "{same}");
    let fails = ends(&annals, 2, &["bisect", &file, "--fold", "cat > /dev/null; exit 3"]);
    assert!(fails.contains("the program already fails after --good (event 0, exit status 3)"), "{fails}");
}

#[test]
fn a_folder_of_goldens_contains_the_session_and_is_checked_alone() {
    let annals = Annals::new();
    let (dir, fold) = (text(&annals.file("goldens")), format!("summaries={SUMMARIES}"));
    let file = fixture(COMPACTION);
    ends(&annals, 0, &["fixture", &file, "--at", "30", "-o", &dir, "--fold", &fold]);
    assert_eq!(std::fs::read_to_string(annals.file("goldens/summaries.txt")).expect("a golden"), "1\n");
    ends(&annals, 0, &["verify", &format!("{dir}/session.jsonl")]);
    let alone = ends(&annals, 0, &["fixture", "--check", &dir]);
    assert!(alone.contains("not compared: ") && alone.contains("summaries.txt (--fold"), "{alone}");
    let all = ends(&annals, 0, &["fixture", "--check", "-o", &dir, "--fold", &fold]);
    assert_eq!(all, "annals: all golden files match\n");
    let changed = ends(&annals, 1, &["fixture", "--check", "-o", &dir, "--fold", "summaries=echo 2"]);
    assert!(changed.contains("summaries.txt differs at line 1"), "{changed}");
    ends(&annals, 0, &["fixture", &file, "--at", "30", "--check", "-o", &dir]);
    ends(&annals, 1, &["fixture", &file, "--check", "-o", &dir]);
    ends(&annals, 2, &["fixture", &file, "-o", &dir, "--force", "--fold", "../up=cat"]);
}

#[test]
fn goldens_are_snapshots_that_insta_reads_and_a_difference_waits_for_its_review() {
    let annals = Annals::new();
    let (dir, file) = (annals.file("snapshots"), fixture(COMPACTION));
    let args = ["fixture", &file, "-o", &text(&dir), "--insta"];
    ends(&annals, 0, &args);
    let history = ends(&annals, 0, &["history", &file, "--json"]);
    let history: Value = serde_json::from_str(&history).expect("a view");
    insta::with_settings!({snapshot_path => &dir, prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("history", serde_json::to_string_pretty(&history).expect("JSON"));
    });
    let path = dir.join("history.snap");
    let former = std::fs::read_to_string(&path).expect("a snapshot");
    std::fs::write(&path, former.replace("compaction", "summary")).expect("written");
    assert!(ends(&annals, 1, &args).contains("history.snap.new\n"));
    assert_eq!(std::fs::read_to_string(dir.join("history.snap.new")).expect("a snapshot"), former);
    ends(&annals, 1, &["fixture", "--check", "--insta", "-o", &text(&dir)]);
    std::fs::rename(dir.join("history.snap.new"), &path).expect("accepted");
    ends(&annals, 0, &args);
    ends(&annals, 0, &["fixture", "--check", "--insta", "-o", &text(&dir)]);
}
