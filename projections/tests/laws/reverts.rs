//! Reverts: staged and cleared, or committed.

use super::{but_for_time, fold, transcript};
use crate::story::{Command, Writer, commands};
use annals_core::event::SessionEvent;
use annals_core::{Batch, Event, NoBlobs, Seq};
use annals_projections::{Body, History, SessionView, ToJson};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;

proptest! {
    #[test]
    fn staging_a_revert_and_clearing_it_is_the_identity_on_every_view(commands in commands(), n in any::<u8>()) {
        let mut writer = Writer::run(&commands);
        writer.command(&Command::ClearRevert);
        writer.command(&Command::EndStep);
        let before = writer.batches.clone();
        writer.command(&Command::StageRevert(n));
        writer.command(&Command::ClearRevert);
        prop_assert_eq!(but_for_time(&fold(&before)), but_for_time(&fold(&writer.batches)));
        let (before_view, after_view) = (fold(&before), fold(&writer.batches));
        prop_assert_eq!(transcript(&before_view, &before), transcript(&after_view, &writer.batches));
    }

    #[test]
    fn a_committed_revert_leaves_the_history_that_stood_before_its_boundary(commands in commands(), n in any::<u8>()) {
        let mut writer = Writer::run(&commands);
        writer.command(&Command::ClearRevert);
        writer.command(&Command::EndStep);
        writer.command(&Command::StageRevert(n));
        let staged = fold(&writer.batches).session.revert;
        writer.command(&Command::CommitRevert);
        let Some(revert) = staged else { return Ok(()) };
        let never: Vec<Batch> =
            writer.batches.iter().take_while(|batch| batch.first < revert.first_removed).cloned().collect();
        let after = fold(&writer.batches);
        let seqs = |history: &History| -> Vec<Seq> {
            let system = |body: &Body| matches!(body, Body::System { .. });
            history.selected().filter(|message| !system(&message.body)).map(|message| message.seq).collect()
        };
        // System messages are apart: which of them are selected hangs on the epoch, which ended.
        prop_assert_eq!(seqs(&after.history), seqs(&fold(&never).history));
        prop_assert!(after.epochs.current.is_none());
        prop_assert_eq!(after.session.revert, None);
        prop_assert!(after.history.selected().all(|message| message.seq < revert.first_removed));
    }

    #[test]
    fn a_committed_revert_equals_never_having_had_what_it_removed(commands in commands(), n in any::<u8>()) {
        let mut writer = Writer::run(&commands);
        writer.command(&Command::ClearRevert);
        writer.command(&Command::EndStep);
        writer.command(&Command::StageRevert(n));
        let before = fold(&writer.batches);
        let Some(revert) = before.session.revert.clone() else { return Ok(()) };
        writer.command(&Command::CommitRevert);
        let never: Vec<Batch> =
            writer.batches.iter().take_while(|batch| batch.first < revert.first_removed).cloned().collect();
        let (after, never) = (fold(&writer.batches), fold(&never));
        let talk = |view: &SessionView| -> Vec<Value> {
            let system = |body: &Body| matches!(body, Body::System { .. });
            let messages = view.history.selected().filter(|message| !system(&message.body));
            messages.map(|message| message.to_json(&NoBlobs)).collect()
        };
        // A call that was open at the boundary may have settled since: it stands before it, and its result stays.
        if never.calls.open.is_empty() && !never.calls.step_open {
            prop_assert_eq!(talk(&after), talk(&never));
        }
        // The message's own input is used up; what was admitted after it is gone; what waited before it waits, unless it
        // was taken back or joined since.
        let waited: BTreeSet<_> = never.inbox.pending.iter().map(|pending| pending.input.clone()).collect();
        prop_assert!(after.inbox.pending.iter().all(|pending| waited.contains(&pending.input)));
        prop_assert!(after.calls.open.iter().all(|open| never.calls.is_used(&open.call)));
        // What the removed steps changed is told no more; a move among them has begun anew all the same.
        let removed = writer.batches.iter().filter(|batch| batch.first >= revert.first_removed);
        if !removed.flat_map(|batch| &batch.events).any(|event| matches!(event, Event::Session(SessionEvent::Moved(_)))) {
            prop_assert_eq!(after.session.changed.totals(), never.session.changed.totals());
            prop_assert_eq!(&after.session.changed.first, &never.session.changed.first);
        }
        // What stays: usage, what a person was shown, who and where the session is.
        prop_assert_eq!(after.usage.to_json(&NoBlobs), before.usage.to_json(&NoBlobs));
        let seqs = |view: &SessionView| view.transcript.items.iter().map(|item| item.seq).collect::<Vec<_>>();
        prop_assert_eq!(seqs(&after), seqs(&before));
        for item in &after.transcript.items {
            prop_assert_eq!(after.transcript.is_removed(item.seq), item.seq >= revert.first_removed || before.transcript.is_removed(item.seq));
        }
        prop_assert_eq!(
            (&after.session.agent, &after.session.model, &after.session.title, &after.session.location),
            (&before.session.agent, &before.session.model, &before.session.title, &before.session.location)
        );
        prop_assert_eq!(after.session.titling, before.session.titling, "a title is asked for beside the talk");
    }
}
