//! Commands that look: nothing is written, and what is damaged is shown in few lines.

use crate::cli::command::Annals;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The names, contents and times of everything below a folder.
fn state(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![dir.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let facts = std::fs::symlink_metadata(&path).expect("facts");
            if facts.is_dir() {
                folders.push(path.clone());
            }
            let bytes = if facts.is_file() { std::fs::read(&path).expect("a file") } else { Vec::new() };
            found.insert(path, (bytes, facts.modified().expect("a time")));
        }
    }
    found
}

/// The segment of the journal that grows.
fn segment(annals: &Annals) -> PathBuf {
    let files = std::fs::read_dir(annals.store().join("journal")).expect("a journal");
    let paths = files.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|form| form == "seg")).max().expect("a segment")
}

#[test]
fn commands_that_look_write_nothing() {
    let annals = Annals::with_fixtures();
    let sessions = annals.run(&["sessions", "--json"]).out;
    let sessions: serde_json::Value = serde_json::from_str(&sessions).expect("JSON");
    let id = sessions[0]["id"].as_str().expect("an id").to_owned();
    let file = annals.file("out.jsonl").to_string_lossy().into_owned();
    let before = state(&annals.store());
    for command in [
        "sessions",
        "log",
        "show",
        "replay",
        "history",
        "transcript",
        "context",
        "usage",
        "requests",
        "tree",
        "compactions",
        "verify",
        "why",
        "cache",
        "search",
        "export",
        "doctor",
        "when",
        "diff",
    ] {
        let mut args = vec![command];
        match command {
            "sessions" | "doctor" => {}
            "show" => args.extend([id.as_str(), "0"]),
            "search" => args.push("the"),
            "when" => args.extend([id.as_str(), "the"]),
            "diff" => args.extend([id.as_str(), id.as_str()]),
            "export" => args.extend([id.as_str(), &file]),
            _ => args.push(&id),
        }
        let answer = annals.run(&args);
        assert!(answer.status < 2, "{command}: {}", answer.remarks);
        assert!(state(&annals.store()) == before, "{command} wrote to the store");
    }
    assert_eq!(annals.run(&["verify"]).status, 0);
    assert!(state(&annals.store()) == before, "verify wrote to the store");
}

#[test]
fn a_file_with_a_far_number_is_one_line_and_is_ignored() {
    let annals = Annals::with_fixtures();
    let wanted = annals.run(&["sessions"]);
    std::fs::write(annals.store().join("journal/18446744073709551615.seg"), "").expect("a file");
    let copy = annals.store().join("journal/00000000000000005000.seg");
    std::fs::copy(segment_before(&annals), copy).expect("a copy");
    let before = state(&annals.store());
    let answer = annals.run(&["sessions"]);
    assert_eq!((answer.status, answer.out), (0, wanted.out));
    let lines: Vec<&str> = answer.remarks.lines().filter(|line| line.contains(".seg: ")).collect();
    assert_eq!(lines.len(), 2, "{}", answer.remarks);
    assert!(state(&annals.store()) == before);
    assert_eq!(annals.run(&["doctor"]).status, 1);
    let repaired = annals.run(&["doctor", "--repair", "--yes"]);
    assert_eq!(repaired.status, 0, "{}{}", repaired.out, repaired.remarks);
    let sound = annals.run(&["doctor"]);
    assert!(sound.status == 0 && sound.out.contains("both copies are intact"), "{}", sound.out);
}

/// The real segment, also when a stray one sorts behind it.
fn segment_before(annals: &Annals) -> PathBuf {
    annals.store().join("journal/00000000000000000000.seg")
}

#[test]
fn a_verification_says_that_one_copy_is_damaged_although_the_other_serves() {
    let annals = Annals::with_fixtures();
    let path = segment(&annals);
    let mut bytes = std::fs::read(&path).expect("a segment");
    bytes[4_000] ^= 1;
    std::fs::write(&path, bytes).expect("written");
    let before = state(&annals.store());
    let answer = annals.run(&["verify"]);
    assert_eq!(answer.status, 0, "{}{}", answer.out, answer.remarks);
    assert!(answer.out.contains("one copy is damaged in 1 place: annals doctor"), "{}", answer.out);
    let examined = annals.run(&["doctor"]);
    assert!(examined.status == 1 && !examined.out.contains("intact"), "{}", examined.out);
    assert!(state(&annals.store()) == before);
    assert_eq!(annals.run(&["doctor", "--repair", "--yes"]).status, 0);
    let answer = annals.run(&["verify"]);
    assert!(answer.status == 0 && !answer.out.contains("copy is damaged"), "{}", answer.out);
}

#[test]
fn a_lost_journal_is_told_in_few_lines_and_not_called_sound_before_it_is_repaired() {
    let annals = Annals::with_fixtures();
    let wanted = annals.run(&["sessions"]).out;
    std::fs::remove_dir_all(annals.store().join("journal")).expect("removed");
    let before = state(&annals.store());
    let examined = annals.run(&["doctor"]);
    assert!(examined.status == 1 && !examined.out.contains("intact"), "{}", examined.out);
    assert!(examined.remarks.lines().count() < 6, "{}", examined.remarks);
    assert!(state(&annals.store()) == before);
    assert_eq!(annals.run(&["sessions"]).out, wanted);
    let repaired = annals.run(&["doctor", "--repair", "--yes"]);
    assert_eq!(repaired.status, 0, "{}", repaired.remarks);
    assert!(repaired.out.lines().count() < 30, "{}", repaired.out);
    assert!(annals.run(&["doctor"]).out.contains("both copies are intact"));
    assert_eq!(annals.run(&["sessions"]).out, wanted);
}

#[test]
fn of_an_empty_store_nothing_is_called_verified() {
    let annals = Annals::new();
    drop(annals_store::disk::DiskLog::open(&annals.store(), annals_store::disk::OpenMode::Create).expect("a store"));
    let answer = annals.run(&["verify"]);
    assert_eq!((answer.status, answer.out.trim()), (0, "the store: no sessions, nothing to verify"));
}
