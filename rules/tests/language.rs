//! The language: what is accepted, what is refused and where, and that nothing makes it panic.

use annals_rules::AuditRule;
use proptest::prelude::*;

fn error(expression: &str) -> String {
    AuditRule::of_expression(expression).expect_err(expression).to_string()
}

#[test]
fn expressions_of_every_form_are_accepted() {
    for expression in [
        r#"call { tool == "bash" }"#,
        r#"call"#,
        r#"call { tool = 'bash' and not command starts with "git " }"#,
        r#"call as edit { action == "edit" } after prune { path == edit.path }"#,
        r#"call as edit { action == "edit" } and not after call { path == edit.path and action == "read" } within 3 turns"#,
        r#"summary { text matches "(?i)next steps" } not before call { action in ["write", "edit"] }"#,
        r#"never call { command contains "cargo test" }"#,
        r#"always call { tool != "bash" }"#,
        r#"result as r { outcome == "failed" } and at least 2 result { input == r.input } since start within 20 events"#,
        r#"prompt and never answer until prompt"#,
        r#"not call { tool == "read" } since prune"#,
        r#"step { cost > $0.50 or output_tokens >= 4096 }"#,
        r#"result { took > 30s, exit != 0 } # a comment"#,
        r#"answer as a after result { a.at - at > 5m }"#,
        r#"call { hosts contains "example.org" || len(paths) > 3 && !outside }"#,
        r#"(call as x or result as y) before answer"#,
    ] {
        if let Err(error) = AuditRule::of_expression(expression) {
            panic!("{expression}\n{error}");
        }
    }
}

#[test]
fn the_examples_of_the_page_are_expressions() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/rules.md")).unwrap();
    let examples = page.split("## Examples").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let blocks = examples.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    // A line that begins with a space continues the one before it.
    let expressions: Vec<String> = blocks.map(|block| block.replace("\n ", " ")).collect();
    let expressions: Vec<&str> = expressions.iter().flat_map(|block| block.lines()).collect();
    assert!(expressions.len() > 8, "{expressions:?}");
    for expression in expressions {
        if let Err(error) = AuditRule::of_expression(expression) {
            panic!("{expression}\n{error}");
        }
    }
}

#[test]
fn errors_name_the_place_and_a_remedy() {
    for (expression, expected) in [
        (r#"cal { tool == "bash" }"#, "1:1: there is no kind of fact `cal`; did you mean `call`?"),
        (r#"call { tol == "bash" }"#, "1:8: call has no field `tol`; did you mean `tool`?"),
        (r#"result { exit == "0" }"#, "1:10: a number cannot be compared with a text; write exit != 0"),
        (r#"result { outcome == "complete" }"#, "1:21: this is never \"complete\"; did you mean `completed`?"),
        (r#"call { tool }"#, "1:8: a text alone is not a test; write tool == \"bash\""),
        (r#"call { tool == "bash" "#, "1:23: expected `}` after the tests of this fact, found end of the expression"),
        (r#"call { tool == "bash }"#, "1:16: this text has no closing quote; end it with \""),
        (
            r#"call as a after (prune as b after call { path == a.path })"#,
            "1:50: `a` is not directly related to this fact; compare with `b.path` instead",
        ),
        (
            r#"call { path == edit.path }"#,
            "1:16: no fact is named `edit` here; name a fact with `as`: call as edit { ... }",
        ),
        (
            r#"call since prompt"#,
            "1:6: `since` needs a quantity before it; write `exists A since B`, `never A since B`, or `always A since B`",
        ),
        (r#"call { command matches "(" }"#, "1:24: not a regular expression: unclosed group"),
        (r#"call { took > 3x }"#, "1:15: \"3x\" is not"),
        (r#"call after (prune before call)"#, "1:19: only the reported fact can be related to later facts"),
        (
            r#"call after not prune"#,
            "1:6: this operator is about facts of any kind; name the kind of the other fact: after prune { ... }",
        ),
        (r#""#, "1:1: the expression is empty"),
        ("call {\n  tool == \"bash\"\n  and pth == \"x\"\n}", "3:7: call has no field `pth`; did you mean `path`?"),
        (r#"call within 3 turns"#, "1:6: unexpected `within`"),
    ] {
        let found = error(expression);
        let expected = expected.replace("\"3x\" is not", "\"x\" is not a unit of time");
        assert!(found.contains(&expected), "{expression}\n expected {expected}\n found {found}");
    }
}

#[test]
fn an_error_shows_the_line_with_a_mark() {
    let shown = error("call {\n  toool == \"bash\" }");
    let expected = "the expression is wrong at 2:3: call has no field `toool`; did you mean `tool`?\n    toool == \"bash\" }\n    ^^^^^";
    assert_eq!(shown, expected);
}

#[test]
fn an_expression_has_limits() {
    let deep = format!("{}call{}", "(".repeat(5_000), ")".repeat(5_000));
    assert!(error(&deep).contains("nested at most 48 deep"));
    assert!(error(&"not ".repeat(2_000)).contains("nested at most"));
    let many = vec!["after call"; 40].join(" and ");
    assert!(error(&format!("call and {many}")).contains("at most 24 operators"));
    assert!(error(&"x".repeat(20_000)).contains("at most 16384 are read"));
    assert!(error(r#"call { command matches "(a{1000}){1000}" }"#).contains("not a regular expression"));
}

const WORDS: &[&str] = &[
    "call",
    "result",
    "prompt",
    "answer",
    "prune",
    "event",
    "as",
    "a",
    "b",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "and",
    "or",
    "not",
    "after",
    "before",
    "exists",
    "never",
    "always",
    "since",
    "until",
    "start",
    "end",
    "within",
    "at",
    "least",
    "3",
    "turns",
    "events",
    "5m",
    "$1.5",
    "==",
    "!=",
    "<",
    ">=",
    "tool",
    "path",
    "a.path",
    "exit",
    "outcome",
    "\"bash\"",
    "\"completed\"",
    "matches",
    "glob",
    "contains",
    "in",
    "starts",
    "with",
    "has",
    "len",
    ",",
    ".",
    "+",
    "-",
    "true",
    "#",
    "'",
    "\"",
    "\\",
    "é",
];

proptest! {
    #[test]
    fn any_text_gives_a_rule_or_an_error(text in ".{0,200}") {
        let _ = AuditRule::of_expression(&text);
    }

    #[test]
    fn any_order_of_words_gives_a_rule_or_an_error(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        let _ = AuditRule::of_expression(&words.join(" "));
    }
}
