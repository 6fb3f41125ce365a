//! Appending: at the expected Seq, whole or not at all, once.

use super::material::{KEY, admitted, begin, created, draft, promoted, session, story, two, whole};
use super::{LawResult, hold};
use crate::log::{AppendError, Appended, Committed, Draft, EventLog};
use annals_core::event::InputEvent;
use annals_core::{Batch, Digest, NoBlobs, Seq};
use futures_util::future::join_all;
use std::sync::Arc;

pub(super) async fn a_batch_lands_whole_at_the_expected_seq(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    let first = begin(&*log, s).await?;
    let wanted = draft(s, Seq(1), vec![admitted("a", "first"), promoted("a"), admitted("b", "second")]);
    let second = log.append(wanted.clone()).await?;
    hold!(!first.known && !second.known, "a new batch is not known");
    hold!(first.batch.prev.is_none(), "the first batch has no batch before it");
    hold!(second.position > first.position, "a later batch of a session has a higher position");
    let Batch { session: of, first: at, prev, .. } = *second.batch;
    hold!(of == s && at == Seq(1) && second.batch.at == wanted.at, "the batch is not where it was put");
    hold!(second.batch.events == wanted.events, "the events are not those that were appended");
    hold!(prev == Some(first.batch.digest), "the batch does not name the digest before it");
    let slices = whole(&*log, s).await?;
    hold!(slices.len() == 2 && slices[1].batch == second.batch, "the log reads back {slices:?}");
    let head = log.head(s).await?;
    hold!(head.is_some_and(|head| head.next == Seq(4) && head.at == wanted.at), "the head is {head:?}");
    Ok(())
}

pub(super) async fn another_expected_seq_is_a_conflict(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    story(&*log, s, 2).await?;
    for expected in [0, 1, 2, 3, 4, 6, 900] {
        let late = draft(s, Seq(expected), vec![admitted("late", "too late")]);
        match log.append(late).await {
            Err(AppendError::Conflict { session: of, expected: at, actual }) => {
                hold!(of == s && at == Seq(expected) && actual == Seq(5), "the conflict names {of}, {at}, {actual}");
            }
            other => hold!(false, "an append at {expected} to a session of 5 events gave {other:?}"),
        }
    }
    hold!(whole(&*log, s).await?.len() == 3, "a conflict wrote something");
    Ok(())
}

pub(super) async fn a_refused_batch_leaves_nothing_behind(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    begin(&*log, s).await?;
    let head = log.head(s).await?;
    let empty = log.append(draft(s, Seq(1), vec![])).await;
    hold!(matches!(empty, Err(AppendError::Seal { .. })), "an empty batch gave {empty:?}");
    let names = "n".repeat(100_000);
    let large = log.append(draft(s, Seq(1), vec![admitted("a", "fits"), promoted(&names)])).await;
    hold!(matches!(large, Err(AppendError::Seal { .. })), "a batch that cannot fit gave {large:?}");
    hold!(log.head(s).await? == head && whole(&*log, s).await?.len() == 1, "a refused batch left something");
    let next = two(&*log, s, Seq(1)).await?;
    hold!(next.batch.first == Seq(1), "a refused batch took a seq");
    Ok(())
}

pub(super) async fn the_same_batch_again_is_known(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    let done = story(&*log, s, 3).await?;
    for before in &done {
        let Batch { first, at, events, .. } = &*before.batch;
        for digest in [None, Some(before.batch.digest)] {
            let again =
                Draft { session: s, expected: *first, at: *at, events: events.clone(), digest, states: Vec::new() };
            let again = log.append(again).await?;
            hold!(again.known, "seq {first}: the same batch again is not known");
            hold!(again.batch == before.batch && again.position == before.position, "seq {first}: another batch");
        }
        let later = Draft {
            session: s,
            expected: *first,
            at: at.plus(1),
            events: events.clone(),
            digest: None,
            states: Vec::new(),
        };
        let later = log.append(later).await;
        hold!(matches!(later, Err(AppendError::Conflict { .. })), "the same facts at another time gave {later:?}");
    }
    hold!(whole(&*log, s).await?.len() == 4, "appending again wrote something");
    Ok(())
}

pub(super) async fn the_same_batch_from_many_writers_lands_once(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    begin(&*log, s).await?;
    let tasks = (0..8).map(|_| {
        let log = log.clone();
        tokio::spawn(async move { two(&*log, s, Seq(1)).await })
    });
    let mut new = 0;
    for ended in join_all(tasks).await {
        let committed = ended.map_err(|error| super::Violation(format!("a writer ended: {error}")))??;
        hold!(committed.batch.first == Seq(1), "the batch is in another place");
        new += usize::from(!committed.known);
    }
    hold!(new == 1, "the batch was new {new} times");
    hold!(whole(&*log, s).await?.len() == 2, "the batch landed more than once");
    Ok(())
}

pub(super) async fn of_rivals_at_one_place_exactly_one_wins(log: Arc<dyn EventLog>) -> LawResult {
    const RIVALS: u64 = 6;
    let s = session(1);
    begin(&*log, s).await?;
    for round in 0..20 {
        let tasks = (0..RIVALS).map(|rival| {
            let log = log.clone();
            let input = format!("round-{round}-{rival}");
            tokio::spawn(async move { log.append(draft(s, Seq(1 + round), vec![admitted(&input, "mine")])).await })
        });
        let mut won = Vec::new();
        for ended in join_all(tasks).await {
            match ended.map_err(|error| super::Violation(format!("a writer ended: {error}")))? {
                Ok(committed) => won.push(committed),
                Err(AppendError::Conflict { actual, .. }) => {
                    hold!(actual > Seq(1 + round), "a rival conflicts with a log that is at {actual}");
                }
                Err(AppendError::Contended { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        hold!(won.len() == 1 && !won[0].known, "round {round}: {} rivals were acknowledged", won.len());
        let read = log.read(s, Seq(1 + round), 2).await?;
        let is_won = read.len() == 1 && read.first().map(|slice| &slice.batch) == won.first().map(|won| &won.batch);
        hold!(is_won, "round {round}: the log does not hold the batch that was acknowledged");
    }
    Ok(())
}

pub(super) async fn a_batch_with_another_digest_is_refused(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    let first = begin(&*log, s).await?;
    let wrong = Digest::of(b"something else");
    let mut altered = draft(s, Seq(1), vec![admitted("a", "text")]);
    altered.digest = Some(wrong);
    match log.append(altered.clone()).await {
        Err(AppendError::Diverged { session: of, seq, expected, .. }) => {
            hold!(of == s && seq == Seq(1) && expected == wrong, "the refusal names another place");
        }
        other => hold!(false, "a batch announced with another digest gave {other:?}"),
    }
    let right = Batch::seal(&KEY, &NoBlobs, s, Seq(1), altered.at, Some(first.batch.digest), altered.events.clone());
    altered.digest = right.ok().map(|sealed| sealed.batch.digest);
    let landed = log.append(altered.clone()).await?;
    hold!(Some(landed.batch.digest) == altered.digest, "the digest is not the one that was announced");
    Ok(())
}

pub(super) async fn concurrent_writers_make_one_dense_chain(log: Arc<dyn EventLog>) -> LawResult {
    const WRITERS: u64 = 8;
    const EACH: u64 = 12;
    let s = session(1);
    begin(&*log, s).await?;
    let tasks = (0..WRITERS).map(|writer| {
        let log = log.clone();
        tokio::spawn(async move {
            for n in 0..EACH {
                let mut at = log.head(s).await?.map_or(Seq::ZERO, |head| head.next);
                let input = format!("writer-{writer}-{n}");
                loop {
                    match log.append(draft(s, at, vec![admitted(&input, "text"), promoted(&input)])).await {
                        Err(AppendError::Conflict { actual, .. }) if actual > at => at = actual,
                        Err(AppendError::Contended { .. }) => tokio::task::yield_now().await,
                        other => break other.map(|_| ())?,
                    }
                }
            }
            LawResult::Ok(())
        })
    });
    for ended in join_all(tasks).await {
        ended.map_err(|error| super::Violation(format!("a writer ended: {error}")))??;
    }
    let slices = whole(&*log, s).await?;
    hold!(slices.len() as u64 == 1 + WRITERS * EACH, "{} batches are where each writer put its own", slices.len());
    for writer in 0..WRITERS {
        let own = slices.iter().filter(|slice| {
            let begins = format!("writer-{writer}-");
            matches!(slice.batch.events.first(), Some(annals_core::Event::Input(InputEvent::Admitted(one))) if one.input.as_str().starts_with(&begins))
        });
        hold!(own.count() as u64 == EACH, "a batch of writer {writer} is lost or doubled");
    }
    Ok(())
}

pub(super) async fn what_was_acknowledged_is_visible_at_once(log: Arc<dyn EventLog>) -> LawResult {
    let tasks = (0..4).map(|n| {
        let log = log.clone();
        tokio::spawn(async move {
            let s = session(n);
            log.append(draft(s, Seq::ZERO, vec![created()])).await?;
            for at in (1..21).step_by(2) {
                let committed = two(&*log, s, Seq(at)).await?;
                let head = log.head(s).await?;
                hold!(head.is_some_and(|head| head.digest == committed.batch.digest), "the head is behind: {head:?}");
                let read = log.read(s, Seq(at), 1).await?;
                hold!(read.first().is_some_and(|slice| slice.batch == committed.batch), "a read is behind at seq {at}");
                let back = log.read_back(s, Seq(u64::MAX), 1).await?;
                hold!(back.first().is_some_and(|slice| slice.batch == committed.batch), "read_back is behind at {at}");
            }
            LawResult::Ok(())
        })
    });
    for ended in join_all(tasks).await {
        ended.map_err(|error| super::Violation(format!("a writer ended: {error}")))??;
    }
    Ok(())
}

pub(super) async fn many_batches_land_in_order_up_to_the_first_that_is_refused(log: Arc<dyn EventLog>) -> LawResult {
    let (s, t) = (session(1), session(2));
    let say = |of, at: u64, text: &str| draft(of, Seq(at), vec![admitted(&format!("{of}-{at}"), text)]);
    let mut drafts = vec![draft(s, Seq(0), vec![created()])];
    drafts.extend((1..700).map(|at| say(s, at, "one of many")));
    drafts.push(draft(t, Seq(0), vec![created()]));
    // A large text in the middle brings a blob with it.
    drafts.extend((1..20).map(|at| say(t, at, &"large ".repeat(if at == 9 { 4_000 } else { 1 }))));
    let Appended { committed, refused } = log.append_all(drafts.clone()).await;
    hold!(refused.is_none() && committed.len() == drafts.len(), "{} landed, then {refused:?}", committed.len());
    hold!(
        committed.iter().zip(&drafts).all(|(c, d)| c.batch.session == d.session && c.batch.first == d.expected),
        "the batches are not in the order of their drafts"
    );
    let later = |pair: &[Committed]| pair[0].position < pair[1].position;
    let within = |of| committed.iter().filter(move |c| c.batch.session == of).cloned().collect::<Vec<_>>();
    hold!(within(s).windows(2).all(later) && within(t).windows(2).all(later), "positions are not in order");
    hold!(committed.windows(2).all(later) || !log.promises().ordered, "positions are not in order over sessions");
    hold!(whole(&*log, s).await?.len() == 700 && whole(&*log, t).await?.len() == 20, "not every batch is there");

    let again = log.append_all(drafts).await;
    hold!(again.refused.is_none() && again.committed.iter().all(|c| c.known), "the same again is not known");

    let gap = vec![say(s, 700, "next"), say(s, 702, "after a gap"), say(s, 701, "not tried")];
    let Appended { committed, refused } = log.append_all(gap).await;
    hold!(committed.len() == 1, "{} batches landed before the gap", committed.len());
    hold!(matches!(refused, Some(AppendError::Conflict { expected: Seq(702), actual: Seq(701), .. })), "{refused:?}");
    hold!(whole(&*log, s).await?.len() == 701, "something landed behind the refusal");
    Ok(())
}
