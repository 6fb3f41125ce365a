//! A session that was imported with texts withheld gets them from a fuller export.

use super::command::{Annals, ends, text};
use std::path::PathBuf;

const SECRET: &str = "Ottilie Brandauer";

/// A store with one session of two turns and a call, and its exports: whole, without the prompt, and with nothing but the answers.
fn exported() -> (Annals, [PathBuf; 3]) {
    let annals = Annals::new();
    let scenario = serde_json::json!({
        "scenario": 1, "name": "personal data",
        "script": [
            {"tool": {"name": "read", "output": "y".repeat(20_000), "required": ["path"]}},
            {"provider": [{"text": "I will look.",
                "calls": [{"id": "c1", "tool": "read", "input": {"path": "/project/.env"}}]}]},
            {"provider": [{"text": "Nothing of note."}]}, {"prompt": format!("My name is {SECRET}")},
            {"provider": [{"text": "Done again."}]}, {"prompt": "A second question"},
        ],
    });
    let file = annals.file("personal.json");
    std::fs::write(&file, scenario.to_string()).unwrap();
    ends(&annals, 0, &["scenario", "run", &text(&file), "--keep", "--store", &text(&annals.store())]);
    let files = ["whole.jsonl", "most.jsonl", "little.jsonl"].map(|name| annals.file(name));
    let rules: [&[&str]; 3] = [&[], &["--withhold", "text:Ottilie"], &["--only", "text:Nothing of note|Done again"]];
    for (file, rules) in files.iter().zip(rules) {
        ends(&annals, 0, &[&["export", "@last", &text(file)], rules].concat());
    }
    (annals, files)
}

fn exports(annals: &Annals) -> Vec<u8> {
    let file = annals.file("again.jsonl");
    ends(annals, 0, &["export", "@last", &text(&file)]);
    std::fs::read(file).unwrap()
}

#[test]
fn a_fuller_export_fills_in_what_was_withheld_and_every_view_follows() {
    let (home, [whole, most, little]) = exported();
    let away = Annals::new();
    ends(&away, 0, &["import", &text(&little)]);
    assert!(ends(&away, 0, &["transcript", "@last"]).contains("[withheld: "));
    assert!(ends(&away, 1, &["search", "Ottilie"]).contains("no match"));
    let refused = ends(&away, 1, &["pin", "@last", "turn:2"]);
    assert!(refused.contains("annals fork"), "{refused}");

    let filled = ends(&away, 0, &["import", &text(&most)]);
    assert!(filled.contains(" texts of session ") && filled.contains("filled in "), "{filled}");
    assert!(ends(&away, 0, &["import", &text(&most)]).contains("nothing new"));
    assert!(ends(&away, 0, &["import", &text(&little)]).contains("nothing new"));
    assert!(ends(&away, 0, &["transcript", "@last"]).contains("[withheld: "));

    let filled = ends(&away, 0, &["import", &text(&whole)]);
    // The prompt, and the hashes that it went into.
    assert!(filled.contains("filled in ") && filled.contains(" of session "), "{filled}");
    assert_eq!(exports(&away), std::fs::read(&whole).unwrap(), "the export is the original one");
    for shows in [vec!["transcript", "@last"], vec!["search", "Ottilie"], vec!["log", "@last"]] {
        let shown = ends(&away, 0, &shows);
        assert!(shown.contains(SECRET) && !shown.contains("[withheld: "), "{shows:?}: {shown}");
    }
    for shows in [vec!["sessions"], vec!["tree"], vec!["usage"], vec!["history", "@last"]] {
        assert_eq!(ends(&away, 0, &shows), ends(&home, 0, &shows), "{shows:?}");
    }
    ends(&away, 0, &["verify"]);
    ends(&away, 0, &["verify", "@last", "--requests", "--wire"]);
    ends(&away, 0, &["doctor"]);
    assert!(ends(&away, 0, &["import", &text(&whole)]).contains("nothing new"));
    // It has its key: it continues without a fork.
    ends(&away, 0, &["pin", "@last", "turn:2"]);
    ends(&away, 0, &["verify"]);
}

#[test]
fn erased_texts_stay_erased_whatever_is_imported() {
    let (home, [whole, _, little]) = exported();
    ends(&home, 0, &["erase", "@last", "--matching", "Ottilie", "--reason", "a test", "--yes"]);
    assert!(ends(&home, 0, &["import", &text(&whole)]).contains("nothing new"));
    let after = home.file("after.jsonl");
    ends(&home, 0, &["export", "@last", &text(&after)]);
    let away = Annals::new();
    ends(&away, 0, &["import", &text(&little)]);
    ends(&away, 0, &["import", &text(&after)]);
    let filled = ends(&away, 0, &["import", &text(&whole)]);
    assert!(filled.contains("nothing new"), "{filled}");
    assert_eq!(exports(&away), std::fs::read(&after).unwrap());
    for annals in [&home, &away] {
        assert!(!ends(annals, 0, &["transcript", "@last"]).contains(SECRET));
        ends(annals, 0, &["verify"]);
    }
}

#[test]
fn a_forged_text_is_refused_with_its_place() {
    let (_home, [whole, _, little]) = exported();
    let away = Annals::new();
    ends(&away, 0, &["import", &text(&little)]);
    let forged = std::fs::read_to_string(&whole).unwrap().replace(SECRET, "Ottilie Branddauer");
    let file = away.file("forged.jsonl");
    std::fs::write(&file, forged).unwrap();
    let refused = ends(&away, 1, &["import", &text(&file)]);
    assert!(refused.contains("does not match its commitment") && refused.contains("the text at /"), "{refused}");
    assert!(ends(&away, 0, &["transcript", "@last"]).contains("[withheld: "));
    ends(&away, 0, &["verify"]);
}
