//! Reports: one file that shows a session and proves it, and a summary in Markdown.

use super::command::{Annals, ends, fixture, text};
use annals_tests::deadline::WithDeadline;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A prompt that would end the elements around it, if it were in the markup.
const HOSTILE: &str = "</script></style><script>alert(1)</script><!-- <img src=x onerror=alert(1)> @ada #1 | `x`";
/// What a tool returned: a key, invented.
const KEY: &str = "ghp_aZ81kQm3RtY7wLx0Bv5Nc9Hd2Jf6Sg4PqEuI";
/// A text that is withheld by choice.
const PRIVATE: &str = "Ottilie Brandauer lives in Kreuzberg";

/// A store with one session of two turns, three requests and two calls, one of which failed.
fn store() -> Annals {
    let annals = Annals::new();
    let scenario = serde_json::json!({
        "scenario": 1, "name": "report",
        "script": [
            {"tool": {"name": "read", "output": format!("TOKEN={KEY}"), "required": ["path"]}},
            {"provider": [{"text": "I will look.", "calls": [
                {"id": "c1", "tool": "read", "input": {"path": "/project/notes.txt"}},
                {"id": "c2", "tool": "missing", "input": {"path": "/project/b.txt"}}]}]},
            {"provider": [{"text": "Nothing of note."}]}, {"prompt": HOSTILE},
            {"provider": [{"text": "Done again."}]}, {"prompt": PRIVATE},
        ],
    });
    let file = annals.file("report.json");
    std::fs::write(&file, scenario.to_string()).unwrap();
    ends(&annals, 0, &["scenario", "run", &text(&file), "--keep", "--store", &text(&annals.store())]);
    annals
}

fn report(annals: &Annals, name: &str, options: &[&str]) -> (PathBuf, String) {
    let file = annals.file(name);
    let remarks = ends(annals, 0, &[&["report", "@last", "-o", &text(&file)], options].concat());
    (file, remarks)
}

/// The file without the two lines of base64, and these lines decoded.
fn parts(file: &Path) -> (String, [String; 2]) {
    const PROGRAM: &str = "import sys, base64, gzip
lines = open(sys.argv[1], 'rb').read().split(b'\\n')
at = lines.index(b'<script type=\"application/octet-stream\" id=\"annals-%s\">' % sys.argv[2].encode())
sys.stdout.buffer.write(gzip.decompress(base64.b64decode(lines[at + 1], validate=True)))";
    let decoded = ["export", "data"].map(|block| {
        let output = Command::new("python3").args(["-c", PROGRAM, &text(file), block]).output_watched().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    });
    let whole = std::fs::read_to_string(file).unwrap();
    let mut markup: Vec<&str> = whole.split('\n').collect();
    for id in ["annals-data", "annals-export"] {
        let at = markup.iter().position(|line| line.ends_with(&format!("id=\"{id}\">"))).unwrap();
        markup.remove(at + 1);
    }
    // The numbers of its events.
    let range = markup.iter().position(|line| line.starts_with("<meta name=\"annals-events\"")).unwrap();
    let numbers = markup.remove(range).trim_start_matches("<meta name=\"annals-events\" content=\"");
    assert!(numbers.trim_end_matches("\">").chars().all(|c| c.is_ascii_digit() || c == ' ' || c == '.'), "{numbers}");
    (markup.join("\n"), decoded)
}

fn verified_by_python(file: &Path) -> bool {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("verify_log.py");
    Command::new("python3").arg("-B").arg(program).arg(file).output_watched().unwrap().status.success()
}

#[test]
fn a_report_is_proved_by_us_and_by_python_and_is_read_like_the_session() {
    annals_tests::needs!("python3");
    let annals = store();
    let (file, _) = report(&annals, "report.html", &[]);
    assert!(ends(&annals, 0, &["verify", &text(&file)]).contains("integrity verified"));
    assert!(verified_by_python(&file));
    let (_, [export, _]) = parts(&file);
    assert_eq!(export, annals.run(&["export", "@last"]).out);
    for command in ["history", "why", "replay", "requests"] {
        let of_store = annals.run(&[command, "@last"]).out;
        assert_eq!(ends(&annals, 0, &[command, &text(&file)]).lines().next(), of_store.lines().next(), "{command}");
    }
    let other = Annals::new();
    ends(&other, 0, &["import", &text(&file)]);
    assert_eq!(other.run(&["export", "@last"]).out, export);
}

#[test]
fn one_flipped_byte_of_the_export_in_a_report_or_its_end_cut_off_fails() {
    annals_tests::needs!("python3");
    let annals = store();
    let (file, _) = report(&annals, "report.html", &[]);
    let bytes = std::fs::read(&file).unwrap();
    let mark = b"id=\"annals-export\">\n";
    let start = bytes.windows(mark.len()).position(|part| part == mark).unwrap() + mark.len();
    let length = bytes[start..].iter().position(|byte| *byte == b'\n').unwrap();
    let altered = annals.file("altered.html");
    // The header of gzip holds a time, and its last bits are unused: the same export may follow.
    let (from, until) = (start + 16, start + length - 4);
    for (number, at) in (from..until).step_by(length / 40).enumerate() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        std::fs::write(&altered, &flipped).unwrap();
        let said = ends(&annals, 1, &["verify", &text(&altered)]);
        assert!(said.contains("damaged"), "the byte at {at}: {said}");
        assert!(number % 8 > 0 || !verified_by_python(&altered), "the byte at {at} does not matter to Python");
    }
    std::fs::write(&altered, &bytes[..start + length / 2]).unwrap();
    assert!(ends(&annals, 1, &["verify", &text(&altered)]).contains("damaged"));
    assert!(!verified_by_python(&altered));
}

#[test]
fn no_text_of_a_session_is_in_the_markup_of_its_report() {
    annals_tests::needs!("python3");
    let annals = store();
    let (file, _) = report(&annals, "report.html", &[]);
    let (markup, [export, data]) = parts(&file);
    assert!(export.contains("alert(1)") && data.contains("alert(1)") && !markup.contains("alert(1)"));
    let other = Annals::new();
    ends(&other, 0, &["import", &fixture("claude-code/one-turn.jsonl")]);
    let (same, _) = parts(&report(&other, "other.html", &[]).0);
    assert!(markup == same, "two reports differ in more than their data");
    for part in ["default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "base-uri 'none'"] {
        assert!(markup.contains(part), "{part}");
    }
    for part in ["unsafe-inline", "unsafe-eval", "http://", "https://"] {
        let policy = markup.lines().find(|line| line.contains("Content-Security-Policy")).unwrap();
        assert!(!policy.contains(part), "{policy}");
    }
}

#[test]
fn withheld_texts_and_secrets_are_nowhere_in_a_report() {
    annals_tests::needs!("python3");
    let annals = store();
    let (whole, _) = report(&annals, "whole.html", &[]);
    let (_, [export, data]) = parts(&whole);
    for planted in [KEY, PRIVATE] {
        assert!(export.contains(planted) && data.contains(planted), "{planted} is not in the session");
    }
    let (file, remarks) = report(&annals, "withheld.html", &["--withhold", "text:Kreuzberg", "--redact"]);
    assert!(remarks.contains("texts withheld") && remarks.contains("secrets were found in"), "{remarks}");
    let (markup, [export, data]) = parts(&file);
    for planted in [KEY, PRIVATE, "Kreuzberg"] {
        for part in [&markup, &export, &data] {
            assert!(!part.contains(planted), "{planted} is in the report");
        }
    }
    assert!(data.contains("Nothing of note."), "what no rule selects is shown");
    assert!(ends(&annals, 0, &["verify", &text(&file)]).contains("everything else and the order of all facts proved"));
    assert!(verified_by_python(&file));
    let (clean, remarks) = report(&annals, "clean.html", &["--withhold", "tool:read", "--redact"]);
    assert!(!parts(&clean).1.join("").contains(KEY), "{remarks}");
}

#[test]
fn a_secret_in_a_path_of_the_session_is_reported_with_its_event() {
    let annals = Annals::new();
    let transcript = std::fs::read_to_string(fixture("claude-code/one-turn.jsonl")).unwrap();
    let file = annals.file("named.jsonl");
    std::fs::write(&file, transcript.replace("/srv/peer/kdemo", &format!("/srv/{KEY}"))).unwrap();
    ends(&annals, 0, &["import", &text(&file)]);
    let (report, remarks) = report(&annals, "named.html", &["--redact"]);
    assert!(remarks.contains("a secret is left in a name or path, which cannot be withheld: event 0"), "{remarks}");
    ends(&annals, 0, &["verify", &text(&report)]);
}

#[test]
fn a_range_limits_what_is_shown_and_says_what_it_does_not_limit() {
    annals_tests::needs!("python3");
    let annals = store();
    let (file, remarks) = report(&annals, "range.html", &["--at", "turn:2.."]);
    assert!(remarks.contains("the export in the file is whole"), "{remarks}");
    let (_, [_, data]) = parts(&file);
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    let turns: Vec<_> = data["turns"].as_array().unwrap().iter().map(|turn| turn["turn"].clone()).collect();
    assert_eq!(turns, [2]);
    let from = data["from"].as_u64().unwrap();
    assert_eq!(data["events"][0]["seq"].as_u64(), Some(from));
    assert!(data["cuts"].as_array().unwrap().iter().all(|cut| cut.as_u64().is_some_and(|cut| cut > from)));
    for wrong in ["9..3", "0..99999", "x..y", "5"] {
        ends(&annals, 2, &["report", "@last", "--at", wrong, "-o", &text(&annals.file("none.html"))]);
    }
    assert!(!annals.file("none.html").exists());
}

#[test]
fn what_a_report_holds_gives_the_views_that_the_commands_show_at_every_cut() {
    annals_tests::needs!("python3");
    let annals = Annals::new();
    ends(&annals, 0, &["import", &fixture("claude-code/tools-and-compaction.jsonl")]);
    let (_, [_, data]) = parts(&report(&annals, "report.html", &[]).0);
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    let items = |runs: &serde_json::Value| -> Vec<serde_json::Value> {
        let runs = runs.as_array().unwrap().iter();
        let ids = runs.flat_map(|run| {
            let (first, count) = (run[0].as_u64().unwrap(), run[1].as_u64().unwrap());
            first..first + count
        });
        ids.map(|id| data["pool"][usize::try_from(id).unwrap()].clone()).collect()
    };
    let cuts: Vec<u64> = data["cuts"].as_array().unwrap().iter().map(|cut| cut.as_u64().unwrap()).collect();
    assert!(cuts.len() > 20);
    for cut in cuts.iter().step_by(7).chain(cuts.last()) {
        let before = |change: &&serde_json::Value| change[0].as_u64().unwrap() <= *cut;
        let (mut history, mut transcript) = (Vec::new(), std::collections::BTreeMap::new());
        for change in data["views"]["history"].as_array().unwrap().iter().filter(before) {
            history.truncate(usize::try_from(change[1].as_u64().unwrap()).unwrap());
            history.extend(items(&change[2]));
        }
        for change in data["views"]["transcript"].as_array().unwrap().iter().filter(before) {
            transcript.insert(change[1].as_u64().unwrap(), items(&serde_json::json!([[change[2], 1]])).remove(0));
        }
        let shown = |command: &str| -> serde_json::Value {
            let answer = annals.run(&[command, "@last", "--at", &(cut - 1).to_string(), "--json"]);
            serde_json::from_str(&answer.out).unwrap()
        };
        assert_eq!(serde_json::Value::Array(history), shown("history"), "history at {cut}");
        assert_eq!(serde_json::Value::Array(transcript.into_values().collect()), shown("transcript"), "{cut}");
        let usage = data["views"]["usage"].as_array().unwrap().iter().rfind(before).unwrap();
        let mut expected = shown("usage");
        // Counts of the audit are not a view.
        expected.as_object_mut().unwrap().remove("safety");
        assert_eq!(items(&serde_json::json!([[usage[1], 1]])).remove(0), expected, "usage at {cut}");
    }
}

#[test]
fn a_summary_in_markdown_quotes_texts_as_code() {
    let annals = store();
    let summary = ends(&annals, 0, &["report", "@last", "--markdown"]);
    let stable: String =
        summary.lines().filter(|line| !line.starts_with("Session ")).fold(String::new(), |all, line| all + line + "\n");
    insta::assert_snapshot!(stable);
    let head = annals.run(&["export", "@last"]).out;
    let head: serde_json::Value = serde_json::from_str(head.lines().next().unwrap()).unwrap();
    let digest = head["head"]["digest"].as_str().unwrap();
    assert!(summary.contains(&format!("--head {digest}`")), "{summary}");
}

#[test]
fn a_summary_of_an_imported_session_lists_errors_and_files() {
    let annals = Annals::new();
    ends(&annals, 0, &["import", &fixture("claude-code/tools-and-compaction.jsonl")]);
    insta::assert_snapshot!(ends(&annals, 0, &["report", "@last", "--markdown", "--at", "..40"]));
}

#[test]
fn a_page_that_is_not_the_one_of_its_export_is_told() {
    let annals = store();
    for options in [&[][..], &["--at", "2..5"], &["--withhold", "tool:read"]] {
        let (file, _) = report(&annals, "page.html", options);
        let verified = ends(&annals, 0, &["verify", &text(&file)]);
        assert!(verified.contains("the page shows what this export gives"), "{verified}");
        let page = std::fs::read_to_string(&file).unwrap();
        let data = page.split("id=\"annals-data\">\n").nth(1).unwrap().lines().next().unwrap();
        for (what, altered) in [
            ("script", page.replacen("<script type=\"module\">", "<script type=\"module\">alert(1);", 1)),
            ("style", page.replacen("<style>", "<style>.turn{display:none}", 1)),
            ("markup", page.replacen("<div id=\"app\">", "<h1>Approved</h1><div id=\"app\">", 1)),
            ("data", page.replacen(data, &data.replacen('A', "B", 1), 1)),
            ("policy", page.replacen("default-src 'none'", "default-src *", 1)),
            ("range", page.replacen("name=\"annals-events\" content=\"", "name=\"annals-events\" content=\"1", 1)),
            ("end", page.clone() + "<p>more</p>"),
        ] {
            assert_ne!(altered, page, "{what}");
            std::fs::write(&file, altered).unwrap();
            let verified = ends(&annals, 1, &["verify", &text(&file)]);
            assert!(verified.contains("the page was changed"), "{what}: {verified}");
            assert!(verified.contains("✓ the export in "), "{what}: only that is intact: {verified}");
            let json: serde_json::Value =
                serde_json::from_str(&annals.run(&["verify", &text(&file), "--json"]).out).unwrap();
            assert_eq!(json["page"], "differs");
        }
        std::fs::write(&file, page.replacen("content=\"annals ", "content=\"annals 99.", 1)).unwrap();
        let verified = ends(&annals, 1, &["verify", &text(&file)]);
        assert!(verified.contains("page not compared: made by annals 99."), "{verified}");
    }
}
