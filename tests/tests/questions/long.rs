//! Long sessions in which little happens, and forks of them.
#![allow(dead_code, reason = "each story file uses its part")]

use annals_core::event::*;
use annals_core::{Event, Seq, SessionId, Time};
use annals_inspect::SessionAt;
use annals_store::cache::ViewCache;
use annals_store::{Draft, EventLog, MemoryLog};
use std::sync::Arc;

/// A Session of so many user turns, each with an answer; every hundredth is about a thing of its own.
pub async fn long(turns: u64) -> (Arc<dyn EventLog>, SessionId) {
    let (log, session): (Arc<dyn EventLog>, _) =
        (Arc::new(MemoryLog::new()), SessionId::from_parts(1_780_488_000_000, 3));
    let created = SessionCreated {
        location: Location { directory: "/project".into(), workspace: None },
        agent: "build".into(),
        model: "test/alpha".into(),
        policy: Policy::default(),
        title: None,
        parent: None,
        origin: None,
        process: None,
        key: annals_core::SessionKey([0x0f; 32]).into(),
    };
    append(&log, session, vec![created.into()]).await;
    for n in 0..turns {
        append(&log, session, turn(n, n.is_multiple_of(100))).await;
    }
    (log, session)
}

pub fn turn(n: u64, own: bool) -> Vec<Event> {
    let text = if own { format!("Tell me of thing-{n}.") } else { "Go on as before.".to_owned() };
    let (input, delivery) = (format!("in-{n}"), Delivery::Steer);
    let admitted =
        InputAdmitted { input: input.as_str().into(), text: text.as_str().into(), attachments: vec![], delivery };
    let started = StepStarted { agent: "build".into(), model: "test/alpha".into(), files: None, answer: None };
    let said = TextEnded { index: 0, text: "I went on as before.".into(), metadata: None };
    let ended = StepEnded { finish: Finish::Stop, usage: None, cost: 0, files: None, changed: vec![] };
    let promoted = InputPromoted { input: input.as_str().into() };
    vec![admitted.into(), promoted.into(), started.into(), said.into(), ended.into()]
}

pub async fn append(log: &Arc<dyn EventLog>, session: SessionId, events: Vec<Event>) -> Seq {
    let expected = log.head(session).await.unwrap().map_or(Seq::ZERO, |head| head.next);
    let draft = Draft { session, expected, at: Time(1_000 + expected.0), events, digest: None, states: Vec::new() };
    log.append(draft).await.unwrap().batch.next()
}

/// The same session, gone on for so many turns after everything that it holds.
pub async fn forked(log: &Arc<dyn EventLog>, parent: SessionId, n: u128, turns: u64) -> SessionId {
    let head = log.head(parent).await.unwrap().unwrap();
    let session = SessionId::from_parts(1_780_488_000_001, n);
    let fork = SessionForked {
        parent,
        cut: head.next,
        parent_digest: head.digest,
        title: None,
        origin: None,
        key: annals_core::SessionKey([0x0f; 32]).into(),
    };
    let draft = Draft {
        session,
        expected: head.next,
        at: Time(2_000_000),
        events: vec![fork.into()],
        digest: None,
        states: Vec::new(),
    };
    log.append(draft).await.unwrap();
    for turn_of_fork in 0..turns {
        let unlike = format!("fork-{n}-{turn_of_fork}");
        let mut events = turn(turn_of_fork, false);
        for event in &mut events {
            match event {
                Event::Input(InputEvent::Admitted(admitted)) => {
                    (admitted.input, admitted.text) = (unlike.as_str().into(), unlike.as_str().into());
                }
                Event::Input(InputEvent::Promoted(promoted)) => promoted.input = unlike.as_str().into(),
                _ => {}
            }
        }
        append(log, session, events).await;
    }
    session
}

pub async fn past(log: &Arc<dyn EventLog>, cache: Option<&Arc<ViewCache>>, session: SessionId) -> SessionAt {
    let until = log.head(session).await.unwrap().unwrap().next;
    SessionAt::new(Arc::clone(log), cache.cloned(), session, until)
}
