use super::{QUARTER_HOUR, Spending};
use crate::facts::{created, ended as ended_without_usage};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use annals_core::event::*;
use annals_core::{Event, Record, Seq, SessionId, Time};

fn started(answer: Option<(&str, Option<&str>)>) -> Event {
    let answer =
        answer.map(|(message, request)| AnswerId { message: message.into(), request: request.map(Into::into) });
    StepStarted { agent: "build".into(), model: "test/alpha".into(), files: None, answer }.into()
}

fn ended(input: u64, output: u64) -> Event {
    let usage = Usage { input, output, ..Usage::default() };
    StepEnded { finish: Finish::Stop, usage: Some(usage), cost: 0, files: None, changed: Vec::new() }.into()
}

/// Records of several sessions, with their times.
fn fold(sessions: &[(u64, &[(u64, Event)])]) -> Spending {
    let mut spending = Spending::default();
    for (session, events) in sessions {
        let session = SessionId::from_parts(*session, 0);
        let first = (0, created(Switch::Keep, Switch::Keep));
        for (seq, (at, event)) in (0..).zip([first].iter().chain(*events)) {
            spending.apply(&Record { session, seq: Seq(seq), at: Time(*at), event });
        }
    }
    spending
}

/// Input and output of every session.
fn tokens(spending: &Spending) -> Vec<(u64, u64)> {
    let of = |cells: &[super::SpendingCell]| {
        cells.iter().fold((0, 0), |sum, cell| (sum.0 + cell.tokens.input, sum.1 + cell.tokens.output))
    };
    spending.sessions.values().map(|session| of(&session.cells)).collect()
}

#[test]
fn an_answer_that_was_copied_into_another_session_counts_once() {
    let both = Some(("msg_1", Some("req_1")));
    let first: &[_] = &[(5, started(both)), (6, ended(10, 1)), (7, started(Some(("msg_2", Some("r")))))];
    let copy: &[_] = &[(99, started(both)), (99, ended(10, 1)), (99, started(None)), (99, ended(7, 2))];
    assert_eq!(tokens(&fold(&[(1, first), (2, copy)])), [(10, 1), (7, 2)]);
}

#[test]
fn without_the_id_of_a_request_a_copy_is_known_by_its_time_and_answers_without_ids_all_count() {
    let message = Some(("msg_1", None));
    let one: &[_] = &[(5, started(message)), (6, ended(10, 1))];
    let later: &[_] = &[(8, started(message)), (9, ended(10, 1))];
    assert_eq!(tokens(&fold(&[(1, one), (2, one), (3, later)])), [(10, 1), (0, 0), (10, 1)]);
    let nameless: &[_] = &[(5, started(None)), (6, ended(10, 1))];
    assert_eq!(tokens(&fold(&[(1, nameless), (2, nameless)])), [(10, 1), (10, 1)]);
}

#[test]
fn an_answer_in_two_parts_counts_what_its_last_part_says() {
    let both = Some(("msg_1", Some("req_1")));
    let parts: &[_] = &[(5, started(both)), (6, ended(10, 1)), (7, started(both)), (8, ended(10, 4))];
    assert_eq!(tokens(&fold(&[(1, parts), (2, parts)])), [(10, 4), (0, 0)]);
}

#[test]
fn cells_are_quarters_of_an_hour_in_order_and_a_fork_uses_what_it_did_itself() {
    let late: &[_] = &[
        (QUARTER_HOUR, started(None)),
        (QUARTER_HOUR, ended(1, 0)),
        (0, started(None)),
        (QUARTER_HOUR - 1, ended(2, 0)),
        (QUARTER_HOUR + 1, ended_without_usage()),
    ];
    let mut spending = fold(&[(1, late)]);
    let parent = SessionId::from_parts(1, 0);
    let found: Vec<(u64, u64)> =
        spending.sessions[&parent].cells.iter().map(|cell| (cell.from().0, cell.tokens.input)).collect();
    assert_eq!(found, [(0, 2), (QUARTER_HOUR, 1)]);
    let forked: Event = SessionForked {
        parent,
        cut: Seq(3),
        parent_digest: annals_core::Digest([0; 32]),
        title: None,
        origin: None,
        key: annals_core::SessionKey([0x0f; 32]).into(),
    }
    .into();
    let fork = SessionId::from_parts(2, 0);
    for (seq, event) in (3..).zip(&vec![forked, ended(5, 0)]) {
        spending.apply(&Record { session: fork, seq: Seq(seq), at: Time(1), event });
    }
    assert_eq!(spending.sessions[&fork].cells.len(), 1);
    let models: Vec<String> = spending.models.iter().map(|model| model.as_str().into()).collect();
    assert_eq!(models, ["test/alpha"]);
}

#[test]
fn a_saved_fold_continues_where_it_was_saved() {
    let both = Some(("msg_1", Some("req_1")));
    let events = [(5, started(both)), (6, ended(10, 1)), (7, started(both)), (8, ended(10, 4)), (9, started(both))];
    let session = SessionId::from_parts(1, 0);
    let record = |seq: usize| Record { session, seq: Seq(seq as u64), at: Time(events[seq].0), event: &events[seq].1 };
    for cut in 0..=events.len() {
        let mut saved = Spending::default();
        (0..cut).for_each(|seq| saved.apply(&record(seq)));
        let mut read: Spending = serde_json::from_str(&serde_json::to_string(&saved).unwrap()).unwrap();
        assert_eq!(read, saved);
        (cut..events.len()).for_each(|seq| read.apply(&record(seq)));
        let mut whole = Spending::default();
        (0..events.len()).for_each(|seq| whole.apply(&record(seq)));
        assert_eq!(read, whole, "{cut}");
    }
}
