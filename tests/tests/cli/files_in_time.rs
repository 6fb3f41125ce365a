//! Files at an event, compared, and who wrote each line.

use crate::cli::branching_files::hosted;
use crate::cli::command::{Annals, ends, fixture, text};
use serde_json::Value;

type Tested = Result<(), Box<dyn std::error::Error>>;

const CLAUDE: &str = "claude-code/tools-and-compaction.jsonl";
const CODEX: &str = "codex/tools-and-resume.rollout.jsonl";
const OPENCODE: &str = "opencode/v2/tools.events.jsonl";
const REPORT: &str = "# Inventory report, November\n\nTotal pieces: 42\n";

fn out(annals: &Annals, args: &[&str]) -> String {
    let answer = annals.run(args);
    assert!(answer.status < 2, "{args:?}: {}", answer.remarks);
    answer.out
}

#[test]
fn captures_that_cannot_be_read_are_reported_once() {
    let annals = Annals::new();
    assert_eq!(annals.run(&["import", &fixture("opencode/v2")]).status, 0);
    let remarks = ends(&annals, 2, &["blame", "nofile.md", "--all"]);
    assert_eq!(remarks.matches("the captured files cannot be read").count(), 1, "{remarks}");
}

#[test]
fn files_of_imported_sessions_are_replayed_from_their_calls() {
    let annals = Annals::new();
    for (source, at) in [(CLAUDE, "25"), (CODEX, "30"), (OPENCODE, "26")] {
        let file = fixture(source);
        assert_eq!(out(&annals, &["files", &file, "report.md"]), REPORT, "{source}");
        let former = out(&annals, &["files", &file, "--at", at, "report.md"]);
        assert_eq!(former, "# Inventory report\n\nTotal pieces: 42\n", "{source}");
        let listed: Value = serde_json::from_str(&out(&annals, &["files", &file, "--json"])).expect("an answer");
        let paths: Vec<&str> =
            listed["files"].as_array().expect("files").iter().filter_map(|it| it["path"].as_str()).collect();
        assert_eq!(paths, ["inventory.csv", "notes.txt", "report.md"], "{source}");
    }
    let inferred = annals.run(&["files", &fixture(CODEX), "--at", "30", "report.md"]);
    assert!(
        inferred.remarks.contains("inferred at event 24: the content is that of the command line"),
        "{}",
        inferred.remarks
    );
}

#[test]
fn blame_names_the_call_the_turn_and_the_prompt() {
    let annals = Annals::new();
    for (source, call, tool) in [(CLAUDE, 33, "Edit"), (CODEX, 40, "exec_command"), (OPENCODE, 34, "edit")] {
        let file = fixture(source);
        let found: Value =
            serde_json::from_str(&out(&annals, &["blame", &file, "report.md:1", "--json"])).expect("an answer");
        let line = &found["lines"][0];
        assert_eq!((&line["seq"], &line["tool"], &line["turn"]), (&call.into(), &tool.into(), &3.into()), "{source}");
        assert_eq!(line["prompts"][0]["text"], "Change the title of the report", "{source}");
        let shown = out(&annals, &["blame", &file, "report.md:3"]);
        assert!(shown.contains("turn 2, prompt at event"), "{source}: {shown}");
    }
    let file = fixture(CLAUDE);
    insta::assert_snapshot!(
        [vec!["blame", &file, "report.md"], vec!["blame", &file, "report.md:1"], vec!["blame", &file, "notes.txt"]]
            .map(|args| ends(&annals, 0, &args))
            .join("\n")
    );
    assert!(ends(&annals, 2, &["blame", &file, "report.md:9"]).contains("has 3 lines"));
    assert!(ends(&annals, 2, &["blame", &file, "no.md"]).contains("there is no file no.md in session "));
}

#[test]
fn replayed_files_are_compared_and_written_into_an_empty_folder() -> Tested {
    let (annals, file) = (Annals::new(), fixture(CLAUDE));
    let diff = ends(&annals, 1, &["diff", "--files", &file, "25", "-1"]);
    assert!(diff.contains("modified report.md  +1 -1") && diff.contains("-# Inventory report\n"), "{diff}");
    ends(&annals, 0, &["diff", "--files", &file, "40", "-1"]);
    ends(&annals, 0, &["diff", "--files", &file, &fixture(OPENCODE)]);
    let dir = text(&annals.file("past"));
    ends(&annals, 0, &["files", &file, "--at", "25", "--to", &dir]);
    assert_eq!(std::fs::read_to_string(annals.file("past/report.md"))?, "# Inventory report\n\nTotal pieces: 42\n");
    assert!(ends(&annals, 2, &["files", &file, "--to", &dir]).contains("is not empty"));
    Ok(())
}

#[test]
fn captures_say_what_calls_do_not() -> Tested {
    let (annals, root) = hosted()?;
    let place = format!("{}", root.join("clock.txt").display());
    let found: Value = serde_json::from_str(&out(&annals, &["blame", &place, "--json"]))?;
    let lines: Vec<(&str, &str, u64)> = found["lines"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| Some((it["text"].as_str()?, it["cause"].as_str()?, it["turn"].as_u64().unwrap_or_default())))
        .collect();
    assert_eq!(lines, [("tick", "before", 0), ("tack", "command", 2), ("ding", "command", 1)]);
    assert_eq!(found["knowledge"], "captured");
    assert_eq!(found["lines"][2]["prompts"][0]["text"], "let it strike");
    let dir = text(&annals.file("past"));
    ends(&annals, 0, &["files", "--at", "turn:2", "--to", &dir]);
    assert_eq!(std::fs::read_to_string(annals.file("past/clock.txt"))?, "tick\ntock\nding\n");
    assert!(!annals.file("past/bell.txt").exists());
    let diff = ends(&annals, 1, &["diff", "--files", "turn:2", "-1"]);
    assert!(diff.contains("bell.txt  +1 -0") && diff.contains("+tack"), "{diff}");
    Ok(())
}
