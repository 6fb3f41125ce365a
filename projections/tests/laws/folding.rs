//! Folding: in parts, from saved views, through forks, out of order.

use super::{feed, fold, shown, transcript};
use crate::story::{KEY, Writer, commands};
use annals_core::event::{InputEvent, SessionForked};
use annals_core::{Batch, Event, NoBlobs, Record, Seq, SessionId, Time};
use annals_projections::{Messages, SessionView, ToJson};
use proptest::prelude::*;

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
        saved.evict();
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
            prop_assert_eq!(batch.compute_digest(&KEY, &NoBlobs).unwrap(), batch.digest);
            feed(&mut view, [batch]);
            prop_assert_eq!(view.cut().next, batch.next());
            prev = Some(batch.digest);
            next = batch.next();
        }
    }

    #[test]
    fn a_forks_views_equal_its_parents_at_the_cut(commands in commands(), split in any::<prop::sample::Index>()) {
        let log = Writer::run(&commands).batches;
        let at = split.index(log.len()).max(1);
        let parent = fold(&log[..at]);
        let last = &log[at - 1];
        let child_id = SessionId::from_parts(1_780_488_000_000, 2);
        let forked = SessionForked {
            parent: last.session, cut: last.next(), parent_digest: last.digest, title: None, origin: None, key: KEY.into(),
        };
        let (next, time, prev) = (last.next(), Time(last.at.0 + 1), Some(last.digest));
        let first = Batch::seal(&KEY, &NoBlobs, child_id, next, time, prev, vec![forked.into()]);
        let mut child = fold(&log[..at]);
        feed(&mut child, [&first.unwrap().batch]);
        // A fork ends an open answer as interrupted.
        if parent.calls.open.is_empty() && !parent.calls.step_open {
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
            (child.session.changed, child.session.titling, child.session.restoring, child.session.departing),
            (fresh.changed, fresh.titling, fresh.restoring, fresh.departing)
        );
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
            if in_reach(&record) || matches!(record.event, Event::Input(InputEvent::Admitted(_))) {
                page.apply(&record);
            }
        }
        let mut all = Messages::default();
        log.iter().flat_map(Batch::records).for_each(|record| { all.apply(&record); });
        for item in view.transcript.items.range(range) {
            prop_assert_eq!(page.get(item.seq), all.get(item.seq));
        }
        prop_assert_eq!(view.transcript.shown(&all).count(), view.transcript.items.len());
    }
}
