use super::Permissions;
use crate::facts::*;
use alloc::vec;
use alloc::vec::Vec;
use annals_core::event::*;
use annals_core::{Digest, Event, Seq, SessionId};

fn asked(id: &str, call: Option<&str>) -> Event {
    PermissionAsked {
        permission: id.into(),
        call: call.map(Into::into),
        agent: "build".into(),
        action: "edit".into(),
        resources: vec!["a.txt".into()],
    }
    .into()
}

fn rule(resource: &str) -> Rule {
    Rule { action: "edit".into(), resource: resource.into(), effect: Effect::Allow }
}

fn replied(id: &str, rules: &[&str]) -> Event {
    PermissionReplied {
        permission: id.into(),
        reply: Reply::Always,
        feedback: None,
        by: "user".into(),
        rules: rules.iter().map(|resource| rule(resource)).collect(),
    }
    .into()
}

fn waiting(permissions: &Permissions) -> Vec<(&str, Seq)> {
    permissions.waiting.iter().map(|(id, question)| (id.as_str(), question.seq)).collect()
}

#[test]
fn a_question_waits_until_it_is_answered_and_rules_add_up() {
    let asks = [asked("p1", Some("c1")), asked("p2", Some("c2")), asked("p3", None)];
    let permissions = fold::<Permissions>(&asks);
    assert_eq!(waiting(&permissions), [("p1", Seq(0)), ("p2", Seq(1)), ("p3", Seq(2))]);
    let answers = [replied("p1", &["a.txt"]), replied("p3", &["b.txt", "c.txt"])];
    let permissions = fold::<Permissions>(&[&asks[..], &answers].concat());
    assert_eq!(waiting(&permissions), [("p2", Seq(1))]);
    assert_eq!(permissions.rules, [rule("a.txt"), rule("b.txt"), rule("c.txt")], "in the order of the answers");
    assert_eq!(permissions.anomalies.count, 0);
}

#[test]
fn an_answer_without_a_question_is_an_anomaly_and_its_rules_count() {
    let permissions = fold::<Permissions>(&[replied("p1", &["a.txt"])]);
    assert_eq!((permissions.anomalies.count, permissions.rules.as_slice()), (1, [rule("a.txt")].as_slice()));
}

#[test]
fn a_settled_call_withdraws_its_own_question_only() {
    let events = [asked("p1", Some("c1")), asked("p2", Some("c2")), asked("p3", None), settled("c1", "")];
    assert_eq!(waiting(&fold::<Permissions>(&events)), [("p2", Seq(1)), ("p3", Seq(2))]);
}

#[test]
fn a_revert_takes_questions_from_its_boundary_on_and_no_rule() {
    let events = [replied("p0", &["a.txt"]), asked("p1", None), asked("p2", None), asked("p3", None), reverted(2)];
    let permissions = fold::<Permissions>(&events);
    assert_eq!(waiting(&permissions), [("p1", Seq(1))]);
    assert_eq!(permissions.rules, [rule("a.txt")]);
}

#[test]
fn a_fork_inherits_neither_questions_nor_rules() {
    let forked = SessionForked {
        parent: SessionId::from_parts(1, 1),
        cut: Seq(3),
        parent_digest: Digest([0; 32]),
        title: None,
        origin: None,
        key: annals_core::SessionKey([0x0f; 32]).into(),
    };
    let events = [asked("p1", None), asked("p2", None), replied("p2", &["a.txt"]), forked.into()];
    let permissions = fold::<Permissions>(&events);
    assert!(permissions.waiting.is_empty() && permissions.rules.is_empty());
}
