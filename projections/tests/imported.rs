//! Sessions of other agents: what they do not record is unknown, not wrong and not free.

use annals_core::event::*;
use annals_core::{Batch, Event, NoBlobs, Seq, SessionId, Time};
use annals_projections::{Projection, SessionView, ToJson, Unpriced};
use std::collections::BTreeMap;

fn view(events: Vec<Event>) -> (SessionView, Unpriced) {
    let sealed = Batch::seal(
        &annals_core::SessionKey([0x0f; 32]),
        &annals_core::NoBlobs,
        SessionId::from_parts(1, 1),
        Seq::ZERO,
        Time(1),
        None,
        events,
    )
    .unwrap();
    let (mut view, mut unpriced) = (SessionView::default(), Unpriced::default());
    for record in sealed.batch.records() {
        view.apply(&record);
        unpriced.apply(&record);
    }
    (view, unpriced)
}

fn created(imported: bool) -> Event {
    let origin = imported.then(|| Origin {
        agent: "opencode".into(),
        form: "v2-events".into(),
        id: "ses_1".into(),
        importer: 1,
        version: None,
    });
    SessionCreated {
        location: Location { directory: "/project".into(), workspace: None },
        agent: "build".into(),
        model: "test/alpha".into(),
        policy: Policy::default(),
        title: None,
        parent: None,
        origin,
        process: None,
        key: annals_core::SessionKey([0x0f; 32]).into(),
    }
    .into()
}

#[test]
fn a_context_update_without_a_recorded_system_prompt_is_no_anomaly_of_an_imported_session() {
    let update = || SnapshotAdvanced { set: BTreeMap::new(), removed: vec!["core/date".parse().unwrap()] }.into();
    assert_eq!(view(vec![created(true), update()]).0.anomalies().len(), 0);
    let (own, _) = view(vec![created(false), update()]);
    let what: Vec<&str> = own.anomalies().iter().map(|anomaly| &*anomaly.what).collect();
    assert_eq!(what, ["a context update is recorded while no system prompt is in force"]);
}

#[test]
fn an_attempt_without_a_recorded_cost_is_counted_as_unpriced_under_its_model() {
    let used = |input, cost| StepEnded {
        finish: Finish::Stop,
        usage: Some(Usage { input, ..Usage::default() }),
        cost,
        files: None,
        changed: Vec::new(),
    };
    let step = |model: &str| StepStarted { agent: "build".into(), model: model.into(), files: None, answer: None };
    let events = vec![
        created(true),
        step("test/alpha").into(),
        used(10, 7).into(),
        step("test/beta").into(),
        used(20, 0).into(),
        step("test/beta").into(),
        used(22, 0).into(),
        // Nothing was used: nothing is missing.
        step("test/alpha").into(),
        used(0, 0).into(),
    ];
    let (view, unpriced) = view(events);
    let usage = view.usage.to_json(&NoBlobs);
    assert_eq!((&usage["unpriced"], &usage["cost"], &usage["input"]), (&2.into(), &7.into(), &52.into()));
    let tokens: Vec<(&str, u64)> = unpriced.tokens.iter().map(|(model, usage)| (model.as_str(), usage.input)).collect();
    assert_eq!(tokens, [("test/beta", 42)]);
}
