use super::{CapturedViews, ViewPattern};
use crate::reader::JsonAt;
use serde_json::{Value, json};

fn pattern(json: &Value) -> ViewPattern {
    ViewPattern::read(&JsonAt::root(json)).unwrap_or_else(|error| panic!("{json}: {} at {}", error.reason, error.path))
}

fn holds(json: Value, found: Value) -> bool {
    pattern(&json).check("v", Some(&found), &CapturedViews::new()).is_empty()
}

fn places(json: Value, found: Value) -> Vec<String> {
    let mismatches = pattern(&json).check("v", Some(&found), &CapturedViews::new());
    mismatches.into_iter().map(|m| format!("{}: {} is {}", m.path, m.expected, m.found)).collect()
}

#[test]
fn an_object_matches_when_it_has_at_least_the_fields_of_the_pattern() {
    assert!(holds(json!({ "a": 1 }), json!({ "a": 1, "b": 2 })));
    assert!(!holds(json!({ "a": 1 }), json!({ "b": 1 })));
    assert!(!holds(json!({}), json!([])));
    assert!(!holds(json!({ "a": null }), json!({})), "null is a value, not an absence");
}

#[test]
fn a_list_matches_item_by_item_and_only_at_the_same_length() {
    assert!(holds(json!([{ "a": 1 }, 2]), json!([{ "a": 1, "b": 1 }, 2])));
    assert!(!holds(json!([1]), json!([1, 2])));
    assert!(!holds(json!([]), json!({})));
}

#[test]
fn numbers_are_equal_by_value() {
    assert!(holds(json!(2), json!(2.0)));
    assert!(holds(json!([1.0]), json!([1])));
    assert!(!holds(json!(2), json!("2")));
    assert!(!holds(json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64)));
}

#[test]
fn contains_looks_into_texts_and_lists() {
    assert!(holds(json!({ "$contains": "ell" }), json!("hello")));
    assert!(holds(json!({ "$contains": "" }), json!("hello")));
    assert!(!holds(json!({ "$contains": 1 }), json!("1")));
    assert!(holds(json!({ "$contains": { "a": 1 } }), json!([2, { "a": 1, "b": 2 }])));
    assert!(holds(json!({ "$contains": { "$contains": "x" } }), json!(["axb"])));
    assert!(!holds(json!({ "$contains": "a" }), json!(["ab"])), "an item matches as a whole");
    assert!(!holds(json!({ "$contains": "a" }), json!({ "a": 1 })));
}

#[test]
fn length_counts_items_fields_and_characters() {
    assert!(holds(json!({ "$length": 2 }), json!([1, 2])));
    assert!(holds(json!({ "$length": 1 }), json!({ "a": 1 })));
    assert!(holds(json!({ "$length": 3 }), json!("aé🦀")));
    assert!(!holds(json!({ "$length": 0 }), json!(null)));
}

#[test]
fn absent_and_not_accept_a_field_that_is_not_there() {
    assert!(holds(json!({ "a": { "$absent": true } }), json!({})));
    assert!(!holds(json!({ "a": { "$absent": true } }), json!({ "a": null })));
    assert!(holds(json!({ "a": { "$not": 1 } }), json!({})));
    assert!(holds(json!({ "a": { "$not": 1 } }), json!({ "a": 2 })));
    assert!(!holds(json!({ "a": { "$not": 1 } }), json!({ "a": 1.0 })));
    assert!(!holds(json!({ "a": { "$any": true } }), json!({})));
    assert!(holds(json!({ "a": { "$any": true } }), json!({ "a": null })));
}

#[test]
fn a_mismatch_names_the_deepest_place_that_differs() {
    let found = json!([{ "type": "user", "text": "a" }, { "type": "system", "keys": ["x/y"] }]);
    assert_eq!(
        places(json!([{ "text": "b" }, { "type": "system", "keys": ["x/z"], "seq": 3 }]), found),
        [r#"v.0.text: "b" is "a""#, r#"v.1.keys.0: "x/z" is "x/y""#, r#"v.1.seq: 3 is {"$absent":true}"#,]
    );
    assert_eq!(places(json!([1]), json!([1, 2])), ["v: [1] is [1,2]"]);
    assert_eq!(places(json!({ "$contains": { "a": 1 } }), json!([])), [r#"v: {"$contains":{"a":1}} is []"#]);
}

#[test]
fn same_compares_with_what_was_captured_exactly() {
    let captures = CapturedViews::from([(
        "first".to_owned(),
        json!({ "requests": [{ "system": ["a"] }], "snapshot": { "test/a.b": { "value": 1 } } }),
    )]);
    let check = |path: &str, found: Value| {
        let mismatches = pattern(&json!({ "$same": path })).check("v", Some(&found), &captures);
        mismatches.into_iter().map(|m| format!("{}: {} is {}", m.path, m.expected, m.found)).collect::<Vec<_>>()
    };
    assert!(check("first.requests.0.system", json!(["a"])).is_empty());
    assert!(check("first.snapshot.test/a.b.value", json!(1.0)).is_empty(), "a key may hold dots");
    assert_eq!(
        check("first.requests.0", json!({ "system": ["b"], "x": 1 })),
        [r#"v.system.0: "a" is "b""#, r#"v.x: {"$absent":true} is 1"#]
    );
    assert_eq!(
        check("second.requests", json!([])),
        [r#"v: {"$same":"second.requests"} is {"captured so far":["first"]}"#]
    );
    assert_eq!(check("first.requests.1", json!([])).len(), 1);
}

#[test]
fn not_does_not_hide_a_same_that_names_nothing() {
    let negated = pattern(&json!({ "a": { "$not": { "$same": "nowhere.history" } } }));
    let mismatches = negated.check("v", Some(&json!({ "a": 1 })), &CapturedViews::new());
    assert_eq!(mismatches.iter().map(|m| m.path.as_str()).collect::<Vec<_>>(), ["v.a"]);
}

#[test]
fn a_pattern_that_cannot_be_meant_is_an_error() {
    for (json, path, reason) in [
        (json!({ "$any": true, "a": 1 }), "$", "`$any` must be the only field"),
        (json!({ "$contain": "a" }), "$", "did you mean `$contains`?"),
        (json!({ "$any": false }), "$.$any", "only `true`"),
        (json!({ "$length": -1 }), "$.$length", "a whole number from 0"),
        (json!({ "$length": "2" }), "$.$length", "a whole number from 0"),
        (json!({ "$same": 1 }), "$.$same", "expected text"),
        (json!([{ "a": { "$not": { "$absent": 1 } } }]), "$[0].a.$not.$absent", "true or false"),
    ] {
        let error = ViewPattern::read(&JsonAt::root(&json)).expect_err(&json.to_string());
        assert_eq!(error.path, path, "{json}");
        assert!(error.reason.contains(reason), "{json}: {}", error.reason);
    }
}

#[test]
fn a_pattern_writes_itself_as_it_was_read() {
    let json = json!({ "a": [{ "$contains": { "$not": 1 } }, { "$same": "x.y" }, { "$length": 2 }], "b": { "$absent": true }, "c": { "$any": true } });
    assert_eq!(pattern(&json).to_json(), json);
}
