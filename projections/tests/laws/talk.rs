//! What a log says, told a second time from its events alone.

use super::fold;
use crate::story::{Writer, commands};
use annals_core::event::{ContextEvent, FilesEvent, InputEvent, MessageEvent, SessionEvent, ToolEvent, ToolOutcome};
use annals_core::{Batch, Event, Seq};
use annals_projections::{Body, Content, Messages, Status};
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #[test]
    fn a_promoted_input_is_not_pending_and_no_input_is_both(commands in commands()) {
        let log = Writer::run(&commands).batches;
        let view = fold(&log);
        let pending: BTreeSet<_> = view.inbox.pending.iter().map(|pending| &pending.input).collect();
        let promoted: BTreeSet<_> = log.iter().flat_map(|batch| &batch.events).filter_map(|event| match event {
            Event::Input(InputEvent::Promoted(promoted)) => Some(&promoted.input),
            _ => None,
        }).collect();
        prop_assert!(pending.is_disjoint(&promoted));
        prop_assert!(pending.iter().chain(&promoted).all(|input| view.inbox.used.contains_key(*input)));
    }

    #[test]
    fn every_settled_call_pairs_with_its_call(commands in commands()) {
        let log = Writer::run(&commands).batches;
        let mut messages = Messages::default();
        log.iter().flat_map(Batch::records).for_each(|record| { messages.apply(&record); });
        let settled: Vec<_> = log.iter().flat_map(|batch| &batch.events).filter_map(|event| match event {
            Event::Tool(ToolEvent::Settled(settled)) => Some((settled.call.clone(), settled.outcome)),
            _ => None,
        }).collect();
        let shown: Vec<_> = messages.list().iter().flat_map(|message| match &message.body {
            Body::Assistant(assistant) => assistant.content.clone(),
            _ => Vec::new(),
        }).filter_map(|content| match content {
            Content::Tool(call) => Some((call.call.clone(), call.status)),
            _ => None,
        }).collect();
        for (call, outcome) in settled {
            let status = if outcome == ToolOutcome::Completed { Status::Completed } else { Status::Error };
            prop_assert!(shown.contains(&(call, status)));
        }
    }

    #[test]
    fn the_snapshot_is_the_epochs_entries_plus_its_advances(commands in commands()) {
        let log = Writer::run(&commands).batches;
        let view = fold(&log);
        let mut expected = std::collections::BTreeMap::new();
        for event in log.iter().flat_map(|batch| &batch.events) {
            match event {
                Event::Context(ContextEvent::EpochStarted(started)) => expected = started.entries.clone(),
                Event::Context(ContextEvent::SnapshotAdvanced(advanced)) => {
                    expected.extend(advanced.set.clone());
                    advanced.removed.iter().for_each(|key| { expected.remove(key); });
                }
                Event::Session(SessionEvent::Moved(_)) | Event::Files(FilesEvent::RevertCommitted(_)) => expected.clear(),
                _ => {}
            }
        }
        prop_assert_eq!(view.epochs.snapshot().0, expected);
    }

    #[test]
    fn a_pinned_message_is_in_the_history_whatever_was_compacted(commands in commands()) {
        let log = Writer::run(&commands).batches;
        // What is pinned, told from the events alone: a revert takes later pins and their messages with it.
        let mut pins: Vec<(Seq, Seq, bool)> = Vec::new();
        for record in log.iter().flat_map(Batch::records) {
            match record.event {
                Event::Message(MessageEvent::Pinned(pinned)) => pins.push((pinned.message, record.seq, true)),
                Event::Message(MessageEvent::Unpinned(unpinned)) => pins.push((unpinned.message, record.seq, false)),
                Event::Files(FilesEvent::RevertCommitted(revert)) => pins.retain(|(_, at, _)| *at < revert.first_removed),
                _ => {}
            }
        }
        let view = fold(&log);
        let shown: Vec<Seq> = view.history.selected().map(|message| message.seq).collect();
        for (message, ..) in &pins {
            let last = pins.iter().rev().find(|(other, ..)| other == message).map(|(.., pinned)| *pinned);
            if last == Some(true) {
                prop_assert!(shown.contains(message), "{message} is pinned and not in {shown:?}");
            }
        }
        prop_assert!(shown.is_sorted());
    }
}
