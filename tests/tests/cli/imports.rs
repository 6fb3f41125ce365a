//! What `annals import` answers, and that what is changed here never ends the import of a session.

use crate::cli::command::{Annals, fixture};
use annals_core::Time;
use serde_json::Value;
use std::path::{Path, PathBuf};

const CLAUDE: &str = "claude-code/tools-and-compaction.jsonl";
const CODEX: &str = "codex/one-turn.rollout.jsonl";
const ONE_TURN: &str = "claude-code/one-turn.jsonl";

fn text(name: &str) -> String {
    std::fs::read_to_string(fixture(name)).expect("a fixture")
}

/// The lines of a fixture, without the last `less`.
fn without(name: &str, less: usize) -> String {
    let text = text(name);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines[..lines.len() - less].concat()
}

/// Writes a file in the folder of the store.
fn put(annals: &Annals, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = annals.file(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, content).expect("a file");
    path.to_string_lossy().into_owned()
}

fn json(annals: &Annals, args: &[&str]) -> Value {
    let mut all = args.to_vec();
    all.push("--json");
    let answer = annals.run(&all);
    serde_json::from_str(&answer.out).unwrap_or_else(|error| panic!("{args:?}: {error}: {}", answer.remarks))
}

fn id(annals: &Annals, name: &str) -> String {
    let log = annals.run(&["sessions", "--json", "--children"]).out;
    let all: Value = serde_json::from_str(&log).expect("JSON");
    let found = all.as_array().into_iter().flatten().find(|it| match name {
        "imported" => !it["origin"].is_null(),
        _ => !it["fork"].is_null(),
    });
    found.and_then(|it| it["id"].as_str()).expect(name).to_owned()
}

/// How long a session's log is.
fn events(annals: &Annals, session: &str) -> usize {
    json(annals, &["log", session]).as_array().map_or(0, Vec::len)
}

/// Does something to an imported session, lets its source grow, and imports again.
fn grows_after(name: &str, change: impl Fn(&Annals, &str)) -> Annals {
    let annals = Annals::new();
    let file = put(&annals, "it.jsonl", without(name, 8));
    assert_eq!(annals.run(&["import", &file]).status, 0);
    let imported = id(&annals, "imported");
    let before = events(&annals, &imported);
    change(&annals, &imported);
    assert_eq!(events(&annals, &imported), before, "the imported session stays as its source");
    put(&annals, "it.jsonl", text(name));
    let again = annals.run(&["import", &file]);
    assert_eq!(again.status, 0, "{} {}", again.out, again.remarks);
    let whole = Annals::new();
    whole.run(&["import", &put(&whole, "it.jsonl", text(name))]);
    let same = json(&annals, &["log", &imported]) == json(&whole, &["log", "@last"]);
    assert!(same, "{name}: the whole source is there");
    assert_eq!(annals.run(&["verify"]).status, 0);
    annals
}

#[test]
fn a_pin_on_an_imported_session_goes_to_a_fork_and_the_import_continues() {
    let annals = grows_after(CLAUDE, |annals, imported| {
        let pinned = annals.run(&["pin", "@last", "2"]);
        assert_eq!(pinned.status, 0, "{}", pinned.remarks);
        let fork = id(annals, "fork");
        assert!(
            pinned.remarks.contains(&format!("pinned the message at event 2 in a fork: {fork}")),
            "{}",
            pinned.remarks
        );
        assert_eq!(json(annals, &["sessions"])[0]["id"], fork.as_str(), "the fork is the newest");
        // By the name of the imported session, the same fork is found again.
        assert_eq!(annals.run(&["pin", imported, "2"]).status, 2, "it is pinned already");
        assert_eq!(annals.run(&["unpin", imported, "2"]).status, 0);
        assert_eq!(annals.run(&["pin", imported, "2"]).status, 0);
        assert_eq!(json(annals, &["sessions"]).as_array().map(Vec::len), Some(2));
    });
    let tree = annals.show(&["tree"]);
    assert!(tree.contains("└─ fork after event 85: "), "{tree}");
}

#[test]
fn an_undo_that_is_staged_cleared_or_committed_never_ends_an_import() {
    for name in [CLAUDE, "codex/tools-and-resume.rollout.jsonl", "opencode/v2/tools.events.jsonl"] {
        grows_after(name, |annals, imported| {
            assert_eq!(annals.run(&["revert", imported, "--to", "turn:99"]).status, 2);
            assert_eq!(json(annals, &["sessions"]).as_array().map(Vec::len), Some(1), "what is refused makes no fork");
            assert_eq!(annals.run(&["revert", imported, "--clear"]).status, 0, "nothing is staged");
            assert_eq!(json(annals, &["sessions"]).as_array().map(Vec::len), Some(1));
            let staged = annals.run(&["revert", imported, "--to", "turn:1"]);
            assert_eq!(staged.status, 0, "{}", staged.remarks);
            assert!(staged.remarks.contains("in a fork: "), "{}", staged.remarks);
            assert_eq!(json(annals, &["revert", imported, "--clear"])["revert"], "cleared");
            assert_eq!(annals.run(&["revert", imported, "--to", "turn:1"]).status, 0);
            assert_eq!(json(annals, &["revert", imported, "--commit"])["revert"], "committed");
            assert_eq!(json(annals, &["sessions"]).as_array().map(Vec::len), Some(2));
        });
    }
}

#[test]
fn a_compaction_of_an_imported_session_is_undone_in_a_fork() {
    let annals = grows_after(CLAUDE, |annals, imported| {
        let seq = json(annals, &["compactions", imported])[0]["seq"].to_string();
        let undone = annals.run(&["compactions", imported, "--undo", &seq]);
        assert_eq!(undone.status, 0, "{}", undone.remarks);
        let fork = id(annals, "fork");
        assert!(undone.remarks.contains(&format!("undone in a fork: {fork}")), "{}", undone.remarks);
    });
    assert_eq!(json(&annals, &["sessions"]).as_array().map(Vec::len), Some(2));
}

#[test]
fn an_undo_that_the_source_staged_can_be_ended_here() {
    for (how, outcome) in [("--clear", "cleared"), ("--commit", "committed")] {
        let annals = Annals::new();
        let file = fixture("opencode/v2/revert-staged-only.events.jsonl");
        assert_eq!(annals.run(&["import", &file]).status, 0);
        let imported = id(&annals, "imported");
        assert_eq!(json(&annals, &["revert", &imported, how])["revert"], outcome);
        assert_ne!(json(&annals, &["sessions"])[0]["id"], imported.as_str());
        let again = annals.run(&["import", &file]);
        assert_eq!((again.status, again.out.as_str()), (0, "1 session, nothing new\n"));
    }
}

/// A home with sessions of all three agents.
fn lived_in() -> Annals {
    let annals = Annals::new();
    put(&annals, "home/.local/share/opencode/opencode.db", std::fs::read(fixture("opencode/opencode.db")).expect("it"));
    put(&annals, "home/.codex/sessions/2026/11/21/rollout-1.jsonl", text(CODEX));
    put(&annals, "home/.claude/projects/-w/b471da84-0302-402c-a732-c13db655fc4a.jsonl", text(ONE_TURN));
    annals
}

#[test]
fn discovery_and_a_dry_run_only_list_whatever_the_filter() {
    let annals = lived_in();
    for (args, found) in [
        (&["import", "--discover"][..], 27),
        (&["import", "--dry-run"], 27),
        (&["import", "--discover", "--agent", "codex"], 1),
        (&["import", "--dry-run", "--agent", "opencode"], 25),
        (&["import", "--discover", "--since", "9000w"], 27),
        (&["import", "--discover", "--all", "--dry-run"], 27),
        (&["import", "--dry-run", &fixture(CODEX)], 1),
        (&["import", "--dry-run", &fixture("opencode/v2/first.events.jsonl")], 1),
    ] {
        let answer = annals.run(args);
        assert_eq!((answer.status, answer.out.lines().count()), (0, found), "{args:?} {}", answer.remarks);
        assert_eq!(json(&annals, args).as_array().map(Vec::len), Some(found), "{args:?}");
        assert!(!annals.store().exists(), "{args:?}");
    }
}

#[test]
fn without_files_everything_that_is_found_is_imported() {
    let annals = lived_in();
    let some = annals.run(&["import", "--agent", "codex"]);
    assert_eq!(some.status, 0, "{}", some.remarks);
    assert_eq!(json(&annals, &["sessions"]).as_array().map(Vec::len), Some(1));
    let rest = annals.run(&["import"]);
    assert!(rest.out.contains("27 sessions, 26 changed, "), "{}", rest.out);
    assert_eq!(rest.out.matches("fields were not imported (--report FILE lists them)").count(), 1, "{}", rest.out);
    for args in [&["import"][..], &["import", "--all"], &["import", "--discover", "--all"]] {
        let again = annals.run(args);
        assert_eq!((again.status, again.out.as_str()), (0, "27 sessions, nothing new\n"), "{args:?} {}", again.remarks);
    }
    let nobody = Annals::new();
    for args in [&["import"][..], &["import", "--discover"], &["import", "--dry-run"]] {
        let nothing = nobody.run(args);
        assert_eq!(nothing.status, 0);
        assert!(nothing.remarks.contains("name a file to import it") && !nobody.store().exists(), "{args:?}");
    }
}

#[test]
fn wrong_use_of_import_shows_the_right_usage() {
    let annals = Annals::new();
    for args in [&["import", "--folow"][..], &["import", "--since", "7d", "x.jsonl"], &["import", "-n", "-f"]] {
        let answer = annals.run(args);
        assert_eq!(answer.status, 2, "{args:?}");
        assert!(answer.remarks.contains("Usage: annals import [OPTIONS] [FILE]...\n"), "{}", answer.remarks);
    }
}

fn utf16(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(order).collect()
}

#[test]
fn a_byte_order_mark_and_utf_16_are_read_in_every_form() {
    // Of exports it is damage: they are proved byte for byte.
    let forms =
        [CODEX, ONE_TURN, "opencode/v1/tools.json", "opencode/v1/fork.events.jsonl", "opencode/v2/first.events.jsonl"];
    for name in forms {
        let content = text(name);
        let marked = format!("\u{FEFF}{content}");
        let plain = Annals::new();
        assert_eq!(plain.run(&["import", &put(&plain, "it", &content)]).status, 0);
        for bytes in [marked.clone().into_bytes(), utf16(&marked, u16::to_le_bytes), utf16(&marked, u16::to_be_bytes)] {
            let annals = Annals::new();
            let answer = annals.run(&["import", &put(&annals, "it", bytes)]);
            assert_eq!(answer.status, 0, "{name}: {} {}", answer.out, answer.remarks);
            assert_eq!(json(&annals, &["log", "@last"]), json(&plain, &["log", "@last"]), "{name}");
        }
        let annals = Annals::new();
        let answer = annals.run(&["import", &put(&annals, "it", utf16(&content, u16::to_le_bytes))]);
        assert_eq!(answer.status, 2, "{name}");
        assert!(answer.remarks.contains("UTF-16 without a byte order mark; convert it to UTF-8"), "{}", answer.remarks);
    }
}

#[test]
fn one_file_that_is_not_recognised_stops_no_other() {
    let annals = Annals::new();
    let note = put(&annals, "note.txt", "hello\n");
    let report = annals.file("report.json").to_string_lossy().into_owned();
    let missing = annals.file("missing.jsonl").to_string_lossy().into_owned();
    let answer = annals.run(&["import", &note, &missing, &fixture(CODEX), "--report", &report]);
    assert_eq!(answer.status, 1, "{}", answer.remarks);
    assert!(
        answer.out.ends_with(
            "1 session, 8 new events, 2 files not imported; 2 fields were not imported (--report FILE lists them)\n"
        ),
        "{}",
        answer.out
    );
    assert_eq!(answer.remarks.lines().count(), 2, "each in one line: {}", answer.remarks);
    assert_eq!(json(&annals, &["sessions"]).as_array().map(Vec::len), Some(1));
    let report: Value = serde_json::from_str(&std::fs::read_to_string(report).expect("it")).expect("JSON");
    assert_eq!(report["refused"].as_array().map(Vec::len), Some(2), "{report}");

    let nothing = Annals::new();
    let answer = nothing.run(&["import", &note, &missing]);
    assert_eq!(answer.status, 2);
    assert!(
        answer.remarks.contains("note.txt: not recognised") && answer.remarks.contains("missing.jsonl: No such file")
    );
    assert!(!nothing.store().exists());
}

#[test]
fn a_torn_last_line_is_no_failure_and_is_continued_by_the_next_import() {
    let annals = Annals::new();
    let whole = text(CLAUDE);
    let file = put(&annals, "it.jsonl", &whole[..whole.len() - 200]);
    let torn = annals.run(&["import", &file]);
    assert_eq!(torn.status, 0, "{} {}", torn.out, torn.remarks);
    assert!(torn.out.starts_with("✓ "), "{}", torn.out);
    put(&annals, "it.jsonl", &whole);
    assert_eq!(annals.run(&["import", &file]).status, 0);
    let other = Annals::new();
    other.run(&["import", &fixture(CLAUDE)]);
    assert_eq!(json(&annals, &["log", "@last"]), json(&other, &["log", "@last"]));
}

#[test]
fn what_is_here_in_another_form_or_differs_is_said_in_words() {
    let annals = Annals::new();
    annals.run(&["import", &fixture("opencode/v1/tools.events.jsonl")]);
    let answer = annals.run(&["import", &fixture("opencode/v1/tools.json")]);
    assert_eq!(answer.status, 0, "{}", answer.out);
    assert!(answer.out.contains("already here (imported from v1-events)"), "{}", answer.out);
    let file = put(&annals, "it.jsonl", text(CODEX));
    annals.run(&["import", &file]);
    put(&annals, "it.jsonl", text(CODEX).replace("hello there", "hello you"));
    let answer = annals.run(&["import", &file]);
    assert_eq!(answer.status, 1);
    let message = "; not imported. --as-new imports it as a second session\n";
    assert!(
        answer.out.contains("  differs from the earlier import at line ") && answer.out.contains(message),
        "{}",
        answer.out
    );
}

#[test]
fn pipes_and_devices_are_refused_and_links_lead_out_of_no_folder() {
    let annals = Annals::new();
    let folder = annals.file("folder");
    put(&annals, "folder/inside/one.jsonl", text(CODEX));
    let pipe = folder.join("pipe.jsonl");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let link = |from: &Path, name: &str| std::os::unix::fs::symlink(from, folder.join(name)).expect("a link");
    link(&PathBuf::from(fixture(ONE_TURN)), "out.jsonl");
    link(&PathBuf::from(fixture("claude-code")), "folder");
    link(&folder.join("inside/one.jsonl"), "within.jsonl");
    let answer = annals.run(&["import", &folder.to_string_lossy()]);
    assert_eq!(answer.status, 1);
    assert!(
        answer.remarks.contains("pipe.jsonl: not a regular file (a pipe, device or socket); not read"),
        "{}",
        answer.remarks
    );
    assert_eq!(json(&annals, &["sessions"]).as_array().map(Vec::len), Some(1), "nothing comes from outside");
    for path in [pipe.to_string_lossy().as_ref(), "/dev/zero"] {
        for command in ["import", "replay"] {
            let answer = annals.run(&[command, path]);
            assert_eq!(answer.status, 2, "{command} {path}");
            assert!(answer.remarks.contains("not a regular file"), "{}", answer.remarks);
        }
    }
}

#[test]
fn everything_again_is_one_line() {
    let annals = Annals::with_fixtures();
    let again = annals.run(&["import", &fixture("claude-code"), &fixture("codex"), &fixture("opencode/opencode.db")]);
    assert_eq!((again.status, again.out.as_str()), (0, "31 sessions, nothing new\n"), "{}", again.remarks);
}

#[test]
fn only_sessions_that_changed_are_shown() {
    let mut annals = Annals::new();
    let (one, two) = (put(&annals, "one.jsonl", text(CODEX)), put(&annals, "two.jsonl", without(CLAUDE, 8)));
    let first = annals.show(&["import", &one, &two]);
    put(&annals, "two.jsonl", text(CLAUDE));
    annals.now = Time(annals.now.millis() + 1);
    let second = annals.show(&["import", &one, &two]);
    insta::assert_snapshot!(first + "\n" + &second, @r"
    ✓ 01M7ZX045Q  8 events          hello there
    ✓ 01M7ZX1X00  86 events         What does inventory.csv hold
      content not imported: attachment: file (3), attachment: agent_listing_delta
        (2), attachment: task_reminder (2), attachment: skill_listing
      settings not imported: turn_context: approval_policy, turn_context:
        sandbox_policy, user: permissionMode
    2 sessions, 94 new events; 11 fields were not imported (--report FILE lists them)

    ✓ 01M7ZX1X00  9 new events      What does inventory.csv hold
    2 sessions, 1 changed, 9 new events; 1 field was not imported (--report FILE lists it)
    ");
}

#[test]
fn a_file_that_did_not_change_is_not_read_again() {
    let annals = lived_in();
    let path = annals.file("home/.codex/sessions/2026/11/21/rollout-1.jsonl");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    // Of the same length at the same time.
    let write = |text: &str| {
        let mut file = std::fs::File::create(&path).expect("a file");
        std::io::Write::write_all(&mut file, text.as_bytes()).expect("a disk");
        file.set_modified(old).expect("a time");
    };
    write(&text(CODEX));
    assert_eq!(annals.run(&["import"]).status, 0);
    write(&text(CODEX).replace("hello there", "HELLO THERE"));
    let again = annals.run(&["import"]);
    assert_eq!((again.status, again.out.as_str()), (0, "27 sessions, nothing new\n"), "{}", again.remarks);
    let listed = json(&annals, &["import"]);
    let codex = listed["sessions"].as_array().into_iter().flatten().find(|it| it["agent"] == "codex").expect("it");
    assert_eq!((&codex["title"], &codex["new"]), (&"hello there".into(), &0.into()), "{codex}");
    assert_eq!(annals.run(&["import", "--report", &annals.file("report").to_string_lossy()]).status, 1);
}
