//! What the `annals` command answers, at 80 columns, for eyes.

use crate::cli::command::{Annals, ends, fixture};

/// Tells a fixture without a store.
fn replay(name: &str) -> String {
    Annals::new().show(&["replay", &fixture(name)])
}

#[test]
fn a_replay_tells_turns_tools_and_costs() {
    insta::assert_snapshot!(replay("opencode/v2/tools.events.jsonl"));
}

#[test]
fn a_replay_tells_compactions_epochs_and_context_messages() {
    insta::assert_snapshot!(replay("opencode/v2/compaction.events.jsonl"));
}

#[test]
fn a_replay_tells_what_waited_and_where_it_joined() {
    insta::assert_snapshot!(replay("opencode/v2/steer-and-queue.events.jsonl"));
}

#[test]
fn a_replay_marks_what_a_revert_undid() {
    insta::assert_snapshot!(replay("opencode/v2/revert.events.jsonl"));
}

#[test]
fn a_replay_tells_failures_and_interrupts() {
    let printed = replay("opencode/v2/errors.events.jsonl") + "\n" + &replay("opencode/v2/interrupted.events.jsonl");
    insta::assert_snapshot!(printed);
}

#[test]
fn a_replay_tells_a_codex_rollout() {
    insta::assert_snapshot!(replay("codex/tools-and-resume.rollout.jsonl"));
}

#[test]
fn a_replay_tells_a_claude_code_transcript() {
    insta::assert_snapshot!(replay("claude-code/tools-and-compaction.jsonl"));
}

#[test]
fn a_replay_of_a_file_creates_nothing() {
    let annals = Annals::new();
    assert_eq!(annals.run(&["replay", &fixture("opencode/v2/first.events.jsonl")]).status, 0);
    assert!(!annals.store().exists());
}

#[test]
fn commands_that_look_create_no_store() {
    let annals = Annals::new();
    let printed: Vec<String> = ["sessions", "replay", "log", "history", "context", "usage", "verify", "doctor"]
        .map(|command| annals.show(&[command]))
        .into();
    assert!(!annals.store().exists());
    insta::assert_snapshot!(printed.join(""));
}

#[test]
fn every_fixture_replays_and_verifies_from_the_store() {
    let annals = Annals::with_fixtures();
    let sessions = annals.run(&["sessions", "--children", "--json"]).out;
    let sessions: serde_json::Value = serde_json::from_str(&sessions).expect("JSON");
    let ids: Vec<&str> =
        sessions.as_array().into_iter().flatten().filter_map(|session| session["id"].as_str()).collect();
    assert_eq!(ids.len(), 31);
    for id in ids {
        for command in ["replay", "verify", "log", "history", "transcript", "context", "usage"] {
            let answer = annals.run(&[command, id]);
            assert_eq!(answer.status, 0, "{command} {id}: {}", answer.remarks);
        }
    }
    assert_eq!(annals.run(&["verify"]).status, 0);
}

#[test]
fn sessions_are_listed_the_newest_first() {
    insta::assert_snapshot!(Annals::with_fixtures().show(&["sessions"]));
}

#[test]
fn sessions_are_filtered_and_sorted() {
    let annals = Annals::with_fixtures();
    let by_cost = annals.show(&["sessions", "--sort", "cost", "-n", "3"]);
    let by_agent = annals.show(&["sessions", "--agent", "codex"]);
    let by_title = annals.show(&["sessions", "forked"]);
    let none = annals.show(&["sessions", "nothing", "like", "this"]);
    insta::assert_snapshot!([by_cost, by_agent, by_title, none].join("\n"));
}

#[test]
fn importing_again_adds_nothing() {
    let annals = Annals::new();
    let file = fixture("opencode/v2/first.events.jsonl");
    let (first, again) = (annals.show(&["import", &file]), annals.show(&["import", &file]));
    insta::assert_snapshot!(first + "\n" + &again);
}

#[test]
fn a_log_lists_events_and_joins_what_landed_together() {
    insta::assert_snapshot!(Annals::new().show(&["log", &fixture("opencode/v2/context-changes.events.jsonl")]));
}

#[test]
fn a_log_is_filtered_by_kind() {
    let annals = Annals::new();
    let file = fixture("opencode/v2/tools.events.jsonl");
    let some = annals.show(&["log", &file, "--kind", "tool.called", "-n", "3"]);
    let meant = annals.show(&["log", &file, "--kind", "tool.call"]);
    insta::assert_snapshot!(some + "\n" + &meant);
}

#[test]
fn an_event_is_shown_whole() {
    let annals = Annals::new();
    let file = fixture("opencode/v2/tools.events.jsonl");
    insta::assert_snapshot!(annals.show(&["show", &file, "36"]) + "\n" + &annals.show(&["show", &file, "900"]));
}

#[test]
fn a_history_is_what_the_model_would_see() {
    insta::assert_snapshot!(Annals::new().show(&["history", &fixture("opencode/v2/compaction.events.jsonl")]));
}

#[test]
fn a_transcript_shows_undone_messages_too() {
    let annals = Annals::new();
    let file = fixture("opencode/v2/revert.events.jsonl");
    let kept = annals.run(&["transcript", &file, "--without-undone"]).out;
    assert!(!kept.contains("undone"));
    insta::assert_snapshot!(annals.show(&["transcript", &file]));
}

#[test]
fn a_context_shows_baseline_snapshot_and_what_was_told() {
    insta::assert_snapshot!(Annals::new().show(&["context", &fixture("opencode/v2/context-changes.events.jsonl")]));
}

#[test]
fn usage_is_told_in_all_and_by_model() {
    insta::assert_snapshot!(Annals::new().show(&["usage", &fixture("opencode/v2/switches.events.jsonl")]));
}

#[test]
fn a_diff_tells_what_changed_in_every_view() {
    let annals = Annals::new();
    let file = fixture("opencode/v2/context-changes.events.jsonl");
    insta::assert_snapshot!(annals.show(&["diff", &file, "6", "12"]) + "\n" + &annals.show(&["diff", &file, "6", "6"]));
}

#[test]
fn a_search_goes_through_all_sessions() {
    let annals = Annals::with_fixtures();
    let found = annals.show(&["search", "shelf b2", "--by", "model", "-n", "6"]);
    let none = annals.show(&["search", "no such words anywhere"]);
    insta::assert_snapshot!(found + "\n" + &none);
    let phrase = annals.show(&["search", "\"exit code\" no such words"]);
    assert!(phrase.contains("annals: no match for \"exit code\" no such words\n"), "{phrase}");
}

#[test]
fn a_word_that_no_model_has_is_reported() {
    let remarks = ends(&Annals::new(), 1, &["models", "--all", "zzz"]);
    assert_eq!(remarks, "annals: no model matches \"zzz\"; all of them: annals models --all\n");
}

#[test]
fn wrong_use_says_what_was_meant() {
    let annals = Annals::with_fixtures();
    let outputs = [
        annals.show(&["replya"]),
        annals.show(&["replay", "invntory"]),
        annals.show(&["replay", "forked from"]),
        annals.show(&["replay", "forked"]),
        annals.show(&["history", "inventory tools", "--at", "5000"]),
        annals.show(&["replay", "fixtures/opencode/README.txt"]),
        annals.show(&["schema", "histroy"]),
    ];
    let outputs: Vec<String> = outputs.map(|output| output.lines().take(12).collect::<Vec<_>>().join("\n")).into();
    insta::assert_snapshot!(outputs.join("\n\n"));
}

#[test]
fn a_session_is_named_in_many_ways() {
    let annals = Annals::with_fixtures();
    let named = |name: &str| annals.run(&["usage", name, "--json"]).out;
    let by_title = named("inventory tools");
    for name in ["01M7ZVECYGMJAC5MR3SPZWNC68", "01m7zvecyg", "WNC68", "INVENTORY Tools"] {
        assert_eq!(named(name), by_title, "{name}");
    }
    let foreign = annals.run(&["usage", "ses_e0043efdcffeqYw0Ky3UAnNeId", "--json"]);
    assert_eq!(foreign.status, 0, "{}", foreign.remarks);
}

#[test]
fn an_export_verifies_and_comes_back() {
    let annals = Annals::with_fixtures();
    let file = annals.file("tools.annals.jsonl");
    let path = file.to_string_lossy();
    let export = annals.show(&["export", "inventory tools", &path]);
    let verify = annals.show(&["verify", &path]);
    let other = Annals::new();
    assert_eq!(other.run(&["import", &path]).status, 0);
    assert_eq!(other.run(&["transcript", "--json"]).out, annals.run(&["transcript", "inventory tools", "--json"]).out);
    insta::assert_snapshot!(export + "\n" + &verify);
}

#[test]
fn an_altered_export_is_bad_news() {
    let annals = Annals::with_fixtures();
    let file = annals.file("altered.annals.jsonl");
    assert_eq!(annals.run(&["export", "inventory tools", &file.to_string_lossy()]).status, 0);
    let text = std::fs::read_to_string(&file).expect("an export");
    std::fs::write(&file, text.replacen("bolts", "bells", 1)).expect("writable");
    let printed = annals.show(&["verify", &file.to_string_lossy()]);
    let replayed = annals.show(&["replay", &file.to_string_lossy()]);
    insta::assert_snapshot!(printed + "\n" + &replayed);
}

/// What belongs to no batch of the session: a missing end, other lines, a part of the export again.
#[test]
fn damage_of_a_file_is_bad_news_whoever_reads_it() {
    let annals = Annals::with_fixtures();
    let file = annals.file("damaged.annals.jsonl").to_string_lossy().into_owned();
    assert_eq!(annals.run(&["export", "inventory tools", &file]).status, 0);
    let text = std::fs::read_to_string(&file).expect("an export");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (what, damaged) in [
        ("no end", lines[..lines.len() - 1].concat()),
        ("a word behind it", format!("{text}word\n")),
        ("an empty line", format!("{text}\n")),
        ("a part of it again", format!("{text}{}", lines[..3].concat())),
        ("ends of lines", text.replace('\n', "\r\n")),
    ] {
        std::fs::write(&file, damaged).expect("writable");
        for command in
            [&["verify", &file][..], &["replay", &file], &["replay", &file, "--json"], &["verify", "--in", &file]]
        {
            assert_eq!(annals.run(command).status, 1, "{what}: {command:?}");
        }
        assert!(!annals.run(&["replay", &file]).out.contains("integrity verified"), "{what}");
        let looked = annals.run(&["transcript", &file]);
        assert!(looked.remarks.contains("the export is damaged; annals verify"), "{what}: {}", looked.remarks);
    }
}

#[test]
fn of_a_damaged_log_no_request_is_said_to_be_proved_or_missing() {
    let annals = Annals::with_fixtures();
    let file = annals.file("altered.annals.jsonl");
    assert_eq!(annals.run(&["export", "inventory tools", &file.to_string_lossy()]).status, 0);
    let text = std::fs::read_to_string(&file).expect("an export");
    std::fs::write(&file, text.replacen("bolts", "bells", 1)).expect("writable");
    let answer = annals.run(&["verify", &file.to_string_lossy(), "--requests", "--wire"]);
    assert_eq!(answer.status, 1);
    assert!(answer.remarks.contains("requests were not verified, as the log is damaged"), "{}", answer.remarks);
    assert!(
        !answer.remarks.contains("no request is recorded") && !answer.out.contains("rebuilt from"),
        "{}",
        answer.out
    );
    let json = annals.run(&["verify", &file.to_string_lossy(), "--requests", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!((json.status, &value["requests"]), (1, &serde_json::Value::Null));
}

fn of_its_schema(name: &str, what: &str, value: &serde_json::Value) {
    let schema = annals_inspect::schema::named(name).expect("a schema");
    let wrong = crate::cli::validate::wrong(&schema, value);
    assert!(wrong.is_none(), "{name} of {what}: {}", wrong.unwrap_or_default());
}

/// Logs of three agents with everything that this program writes in answers.
const LOGS: [&str; 7] = [
    "opencode/v2/tools.events.jsonl",
    "opencode/v2/compaction.events.jsonl",
    "opencode/v2/revert.events.jsonl",
    "opencode/v2/errors.events.jsonl",
    "opencode/v2/switches.events.jsonl",
    "codex/tools-and-resume.rollout.jsonl",
    "claude-code/tools-and-compaction.jsonl",
];

#[test]
fn views_are_json_of_their_schemas() {
    let annals = Annals::new();
    for log in LOGS {
        let file = fixture(log);
        let json = |arguments: &[&str]| -> serde_json::Value {
            let answer = annals.run(&[arguments, &["--json"]].concat());
            serde_json::from_str(&answer.out).unwrap_or_else(|_| panic!("{arguments:?}: {}", answer.remarks))
        };
        for (command, schema) in
            [("history", "history"), ("transcript", "transcript"), ("usage", "usage"), ("log", "events")]
        {
            of_its_schema(schema, log, &json(&[command, &file]));
        }
        let context = json(&["context", &file]);
        of_its_schema("baseline", log, &context["baseline"]);
        of_its_schema("snapshot", log, &context["snapshot"]);
        let replay = json(&["replay", &file]);
        of_its_schema("session", log, &replay["session"]);
        of_its_schema("usage", log, &replay["usage"]);
        of_its_schema("epochs", log, &replay["epochs"]);
        of_its_schema("statistics", log, &replay["counts"]);
    }
}

#[test]
fn answers_are_json_of_their_schemas() {
    let annals = Annals::new();
    for log in LOGS {
        let file = fixture(log);
        let json = |arguments: &[&str]| -> serde_json::Value {
            let answer = annals.run(&[arguments, &["--json"]].concat());
            serde_json::from_str(&answer.out).unwrap_or_else(|_| panic!("{arguments:?}: {}", answer.remarks))
        };
        of_its_schema("why", log, &json(&["why", &file]));
        of_its_schema("when", log, &json(&["when", &file, "the"]));
        of_its_schema("cache", log, &json(&["cache", &file]));
        of_its_schema("diff", log, &json(&["diff", &file, &fixture(LOGS[0])]));
        of_its_schema("diff-requests", log, &json(&["diff", &file, "--steps", "1", "2"]));
        of_its_schema("diff-views", log, &json(&["diff", &file, "2"]));
        of_its_schema("compactions", log, &json(&["compactions", &file]));
        of_its_schema("request-list", log, &json(&["requests", &file]));
        of_its_schema("sessions", log, &json(&["sessions", "--in", &file]));
        of_its_schema("tree", log, &json(&["tree", "--in", &file]));
        of_its_schema("search", log, &json(&["search", "the", "--in", &file]));
        let grown = r#"{"history": {"$length": {"$gte": 1}}}"#;
        let last = json(&["log", &file]).as_array().map_or(0, |events| events.len() - 1).to_string();
        let bisect = annals.run(&["bisect", &file, "--good", "0", "--bad", &last, "--where", grown, "--json"]);
        if let Ok(found) = serde_json::from_str(&bisect.out) {
            of_its_schema("bisect", log, &found);
        }
    }
}

#[test]
fn every_kind_of_event_is_json_of_its_schema() {
    let events = std::fs::read_to_string(fixture("events.jsonl")).unwrap();
    for line in events.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        of_its_schema(event["type"].as_str().unwrap(), "the sample", &event);
        let mut fewer = event.clone();
        if let Some(fields) = fewer.as_object_mut() {
            let name = fields.keys().find(|name| *name != "type").cloned();
            if let Some(name) = name {
                fields.remove(&name);
                let schema = annals_inspect::schema::named(event["type"].as_str().unwrap()).unwrap();
                assert!(crate::cli::validate::wrong(&schema, &fewer).is_some(), "{name} may not be left out");
            }
        }
    }
}

#[test]
fn the_ledger_tells_what_left_the_models_view_by_each_compaction() {
    let annals = Annals::new();
    let completed = annals.show(&["compactions", &fixture("opencode/v2/compaction.events.jsonl")]);
    let failed = annals.show(&["compactions", &fixture("opencode/v2/compaction-that-failed.events.jsonl")]);
    let claude = annals.show(&["compactions", &fixture("claude-code/tools-and-compaction.jsonl")]);
    insta::assert_snapshot!([completed, failed, claude].join("\n"));
}

#[test]
fn a_compaction_is_undone_unless_the_model_could_not_take_the_history_without_it() {
    let annals = Annals::new();
    let file = annals.file("undo.json");
    let long = "long ".repeat(1_700);
    let scenario = serde_json::json!({
        "scenario": 1, "name": "a compaction, then a smaller model",
        "models": {"test/small": {"context": 500, "output": 50}},
        "config": {"compaction": {"keep_tokens": 1, "buffer": 10}},
        "script": [
            {"provider": [{"text": long}, {"text": "Summary."}]}, {"prompt": "write"}, {"compact": {}},
            {"model": "test/small"}, {"prompt": "hi"},
        ],
    });
    std::fs::write(&file, scenario.to_string()).unwrap();
    let (file, store) = (file.to_string_lossy().into_owned(), annals.store().to_string_lossy().into_owned());
    let played = annals.show(&["scenario", "run", &file, "--keep", "--store", &store]);
    assert!(played.contains("✓ a compaction, then a smaller model"), "{played}");
    let refused = annals.show(&["compactions", "--undo", "11"]);
    assert!(refused.contains("has about") && refused.contains("more than the 500 of the model"), "{refused}");
    let unknown = annals.show(&["compactions", "--undo", "12"]);
    assert!(unknown.contains("event 12 is not a compaction in force"), "{unknown}");
}
