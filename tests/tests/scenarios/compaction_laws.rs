//! After a compaction nothing that must hold is missing from a request: the rules of AGENTS.md as they stand, told by the
//! baseline or by a message since; over generated sessions played through the real runtime.

use annals_scenario::{Backend, Scenario, play};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

#[derive(Clone, Debug)]
enum Act {
    Rules(u8),
    NoRules,
    Prompt { words: u8 },
    Compact,
    Day,
    Restart,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let one = prop_oneof![
        3 => (0..5_u8).prop_map(Act::Rules),
        1 => Just(Act::NoRules),
        6 => (1..60_u8).prop_map(|words| Act::Prompt { words }),
        3 => Just(Act::Compact),
        1 => Just(Act::Day),
        1 => Just(Act::Restart),
    ];
    prop::collection::vec(one, 4..24)
}

/// A Session that does these things, as a scenario file.
fn scenario(acts: &[Act]) -> Value {
    let mut script = vec![json!({"prompt": "begin"})];
    for act in acts {
        script.push(match act {
            Act::Rules(n) => {
                json!({"file": {"path": "/project/AGENTS.md", "content": format!("Rule {n} holds.")}})
            }
            Act::NoRules => json!({"unfile": "/project/AGENTS.md"}),
            Act::Prompt { words } => json!({"prompt": vec!["word"; usize::from(*words)].join(" ")}),
            Act::Compact => json!({"compact": {}}),
            Act::Day => json!({"advance": "24h"}),
            Act::Restart => json!({"restart": {}}),
        });
    }
    script.push(json!({"prompt": "end"}));
    json!({
        "scenario": 1, "name": "generated", "builtins": ["date", "instructions"],
        "config": {"compaction": {"keep_tokens": 5}}, "script": script,
    })
}

/// The rules that stand when each prompt is sent, in order.
fn in_force(acts: &[Act]) -> Vec<Option<u8>> {
    let mut rules = None;
    let mut all = vec![None];
    for act in acts {
        match act {
            Act::Rules(n) => rules = Some(*n),
            Act::NoRules => rules = None,
            Act::Prompt { .. } => all.push(rules),
            Act::Compact | Act::Day | Act::Restart => {}
        }
    }
    all.push(rules);
    all
}

/// What a request says of the rules last, in the order in which the model reads it.
fn last_word(request: &Value) -> Option<u8> {
    let system = request["system"].as_array().into_iter().flatten();
    let systems = request["messages"].as_array().into_iter().flatten().filter(|message| message["role"] == "system");
    let texts = system.chain(systems.map(|message| &message["text"])).filter_map(Value::as_str);
    let mut word = None;
    for text in texts {
        if text.contains("Previously loaded instructions no longer apply.") {
            word = None;
        }
        if let Some((_, rest)) = text.rsplit_once("Rule ") {
            word = rest.split(' ').next().and_then(|number| number.parse().ok());
        }
    }
    word
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_rules_that_stand_are_in_every_request_whatever_was_compacted(acts in acts()) {
        let text = scenario(&acts).to_string();
        let scenario = Scenario::parse(&text, Path::new("generated.json")).unwrap();
        let outcome = play("generated.json", &scenario, &Backend::Memory).unwrap();
        let requests = outcome.last["requests"].as_array().unwrap();
        // A summary request has no tools, one message and no system text; what it summarises is quoted in it.
        let summary = |request: &&Value| {
            request["messages"][0]["text"].as_str().is_some_and(|text| text.starts_with("<conversation>"))
        };
        let turns: Vec<&Value> = requests.iter().filter(|request| !summary(request)).collect();
        let expected = in_force(&acts);
        prop_assert_eq!(turns.len(), expected.len());
        for (request, rules) in turns.into_iter().zip(expected) {
            prop_assert_eq!(last_word(request), rules, "{}", request);
        }
    }
}
