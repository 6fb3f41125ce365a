//! The monitor against the meaning of expressions, read off a whole list of facts.

use super::*;
use crate::compile::compile;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Whether a condition holds for a fact, with all facts known.
fn holds(plan: &RulePlan, condition: &FactCondition, facts: &[AuditFact], at: usize, related: Option<usize>) -> bool {
    let none = FactFields::new();
    let fact = &facts[at];
    let other = related.map_or(&none, |related| &facts[related].fields);
    let mut atom = |number: usize| {
        Truth::from(match &condition.atoms[number] {
            TruthAtom::Kind(kind) => fact.is(*kind),
            TruthAtom::Test(test) => test.holds(&fact.fields, &none),
            TruthAtom::Temporal(number) => operator(plan, *number, facts, at),
        })
    };
    condition.tree.truth(&mut atom, Some((&fact.fields, other))) == Truth::True
}

fn operator(plan: &RulePlan, number: usize, facts: &[AuditFact], at: usize) -> bool {
    let temporal = &plan.temporal[number];
    let near = |other: &usize| is_within(temporal.within, &facts[at].place, &facts[*other].place);
    let is = |condition: &FactCondition, other: usize| holds(plan, condition, facts, other, Some(at));
    let mut bounded = true;
    let reach = match &temporal.reach {
        TemporalReach::Past => 0..at,
        TemporalReach::Future => at + 1..facts.len(),
        TemporalReach::Whole => 0..facts.len(),
        TemporalReach::Since(bound) => match (0..at).rev().filter(near).find(|other| is(bound, *other)) {
            Some(since) => since + 1..at,
            None => {
                bounded = false;
                0..0
            }
        },
        TemporalReach::Until(bound) => {
            let end = (at + 1..facts.len()).filter(near).find(|other| is(bound, *other));
            at + 1..end.unwrap_or(facts.len())
        }
    };
    let count = reach.filter(near).filter(|other| is(&temporal.body, *other)).count();
    if temporal.none { bounded && count < temporal.least } else { count >= temporal.least }
}

fn fact() -> impl Strategy<Value = (FactKind, &'static str, &'static str, bool)> {
    let kind = prop::sample::select(vec![
        FactKind::Call,
        FactKind::Result,
        FactKind::Prune,
        FactKind::Prompt,
        FactKind::Answer,
    ]);
    (kind, prop::sample::select(vec!["a", "b"]), prop::sample::select(vec!["r", "w"]), any::<bool>())
}

fn facts() -> impl Strategy<Value = Vec<AuditFact>> {
    prop::collection::vec(fact(), 0..24).prop_map(|all| {
        let mut turn = 0;
        let mut seq = 0;
        let place = |(order, (kind, path, tool, joins)): (usize, (FactKind, &str, &str, bool))| {
            turn += u64::from(kind == FactKind::Prompt);
            seq += u64::from(!joins || order == 0);
            let session = SessionId::from_parts(1, 1);
            let place = FactPlace { session, seq: Seq(seq), at: Time(seq * 1_000), turn, order: order as u64 };
            let mut fields = BTreeMap::new();
            if matches!(kind, FactKind::Call | FactKind::Result | FactKind::Prune) {
                fields.insert(FactField::Path, FactValue::Text(path.to_owned()));
                fields.insert(FactField::Tool, FactValue::Text(tool.to_owned()));
            }
            AuditFact { kind, first: !joins || order == 0, place, fields, excerpt: String::new() }
        };
        all.into_iter().enumerate().map(place).collect()
    })
}

const OTHERS: &[&str] = &[
    "prune { path == x.path }",
    "result { tool == \"w\" }",
    "prompt",
    "event",
    "result { path == x.path and not tool == x.tool }",
    "call { path starts with x.path or tool == \"r\" }",
    "(result as y { path == x.path } and after call { tool == y.tool })",
    "(call as y and never prune { path == y.path } since prompt)",
    "(prune or answer)",
];
const WITHIN: &[&str] = &["", " within 2 events", " within 1 turns", " within 3s"];

fn expression() -> impl Strategy<Value = String> {
    let other = || prop::sample::select(OTHERS);
    let link =
        (0..9_usize, other(), other(), prop::sample::select(WITHIN)).prop_map(|(form, one, two, within)| match form {
            0 => format!("after {one}{within}"),
            1 => format!("not after {one}{within}"),
            2 => format!("before {one}{within}"),
            3 => format!("not before {one}{within}"),
            4 => format!("never {one} since {two}{within}"),
            5 => format!("exists {one} until {two}{within}"),
            6 => format!("at least 2 {one} since start{within}"),
            7 => format!("at least 3 {one}{within}"),
            _ => format!("exists {one} since {two}{within}"),
        });
    (prop::collection::vec((link, any::<bool>()), 1..4), any::<bool>()).prop_map(|(links, all)| {
        let mut text = if all { "event as x".to_owned() } else { "call as x { tool == \"w\" }".to_owned() };
        if all {
            // `x` needs fields.
            text = "result as x".to_owned();
        }
        for (link, or) in links {
            text = if or { format!("({text} and ({link}))") } else { format!("({text}) and not ({link})") };
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_rule_finds_what_its_expression_means(facts in facts(), text in expression()) {
        let plan = compile(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let expected: Vec<u64> =
            (0..facts.len()).filter(|at| holds(&plan, &plan.root, &facts, *at, None)).map(|at| at as u64).collect();
        let mut monitor = RuleMonitor::default();
        for fact in &facts {
            monitor.apply(&plan, fact);
            // Saved and resumed after each fact.
            let saved = serde_json::to_vec(&monitor).unwrap();
            let resumed: RuleMonitor = serde_json::from_slice(&saved).unwrap();
            prop_assert_eq!(&resumed, &monitor);
            monitor = resumed;
        }
        let (found, omitted) = monitor.at_the_end(&plan);
        let found: Vec<u64> = found.iter().map(|finding| finding.order).collect();
        prop_assert_eq!(omitted, 0);
        prop_assert_eq!(found, expected, "{}", text);
    }
}

#[test]
fn memory_is_bounded_by_constants_and_what_is_forgotten_is_known() {
    let plan =
        compile("call as x and after result { path starts with x.path } and before answer { at - x.at > 1d }").unwrap();
    let mut monitor = RuleMonitor::default();
    for order in 0..40_000_u64 {
        let kind = if order % 2 == 0 { FactKind::Result } else { FactKind::Call };
        let place =
            FactPlace { session: SessionId::from_parts(1, 1), seq: Seq(order), at: Time(order), turn: 1, order };
        let path = FactValue::Text("x".repeat(if order == 0 { 1_000_000 } else { 3 }));
        let fields = BTreeMap::from([(FactField::Path, path), (FactField::At, FactValue::Time(order as i64))]);
        monitor.apply(&plan, &AuditFact { kind, first: true, place, fields, excerpt: String::new() });
    }
    assert!(monitor.forgot);
    let saved = serde_json::to_vec(&monitor).unwrap();
    assert!(saved.len() < 4 << 20, "{} bytes", saved.len());
}
