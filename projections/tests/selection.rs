//! What the history selects in logs that no scenario can write.

use annals_core::event::*;
use annals_core::{Event, Record, Seq, SessionId, Time};
use annals_projections::{Body, History, Projection};

/// The history after some events.
fn fold(events: &[Event]) -> History {
    let mut history = History::default();
    for (seq, event) in (0..).zip(events) {
        let session = SessionId::from_parts(1_780_488_000_000, 1);
        history.apply(&Record { session, seq: Seq(seq), at: Time(1_780_488_000_000), event });
    }
    history
}

fn input(id: &str) -> [Event; 2] {
    let admitted =
        InputAdmitted { input: id.into(), text: id.into(), attachments: Vec::new(), delivery: Delivery::Steer };
    [admitted.into(), InputPromoted { input: id.into() }.into()]
}

#[test]
fn a_context_message_between_a_compaction_and_its_epoch_stays() {
    let epoch = |cause| -> Event {
        EpochStarted {
            cause,
            agent: "build".into(),
            location: Location { directory: "/project".into(), workspace: None },
            parts: Vec::new(),
            entries: Default::default(),
            known: true,
        }
        .into()
    };
    let context = |text: &str| -> Event { ContextAdmitted { keys: Vec::new(), text: text.into() }.into() };
    let compacted = CompactionEnded {
        reason: CompactionReason::Auto,
        summary: "summary".into(),
        recent: "".into(),
        estimate: 0,
        usage: None,
        cost: 0,
    };
    let mut events = vec![epoch(EpochCause::FirstTurn), context("before")];
    events.extend(input("one"));
    // As an imported log has it: the runtime itself begins the epoch first.
    events.extend([compacted.into(), context("between"), epoch(EpochCause::Compaction), context("after")]);
    let history = fold(&events);
    let texts: Vec<&str> = history
        .selected()
        .filter_map(|message| match &message.body {
            Body::System { text, .. } => text.inline(),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["between", "after"]);
}
