use super::{Unpriced, UsageTotals};
use crate::facts::*;
use alloc::vec;
use alloc::vec::Vec;
use annals_core::event::*;
use annals_core::{Digest, Event, RequestId, Seq, SessionId, Time};

/// Usage with a different number in each field.
fn tokens(n: u64) -> Option<Usage> {
    Some(Usage { input: n, output: 2 * n, reasoning: 3 * n, cache_read: 4 * n, cache_write: 5 * n })
}

fn failure() -> Failure {
    Failure { kind: "transport".into(), message: "no".into(), status: None }
}

fn step_ended(usage: Option<Usage>, cost: u64) -> Event {
    StepEnded { finish: Finish::Stop, usage, cost, files: None, changed: Vec::new() }.into()
}

fn step_failed(usage: Option<Usage>, cost: u64) -> Event {
    StepFailed { error: failure(), usage, cost }.into()
}

fn retry(usage: Option<Usage>, cost: u64) -> Event {
    RetryScheduled { attempt: 2, at: Time(9), error: failure(), usage, cost }.into()
}

fn summarised(usage: Option<Usage>, cost: u64) -> Event {
    let (summary, recent) = ("".into(), "".into());
    CompactionEnded { reason: CompactionReason::Manual, summary, recent, estimate: 0, usage, cost }.into()
}

fn summary_failed(usage: Option<Usage>, cost: u64) -> Event {
    CompactionFailed { reason: CompactionReason::Manual, error: failure(), usage, cost }.into()
}

fn titled(usage: Option<Usage>, cost: u64) -> Event {
    SessionTitled { title: "one".into(), request: None, usage, cost }.into()
}

fn title_failed(usage: Option<Usage>, cost: u64) -> Event {
    TitleFailed { request: RequestId::from_parts(0, 1), error: failure(), usage, cost }.into()
}

/// Everything that ends an attempt.
const ENDS: [fn(Option<Usage>, u64) -> Event; 7] =
    [step_ended, step_failed, retry, summarised, summary_failed, titled, title_failed];

fn forked() -> Event {
    SessionForked {
        parent: SessionId::from_parts(1, 1),
        cut: Seq(1),
        parent_digest: Digest([0; 32]),
        title: None,
        origin: None,
        key: annals_core::SessionKey([0x0f; 32]).into(),
    }
    .into()
}

#[test]
fn every_attempt_that_reported_counts_in_every_field() {
    for end in ENDS {
        let totals = fold::<UsageTotals>(&[end(tokens(1), 7), end(tokens(10), 70), end(None, 5)]);
        let expected = UsageTotals { tokens: tokens(11).unwrap_or_default(), cost: 82, attempts: 2, unpriced: 0 };
        assert_eq!(totals, expected, "{}", end(None, 0).kind().name());
    }
}

#[test]
fn tokens_without_a_cost_are_unpriced_and_no_tokens_are_not() {
    let ended = [
        step_ended(tokens(1), 0),
        step_ended(Some(Usage::default()), 0),
        step_ended(tokens(1), 1),
        step_ended(Some(Usage::default()), 1),
        step_ended(None, 0),
    ];
    let totals = fold::<UsageTotals>(&ended);
    assert_eq!((totals.attempts, totals.unpriced, totals.cost), (4, 1, 2));
}

#[test]
fn a_fork_starts_at_nothing() {
    let events = [step_ended(tokens(1), 0), forked()];
    assert_eq!(fold::<UsageTotals>(&events), UsageTotals::default());
    assert!(fold::<Unpriced>(&events).tokens.is_empty());
    let events = [step_ended(tokens(1), 0), forked(), step_ended(tokens(2), 3)];
    assert_eq!((fold::<UsageTotals>(&events).cost, fold::<UsageTotals>(&events).attempts), (3, 1));
}

fn sent(purpose: Purpose, model: &str) -> Event {
    RequestSent {
        request: RequestId::from_parts(0, 1),
        purpose,
        attempt: 1,
        digest: Digest([0; 32]),
        wire: None,
        agent: "build".into(),
        model: model.into(),
        agent_profile: Digest([0; 32]),
        model_profile: Digest([0; 32]),
        tools: None,
        options: Digest([0; 32]),
        last_step: false,
        prompt: None,
    }
    .into()
}

/// Input tokens by model.
fn by_model(events: &[Event]) -> Vec<(alloc::string::String, u64)> {
    let unpriced = fold::<Unpriced>(&[&[created(Switch::Keep, Switch::Keep)], events].concat());
    unpriced.tokens.iter().map(|(model, usage)| (model.as_str().into(), usage.input)).collect()
}

#[test]
fn unpriced_tokens_belong_to_the_model_that_was_asked() {
    assert_eq!(by_model(&[step_ended(tokens(1), 0)]), [("test/alpha".into(), 1)], "the model of the session");
    let beta = StepStarted { agent: "build".into(), model: "test/beta".into(), files: None, answer: None };
    assert_eq!(by_model(&[beta.into(), retry(tokens(2), 0), step_failed(tokens(3), 0)]), [("test/beta".into(), 5)]);
    assert_eq!(by_model(&[sent(Purpose::Turn, "test/gamma"), step_ended(tokens(4), 0)]), [("test/gamma".into(), 4)]);
    let small = CompactionStarted { reason: CompactionReason::Auto, model: Some("test/small".into()), estimate: 0 };
    for begin in [sent(Purpose::Summary, "test/small"), small.into()] {
        let events = [begin, summarised(tokens(5), 0), summary_failed(tokens(6), 0), step_ended(tokens(7), 0)];
        assert_eq!(by_model(&events), [("test/alpha".into(), 7), ("test/small".into(), 11)]);
    }
    let events = [sent(Purpose::Title, "test/tiny"), titled(tokens(8), 0), title_failed(tokens(9), 0)];
    assert_eq!(by_model(&events), [("test/tiny".into(), 17)]);
    let alone = [summarised(tokens(1), 0), titled(tokens(1), 0)];
    assert_eq!(by_model(&alone), [("test/alpha".into(), 2)], "nobody else was asked");
}

#[test]
fn priced_tokens_are_not_among_the_unpriced() {
    assert_eq!(by_model(&[step_ended(tokens(1), 1), step_ended(Some(Usage::default()), 0)]), vec![]);
}
