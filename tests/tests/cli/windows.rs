//! Sessions that were recorded on Windows: their paths are taken apart as Windows does, wherever this program runs.

use crate::cli::command::{Annals, fixture};
use serde_json::Value;

const SHOP: &str = r"C:\Users\x\shop";

/// A value in which a directory is another one, also in JSON that is the text of a string.
fn moved(value: &Value, directory: &str) -> Value {
    let path = |text: &str| text.replace(&format!("{directory}/"), &format!(r"{SHOP}\")).replace(directory, SHOP);
    match value {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(inner) if !inner.is_string() => moved(&inner, directory).to_string().into(),
            _ => path(text).into(),
        },
        Value::Array(items) => items.iter().map(|item| moved(item, directory)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (path(name), moved(value, directory)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// A fixture as an agent on Windows writes it.
fn on_windows(name: &str, directory: &str) -> String {
    let text = std::fs::read_to_string(fixture(name)).expect("a fixture");
    assert!(text.contains(directory), "{name} does not name {directory}");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    lines.map(|line: Value| format!("{}\n", moved(&line, directory))).collect()
}

/// Imports a session of each agent from the folders where Windows has them.
fn imported() -> Annals {
    let annals = Annals::new();
    for (path, text) in [
        // The name that Claude Code gives to the folder of `C:\Users\x\shop`.
        ("projects/C--Users-x-shop/s.jsonl", on_windows("claude-code/tools-and-compaction.jsonl", "/srv/peer/kdemo")),
        ("sessions/rollout-s.jsonl", on_windows("codex/tools-and-resume.rollout.jsonl", "/srv/peer/cdemo")),
        ("opencode/s.events.jsonl", on_windows("opencode/v2/tools.events.jsonl", "/srv/peer/demo")),
    ] {
        let path = annals.file(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        let answer = annals.run(&["import", &path.to_string_lossy()]);
        assert_eq!(answer.status, 0, "{}: {}", path.display(), answer.remarks);
    }
    annals
}

fn answer(annals: &Annals, args: &[&str]) -> Value {
    let answer = annals.run(&[args, &["--json"]].concat());
    serde_json::from_str(&answer.out).unwrap_or_else(|error| panic!("{args:?}: {error}: {}", answer.remarks))
}

#[test]
fn a_project_has_the_name_of_its_folder_on_windows() {
    let annals = imported();
    let sessions = answer(&annals, &["sessions", "--all"]);
    let sessions = sessions.as_array().expect("a list");
    assert_eq!(sessions.len(), 3);
    for session in sessions {
        assert_eq!(session["directory"], SHOP);
    }
    for listed in [annals.run(&["sessions", "--all"]).out, annals.run(&["usage", "--all", "--by", "project"]).out] {
        assert!(listed.contains("shop") && !listed.contains("Users"), "{listed}");
    }
    for project in ["shop", SHOP, "c:/Users/x/shop"] {
        let found = answer(&annals, &["sessions", "--project", project]);
        assert_eq!(found.as_array().map(Vec::len), Some(3), "{project}");
    }
    assert_eq!(annals.run(&["index"]).status, 0);
    let projects = answer(&annals, &["sql", "select distinct project from sessions"]);
    assert!(projects.to_string().contains(r#""shop""#) && !projects.to_string().contains("Users"), "{projects}");
}

#[test]
fn files_of_windows_are_named_from_the_directory_on() {
    let annals = imported();
    let sessions = answer(&annals, &["sessions", "--all"]);
    for session in sessions.as_array().expect("a list") {
        let id = session["id"].as_str().expect("an id");
        let replayed = annals.run(&["replay", id]).out;
        for line in replayed.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [_, "Read" | "Write" | "Edit" | "read" | "write" | "edit", path, ..] = words.as_slice() {
                assert!(!path.contains(':'), "{line}");
            }
        }
        let files = answer(&annals, &["files", id]);
        assert!(!files.to_string().contains(r"C:\\Users") && !files.to_string().contains("C:/Users/x/shop"), "{files}");
    }
}
