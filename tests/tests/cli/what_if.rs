//! What would have been sent under another decision.

use crate::cli::command::{Annals, Answer, ends, fixture, text};
use serde_json::Value;

const CLAUDE: &str = "claude-code/tools-and-compaction.jsonl";
const CODEX: &str = "codex/tools-and-resume.rollout.jsonl";
const LONG: &str = "opencode/v2/long-output.events.jsonl";
const OPENCODE: &str = "opencode/v2/compaction.events.jsonl";

fn asked(annals: &Annals, source: &str, changes: &[&str]) -> (u8, Value) {
    asked_of(annals, &fixture(source), changes)
}

fn asked_of(annals: &Annals, file: &str, changes: &[&str]) -> (u8, Value) {
    let mut args = vec!["what-if", file, "--json"];
    changes.iter().for_each(|change| args.extend(["--set", change]));
    let Answer { status, out, remarks } = annals.run(&args);
    assert!(status < 2, "{changes:?}: {remarks}");
    (status, serde_json::from_str(&out).expect("an answer"))
}

#[test]
fn another_instruction_file_changes_every_request_of_an_imported_session() {
    let annals = Annals::new();
    let path = annals.file("AGENTS.md");
    std::fs::write(&path, "# Rules\n\n- Cite the file.\n").expect("a file");
    let change = format!("file:AGENTS.md=@{}", text(&path));
    for source in [CLAUDE, CODEX] {
        let (status, found) = asked(&annals, source, &[&change]);
        let requests = found["requests"].as_array().expect("requests");
        assert_eq!((status, &found["differs"]), (1, &true.into()), "{source}");
        assert!(
            requests.iter().all(|request| request["same"] == false && request["first"]["b"] == "system 0"),
            "{source}"
        );
        assert_eq!(found["detail_of"], 1, "{source}");
        assert!(found["detail"][0]["after"].as_str().is_some_and(|text| text.contains("Cite the file.")), "{source}");
        assert_ne!(found["before"]["tokens"], found["after"]["tokens"], "{source}");
    }
    let (_, claude) = asked(&annals, CLAUDE, &[&change]);
    assert!(claude["notes"][0].as_str().is_some_and(|note| note.contains("the log does not contain")));
    assert_eq!(asked(&annals, CODEX, &[&change]).1["notes"], Value::Array(Vec::new()));
    let same = "file:AGENTS.md=# Rules\n\n- Answer in one short sentence.\n- Quantities are whole numbers.";
    assert_eq!(asked(&annals, CODEX, &[&same.replace("\\n", "\n")]).0, 1, "a blank line less at the end");
}

#[test]
fn a_source_is_left_out_or_has_another_text() {
    let annals = Annals::new();
    let (status, without) = asked(&annals, CODEX, &["source:codex/agents_md.instructions=none"]);
    assert_eq!(status, 1);
    assert!(without["after"]["tokens"].as_u64() < without["before"]["tokens"].as_u64());
    let (status, other) = asked(&annals, CODEX, &["source:codex/agents_md.instructions=Be brief."]);
    let detail = other["detail"][0]["after"].as_str().unwrap_or_default();
    assert!(status == 1 && detail.contains("Be brief.") && !detail.contains("Quantities"), "{detail}");
    assert_eq!(asked(&annals, CODEX, &["source:no/source=none"]).0, 0, "nothing to leave out");
}

#[test]
fn compactions_would_not_have_happened_or_kept_another_tail() {
    let annals = Annals::new();
    let (status, off) = asked(&annals, OPENCODE, &["compaction.auto=false"]);
    assert_eq!((status, &off["before"]["compactions"], &off["after"]["compactions"]), (1, &2.into(), &0.into()));
    assert!(off["after"]["tokens"].as_u64() > off["before"]["tokens"].as_u64());
    let outcomes = off["compactions"].as_array().expect("compactions").iter().filter(|it| it["outcome"] == "dropped");
    assert_eq!(outcomes.map(|it| it["seq"].as_u64()).collect::<Vec<_>>(), [Some(27), Some(51)]);
    let (status, _) = asked(&annals, CODEX, &["compaction.keep_tokens=0"]);
    assert_eq!(status, 0, "a session without a compaction keeps everything anyway");
    let (status, _) = asked(&annals, CODEX, &["compaction.auto=false", "titles=false"]);
    assert_eq!(status, 0);
}

#[test]
fn what_changes_nothing_changes_no_price_either_also_after_a_compaction() {
    let annals = Annals::new();
    for source in [CLAUDE, OPENCODE] {
        // A recorded session of a model with prices.
        let priced = annals.file("priced.jsonl");
        let text = std::fs::read_to_string(fixture(source)).expect("a fixture");
        std::fs::write(&priced, text.replace("mock-claude", "claude-sonnet-4-5")).expect("a file");
        let (status, found) = asked_of(&annals, &priced.to_string_lossy(), &["file:NOWHERE.md=none"]);
        assert_eq!((status, &found["before"]), (0, &found["after"]), "{source}");
        assert!(found["before"]["compactions"].as_u64() > Some(0), "{source}");
        for request in found["requests"].as_array().expect("requests") {
            assert_eq!(request["before"], request["after"], "{source}");
            assert!(request["before"]["cached"].as_u64() <= request["before"]["tokens"].as_u64(), "{request}");
        }
        if source == CLAUDE {
            assert!(found["before"]["price"].as_u64() > Some(0));
        }
    }
}

#[test]
fn another_model_has_its_own_prices() {
    let annals = Annals::new();
    // The window of an imported model is not recorded: that of the model in the question counts.
    let (_, found) = asked(&annals, OPENCODE, &["model=anthropic/claude-sonnet-4-5"]);
    assert_eq!(found["detail"][0]["a"], "model");
    assert!(found["after"]["price"].as_u64() > Some(0));
}

#[test]
fn smaller_outputs_make_smaller_requests_and_larger_ones_say_what_is_not_known() {
    let annals = Annals::new();
    let (status, small) = asked(&annals, LONG, &["output.lines=8"]);
    assert_eq!(status, 1);
    assert!(small["after"]["tokens"].as_u64() < small["before"]["tokens"].as_u64(), "{small}");
    assert!(small.to_string().contains("output truncated"), "{small}");
    let (status, same) = asked(&annals, LONG, &["output.lines=100000"]);
    assert_eq!((status, &same["before"]["tokens"]), (0, &same["after"]["tokens"]));
    assert!(same["notes"].to_string().contains("what was cut is not in the log"), "{}", same["notes"]);
}

#[test]
fn wrong_changes_say_what_is_right() {
    let (annals, file) = (Annals::new(), fixture(CODEX));
    for (change, said) in [
        ("nonsense=1", "neither a key of the configuration"),
        ("compaction.keep_tokens=many", "expected a whole number"),
        ("output.lines=few", "expected a whole number"),
        ("compaction.keep_tokens", "expected KEY=VALUE"),
        ("model=no/such", "no model of that name"),
        ("source:date=none", "not the key of a context source"),
        ("file:AGENTS.md=@/no/such/file", "/no/such/file"),
    ] {
        let answer = ends(&annals, 2, &["what-if", &file, "--set", change]);
        assert!(answer.contains(said), "{change}: {answer}");
    }
}

#[test]
fn settings_are_compared_over_sessions() {
    let annals = Annals::new();
    let (one, other) = (fixture(OPENCODE), fixture(CODEX));
    let args = ["tune", &one, &other, "--keep-tokens", "0,8000", "--buffer", "20000"];
    let table = ends(&annals, 0, &args);
    assert!(table.contains("*   20,000        8,000"), "{table}");
    let mut json = args.to_vec();
    json.push("--json");
    let rows: Value = serde_json::from_str(&annals.run(&json).out).expect("rows");
    assert_eq!(
        (rows.as_array().map(Vec::len), &rows[1]["current"], &rows[1]["differ"]),
        (Some(2), &true.into(), &0.into())
    );
}

#[test]
fn requests_that_would_be_the_same_are_measured_the_same() {
    for name in [
        "a-new-prompt-commits-a-staged-revert",
        "a-move-before-a-revert-names-the-cause",
        "old-outputs-of-one-turn-are-pruned",
    ] {
        let (annals, store) = (Annals::new(), tempfile::tempdir().expect("a folder"));
        let store = text(store.path());
        let scenario = fixture(&format!("scenarios/{name}.json"));
        ends(&annals, 0, &["scenario", "run", "--store", &store, &scenario]);
        let nothing = ["what-if", "@last", "--store", &store, "--json", "--set", "source:no/source=none"];
        let Answer { status, out, .. } = annals.run(&nothing);
        let found: Value = serde_json::from_str(&out).expect("an answer");
        assert_eq!(status, 0, "{name}");
        assert!(found["before"]["breaks"].as_u64() > Some(0), "{name}: the prefix breaks");
        assert_eq!(found["before"], found["after"], "{name}");
    }
}
