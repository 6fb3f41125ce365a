//! The index: filled by commands that write, of no influence on any answer, gone with what is erased.

use super::command::{Annals, ends, fixture, text};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

fn index(annals: &Annals) -> PathBuf {
    annals.store().join("cache/index.sqlite")
}

/// Answers that an index could change.
fn answers(annals: &Annals) -> Vec<(String, String)> {
    let searches: [&[&str]; 11] = [
        &["shelf"],
        &["spare shelf", "-n", "3"],
        &["\"spare shelf\"", "--by", "tool"],
        &["B2", "--json"],
        &["-e", "[Ss]helf .?B\\d"],
        &["-e", "x|is"],
        &["the", "--tool", "bash", "-C", "1"],
        &["file:report.md"],
        &["file:inventory.csv pieces"],
        &["is", "--agent", "codex"],
        &["inventory zeppelin"],
    ];
    let mut found: Vec<(String, String)> = searches
        .iter()
        .map(|args| {
            let ran = annals.run(&[&["search"], *args].concat());
            (ran.out, ran.remarks)
        })
        .collect();
    for query in ["select count(*) from events", "select session, seq, role, text from messages order by 1, 2"] {
        let ran = annals.run(&["sql", query]);
        found.push((ran.out, ran.remarks));
    }
    found
}

#[test]
fn an_import_fills_the_index_and_no_answer_depends_on_it() {
    let annals = Annals::with_fixtures();
    let status: Value = serde_json::from_str(&annals.run(&["index", "--json"]).out).unwrap();
    assert_eq!(status["added"], 0, "the import filled it");
    assert!(status["events"].as_u64().is_some_and(|events| events > 100), "{status}");
    let indexed = answers(&annals);
    assert!(indexed[0].0.contains("shelf") && indexed[0].1.contains(" matches in "), "{indexed:?}");

    let file = index(&annals);
    let whole = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert_eq!(answers(&annals), indexed, "without an index");
    assert!(!file.exists(), "what looks writes nothing");

    // A file that is no database, one that ends early, one of another version, and one whose change was not finished.
    let mut version = whole.clone();
    version[63] ^= 1;
    for damaged in [b"no database".to_vec(), whole[..whole.len() / 3].to_vec(), version] {
        fs::write(&file, &damaged).unwrap();
        assert_eq!(answers(&annals), indexed);
        assert_eq!(fs::read(&file).unwrap(), damaged, "what looks repairs nothing");
    }
    fs::write(&file, &whole).unwrap();
    let journal = annals.store().join("cache/index.sqlite-journal");
    fs::write(&journal, b"unfinished").unwrap();
    assert_eq!(answers(&annals), indexed);
    fs::remove_file(&journal).unwrap();

    fs::write(&file, b"no database").unwrap();
    ends(&annals, 0, &["import", &fixture("claude-code/tools-and-compaction.jsonl"), "--as-new"]);
    let status: Value = serde_json::from_str(&annals.run(&["index", "--json"]).out).unwrap();
    assert_eq!(status["added"], 0, "a command that writes made it again");
}

#[test]
fn what_the_index_does_not_cover_is_in_every_answer() {
    let annals = Annals::with_fixtures();
    let old = fs::read(index(&annals)).unwrap();
    ends(&annals, 0, &["title", "inventory tools", "Heliotrope zeppelin"]);
    let new = answers(&annals);
    let found = annals.run(&["search", "zeppelin"]);
    fs::write(index(&annals), old).unwrap();
    let again = annals.run(&["search", "zeppelin"]);
    assert_eq!((&found.out, &found.remarks), (&again.out, &again.remarks));
    assert!(again.out.contains("Heliotrope zeppelin"), "{}", again.out);
    assert_eq!(answers(&annals), new);
    let titles = annals.run(&["sql", "select count(*) from sessions where title = 'Heliotrope zeppelin'", "--csv"]);
    assert_eq!(titles.out, "count(*)\r\n1\r\n");
}

#[test]
fn words_of_different_messages_find_their_session() {
    let annals = Annals::with_fixtures();
    let found = annals.run(&["search", "inventory shelf hello"]);
    assert_eq!(found.status, 0, "{}", found.remarks);
    assert!(found.remarks.contains("in several messages"), "{}", found.remarks);
    assert_eq!(annals.run(&["search", "inventory zeppelin"]).status, 1);
    assert_eq!(annals.run(&["search", "-e", "("]).status, 2);
    assert_eq!(annals.run(&["search", " "]).status, 2);
}

#[test]
fn a_bounded_search_says_how_much_more_there_is() {
    let annals = Annals::with_fixtures();
    let all = annals.run(&["search", "the", "--json"]).out;
    let all: Vec<Value> = serde_json::from_str(&all).unwrap();
    let found = annals.run(&["search", "the", "-n", "7"]);
    assert!(found.remarks.contains(&format!("and {} more", thousands(all.len() - 7))), "{}", found.remarks);
    let first = &all[0];
    let jump = format!("annals replay {} --at {}", first["session"].as_str().unwrap(), first["seq"]);
    assert!(found.out.contains(&jump), "{jump} in {}", found.out);
    let args: Vec<&str> = jump.split(' ').skip(1).collect();
    assert_eq!(annals.run(&args).status, 0);
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let split = digits.len().saturating_sub(3);
    if split == 0 { digits } else { format!("{},{}", &digits[..split], &digits[split..]) }
}

#[test]
fn a_query_reads_and_does_nothing_else() {
    let annals = Annals::with_fixtures();
    let before = fs::read(index(&annals)).unwrap();
    let outside = annals.file("outside.sqlite");
    let attach = format!("attach '{}' as other", text(&outside));
    let vacuum = format!("vacuum into '{}'", text(&outside));
    for query in [
        "delete from _session",
        "drop view sessions",
        "insert into _kind values (1, 'x')",
        "create temp table t (x)",
        &attach,
        &vacuum,
        "pragma journal_mode = wal",
        "pragma query_only = off",
        "select load_extension('x')",
        "begin",
        "reindex",
    ] {
        let ran = annals.run(&["sql", query]);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{query}: {}", ran.remarks);
        assert_eq!(ran.remarks.lines().count(), 1, "{}", ran.remarks);
    }
    for query in ["select nothing from sessions", "selec", "", "select 1; select 2"] {
        assert_eq!(annals.run(&["sql", query]).status, 2, "{query}");
    }
    assert!(!outside.exists());
    assert_eq!(fs::read(index(&annals)).unwrap(), before);
    let folder = fs::read_dir(annals.store().join("cache")).unwrap();
    assert!(folder.flatten().all(|file| !file.file_name().to_string_lossy().contains("sqlite-")));
}

#[test]
fn sql_asks_a_project_or_a_file_too() {
    let annals = Annals::with_fixtures();
    let all: Vec<Value> =
        serde_json::from_str(&annals.run(&["sql", "select id, project from sessions", "--json"]).out).unwrap();
    let project = all[0]["project"].as_str().unwrap();
    let of_it = all.iter().filter(|row| row["project"] == project).count();
    assert!(of_it < all.len(), "there are several projects");
    let count = annals.run(&["sql", "select count(*) from sessions", "--csv", "--project", project]).out;
    assert_eq!(count, format!("count(*)\r\n{of_it}\r\n"));
    let file = fixture("opencode/v2/switches.events.jsonl");
    let of_file = Annals::new().run(&["sql", "select count(*) > 10 as many from events", "--csv", "--in", &file]);
    assert_eq!(of_file.out, "many\r\n1\r\n", "{}", of_file.remarks);
}

#[test]
fn every_question_of_the_documentation_has_an_answer() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/sql.md")).unwrap();
    let annals = Annals::with_fixtures();
    let questions: Vec<(&str, &str)> = page.split("```sql\n").skip(1).filter_map(|it| it.split_once("```")).collect();
    let titles = page
        .split("## Questions")
        .nth(1)
        .unwrap()
        .split("```sql")
        .map(|it| it.trim().lines().last().unwrap_or_default());
    assert_eq!(questions.len(), 12);
    let mut printed = String::new();
    for ((query, _), title) in questions.iter().zip(titles) {
        let ran = annals.run(&["sql", query]);
        assert_eq!(ran.status, 0, "{query}: {}", ran.remarks);
        let rows: Vec<&str> = ran.out.lines().take(5).collect();
        assert!(rows.len() > 1, "{query} has rows");
        printed.push_str(&format!("{title}\n{}\n\n", rows.join("\n")));
    }
    insta::assert_snapshot!(printed);
}
