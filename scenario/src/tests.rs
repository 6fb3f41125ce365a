use super::action::{
    Action, AttemptScript, CrashPoint, DeclaredCodec, ReplyScript, RevertAction, SettleTarget, ViewName,
};
use super::file::Builtin;
use super::{LoadError, Scenario};
use annals_core::event::{Delivery, Finish, Switch};
use serde_json::{Value, json};
use std::path::Path;

fn parse(script: &Value) -> Result<Scenario, LoadError> {
    whole(&json!({ "scenario": 1, "name": "n", "script": script }))
}

fn whole(file: &Value) -> Result<Scenario, LoadError> {
    Scenario::parse(&file.to_string(), Path::new("x.json"))
}

fn action(action: Value) -> Action {
    match parse(&json!([action])) {
        Ok(scenario) => scenario.script.into_iter().next().expect("one action"),
        Err(error) => panic!("{action}: {error}"),
    }
}

#[track_caller]
fn invalid(script: Value, path: &str, reason: &str) {
    let error = parse(&script).expect_err(&script.to_string()).to_string();
    assert!(error.starts_with(&format!("x.json: {path}: ")), "{script}: {error}");
    assert!(error.contains(reason), "{script}: {error}");
}

#[test]
fn every_given_scenario_is_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/scenarios");
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).expect("fixtures") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|extension| extension == "json") {
            Scenario::load(&path).unwrap_or_else(|error| panic!("{error}"));
            files += 1;
        }
    }
    assert!(files >= 46, "only {files} files");
}

#[test]
fn what_a_file_does_not_say_has_the_defaults_of_the_format() {
    let scenario = parse(&json!([{ "run": "idle" }])).expect("valid");
    assert_eq!(
        (scenario.session.location.as_str(), scenario.session.agent.as_str(), scenario.session.model.as_str()),
        ("/project", "build", "test/alpha")
    );
    assert_eq!((scenario.policy.agent_switch, scenario.policy.model_switch), (Switch::Keep, Switch::Keep));
    let compaction = &scenario.compaction;
    assert!(compaction.auto && compaction.prune);
    assert_eq!((compaction.buffer, compaction.keep_tokens), (20_000, 8_000));
    assert!(scenario.builtins.is_empty() && scenario.agents.is_empty() && scenario.models.is_empty());

    let scenario = whole(&json!({
        "scenario": 1, "name": "n", "script": [{ "run": "idle" }],
        "models": { "a/b/c": { "output": 5 } },
        "builtins": ["date"],
        "policy": { "model_switch": "replace" },
    }))
    .expect("valid");
    let model = scenario.models.get(&"a/b/c".into()).expect("declared");
    assert_eq!((model.context, model.output), (200_000, 5));
    assert_eq!(scenario.policy.model_switch, Switch::Replace);
    assert!(scenario.builtins.contains(&Builtin::Date));
}

#[test]
fn every_form_of_an_argument_is_read() {
    assert_eq!(action(json!({ "advance": "90s" })), Action::Advance { ms: 90_000 });
    for (text, ms) in [("5ms", 5), ("2m", 120_000), ("24h", 86_400_000), ("1d", 86_400_000), ("0s", 0)] {
        assert_eq!(action(json!({ "advance": text })), Action::Advance { ms });
    }
    let Action::Admit(input) = action(json!({ "admit": "hello" })) else { panic!() };
    assert_eq!((input.id, input.text.as_str(), input.delivery), (None, "hello", Delivery::Steer));
    let Action::Prompt(input) = action(json!({ "prompt": { "id": "a b", "text": "", "delivery": "queue" } })) else {
        panic!()
    };
    assert_eq!((input.id, input.delivery), (Some("a b".into()), Delivery::Queue));
    assert_eq!(
        action(json!({ "revert": { "to": { "user": 2 } } })),
        Action::Revert(RevertAction::To { user: 2, files: false })
    );
    let with_files = action(json!({ "revert": { "to": { "user": 2 }, "files": true } }));
    assert_eq!(with_files, Action::Revert(RevertAction::To { user: 2, files: true }));
    let child = Action::Child { number: 1, name: "kid".to_owned() };
    assert_eq!(action(json!({ "child": { "number": 1, "as": "kid" } })), child);
    assert_eq!(action(json!({ "settle": "title" })), Action::Settle(SettleTarget::Title));
    assert_eq!(action(json!({ "settle": { "child": 2 } })), Action::Settle(SettleTarget::Child(2)));
    assert_eq!(action(json!({ "revert": "commit" })), Action::Revert(RevertAction::Commit));
    assert_eq!(action(json!({ "fork": { "as": "x" } })), Action::Fork { at: None, name: "x".into() });
    assert_eq!(
        action(json!({ "fork": { "at": { "user": 1 }, "as": "x" } })),
        Action::Fork { at: Some(1), name: "x".into() }
    );
    for (word, point) in CrashPoint::WORDS {
        assert_eq!(action(json!({ "crash": { "at": word } })), Action::Crash(*point));
    }
    let replies = vec![
        ReplyScript::Once,
        ReplyScript::Always,
        ReplyScript::Reject(None),
        ReplyScript::Reject(Some("why".into())),
    ];
    assert_eq!(
        action(json!({ "replies": ["once", "always", "reject", { "reject": "why" }] })),
        Action::Replies(replies)
    );
    assert_eq!(action(json!({ "move": "/project/a/" })), Action::Move("/project/a".into()));
    assert_eq!(action(json!({ "unfile": "/" })), Action::Unfile("/".into()));
}

#[test]
fn a_source_keeps_what_it_says_and_takes_defaults_for_the_rest() {
    let Action::Source(source) = action(json!({ "source": { "key": "test/a", "value": null } })) else { panic!() };
    assert_eq!(source.contribution.as_str(), "test/a");
    assert_eq!((source.codec, source.value), (DeclaredCodec::Json, Some(Value::Null)));
    assert_eq!(source.baseline.render(&json!("x"), None), "x");
    assert_eq!(source.removed, None);
    let Action::Source(source) =
        action(json!({ "source": { "key": "test/a", "contribution": "z/z", "value": 1, "unavailable": true } }))
    else {
        panic!()
    };
    assert_eq!((source.contribution.as_str(), source.value), ("z/z", None));
}

#[test]
fn an_attempt_answers_or_fails() {
    let Action::Provider(attempts) = action(json!({ "provider": [
        { "text": "a", "reasoning": "b", "finish": "length", "usage": { "input": 1 }, "calls": [{ "id": "c", "tool": "t", "input": [1] }] },
        {},
        { "error": { "kind": "rate-limit", "status": 429, "retry_after_ms": 7 }, "after_text": "half" },
    ] })) else {
        panic!()
    };
    let [AttemptScript::Answer(answer), AttemptScript::Answer(empty), AttemptScript::Failing(failing)] =
        attempts.as_slice()
    else {
        panic!()
    };
    assert_eq!((answer.finish, answer.usage.map(|usage| usage.input)), (Some(Finish::Length), Some(1)));
    assert_eq!(answer.calls.first().map(|call| call.input.clone()), Some(json!([1])));
    assert_eq!((&empty.text, empty.finish), (&None, None));
    assert_eq!((failing.kind.as_str(), failing.status, failing.retry_after_ms), ("rate-limit", Some(429), Some(7)));
    assert_eq!(failing.after_text.as_deref(), Some("half"));
}

#[test]
fn a_tool_that_makes_lines_has_no_newline_at_the_end() {
    let Action::Tool(tool) = action(json!({ "tool": { "name": "t", "lines": 3 } })) else { panic!() };
    assert_eq!(tool.output.as_deref(), Some("line 1\nline 2\nline 3"));
}

#[test]
fn a_tool_gives_its_results_one_after_the_other_and_then_what_it_declares() {
    let Action::Tool(tool) = action(json!({ "tool": { "name": "t", "output": "else", "results": [
        { "output": "first", "paths": ["/tmp/a"] }, { "error": "second" }, { "structured": { "n": 3 } }
    ] } })) else {
        panic!()
    };
    assert_eq!(tool.given(0).output.as_deref(), Some("first"));
    assert_eq!((tool.given(1).output, tool.given(1).error.as_deref()), (None, Some("second")));
    assert_eq!(tool.given(2).structured, Some(json!({ "n": 3 })));
    assert_eq!(tool.given(3).output.as_deref(), Some("else"));
    invalid(
        json!([{ "tool": { "name": "t", "results": [{ "text": "x" }] } }]),
        "$.script[0].tool.results[0].text",
        "unknown field",
    );
}

#[test]
fn whatever_is_unknown_is_an_error_with_its_path() {
    invalid(json!([{ "promt": "a" }]), "$.script[0]", "unknown action `promt`; did you mean `prompt`?");
    invalid(json!([{ "admit": { "txt": "a" } }]), "$.script[0].admit.txt", "did you mean `text`?");
    invalid(
        json!([{ "expect": { "histroy": [] } }]),
        "$.script[0].expect.histroy",
        "unknown view `histroy`; did you mean `history`?",
    );
    invalid(
        json!([{ "run": "idle" }, { "source": { "key": "a/b", "color": 1 } }]),
        "$.script[1].source.color",
        "unknown field",
    );
    invalid(
        json!([{ "provider": [{ "error": { "kind": "broken" } }] }]),
        "$.script[0].provider[0].error.kind",
        "unknown word `broken`",
    );
    invalid(
        json!([{ "compact": { "now": true } }]),
        "$.script[0].compact.now",
        "unknown field `now`; none is allowed here",
    );
    invalid(
        json!([{ "expect": { "runs": [{ "$contain": 1 }] } }]),
        "$.script[0].expect.runs[0]",
        "did you mean `$contains`?",
    );
    let error = whole(&json!({ "scenario": 1, "name": "n", "script": [{ "run": "idle" }], "sessions": {} }))
        .expect_err("unknown");
    assert!(error.to_string().contains("$.sessions: unknown field `sessions`; did you mean `session`?"), "{error}");
}

#[test]
fn a_wrong_type_is_an_error_with_its_path() {
    invalid(json!([{ "advance": 90 }]), "$.script[0].advance", "expected text, found the number 90");
    invalid(json!([{ "advance": "90" }]), "$.script[0].advance", "not a duration");
    invalid(json!([{ "advance": "s" }]), "$.script[0].advance", "the number is missing");
    invalid(json!([{ "advance": "9999999999999999d" }]), "$.script[0].advance", "too long");
    invalid(json!([{ "source": { "key": "Test/A" } }]), "$.script[0].source.key", "invalid system context key");
    invalid(
        json!([{ "source": { "key": "a/b", "codec": "number", "value": "1" } }]),
        "$.script[0].source.value",
        "codec",
    );
    invalid(json!([{ "source": { "key": "a/b", "contribution": "b" } }]), "$.script[0].source.contribution", "invalid");
    invalid(json!([{ "model": "alpha" }]), "$.script[0].model", "provider/id");
    invalid(json!([{ "run": "once" }]), "$.script[0].run", "unknown word `once`");
    invalid(json!([{ "run": {} }]), "$.script[0].run", "expected one of idle");
    invalid(json!([{ "fork": { "at": { "user": 0 }, "as": "x" } }]), "$.script[0].fork.at.user", "counted from 1");
    invalid(json!([{ "revert": { "to": 2 } }]), "$.script[0].revert.to", "expected an object");
    invalid(json!([{ "move": "docs" }]), "$.script[0].move", "absolute path");
    invalid(json!([{ "file": { "path": "/project/../x", "content": "" } }]), "$.script[0].file.path", "without");
    invalid(json!([{ "admit": { "id": "", "text": "a" } }]), "$.script[0].admit.id", "must not be empty");
    invalid(json!([{ "capture": "a.b" }]), "$.script[0].capture", "contains a dot");
    invalid(json!([{ "crash": { "at": "sometime" } }]), "$.script[0].crash.at", "unknown word");
    invalid(
        json!([{ "provider": [{ "text": "a", "error": { "kind": "overflow" } }] }]),
        "$.script[0].provider[0].text",
        "an attempt that fails",
    );
    invalid(json!([{ "provider": [{ "after_text": "a" }] }]), "$.script[0].provider[0]", "`error` is missing");
    invalid(json!([{ "tool": { "name": "t", "lines": 1, "output": "" } }]), "$.script[0].tool", "keep one");
    invalid(json!([{ "tool": { "name": "t", "lines": 4_000_000_000_u32 } }]), "$.script[0].tool.lines", "too many");
    invalid(json!([{ "tool": { "name": "t", "required": "path" } }]), "$.script[0].tool.required", "expected a list");
}

#[test]
fn a_file_needs_its_version_name_and_a_script() {
    for (file, path) in [
        (json!([]), "$: expected an object"),
        (json!({ "name": "n", "script": [{ "run": "idle" }] }), "$: the field `scenario` is missing"),
        (json!({ "scenario": 2, "name": "n", "script": [{ "run": "idle" }] }), "$.scenario: "),
        (json!({ "scenario": 1, "script": [{ "run": "idle" }] }), "$: the field `name` is missing"),
        (json!({ "scenario": 1, "name": "n" }), "$: the field `script` is missing"),
        (json!({ "scenario": 1, "name": "n", "script": [] }), "$.script: the script is empty"),
        (json!({ "scenario": 1, "name": "n", "script": [{}] }), "$.script[0]: an action has exactly one key"),
        (
            json!({ "scenario": 1, "name": "n", "script": [{ "run": "idle", "agent": "a" }] }),
            "$.script[0]: an action has exactly one key",
        ),
        (
            json!({ "scenario": 1, "name": "n", "script": [{ "run": "idle" }], "models": { "alpha": {} } }),
            "$.models.alpha: ",
        ),
        (
            json!({ "scenario": 1, "name": "n", "script": [{ "run": "idle" }], "agents": { "a": { "permissions": [["x", "allow"]] } } }),
            "$.agents.a.permissions[0]: a permission rule",
        ),
        (
            json!({ "scenario": 1, "name": "n", "script": [{ "run": "idle" }], "builtins": ["time"] }),
            "$.builtins[0]: unknown word `time`",
        ),
        (
            json!({ "scenario": 1, "name": "n", "script": [{ "run": "idle" }], "subagent_depth": 2 }),
            "$.subagent_depth: it has no effect without `subagents`",
        ),
        (
            json!({ "scenario": 1, "name": "n", "script": [{ "run": "idle" }], "subagents": { "a": { "model": "b" } } }),
            "$.subagents.a.model: ",
        ),
        (
            json!({ "scenario": 1, "name": "n", "script": [{ "child": { "number": 0, "as": "a" } }] }),
            "$.script[0].child.number: children are counted from 1",
        ),
        (
            json!({ "scenario": 1, "name": "n", "script": [{ "settle": "child" }] }),
            "$.script[0].settle: unknown word `child`",
        ),
        (
            json!({ "scenario": 1, "name": "n", "script": [{ "run": "idle" }], "titles": { "model": "small" } }),
            "$.titles.model: ",
        ),
    ] {
        let error = whole(&file).expect_err(&file.to_string()).to_string();
        assert!(error.starts_with(&format!("x.json: {path}")), "{error}");
    }
    let error = Scenario::parse("{ \"scenario\": 1, ", Path::new("y.json")).expect_err("not JSON").to_string();
    assert!(error.starts_with("y.json: $: not JSON: "), "{error}");
}

#[test]
fn what_needs_the_session_to_itself_cannot_stand_inside_an_action() {
    for alone in [
        json!({ "run": "idle" }),
        json!({ "prompt": "a" }),
        json!({ "compact": {} }),
        json!({ "restart": {} }),
        json!({ "revert": "clear" }),
        json!({ "fork": { "as": "x" } }),
        json!({ "session": "main" }),
    ] {
        invalid(
            json!([{ "tool": { "name": "t", "during": [alone] } }]),
            "$.script[0].tool.during[0]",
            "inside `during`",
        );
        invalid(
            json!([{ "source": { "key": "a/b", "on_load": [alone] } }]),
            "$.script[0].source.on_load[0]",
            "inside `on_load`",
        );
        invalid(
            json!([{ "provider": [{ "during": [alone] }] }]),
            "$.script[0].provider[0].during[0]",
            "inside `during`",
        );
    }
    invalid(json!([{ "interrupt": {} }]), "$.script[0]", "only allowed inside `during`");
    invalid(
        json!([{ "source": { "key": "a/b", "on_load": [{ "interrupt": {} }] } }]),
        "$.script[0].source.on_load[0]",
        "only allowed inside",
    );
    let nested = json!([{ "tool": { "name": "t", "during": [
        { "admit": "x" }, { "interrupt": {} }, { "crash": { "at": "before-append" } }, { "capture": "c" },
        { "source": { "key": "a/b", "on_load": [{ "set": { "key": "a/b", "value": 1 } }] } },
    ] } }]);
    parse(&nested).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn an_expect_inside_an_action_knows_its_place_in_the_script() {
    let scenario = parse(&json!([
        { "run": "idle" },
        { "tool": { "name": "t", "during": [{ "expect": { "runs": [], "history": [] } }] } },
    ]))
    .expect("valid");
    let [_, Action::Tool(tool)] = scenario.script.as_slice() else { panic!() };
    let [Action::Expect { action, views }] = tool.during.as_slice() else { panic!() };
    assert_eq!(*action, 1);
    assert_eq!(views.iter().map(|(view, _)| *view).collect::<Vec<_>>(), [ViewName::History, ViewName::Runs]);
}

#[test]
fn a_name_that_nothing_declares_is_an_error() {
    invalid(
        json!([{ "set": { "key": "test/city", "value": 1 } }]),
        "$.script[0].set.key",
        "unknown source `test/city`",
    );
    invalid(
        json!([{ "source": { "key": "test/city" } }, { "unavailable": "test/ciyt" }]),
        "$.script[1].unavailable",
        "did you mean `test/city`?",
    );
    invalid(
        json!([{ "session": "other" }, { "fork": { "as": "other" } }]),
        "$.script[0].session",
        "unknown Session `other`",
    );
    parse(&json!([{ "fork": { "as": "other" } }, { "session": "main" }, { "session": "other" }])).expect("valid");
}
