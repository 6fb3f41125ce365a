//! `annals retention`: rules of the user's configuration, over all sessions.

use super::command::{Annals, ends, text};
use annals_core::Time;

const OUTPUT: &str = "TOKEN=Zebra-Quartz-9917";
const PROMPT: &str = "My name is Ottilie Brandauer";

fn configured(annals: &Annals, path: &str, content: &str) {
    let file = annals.file(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, content).unwrap();
}

const USER: &str = "home/.config/annals/config.toml";

/// A store with one session of two turns and a call, 30 days ago.
fn store() -> Annals {
    let mut annals = Annals::new();
    let scenario = serde_json::json!({
        "scenario": 1, "name": "personal data",
        "script": [
            {"tool": {"name": "read", "output": OUTPUT, "required": ["path"]}},
            {"provider": [{"text": "I will look.",
                "calls": [{"id": "c1", "tool": "read", "input": {"path": "/project/.env"}}]}]},
            {"provider": [{"text": "Nothing of note."}]}, {"prompt": PROMPT},
        ],
    });
    let file = annals.file("personal.json");
    std::fs::write(&file, scenario.to_string()).unwrap();
    std::fs::create_dir_all(annals.file("work")).unwrap();
    ends(&annals, 0, &["scenario", "run", &text(&file), "--keep", "--store", &text(&annals.store())]);
    let exported = annals.file("before.jsonl");
    ends(&annals, 0, &["export", "@last", &text(&exported)]);
    let at = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["at"].as_u64();
    let last = std::fs::read_to_string(exported).unwrap().lines().filter_map(at).max().unwrap();
    annals.now = Time(last + 30 * 86_400_000);
    annals
}

#[test]
fn texts_older_than_a_rule_allows_are_erased_with_the_rule_as_the_reason() {
    let annals = store();
    let none = ends(&annals, 0, &["retention"]);
    assert!(none.contains("no retention rule is configured"), "{none}");
    let rules = "[retention]\n\"tool:read\" = \"10d\"\n\"kind:input.admitted\" = \"90d\"\n\"text:Zebra\" = \"2w\"\n";
    configured(&annals, USER, rules);

    let planned = ends(&annals, 0, &["retention", "--dry-run"]);
    assert!(planned.contains("tool:read after 10d, text:Zebra after 2w"), "{planned}");
    assert!(planned.contains("1 session") && !planned.contains("input.admitted"), "{planned}");
    let json: serde_json::Value = serde_json::from_str(&annals.run(&["retention", "--dry-run", "--json"]).out).unwrap();
    assert_eq!(json["sessions"][0]["rules"][0], serde_json::json!({"rule": "tool:read", "after": "10d"}));
    assert!(json["texts"].as_u64().unwrap() >= 2, "{json}");
    assert!(ends(&annals, 0, &["transcript", "@last"]).contains(OUTPUT), "nothing is erased yet");
    assert!(ends(&annals, 2, &["retention"]).contains("--yes"));

    let erased = ends(&annals, 0, &["retention", "--yes"]);
    assert!(erased.contains("erased ") && erased.contains("integrity unchanged"), "{erased}");
    let shown = ends(&annals, 0, &["transcript", "@last"]);
    assert!(!shown.contains(OUTPUT) && shown.contains(PROMPT) && shown.contains("[erased: "), "{shown}");
    let verified = ends(&annals, 0, &["verify"]);
    assert!(verified.contains("retention: tool:read after 10d, text after 2w"), "{verified}");
    assert!(!verified.contains("Zebra"), "the expression is not recorded");
    let again = ends(&annals, 0, &["retention", "--yes"]);
    assert!(again.contains("no text is older than the retention rules allow"), "{again}");
}

#[test]
fn younger_texts_stay() {
    let annals = store();
    configured(&annals, USER, "[retention]\n\"tool:read\" = \"31d\"\n");
    assert!(ends(&annals, 0, &["retention", "--yes"]).contains("no text is older than the retention rules allow"));
    assert!(ends(&annals, 0, &["transcript", "@last"]).contains(OUTPUT));
}

#[test]
fn rules_of_a_project_and_wrong_ones_are_refused() {
    let annals = store();
    for (rules, why) in [
        ("\"seq:4\" = \"1d\"", "event numbers mean another event in every session"),
        ("\"tool:read\" = \"soon\"", "\"soon\" is not an age"),
        ("\"tools\" = \"1d\"", "is not a rule"),
    ] {
        configured(&annals, USER, &format!("[retention]\n{rules}\n"));
        let refused = ends(&annals, 2, &["retention", "--yes"]);
        assert!(refused.contains(why), "{refused}");
    }
    configured(&annals, USER, "");
    configured(&annals, "work/.annals/config.toml", "[retention]\n\"tool:read\" = \"1h\"\n");
    let refused = ends(&annals, 2, &["retention", "--yes"]);
    assert!(refused.contains("a project cannot say what is erased"), "{refused}");
    assert!(ends(&annals, 0, &["transcript", "@last"]).contains(OUTPUT));
}
