//! Spending over all sessions, and the sessions of a project.

use crate::cli::command::{Annals, Answer, fixture};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The session of the transcript with the most answers.
const SESSION: &str = "b022c110-b9ab-47e7-b8d8-0ed357a555df";

fn fine(annals: &Annals, args: &[&str]) -> Answer {
    let answer = annals.run(args);
    assert_eq!(answer.status, 0, "{args:?}: {}", answer.remarks);
    answer
}

fn in_json(annals: &Annals, args: &[&str]) -> Value {
    serde_json::from_str(&fine(annals, &[args, &["--json"]].concat()).out).expect("JSON")
}

/// A transcript with a model that has a price, written in place of `name`.
fn transcript(annals: &Annals, name: &str, change: impl Fn(&str) -> String) -> PathBuf {
    let text = std::fs::read_to_string(fixture("claude-code/tools-and-compaction.jsonl")).unwrap();
    let path = annals.file(name);
    std::fs::write(&path, change(&text.replace("mock-claude", "claude-sonnet-4-5-20250929"))).unwrap();
    path
}

fn import(annals: &Annals, path: &std::path::Path) {
    fine(annals, &["import", path.to_str().unwrap()]);
}

#[test]
fn the_usage_of_a_store_is_priced_by_day_and_an_unknown_price_is_not_zero() {
    let annals = Annals::new();
    import(&annals, &transcript(&annals, "one.jsonl", str::to_owned));
    let row = json!({"input": 24700, "output": 520, "reasoning": 0, "cache_read": 0, "cache_write": 0,
                     "cost": 81_900_000, "estimated": 81_900_000});
    let mut rows = row.clone();
    rows["by"] = json!({"day": "2026-11-21"});
    assert_eq!(in_json(&annals, &["usage"]), json!({"rows": [rows], "total": row}));
    fine(&annals, &["import", &fixture("codex/one-turn.rollout.jsonl")]);
    let found = in_json(&annals, &["usage", "--by", "agent,model"]);
    assert_eq!(found["rows"][1]["by"], json!({"agent": "codex", "model": "mock/mock-codex"}));
    assert_eq!(found["rows"][1]["cost"], Value::Null);
    assert_eq!(found["total"]["cost"], row["cost"]);
    let text = fine(&annals, &["usage", "--by", "agent"]);
    assert!(text.out.lines().any(|line| line.starts_with("codex") && line.ends_with(" -")), "{}", text.out);
    assert!(text.out.lines().any(|line| line.starts_with("claude-code") && line.ends_with("~$0.0819")), "{}", text.out);
    let csv = fine(&annals, &["usage", "--by", "agent", "--csv"]).out;
    assert_eq!(
        csv.lines().take(2).collect::<Vec<_>>(),
        [
            "agent,input,output,reasoning,cache_read,cache_write,cost,estimated",
            "claude-code,24700,520,0,0,0,81900000,81900000"
        ]
    );
    let none = in_json(&annals, &["usage", "--until", "2026-11-20"]);
    assert_eq!((&none["rows"], &none["total"]["input"]), (&json!([]), &json!(0)));
    assert_eq!(in_json(&annals, &["usage", "--since", "1d", "--by", "week"])["rows"][0]["by"]["week"], "2026-W47");
    let line = fine(&annals, &["usage", "--line"]).out;
    assert_eq!(line, "today $0, block >$0.0819 (1h 00m left), month >$0.0819\n");
}

#[test]
fn the_usage_of_a_store_counts_what_was_allowed_if_that_is_asked_for() {
    let annals = Annals::new();
    import(&annals, &transcript(&annals, "one.jsonl", str::to_owned));
    let found = in_json(&annals, &["usage", "--safety"]);
    assert_eq!((&found["safety"]["calls"], &found["safety"]["asked"]), (&json!(11), &json!(0)));
    assert_eq!(found["total"]["input"], 24700);
    assert!(fine(&annals, &["usage", "--safety"]).out.ends_with("11 tool calls\n"));
}

#[test]
fn an_answer_that_was_copied_into_a_resumed_session_counts_once() {
    let annals = Annals::new();
    import(&annals, &transcript(&annals, "first.jsonl", str::to_owned));
    let alone = in_json(&annals, &["usage"]);
    // The fixtures have no ids of requests: a copy keeps the message id and its time.
    let resumed = |text: &str| text.replace(SESSION, "c022c110-b9ab-47e7-b8d8-0ed357a555df");
    import(&annals, &transcript(&annals, "resumed.jsonl", resumed));
    assert_eq!(in_json(&annals, &["sessions"]).as_array().map(Vec::len), Some(2));
    assert_eq!(in_json(&annals, &["usage"]), alone);
    // With ids of both, the time does not matter; another request is another answer.
    let with_request = |request: &'static str, session: &'static str, day: &'static str| {
        move |text: &str| {
            let text = text.replace(SESSION, session).replace("2026-11-21T", day);
            text.replace(r#""type":"assistant","#, &format!(r#""type":"assistant","requestId":"{request}","#))
        }
    };
    for (name, request, session, day) in [
        ("3.jsonl", "req_1", "d022c110-b9ab-47e7-b8d8-0ed357a555df", "2026-11-19T"),
        ("4.jsonl", "req_1", "e022c110-b9ab-47e7-b8d8-0ed357a555df", "2026-11-18T"),
    ] {
        import(&annals, &transcript(&annals, name, with_request(request, session, day)));
    }
    let rows = in_json(&annals, &["usage"])["rows"].as_array().unwrap().clone();
    let days: Vec<&Value> = rows.iter().map(|row| &row["by"]["day"]).collect();
    assert_eq!(days, ["2026-11-19", "2026-11-21"], "the copy of the 18th does not count");
}

/// What all sessions used as input and output.
fn total(annals: &Annals) -> (u64, u64) {
    let total = &in_json(annals, &["usage"])["total"];
    (total["input"].as_u64().unwrap_or(0), total["output"].as_u64().unwrap_or(0))
}

#[test]
fn what_a_fork_of_codex_copied_counts_in_the_thread_that_it_was_forked_from() {
    const THREAD: &str = "01a1ffd0-10b7-7cd0-b3f8-d44dbe4ba901";
    const FORK: &str = "01a1ffd7-10b7-7cd0-b3f8-d44dbe4ba901";
    let whole = std::fs::read_to_string(fixture("codex/one-turn.rollout.jsonl")).unwrap();
    // Older versions have no records that name their thread.
    let older: String =
        whole.lines().filter(|line| !line.contains("token_usage_record")).map(|line| format!("{line}\n")).collect();
    for thread in [whole, older] {
        let annals = Annals::new();
        let path = annals.file("thread.jsonl");
        std::fs::write(&path, &thread).unwrap();
        import(&annals, &path);
        let once = total(&annals);
        let own = thread.replace(THREAD, FORK).replace("T20:33:08", "T20:41:08");
        let (head, turn) = own.split_once('\n').unwrap();
        // Its own turn comes later than what Codex copies when it forks.
        let turn = turn.replace("T20:41:08", "T20:45:08");
        let head = head.replacen("\"cwd\"", &format!("\"forked_from_id\":\"{THREAD}\",\"cwd\""), 1);
        let path = annals.file("fork.jsonl");
        std::fs::write(&path, format!("{head}\n{thread}{turn}")).unwrap();
        import(&annals, &path);
        assert_eq!(total(&annals), (2 * once.0, 2 * once.1));
    }
}

#[test]
fn what_a_fork_of_opencode_copied_counts_once() {
    let annals = Annals::new();
    import(&annals, std::path::Path::new(&fixture("opencode/v1/fork-source.json")));
    assert_eq!(total(&annals), (4_050, 87));
    // Three of its four answers are copies, with other ids and the same times.
    import(&annals, std::path::Path::new(&fixture("opencode/v1/fork.json")));
    assert_eq!(total(&annals), (4_850, 117));
}

#[test]
fn a_cost_that_an_older_claude_code_recorded_is_no_estimate() {
    let annals = Annals::new();
    let costed = |text: &str| text.replace("\"type\":\"assistant\"", "\"costUSD\":0.0125,\"type\":\"assistant\"");
    import(&annals, &transcript(&annals, "costed.jsonl", costed));
    let total = &in_json(&annals, &["usage"])["total"];
    // Each line of an answer repeats the cost of the answer.
    assert_eq!((&total["cost"], &total["estimated"]), (&json!(18 * 12_500_000), &json!(0)));
}

#[test]
fn a_session_includes_its_sub_agents_and_rows_are_of_projects() {
    let annals = Annals::new();
    let project = annals.file("projects");
    std::fs::create_dir_all(project.join("subagents")).unwrap();
    let parent = std::fs::read_to_string(fixture("claude-code/subagent-parent.jsonl")).unwrap();
    let child = std::fs::read_to_string(fixture("claude-code/subagent-child.jsonl")).unwrap();
    std::fs::write(project.join("aef75662-4eac-46e1-ae5d-97589ca5f500.jsonl"), parent).unwrap();
    let below = project.join("aef75662-4eac-46e1-ae5d-97589ca5f500/subagents");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::write(below.join("agent-1.jsonl"), child).unwrap();
    fine(&annals, &["import", project.to_str().unwrap()]);
    let found = in_json(&annals, &["usage", "--by", "session"]);
    assert_eq!(found["rows"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["rows"][0]["input"], 1600 + 1900 + 700 + 1000);
    let found = in_json(&annals, &["usage", "--by", "project"]);
    assert_eq!(found["rows"][0]["by"]["project"], "/srv/peer/kdemo");
    let remarks = annals.run(&["usage", "--project", "elsewhere"]).remarks;
    assert!(remarks.contains("no usage recorded in project elsewhere; the projects: "), "{remarks}");
    let found = in_json(&annals, &["usage", "--project", "elsewhere"]);
    assert_eq!(found["rows"], json!([]));
    let found = in_json(&annals, &["usage", "--project", "kdemo", "--blocks"]);
    assert_eq!(found["rows"][0]["by"], json!({"block": "2026-11-21T20:00:00Z"}));
}

#[test]
fn prices_are_replaced_by_a_list_of_the_user() {
    let annals = Annals::new();
    import(&annals, &transcript(&annals, "one.jsonl", str::to_owned));
    let list = annals.file("prices.json");
    let entry = json!({"litellm_provider": "anthropic", "input_cost_per_token": 1e-5, "output_cost_per_token": 0});
    std::fs::write(&list, json!({"claude-sonnet-4-5": entry}).to_string()).unwrap();
    fine(&annals, &["models", "--update", list.to_str().unwrap()]);
    assert_eq!(in_json(&annals, &["usage"])["total"]["cost"], 247_000_000);
    assert!(fine(&annals, &["models", "--all"]).out.contains("as of 2026-11-22"));
    std::fs::write(&list, "{}").unwrap();
    assert_eq!(annals.run(&["models", "--update", list.to_str().unwrap()]).status, 2);
    assert_eq!(in_json(&annals, &["usage"])["total"]["cost"], 247_000_000, "a list that is none changes nothing");
}

#[test]
fn lists_and_last_mean_the_project_that_one_stands_in() {
    let mut annals = Annals::new();
    let here = annals.file("shop");
    std::fs::create_dir_all(here.join("web")).unwrap();
    std::fs::create_dir_all(here.join(".git")).unwrap();
    let here = here.canonicalize().unwrap();
    let directory = here.join("web").to_str().unwrap().to_owned();
    let moved = |text: &str| text.replace("/srv/peer/kdemo", &directory).replace(SESSION, "f022c110-b9ab-47e7");
    import(&annals, &transcript(&annals, "shop.jsonl", moved));
    fine(&annals, &["import", &fixture("codex")]);
    let count = |annals: &Annals, args: &[&str]| in_json(annals, args).as_array().map(Vec::len);
    let elsewhere = fine(&annals, &["sessions", "--json"]);
    assert_eq!(elsewhere.remarks, "annals: no session of this project; showing all projects\n");
    let compared = fine(&annals, &["diff", "@last", "@last"]);
    assert_eq!(compared.remarks.matches("no session of this project").count(), 1, "{}", compared.remarks);
    assert_eq!(count(&annals, &["sessions"]), Some(3));
    annals.environment.directory = here.clone();
    let found = in_json(&annals, &["sessions"]);
    assert_eq!(found.as_array().map(Vec::len), Some(1));
    assert_eq!(found[0]["directory"], "TMP/shop/web");
    assert_eq!(found[0]["branch"], "master");
    assert!(found[0].get("commit").is_some() && found[0]["cost"].is_u64());
    assert_eq!(count(&annals, &["sessions", "--all"]), Some(3));
    assert_eq!(count(&annals, &["sessions", "--directory", "web"]), Some(1));
    assert_eq!(count(&annals, &["sessions", "--directory", "other"]), Some(0));
    assert_eq!(count(&annals, &["sessions", "--project", "cdemo"]), Some(2));
    assert_eq!(count(&annals, &["sessions", "--since", "7d"]), Some(1));
    assert_eq!(count(&annals, &["sessions", "--since", "1h"]), Some(0));
    let verified = |args: &[&str]| in_json(&annals, args)["sessions"].as_array().map(Vec::len);
    assert_eq!((verified(&["verify", "--project"]), verified(&["verify"])), (Some(1), Some(3)));
    let last = fine(&annals, &["replay", "@last"]).out;
    assert!(last.contains("to continue it there: claude --resume f022c110-b9ab-47e7"), "{last}");
    // Spending is of the whole store.
    assert_eq!(in_json(&annals, &["usage", "--by", "project"])["rows"].as_array().map(Vec::len), Some(2));
    assert_eq!(in_json(&annals, &["usage", "--by", "project", "--project"])["rows"].as_array().map(Vec::len), Some(1));
}

#[test]
fn events_are_named_by_turn_distance_and_time() {
    let annals = Annals::new();
    import(&annals, &transcript(&annals, "one.jsonl", str::to_owned));
    let seq = |event: &str| in_json(&annals, &["show", "@last", event])["seq"].clone();
    assert_eq!(seq("-1"), 94);
    assert_eq!(seq("turn:2"), 12);
    let at = |event: &str| in_json(&annals, &["history", "@last", "--at", event]);
    assert_eq!(at("turn:2"), at("12"));
    assert_eq!(at("-1"), at("94"));
    let differs = |from: &str, to: &str| annals.run(&["diff", "@last", from, to, "--json"]);
    let (named, numbered) = (differs("turn:2", "-1"), differs("12", "94"));
    assert_eq!((named.status, named.out), (1, numbered.out));
    assert_eq!(in_json(&annals, &["log", "@last", "--from", "-3"]).as_array().map(Vec::len), Some(3));
    let condition = ["bisect", "@last", "--where", r#"{"history": {"$contains": {"type": "compaction"}}}"#];
    let ends = [&condition[..], &["--good", "0", "--bad", "94"]].concat();
    assert_eq!(in_json(&annals, &condition), in_json(&annals, &ends));
    assert_eq!(annals.run(&["show", "@last", "100d ago"]).status, 2);
    assert_eq!(annals.run(&["show", "@last", "-1000"]).status, 2);
    let pinned = fine(&annals, &["pin", "@last", "20:34:07"]);
    assert!(pinned.remarks.contains("pinned the message at event "), "{}", pinned.remarks);
}
