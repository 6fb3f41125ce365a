//! The HTTP API of `annals serve`, asked over a socket while another process writes.

mod queries;
mod served;

use super::command::{Annals, Answer, ends, fixture, text};
use super::validate::wrong;
use serde_json::{Value, json};
use served::{Served, message};
use std::collections::BTreeSet;

/// A store with the sessions of the fixtures and one whose requests were recorded, and that one.
fn stores() -> (Annals, String) {
    let annals = Annals::new();
    let scenario = json!({
        "scenario": 1, "name": "serve",
        "script": [
            {"tool": {"name": "read", "output": "seven jars", "required": ["path"]}},
            {"provider": [{"text": "I will look.", "calls": [
                {"id": "c1", "tool": "read", "input": {"path": "/project/notes.txt"}},
                {"id": "c2", "tool": "missing", "input": {"path": "/project/b.txt"}}]}]},
            {"provider": [{"text": "Seven."}]}, {"prompt": "How many jars are there?"},
            {"provider": [{"text": "Still seven."}]}, {"prompt": "And now?"},
        ],
    });
    let file = annals.file("serve.json");
    std::fs::write(&file, scenario.to_string()).unwrap();
    ends(&annals, 0, &["scenario", "run", &text(&file), "--keep", "--store", &text(&annals.store())]);
    for source in ["opencode/opencode.db", "codex", "claude-code"] {
        ends(&annals, 0, &["import", &fixture(source), "--store", &text(&annals.store())]);
    }
    let all = printed(&annals, &["sessions", "--all"]);
    let found = all.as_array().unwrap().iter().find(|row| row["title"] == "How many jars are there?").unwrap();
    let session = found["id"].as_str().unwrap().to_owned();
    (annals, session)
}

/// What a command prints as JSON; exit status 1 is an answer.
fn printed(annals: &Annals, args: &[&str]) -> Value {
    let Answer { out, remarks, .. } = annals.run(&[args, &["--json"]].concat());
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}{remarks}"))
}

#[test]
fn answers_are_those_of_the_command() {
    let (annals, session) = stores();
    let served = Served::start(&annals, &[]);
    let command = |args: &[&str]| printed(&annals, args);
    let id = session.as_str();
    for name in ["history", "transcript", "cache", "compactions", "usage", "verify"] {
        let rest =
            if ["history", "transcript"].contains(&name) { format!("/views/{name}") } else { format!("/{name}") };
        let mut expected = command(&[name, id]);
        if name == "verify" {
            // The command also compares the store's two copies.
            expected
                .as_object_mut()
                .unwrap()
                .retain(|member, _| !["copies", "requests", "revealed", "signed"].contains(&member.as_str()));
        }
        assert_eq!(served.of(id, &rest), expected, "{name}");
    }
    for at in [4, 9, 12] {
        // A place is the number of events before it; the command names the last one.
        let last = (at - 1).to_string();
        assert_eq!(served.of(id, &format!("/views/history?at={at}")), command(&["history", id, "--at", &last]));
        assert_eq!(
            served.of(id, &format!("/views/baseline?at={at}")),
            command(&["context", id, "--at", &last])["baseline"]
        );
    }
    assert_eq!(served.of(id, "/why?text=seven"), command(&["why", id, "seven"]));
    assert_eq!(served.of(id, "/when?text=seven%20jars"), command(&["when", id, "seven jars"]));
    assert_eq!(served.of(id, "/diff?from=5&to=9"), command(&["diff", id, "4", "8"]));
    assert_eq!(served.of(id, "/diff?step=1&other_step=2"), command(&["diff", id, "--steps", "1", "2"]));
    assert_eq!(served.of(id, "/requests")["requests"], command(&["requests", id]));
    assert_eq!(served.of(id, "/requests/2"), command(&["requests", id, "--step", "2"]));
    assert_eq!(served.of(id, "/events")["events"], command(&["log", id]));
    assert_eq!(served.get("/v1/sessions?limit=1000").json()["sessions"], command(&["sessions", "--all"]));
    assert_eq!(served.get("/v1/search?q=jars").json(), command(&["search", "jars", "--all"]));
    let bearer = format!("Bearer {}", served.token);
    let headers =
        [("Host", served.host.as_str()), ("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let query = "select agent, count(*) as n from sessions group by agent order by agent";
    let rows = served.ask("POST", "/v1/sql", &headers, &json!({"query": query}).to_string());
    assert_eq!(rows.json(), command(&["sql", query]));
    let refused = served.ask("POST", "/v1/sql", &headers, &json!({"query": "delete from sessions"}).to_string());
    assert_eq!(refused.status, 400, "{}", refused.body);
}

#[test]
fn only_who_has_the_token_reads_and_only_under_the_own_name() {
    let (annals, session) = stores();
    let served = Served::start(&annals, &[]);
    let (host, bearer) = (served.host.as_str(), format!("Bearer {}", served.token));
    let one = format!("/v1/sessions/{session}");
    let of = |headers: &[(&str, &str)], path: &str| served.ask("GET", path, headers, "");
    for path in ["/openapi.json", "/v1/info", one.as_str(), "/v1/nothing"] {
        for authorization in ["", "Bearer wrong", "Basic x"] {
            let refused = of(&[("Host", host), ("Authorization", authorization)], path);
            assert_eq!(refused.status, 401, "{path}");
            assert!(refused.head.contains("application/problem+json"));
            assert!(!refused.body.contains(&session) && !refused.body.contains(&served.token));
        }
        let foreign = of(&[("Host", "evil.example"), ("Authorization", &bearer)], path);
        assert_eq!(foreign.status, 403, "{path}");
        let foreign = of(&[("Host", host), ("Authorization", &bearer), ("Origin", "http://evil.example")], path);
        assert_eq!(foreign.status, 403, "{path}");
    }
    let own = format!("http://{host}");
    assert_eq!(of(&[("Host", host), ("Authorization", &bearer), ("Origin", &own)], &one).status, 200);
    let port = host.rsplit(':').next().unwrap();
    assert_eq!(of(&[("Host", &format!("localhost:{port}")), ("Authorization", &bearer)], &one).status, 200);
    // The page needs no token, and says nothing of the store.
    for (path, kind) in [("/", "text/html"), ("/app.js", "text/javascript"), ("/app.css", "text/css")] {
        let page = of(&[("Host", host)], path);
        assert_eq!(page.status, 200, "{path}");
        assert!(
            page.head.contains(kind) && page.head.contains("content-security-policy: default-src 'self'"),
            "{}",
            page.head
        );
        assert!(!page.body.contains(&served.token));
    }
    assert_eq!(of(&[("Host", "evil.example")], "/").status, 403);
    // Nothing is written, and nothing that is not there is made up.
    for (path, status) in [
        ("/v1/nothing", 404),
        ("/v1/sessions/x", 404),
        ("/v1/blobs/x", 404),
        ("/v1/sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV", 404),
    ] {
        assert_eq!(served.get(path).status, status, "{path}");
    }
    for rest in ["/views/nothing", "/requests/9999", "/requests/x"] {
        assert_eq!(served.get(&format!("{one}{rest}")).status, 404, "{rest}");
    }
    for rest in ["/views/history?at=99999", "/views/history?at=-1", "/why?stop=1", "/diff", "/when"] {
        assert_eq!(served.get(&format!("{one}{rest}")).status, 400, "{rest}");
    }
    assert_eq!(served.ask("DELETE", &one, &[("Host", host), ("Authorization", &bearer)], "").status, 405);
}

#[test]
fn a_file_is_shown_without_a_store() {
    let annals = Annals::new();
    let file = fixture("claude-code/tools-and-compaction.jsonl");
    for options in [vec![file.as_str()], vec!["--in", file.as_str()]] {
        let served = Served::start(&annals, &options);
        let page = served.get("/v1/sessions").json();
        assert_eq!(page["total"], 1);
        let id = page["sessions"][0]["id"].as_str().unwrap();
        assert_eq!(served.of(id, "/views/history"), printed(&annals, &["history", "--in", &file]));
        let found = served.get("/v1/search?q=inventory&limit=1").json();
        assert_eq!(found[0]["session"], id);
        assert_eq!(served.of(id, "")["turns"], *served.of(id, "/timeline").get("total_turns").unwrap());
    }
    assert!(!annals.store().exists(), "no store was made");
}

#[test]
fn a_token_of_a_file_is_needed_beyond_this_machine() {
    let (annals, _) = stores();
    let store = text(&annals.store());
    let refused = ends(&annals, 2, &["serve", "--listen", "0.0.0.0:0", "--store", &store]);
    assert!(refused.contains("--token-file"), "{refused}");
    let file = annals.file("token");
    std::fs::write(&file, "a-token-of-my-own-choice\n").unwrap();
    let mode = |mode| std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    mode(0o644);
    let readable = ends(&annals, 2, &["serve", "--token-file", &text(&file), "--store", &store]);
    assert!(readable.contains("chmod 600"), "{readable}");
    mode(0o600);
    let served = Served::start(&annals, &["--token-file", &text(&file), "--host", "annals.example"]);
    assert_eq!(served.token, "a-token-of-my-own-choice");
    let bearer = format!("Bearer {}", served.token);
    let (at, session) = ("5", printed(&annals, &["sessions", "--all"])[0]["id"].as_str().unwrap().to_owned());
    let there = Served::start(&annals, &[&session, "--at", at]);
    assert_eq!(there.place, format!("/s/{session}@6"));
    let named = served.ask("GET", "/v1/info", &[("Host", "annals.example"), ("Authorization", &bearer)], "");
    assert_eq!(named.json()["write"], json!(false));
    std::fs::write(&file, "short").unwrap();
    ends(&annals, 2, &["serve", "--token-file", &text(&file), "--store", &store]);
}

#[test]
fn pages_are_the_whole_list_once() {
    let (annals, session) = stores();
    let served = Served::start(&annals, &[]);
    let (mut cursor, mut listed) = (String::new(), Vec::new());
    let total = loop {
        let page = served.get(&format!("/v1/sessions?limit=4{cursor}")).json();
        listed.extend(page["sessions"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break page["total"].as_u64().unwrap(),
        }
    };
    let all = printed(&annals, &["sessions", "--all"]);
    assert_eq!(listed, all.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>());
    assert_eq!(total, listed.len() as u64);
    let paged = |path: &str, member: &str, limit: u64| {
        let (mut from, mut items) = (0, Vec::new());
        loop {
            let page = served.of(&session, &format!("/{path}?from={from}&limit={limit}"));
            let found = page[member].as_array().unwrap();
            assert!(found.len() as u64 <= limit);
            items.extend(found.iter().cloned());
            match page["next"].as_u64() {
                Some(next) => from = next,
                None => return items,
            }
        }
    };
    assert_eq!(Value::Array(paged("events", "events", 3)), printed(&annals, &["log", &session]));
    let turns = paged("timeline", "turns", 1);
    assert_eq!(turns, *served.of(&session, "/timeline")["turns"].as_array().unwrap());
    assert_eq!(turns.last().unwrap()["prompt"], "And now?");
    let failed =
        turns.iter().flat_map(|turn| turn["calls"].as_array().unwrap()).filter(|call| call["status"] != "completed");
    assert_eq!(failed.map(|call| call["tool"].as_str().unwrap().to_owned()).collect::<Vec<_>>(), ["missing"]);
    let cuts = paged("cuts", "cuts", 2);
    let detail = served.of(&session, "");
    assert_eq!(cuts.last(), Some(&detail["events"]));
    assert_eq!(detail["turns"], turns.len());
    // A place inside of a batch means its end.
    let ends: BTreeSet<u64> = cuts.iter().map(|cut| cut.as_u64().unwrap()).collect();
    for at in 1..=detail["events"].as_u64().unwrap() {
        let whole = ends.range(at..).next().unwrap();
        assert_eq!(served.of(&session, &format!("/views/session?at={at}"))["next"], *whole);
    }
    let narrowed = served.get("/v1/sessions?query=JARS%20many").json();
    assert_eq!(narrowed["sessions"][0]["id"], session.as_str());
    assert_eq!(narrowed["total"], 1);
}

#[test]
fn a_stream_begins_after_the_last_message_and_brings_what_another_process_writes() {
    let (annals, session) = stores();
    let served = Served::start(&annals, &[]);
    let log = printed(&annals, &["log", &session]);
    let log = log.as_array().unwrap();
    let path = format!("/v1/sessions/{session}/events");
    let mut all = served.follow(&path, "-1");
    for event in log {
        let (id, found) = message(&mut all);
        assert_eq!((id, &found), (event["seq"].to_string(), event));
    }
    let mut rest = served.follow(&path, &(log.len() - 3).to_string());
    let (first, _) = message(&mut rest);
    assert_eq!(first, (log.len() - 2).to_string());
    message(&mut rest);
    ends(&annals, 0, &["title", &session, "Counting jars", "--store", &text(&annals.store())]);
    for stream in [&mut all, &mut rest] {
        let (id, found) = message(stream);
        assert_eq!(id, log.len().to_string());
        assert_eq!(found["title"], "Counting jars");
    }
    // Who saw an event is given answers with it.
    let detail = served.of(&session, "");
    assert_eq!(
        (&detail["title"], &detail["events"]),
        (&json!("Counting jars"), &json!(printed(&annals, &["log", &session]).as_array().unwrap().len()))
    );
    let mut store = served.follow("/v1/events", "");
    let all = printed(&annals, &["sessions", "--all", "--children"]);
    // What a fork inherits is in the stream once, with its parent.
    let own = |row: &Value| {
        let log = printed(&annals, &["log", row["id"].as_str().unwrap()]);
        let forked = log.as_array().unwrap().iter().rev().find(|event| event["type"] == "session.forked");
        row["next"].as_u64().unwrap() - forked.map_or(0, |event| event["seq"].as_u64().unwrap())
    };
    let all: u64 = all.as_array().unwrap().iter().map(own).sum();
    let mut titles = 0;
    for _ in 0..all {
        titles += u64::from(message(&mut store).1["title"] == "Counting jars");
    }
    assert_eq!(titles, 1);
}

#[test]
fn answers_have_the_schemas_of_the_document() {
    let (annals, session) = stores();
    let served = Served::start(&annals, &[]);
    let document = served.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut names = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            assert!(
                names.insert(operation["operationId"].as_str().unwrap().to_owned()),
                "{path}: a name is used twice"
            );
            let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
            if method != "get" || schema.is_null() || path.contains("/body") {
                continue;
            }
            let real = path.replace("{session}", &session).replace("{view}", "history").replace("{number}", "1");
            let query = match operation["operationId"].as_str().unwrap() {
                "when" => "?text=jars",
                "search" => "?q=jars",
                "diff" => "?from=2&to=5",
                _ => "",
            };
            let answer = served.get(&format!("{real}{query}")).json();
            let schema = whole(schema, &document);
            assert_eq!(wrong(&schema, &answer), None, "{path}");
        }
    }
    assert!(names.len() >= 20, "{names:?}");
}

/// A schema with what it refers to in place.
fn whole(schema: &Value, document: &Value) -> Value {
    match schema {
        Value::Object(members) => match members.get("$ref").and_then(Value::as_str) {
            Some(target) => whole(document.pointer(target.trim_start_matches('#')).expect(target), document),
            None => members.iter().map(|(name, value)| (name.clone(), whole(value, document))).collect(),
        },
        Value::Array(items) => items.iter().map(|item| whole(item, document)).collect(),
        other => other.clone(),
    }
}
