//! The folds that a reader asks: the index of requests, statistics, the timeline.

use super::fold;
use crate::story::{KEY, Writer, commands};
use annals_core::event::{InputEvent, Purpose, SessionForked, StepEvent, ToolEvent};
use annals_core::{Batch, Event, NoBlobs, Seq, SessionId, Time};
use annals_projections::{EntryKind, Projection, RequestIndex, Statistics, Timeline, TimelineEntry};
use proptest::prelude::*;

fn of<P: Projection>(log: &[Batch]) -> P {
    let mut view = P::default();
    log.iter().flat_map(Batch::records).for_each(|record| view.apply(&record));
    view
}

fn count(log: &[Batch], counted: impl Fn(&Event) -> bool) -> u64 {
    log.iter().flat_map(|batch| &batch.events).filter(|event| counted(event)).count() as u64
}

fn entries(log: &[Batch]) -> Vec<TimelineEntry> {
    of::<Timeline>(log).finish()
}

fn forked(log: &[Batch]) -> Batch {
    let last = log.last().unwrap();
    let child = SessionId::from_parts(1_780_488_000_000, 2);
    let (parent, cut, parent_digest) = (last.session, last.next(), last.digest);
    let forked = SessionForked { parent, cut, parent_digest, title: None, origin: None, key: KEY.into() };
    let at = Time(last.at.0 + 1);
    Batch::seal(&KEY, &NoBlobs, child, last.next(), at, Some(last.digest), vec![forked.into()]).unwrap().batch
}

proptest! {
    #[test]
    fn entries_taken_out_as_soon_as_they_are_given_are_those_of_the_whole_timeline(commands in commands()) {
        let log = Writer::run(&commands).batches;
        let (mut timeline, mut taken) = (Timeline::default(), Vec::new());
        for record in log.iter().flat_map(Batch::records) {
            timeline.apply(&record);
            while let Some(entry) = timeline.pop() {
                taken.push(entry);
            }
        }
        taken.extend(timeline.finish());
        prop_assert_eq!(taken, entries(&log));
    }

    #[test]
    fn a_timeline_has_every_user_message_call_and_fragment_once(commands in commands()) {
        let log = Writer::run(&commands).batches;
        let entries = entries(&log);
        let shown = |is: fn(&EntryKind) -> bool| entries.iter().filter(|entry| is(&entry.kind)).count() as u64;
        let promoted = count(&log, |event| matches!(event, Event::Input(InputEvent::Promoted(_))));
        prop_assert_eq!(shown(|kind| matches!(kind, EntryKind::User { .. })), promoted);
        let called = count(&log, |event| matches!(event, Event::Tool(ToolEvent::Called(_))));
        prop_assert_eq!(shown(|kind| matches!(kind, EntryKind::Call(_))), called);
        let texts = count(&log, |event| matches!(event, Event::Step(StepEvent::TextEnded(_))));
        prop_assert_eq!(shown(|kind| matches!(kind, EntryKind::Answer { .. })), texts);
        let turns = entries.iter().filter(|entry| matches!(entry.kind, EntryKind::Turn { .. })).count();
        let joined = entries.iter().filter(|entry| matches!(entry.kind, EntryKind::User { joined: Some(_), .. })).count();
        prop_assert_eq!((turns + joined) as u64, promoted);
    }

    #[test]
    fn the_index_and_the_statistics_count_what_the_log_contains(commands in commands()) {
        let log = Writer::run(&commands).batches;
        let (index, statistics, view) = (of::<RequestIndex>(&log), of::<Statistics>(&log), fold(&log));
        let recorded: Vec<Seq> = index.requests.iter().filter(|it| it.recorded).map(|it| it.seq).collect();
        let marks: Vec<Seq> = view.requests.marks.iter().map(|mark| mark.seq).collect();
        prop_assert_eq!(recorded, marks);
        prop_assert!(index.requests.iter().zip(1..).all(|(request, number)| request.number == number));
        prop_assert!(index.requests.iter().is_sorted_by_key(|request| request.seq));
        let turns = index.requests.iter().filter(|it| it.recorded && it.purpose == Purpose::Turn).count() as u64;
        prop_assert_eq!(statistics.requests, turns);
        prop_assert_eq!(index.users.len() as u64, statistics.turns);
        prop_assert_eq!(statistics.events, log.iter().map(|batch| batch.events.len() as u64).sum::<u64>());
        prop_assert_eq!(statistics.steps, count(&log, |event| matches!(event, Event::Step(StepEvent::Started(_)))));
        prop_assert_eq!(statistics.usage, view.usage);
        prop_assert_eq!(statistics.anomalies(), view.anomalies());
        let cost: u64 = index.requests.iter().filter_map(|it| it.answer).map(|end| end.cost).sum();
        prop_assert!(cost <= view.usage.cost, "no cost is counted twice");
    }

    #[test]
    fn a_fork_inherits_user_messages_and_no_requests(commands in commands()) {
        let log = Writer::run(&commands).batches;
        let (parent, fork) = (of::<RequestIndex>(&log), forked(&log));
        let mut child = parent.clone();
        fork.records().for_each(|record| child.apply(&record));
        prop_assert!(child.requests.is_empty());
        prop_assert_eq!(&child.users, &parent.users);
        prop_assert_eq!(child.returns.last(), Some(&fork.first));
        let mut timeline = of::<Timeline>(&log);
        fork.records().for_each(|record| timeline.apply(&record));
        let inherited = entries(&log);
        let entries = timeline.finish();
        prop_assert!(entries.len() > inherited.len());
        prop_assert!(entries.iter().any(|entry| entry.seq == fork.first));
    }
}
