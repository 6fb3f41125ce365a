//! A session handed over with personal data withheld: what leaves, what verifies, and what a reader without the key can ask.

use super::command::{Annals, Answer, ends, fixture, text};
use annals_core::Digest;
use annals_tests::deadline::WithDeadline;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Personal data in a prompt, a tool's output, a path, and a second prompt.
const PLANTED: [&str; 4] = ["Ottilie Brandauer", "TOKEN=Zebra-Quartz-9917", "umbrella-vault", "about Kreuzberg"];

/// The texts of the session that hold them, whole.
const WHOLE: [&str; 3] =
    ["My name is Ottilie Brandauer, \"please\" check", "TOKEN=Zebra-Quartz-9917", "Second question about Kreuzberg"];

const RULES: [&str; 8] = [
    "--withhold",
    "tool:read",
    "--withhold",
    "path:**/.env",
    "--withhold",
    "text:Ottilie|umbrella-vault",
    "--withhold",
    "seq:20-21",
];

const PROVED: &str = "everything else and the order of all facts proved";

/// A store with one session of two turns, three requests and a call.
fn store() -> Annals {
    let annals = Annals::new();
    let scenario = serde_json::json!({
        "scenario": 1, "name": "personal data",
        "script": [
            {"tool": {"name": "read", "output": WHOLE[1], "required": ["path"]}},
            {"provider": [{"text": "I will look.",
                "calls": [{"id": "c1", "tool": "read", "input": {"path": "/project/umbrella-vault/.env"}}]}]},
            {"provider": [{"text": "Nothing of note."}]}, {"prompt": WHOLE[0]},
            {"provider": [{"text": "Done again."}]}, {"prompt": WHOLE[2]},
        ],
    });
    let file = annals.file("personal.json");
    std::fs::write(&file, scenario.to_string()).unwrap();
    fine(&annals, &["scenario", "run", &text(&file), "--keep", "--store", &text(&annals.store())]);
    annals
}

/// Runs a command that must succeed; gives all that it says.
fn fine(annals: &Annals, args: &[&str]) -> String {
    ends(annals, 0, args)
}

fn export(annals: &Annals, name: &str, rules: &[&str]) -> (PathBuf, String) {
    let file = annals.file(name);
    let remarks = fine(annals, &[&["export", "@last", &text(&file)], rules].concat());
    (file, remarks)
}

/// A store with nothing but what a file holds.
fn imported(file: &Path) -> Annals {
    let annals = Annals::new();
    fine(&annals, &["import", &text(file)]);
    annals
}

fn python(args: &[&str]) -> (bool, String) {
    let output = Command::new("python3").arg("-B").args(args).output_watched().unwrap();
    let all = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&all).into_owned())
}

fn verified_by_python(file: &Path) -> (bool, String) {
    python(&[&text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("verify_log.py")), &text(file)])
}

/// Each form in which a text could be found in a file, or a guess at it be checked.
fn forms(planted: &str) -> Vec<String> {
    const PROGRAM: &str = "import sys, json, base64, hashlib
raw = sys.argv[1].encode()
print(json.dumps(sys.argv[1])[1:-1])
for skip in range(3): print(base64.b64encode(raw[skip:len(raw) - (len(raw) - skip) % 3]).decode())
print(raw.hex()); print(hashlib.sha256(raw).hexdigest()); print(hashlib.blake2b(raw, digest_size=32).hexdigest())";
    let (ran, printed) = python(&["-c", PROGRAM, planted]);
    assert!(ran, "{printed}");
    let mut forms: Vec<String> = printed.lines().map(str::to_owned).collect();
    assert_eq!(forms.len(), 7);
    forms.extend([planted.to_owned(), Digest::of(planted.as_bytes()).to_string()]);
    forms
}

#[test]
fn a_session_is_handed_over_without_personal_data_and_verifies_whole() {
    annals_tests::needs!("python3");
    let annals = store();
    let (full, _) = export(&annals, "full.jsonl", &[]);
    let (file, remarks) = export(&annals, "withheld.jsonl", &RULES);
    assert!(remarks.contains("texts withheld"), "{remarks}");
    let (lines, whole) = (std::fs::read_to_string(&file).unwrap(), std::fs::read_to_string(&full).unwrap());
    for planted in PLANTED {
        assert!(whole.contains(planted), "{planted} is not in the session");
    }
    for planted in PLANTED.iter().chain(&WHOLE) {
        for form in forms(planted) {
            assert!(!lines.contains(&form), "{form} of {planted} left");
        }
    }
    assert!(lines.contains("Nothing of note."), "what no rule selects stays");

    let verified = fine(&annals, &["verify", &text(&file)]);
    assert!(verified.contains(PROVED) && verified.contains(" texts withheld; "), "{verified}");
    let (sound, said) = verified_by_python(&file);
    let count = verified.lines().find(|line| line.contains(PROVED)).unwrap().trim();
    assert!(sound && said.contains(count), "{said} is not {count}");

    let other = imported(&file);
    let (again, _) = export(&other, "again.jsonl", &[]);
    assert_eq!(std::fs::read_to_string(&again).unwrap(), lines);
    let head = |file: &Path| {
        let first = std::fs::read_to_string(file).unwrap().lines().next().unwrap_or_default().to_owned();
        serde_json::from_str::<serde_json::Value>(&first).unwrap()["head"].clone()
    };
    assert_eq!(head(&full), head(&again));
    for planted in PLANTED {
        for args in [vec!["log", "@last"], vec!["log", "@last", "--json"], vec!["replay", "@last"]] {
            assert!(!fine(&other, &args).contains(planted), "{args:?} shows {planted}");
        }
    }
}

#[test]
fn only_what_is_selected_stays_readable() {
    annals_tests::needs!("python3");
    let annals = store();
    let (file, _) = export(&annals, "only.jsonl", &["--only", "text:Nothing of note"]);
    let lines = std::fs::read_to_string(&file).unwrap();
    assert!(lines.contains("Nothing of note.") && !lines.contains("Done again."), "{lines}");
    assert!(fine(&annals, &["verify", &text(&file)]).contains(PROVED));
    assert!(verified_by_python(&file).0);
}

#[test]
fn a_text_that_is_given_later_is_proved_and_another_is_not() {
    let annals = store();
    let (file, _) = export(&annals, "withheld.jsonl", &RULES);
    let (given, _) = export(&annals, "given.jsonl", &["--reveal", "text:Kreuzberg"]);
    let proved = fine(&annals, &["verify", &text(&file), "--reveal", &text(&given)]);
    assert!(proved.contains("proved, this text is what the file withholds"), "{proved}");
    let json = fine(&annals, &["verify", &text(&file), "--reveal", &text(&given), "--json"]);
    assert!(json.contains("\"outcome\": \"proved\""), "{json}");
    let schema = annals_inspect::schema::named("verify").unwrap();
    assert_eq!(super::validate::wrong(&schema, &serde_json::from_str(&json).unwrap()), None);
    let other = std::fs::read_to_string(&given).unwrap().replace("Kreuzberg", "Kreuzburg");
    std::fs::write(&given, other).unwrap();
    let wrong = annals.run(&["verify", &text(&file), "--reveal", &text(&given)]);
    assert!(wrong.status == 1 && wrong.out.contains("not proved, the file withholds another text"), "{}", wrong.out);
}

#[test]
fn one_flipped_byte_of_a_withheld_export_fails() {
    annals_tests::needs!("python3");
    let annals = store();
    let (file, _) = export(&annals, "withheld.jsonl", &RULES);
    let bytes = std::fs::read(&file).unwrap();
    let altered = annals.file("altered.jsonl");
    let step = bytes.len() / 120;
    for (number, at) in (step / 2..bytes.len() - 1).step_by(step).enumerate() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        std::fs::write(&altered, &flipped).unwrap();
        assert_eq!(annals.run(&["verify", &text(&altered)]).status, 1, "the byte at {at} does not matter");
        if number % 12 == 0 {
            let (sound, said) = verified_by_python(&altered);
            assert!(!sound && !said.contains("everything else"), "the byte at {at} does not matter to Python: {said}");
        }
    }
}

#[test]
fn a_request_with_withheld_parts_is_neither_proved_nor_wrong() {
    let annals = store();
    let proved = fine(&annals, &["requests", "@last", "--prove"]);
    assert!(proved.contains("3 requests verified"), "{proved}");
    let (file, _) = export(&annals, "some.jsonl", &["--withhold", "text:Kreuzberg"]);
    let other = imported(&file);
    let listed = fine(&other, &["requests", "@last", "--prove"]);
    assert!(listed.contains("✓") && listed.contains("not provable: 1 part withheld"), "{listed}");
    assert!(listed.contains("2 requests verified") && listed.contains("1 request not provable"), "{listed}");
    let verified = fine(&other, &["verify", "@last", "--requests"]);
    assert!(verified.contains("2 requests rebuilt from the log, digests verified"), "{verified}");
    assert!(verified.contains("event 22: not provable: 1 part withheld"), "{verified}");
    let shown = fine(&other, &["requests", "@last", "--step", "3"]);
    assert!(shown.contains("? not provable: 1 part withheld") && !shown.contains("verified"), "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&other.run(&["requests", "@last", "--prove", "--json"]).out).unwrap();
    let found = serde_json::json!([json[0]["proved"], json[2]["proved"], json[2]["withheld"]]);
    assert_eq!(found, serde_json::json!([true, null, 1]), "{json:#}");
    let body = other.run(&["requests", "@last", "--step", "3", "--wire"]);
    assert!(
        body.status == 1 && body.out.is_empty() && body.remarks.contains("not provable: 1 part withheld"),
        "{}",
        body.remarks
    );
}

#[test]
fn every_question_is_answered_for_a_session_that_is_withheld_whole() {
    let annals = store();
    let (file, remarks) = export(&annals, "all.jsonl", &["--withhold", "seq:0-99999"]);
    let count = remarks.lines().find_map(|line| line.strip_suffix(" texts withheld")).unwrap_or_default();
    assert!(count.split_once(" of ").is_some_and(|(withheld, texts)| withheld.ends_with(texts)), "{remarks}");
    let other = imported(&file);
    let asked: [&[&str]; 27] = [
        &["sessions"],
        &["log", "@last"],
        &["show", "@last", "11"],
        &["transcript", "@last"],
        &["history", "@last"],
        &["requests", "@last"],
        &["requests", "@last", "--prove"],
        &["verify", "@last"],
        &["verify", "@last", "--requests"],
        &["verify", "@last", "--requests", "--wire"],
        &["why", "@last"],
        &["why", "@last", "withheld"],
        &["when", "withheld"],
        &["search", "withheld"],
        &["usage"],
        &["usage", "@last"],
        &["cache", "@last"],
        &["diff", "@last", "8", "24"],
        &["tree"],
        &["inbox", "@last"],
        &["context", "@last"],
        &["compactions", "@last"],
        &["replay", "@last"],
        &["log", "@last", "--json"],
        &["sessions", "--json"],
        &["history", "@last", "--json"],
        &["verify"],
    ];
    for args in asked {
        let Answer { status, out, remarks } = other.run(args);
        // Two views that differ are exit status 1.
        assert_eq!(status, u8::from(args[0] == "diff"), "{args:?}: {out}{remarks}");
        let said = out + &remarks;
        for planted in PLANTED.iter().chain(&["Nothing of note", "does not contain"]) {
            assert!(!said.contains(planted), "{args:?} says {planted}: {said}");
        }
        let claims = said.contains("digests verified") || said.contains("requests verified");
        assert!(!claims, "{args:?} claims a proof: {said}");
    }
    let verified = fine(&other, &["verify", "@last", "--requests"]);
    assert!(
        verified.contains("3 requests cannot be verified") && verified.contains("not provable: 4 parts withheld"),
        "{verified}"
    );
    assert!(fine(&other, &["transcript", "@last"]).contains("[withheld: 31 characters]"));
}

#[test]
fn the_key_of_a_file_that_is_exported_is_no_ones() {
    let mut annals = Annals::new();
    let home = annals.file("home").to_string_lossy().into_owned();
    annals.environment.variables = annals_config::Variables::fixed([("HOME", home)]);
    let source = fixture("codex/tools-and-resume.rollout.jsonl");
    let hash = |args: &[&str]| {
        let exported = annals.run(args).out;
        let first: serde_json::Value = serde_json::from_str(exported.lines().nth(1).unwrap()).unwrap();
        first["events"][0]["key_hash"].as_str().unwrap().to_owned()
    };
    let withhold = ["--withhold", "kind:tool.settled"];
    let asked = [
        [&["export", source.as_str()][..], &withhold].concat(),
        [&["export", "@last", "--in", source.as_str()][..], &withhold].concat(),
        vec!["export", source.as_str()],
    ];
    let mut hashes: Vec<String> = asked.iter().chain(&asked).map(|args| hash(args)).collect();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 2 * asked.len(), "another key each time");
}
