//! Laws of the folds, over generated logs. `PROPTEST_CASES=10000 cargo test -p annals-projections --test laws` is what
//! `.ci/run` asks for.

mod story;

use annals_core::event::{SessionForked, ToolOutcome};
use annals_core::{Batch, Event, NoBlobs, Record, Seq, SessionId, Time};
use annals_projections::{Body, Content, History, Messages, Projection, SessionView, Status, ToJson, Transcript};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use story::{Command, Writer, commands};

fn fold<'a>(batches: impl IntoIterator<Item = &'a Batch>) -> SessionView {
    let mut view = SessionView::default();
    feed(&mut view, batches);
    view
}

fn feed<'a>(view: &mut SessionView, batches: impl IntoIterator<Item = &'a Batch>) {
    for batch in batches {
        batch.records().for_each(|record| view.apply(&record));
    }
}

/// Every view as a reader gets it.
fn shown(view: &SessionView) -> Value {
    json!({
        "session": view.session.to_json(None, &NoBlobs),
        "history": view.history.to_json(&NoBlobs),
        "baseline": view.epochs.baseline_json(&NoBlobs),
        "snapshot": view.epochs.snapshot_json(&NoBlobs),
        "epochs": view.epochs.marks_json(),
        "pending": view.inbox.to_json(&NoBlobs),
        "usage": view.usage.to_json(&NoBlobs),
    })
}

fn transcript(view: &SessionView, batches: &[Batch]) -> Value {
    let mut messages = Messages::default();
    batches.iter().flat_map(Batch::records).for_each(|record| {
        messages.apply(&record);
    });
    view.transcript.page_json(&messages, &NoBlobs)
}

proptest! {
    #[test]
    fn two_half_folds_equal_one_whole(commands in commands(), split in any::<prop::sample::Index>()) {
        let log = Writer::run(&commands).batches;
        let at = split.index(log.len());
        let whole = fold(&log);
        let mut halves = fold(&log[..at]);
        feed(&mut halves, &log[at..]);
        prop_assert_eq!(whole, halves);
    }

    #[test]
    fn a_saved_view_plus_the_rest_equals_a_fold_from_scratch(commands in commands(), split in any::<prop::sample::Index>()) {
        let log = Writer::run(&commands).batches;
        let at = split.index(log.len());
        let mut saved = fold(&log[..at]);
        saved.let_go();
        let bytes = serde_json::to_vec(&saved).unwrap();
        let mut resumed: SessionView = serde_json::from_slice(&bytes).unwrap();
        prop_assert_eq!(&resumed, &saved);
        prop_assert_eq!(shown(&resumed), shown(&fold(&log[..at])), "letting go changes no answer");
        feed(&mut resumed, &log[at..]);
        // A stale view says so; the reader then folds from an earlier place.
        if !resumed.is_stale() {
            prop_assert_eq!(shown(&resumed), shown(&fold(&log)));
        }
    }

    #[test]
    fn a_fold_from_scratch_is_never_stale_and_a_legal_log_has_no_anomalies(commands in commands()) {
        let view = fold(&Writer::run(&commands).batches);
        prop_assert!(!view.is_stale());
        prop_assert_eq!(view.anomalies(), Vec::<&annals_projections::Anomaly>::new());
    }

    #[test]
    fn digests_chain_and_every_cut_replays(commands in commands()) {
        let log = Writer::run(&commands).batches;
        let mut prev = None;
        let mut next = Seq::ZERO;
        let mut view = SessionView::default();
        for batch in &log {
            prop_assert_eq!(batch.prev, prev);
            prop_assert_eq!(batch.first, next);
            prop_assert_eq!(batch.compute_digest().unwrap(), batch.digest);
            feed(&mut view, [batch]);
            prop_assert_eq!(view.cut().next, batch.next());
            prev = Some(batch.digest);
            next = batch.next();
        }
    }

    #[test]
    fn a_promoted_input_is_not_pending_and_no_input_is_both(commands in commands()) {
        let log = Writer::run(&commands).batches;
        let view = fold(&log);
        let pending: BTreeSet<_> = view.inbox.pending.iter().map(|pending| &pending.input).collect();
        let promoted: BTreeSet<_> = log.iter().flat_map(|batch| &batch.events).filter_map(|event| match event {
            Event::InputPromoted(promoted) => Some(&promoted.input),
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
            Event::ToolSettled(settled) => Some((settled.call.clone(), settled.outcome)),
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
                Event::EpochStarted(started) => expected = started.entries.clone(),
                Event::SnapshotAdvanced(advanced) => {
                    expected.extend(advanced.set.clone());
                    advanced.removed.iter().for_each(|key| { expected.remove(key); });
                }
                Event::SessionMoved(_) | Event::RevertCommitted(_) => expected.clear(),
                _ => {}
            }
        }
        prop_assert_eq!(view.epochs.snapshot().0, expected);
    }

    #[test]
    fn staging_a_revert_and_clearing_it_is_the_identity_on_every_view(commands in commands(), n in any::<u8>()) {
        let mut writer = Writer::run(&commands);
        writer.command(&Command::ClearRevert);
        writer.command(&Command::EndStep);
        let before = writer.batches.clone();
        writer.command(&Command::StageRevert(n));
        writer.command(&Command::ClearRevert);
        let (mut a, mut b) = (shown(&fold(&before)), shown(&fold(&writer.batches)));
        // Staging and clearing are events: the log is longer and younger, nothing else.
        for view in [&mut a, &mut b] {
            view["session"]["next"] = Value::Null;
            view["session"]["updated"] = Value::Null;
        }
        prop_assert_eq!(a, b);
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
        if !removed.flat_map(|batch| &batch.events).any(|event| matches!(event, Event::SessionMoved(_))) {
            prop_assert_eq!(after.session.changed.totals(), never.session.changed.totals());
            prop_assert_eq!(&after.session.changed.first, &never.session.changed.first);
        }
        // What stays: usage, what a person was shown, who and where the Session is.
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

    #[test]
    fn a_forks_views_equal_its_parents_at_the_cut(commands in commands(), split in any::<prop::sample::Index>()) {
        let log = Writer::run(&commands).batches;
        let at = split.index(log.len()).max(1);
        let parent = fold(&log[..at]);
        let last = &log[at - 1];
        let child_id = SessionId::from_parts(1_780_488_000_000, 2);
        let forked = SessionForked {
            parent: last.session, cut: last.next(), parent_digest: last.digest, title: None, origin: None,
        };
        let first = Batch::seal(child_id, last.next(), Time(last.at.0 + 1), Some(last.digest), vec![forked.into()]);
        let mut child = fold(&log[..at]);
        feed(&mut child, [&first.unwrap().batch]);
        if parent.calls.open.is_empty() {
            prop_assert_eq!(child.history.to_json(&NoBlobs), parent.history.to_json(&NoBlobs));
        }
        prop_assert_eq!(child.epochs.baseline_json(&NoBlobs), parent.epochs.baseline_json(&NoBlobs));
        prop_assert_eq!(child.epochs.snapshot_json(&NoBlobs), parent.epochs.snapshot_json(&NoBlobs));
        prop_assert_eq!(child.inbox.pending, Vec::new());
        prop_assert_eq!(child.calls.open.len(), 0);
        prop_assert_eq!(child.session.revert, None);
        prop_assert_eq!(child.usage, annals_projections::UsageTotals::default());
        let fresh = SessionView::default().session;
        prop_assert_eq!(
            (child.session.changed, child.session.titling, child.session.restoring),
            (fresh.changed, fresh.titling, fresh.restoring)
        );
    }

    #[test]
    fn a_title_request_changes_nothing_but_title_and_usage(commands in commands(), fail in any::<bool>()) {
        let mut writer = Writer::run(&commands);
        writer.command(&Command::EndTitle { fail: true });
        let before = writer.batches.clone();
        writer.command(&Command::AskTitle);
        let open = fold(&writer.batches);
        prop_assert!(open.session.titling.open.is_some());
        writer.command(&Command::EndTitle { fail });
        let after = fold(&writer.batches);
        prop_assert_eq!(after.session.titling.open, None);
        let before_view = fold(&before);
        prop_assert_eq!(after.usage.attempts, before_view.usage.attempts + 1);
        let talk = |view: &SessionView| {
            let mut all = shown(view);
            for field in ["next", "updated", "title"] {
                all["session"][field] = Value::Null;
            }
            all["usage"] = Value::Null;
            all
        };
        prop_assert_eq!(talk(&before_view), talk(&open));
        prop_assert_eq!(talk(&before_view), talk(&after));
        prop_assert_eq!(transcript(&before_view, &before), transcript(&after, &writer.batches));
        prop_assert_eq!(&before_view.session.anomalies, &after.session.anomalies);
    }

    #[test]
    fn a_restore_that_is_abandoned_changes_no_view(commands in commands()) {
        let mut writer = Writer::run(&commands);
        writer.command(&Command::Restore);
        if fold(&writer.batches).session.restoring.is_some() {
            writer.command(&Command::Restore);
        }
        let before = fold(&writer.batches);
        writer.command(&Command::Restore);
        prop_assert!(fold(&writer.batches).session.restoring.is_some(), "a restart knows");
        writer.command(&Command::Restore);
        let after = fold(&writer.batches);
        prop_assert_eq!(&after.session.restoring, &None);
        let (mut a, mut b) = (shown(&before), shown(&after));
        for view in [&mut a, &mut b] {
            view["session"]["next"] = Value::Null;
            view["session"]["updated"] = Value::Null;
        }
        prop_assert_eq!(a, b);
    }

    #[test]
    fn any_order_of_events_folds_without_a_panic_and_shows_in_json(commands in commands(), order in any::<prop::sample::Index>(), doubled in any::<bool>()) {
        let mut batches = Writer::run(&commands).batches;
        let at = order.index(batches.len());
        batches.rotate_left(at);
        if doubled {
            let again = batches.clone();
            batches.extend(again);
        }
        batches.reverse();
        let in_order = batches.windows(2).all(|pair| pair[0].next() == pair[1].first);
        let view = fold(&batches);
        let json = shown(&view);
        prop_assert!(json.is_object());
        prop_assert!(in_order || view.session.anomalies.count > 0, "a log out of order is told");
        prop_assert!(transcript(&view, &batches).is_array());
    }

    #[test]
    fn a_pinned_message_is_in_the_history_whatever_was_compacted(commands in commands()) {
        let log = Writer::run(&commands).batches;
        // What is pinned, told from the events alone: a revert takes later pins and their messages with it.
        let mut pins: Vec<(Seq, Seq, bool)> = Vec::new();
        for record in log.iter().flat_map(Batch::records) {
            match record.event {
                Event::MessagePinned(pinned) => pins.push((pinned.message, record.seq, true)),
                Event::MessageUnpinned(unpinned) => pins.push((unpinned.message, record.seq, false)),
                Event::RevertCommitted(revert) => pins.retain(|(_, at, _)| *at < revert.first_removed),
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

    #[test]
    fn a_page_of_the_transcript_is_the_fold_of_its_reach(commands in commands(), from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let log = Writer::run(&commands).batches;
        let view = fold(&log);
        if view.transcript.items.is_empty() {
            return Ok(());
        }
        let (a, b) = (from.index(view.transcript.items.len()), to.index(view.transcript.items.len()));
        let range = a.min(b)..a.max(b) + 1;
        let (first, until) = view.transcript.reach(range.clone()).unwrap();
        // Inputs are read from their admissions, which may lie before the page: the reader asks the inbox for them.
        let mut page = Messages::default();
        let in_reach = |record: &Record<'_>| record.seq >= first && record.seq < until;
        for record in log.iter().flat_map(Batch::records) {
            if in_reach(&record) || matches!(record.event, Event::InputAdmitted(_)) {
                page.apply(&record);
            }
        }
        let mut all = Messages::default();
        log.iter().flat_map(Batch::records).for_each(|record| { all.apply(&record); });
        for item in &view.transcript.items[range] {
            prop_assert_eq!(page.get(item.seq), all.get(item.seq));
        }
        prop_assert_eq!(Transcript::shown(&all).count(), view.transcript.items.len());
    }
}

#[test]
fn the_ledger_tells_what_left_by_each_compaction_and_what_became_of_it() {
    use annals_projections::{Ledger, LedgerOutcome};
    let mut writer = Writer::new();
    let say = |writer: &mut Writer| {
        writer.command(&Command::Admit { queue: false, text: 1 });
        writer.command(&Command::Promote);
        writer.command(&Command::Step { texts: 1, calls: 1 });
        writer.command(&Command::Settle { fail: false });
        writer.command(&Command::EndStep);
    };
    writer.command(&Command::StartEpoch(annals_core::event::EpochCause::FirstTurn));
    say(&mut writer);
    writer.command(&Command::Pin(0));
    writer.command(&Command::Tell { key: 1, value: 1 });
    say(&mut writer);
    writer.command(&Command::Compact);
    writer.command(&Command::FailCompaction);
    say(&mut writer);
    writer.command(&Command::Compact);
    writer.command(&Command::UndoCompaction);
    let mut ledger = Ledger::default();
    writer.batches.iter().flat_map(Batch::records).for_each(|record| ledger.apply(&record));
    let brief: Vec<_> = ledger
        .entries
        .iter()
        .map(|entry| (entry.messages.len(), entry.tool_outputs.len(), entry.context_messages.len(), entry.pinned.len()))
        .collect();
    // The second compaction also covers the first one's summary.
    assert_eq!(brief, [(3, 2, 1, 1), (0, 0, 0, 0), (3, 1, 1, 1)]);
    let outcomes: Vec<_> = ledger.entries.iter().map(|entry| &entry.outcome).collect();
    assert!(matches!(
        outcomes[..],
        [LedgerOutcome::Completed, LedgerOutcome::Failed { .. }, LedgerOutcome::Undone { .. }]
    ));
}

#[test]
fn what_a_summary_does_not_mention_is_quoted() {
    let covered = "Never edit Cargo.lock by hand.\nThe parser is in src/parse_tree.rs, see ParseTree.\nHello there.";
    let (names, instructions) = annals_projections::unmentioned(covered, "The work on src/parse_tree.rs is done.");
    assert_eq!(names, ["Cargo.lock", "ParseTree"]);
    assert_eq!(instructions, ["Never edit Cargo.lock by hand."]);
    let (names, instructions) = annals_projections::unmentioned(
        covered,
        "Rule: never edit Cargo.lock by hand. ParseTree in src/parse_tree.rs.",
    );
    assert_eq!((names.len(), instructions.len()), (0, 0));
}
