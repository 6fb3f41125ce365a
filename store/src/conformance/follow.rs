//! Following: everything that was there, one marker, everything new; nothing lost, nothing twice.

use super::material::{begin, draft, fork, next, next_slice, next_synced, session, story, synthetic, two};
use super::{LawResult, Violation, hold};
use crate::log::{EventLog, Followed, ReadError, Scope, StoreCursor, StorePlace};
use annals_core::{Seq, SessionId};
use futures_util::StreamExt;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) async fn a_follower_of_a_session_gets_what_was_there_one_marker_and_what_is_new(
    log: Arc<dyn EventLog>,
) -> LawResult {
    let (s, other) = (session(1), session(2));
    let done = story(&*log, s, 2).await?;
    story(&*log, other, 3).await?;
    let mut following = log.follow(Scope::Session { session: s, from: Seq::ZERO });
    for before in &done {
        let slice = next_slice(&mut following).await?;
        hold!(slice.batch == before.batch, "a follower got another batch at seq {}", slice.from);
    }
    next_synced(&mut following).await?;
    two(&*log, other, Seq(7)).await?;
    for at in [5, 7, 9] {
        let new = two(&*log, s, Seq(at)).await?;
        hold!(next_slice(&mut following).await?.batch == new.batch, "a follower missed seq {at}");
    }
    Ok(())
}

pub(super) async fn a_follower_may_start_inside_a_batch_or_at_the_end(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    story(&*log, s, 2).await?; // 0 | 1 2 | 3 4
    let mut inside = log.follow(Scope::Session { session: s, from: Seq(4) });
    let mut ended = log.follow(Scope::Session { session: s, from: Seq(5) });
    let mut read_ahead = log.follow(Scope::Session { session: s, from: Seq(6) });
    let slice = next_slice(&mut inside).await?;
    hold!((slice.from, slice.until) == (Seq(4), Seq(5)), "the first slice is {}..{}", slice.from, slice.until);
    for follower in [&mut inside, &mut ended, &mut read_ahead] {
        next_synced(follower).await?;
    }
    two(&*log, s, Seq(5)).await?;
    for (follower, from) in [(&mut inside, 5), (&mut ended, 5), (&mut read_ahead, 6)] {
        let slice = next_slice(follower).await?;
        hold!(slice.from == Seq(from), "a follower got seq {} first, not {from}", slice.from);
    }
    Ok(())
}

pub(super) async fn a_follower_of_a_fork_gets_what_it_inherits(log: Arc<dyn EventLog>) -> LawResult {
    let (parent, child) = (session(1), session(2));
    story(&*log, parent, 2).await?;
    fork(&*log, parent, Seq(4), child).await?;
    let mut following = log.follow(Scope::Session { session: child, from: Seq(2) });
    for wanted in [(2, 3), (3, 4), (4, 5)] {
        let slice = next_slice(&mut following).await?;
        hold!((slice.from.0, slice.until.0) == wanted, "a follower got {}..{}", slice.from, slice.until);
    }
    next_synced(&mut following).await?;
    two(&*log, parent, Seq(5)).await?;
    two(&*log, child, Seq(5)).await?;
    let slice = next_slice(&mut following).await?;
    hold!(slice.batch.session == child && slice.from == Seq(5), "a follower of a fork got its parent's news");
    Ok(())
}

pub(super) async fn a_follower_of_all_sessions_gets_every_position_once(log: Arc<dyn EventLog>) -> LawResult {
    let mut done = story(&*log, session(2), 2).await?;
    done.extend(story(&*log, session(1), 2).await?);
    done.push(fork(&*log, session(1), Seq(3), session(3)).await?);
    let mut following = log.follow(Scope::All { from: StoreCursor::START });
    let mut found = Vec::new();
    for _ in &done {
        found.push(placed(next(&mut following).await?)?);
    }
    next_synced(&mut following).await?;
    done.push(two(&*log, session(2), Seq(5)).await?);
    found.push(placed(next(&mut following).await?)?);
    let wanted: Vec<_> = done.iter().map(|one| (one.position, one.batch.session, one.batch.first)).collect();
    let found: Vec<_> = found.into_iter().map(|(place, session, seq)| (place.position, session, seq)).collect();
    if log.promises().ordered {
        hold!(found == wanted, "a follower of all sessions got {found:?}, not {wanted:?}");
        hold!(found.iter().map(|one| one.0.0).eq(0..8), "positions are not dense from 0: {found:?}");
        return Ok(());
    }
    let sorted = |mut all: Vec<_>| {
        all.sort();
        all
    };
    hold!(sorted(found.clone()) == sorted(wanted), "a follower of all sessions got {found:?}");
    for n in 1..=3 {
        let of_one: Vec<_> = found.iter().filter(|one| one.1 == session(n)).collect();
        let in_order = of_one.windows(2).all(|pair| pair[0].2 < pair[1].2 && pair[0].0 < pair[1].0);
        hold!(in_order, "session {n} is out of order: {of_one:?}");
    }
    let place = |session, seq| found.iter().position(|one| (one.1, one.2) == (session, seq));
    let (fork, parent) = (place(session(3), Seq(3)), place(session(1), Seq(1)));
    hold!(parent < fork, "a fork came before what it inherits: {found:?}");
    Ok(())
}

fn placed(item: Followed) -> Result<(StorePlace, SessionId, Seq), Violation> {
    match item {
        Followed::Batch { slice, place: Some(place) } => Ok((place, slice.batch.session, slice.from)),
        other => Err(Violation(format!("a follower of all sessions got {other:?}"))),
    }
}

pub(super) async fn a_cursor_continues_after_the_last_batch_that_was_received(log: Arc<dyn EventLog>) -> LawResult {
    for n in 1..=5 {
        story(&*log, session(n), 3).await?;
    }
    let mut following = log.follow(Scope::All { from: StoreCursor::START });
    let mut found: Vec<(StoreCursor, SessionId, Seq)> = Vec::new();
    for _ in 0..20 {
        let (place, session, seq) = placed(next(&mut following).await?)?;
        found.push((place.cursor, session, seq));
    }
    next_synced(&mut following).await?;
    for (at, (cursor, of, seq)) in found.iter().enumerate() {
        hold!(!cursor.is_start(), "a cursor behind a batch is at the start");
        // As a follower keeps it: as text.
        let cursor: StoreCursor =
            cursor.to_string().parse().map_err(|error| Violation(format!("cursor {cursor}: {error}")))?;
        let last = log.last_before(&cursor).await?;
        let before = last.map(|slice| (slice.batch.session, slice.batch.first));
        hold!(before == Some((*of, *seq)), "before {cursor} is {before:?}, not {of} {seq}");
        let mut rest = log.follow(Scope::All { from: cursor });
        let mut wanted: Vec<_> = found[at + 1..].iter().map(|one| (one.1, one.2)).collect();
        let mut got = Vec::new();
        while let Followed::Batch { slice, .. } = next(&mut rest).await? {
            got.push((slice.batch.session, slice.from));
        }
        wanted.sort_unstable();
        got.sort_unstable();
        hold!(got == wanted, "after {of} {seq} came {got:?}, not {wanted:?}");
    }
    hold!(log.last_before(&StoreCursor::START).await?.is_none(), "there is a batch before the start");
    Ok(())
}

pub(super) async fn nothing_is_lost_or_doubled_while_many_append(log: Arc<dyn EventLog>) -> LawResult {
    const SESSIONS: u64 = 4;
    const BATCHES: u64 = 30;
    for n in 0..SESSIONS {
        begin(&*log, session(n)).await?;
    }
    let writers: Vec<_> = (0..SESSIONS)
        .map(|n| {
            let log = log.clone();
            tokio::spawn(async move {
                for at in 0..BATCHES {
                    two(&*log, session(n), Seq(1 + 2 * at)).await?;
                    tokio::task::yield_now().await;
                }
                LawResult::Ok(())
            })
        })
        .collect();
    let mut all = log.follow(Scope::All { from: StoreCursor::START });
    let mut one = log.follow(Scope::Session { session: session(1), from: Seq::ZERO });
    let (mut markers, mut position, mut next_of) = (0, 0, BTreeMap::new());
    while position < SESSIONS * (BATCHES + 1) {
        let Followed::Batch { slice, place } = next(&mut all).await? else {
            markers += 1;
            continue;
        };
        let at = place.map(|place| place.position.0);
        hold!(at == Some(position) || !log.promises().ordered, "position {position} was due, {at:?} came");
        position += 1;
        let due = next_of.insert(slice.batch.session, slice.until).unwrap_or_default();
        hold!(slice.from == due, "session {}: seq {due} was due, {} came", slice.batch.session, slice.from);
    }
    let (mut of_one, mut due) = (0, Seq::ZERO);
    while due < Seq(1 + 2 * BATCHES) {
        let Followed::Batch { slice, .. } = next(&mut one).await? else {
            of_one += 1;
            continue;
        };
        hold!(slice.batch.session == session(1) && slice.from == due, "seq {due} was due, {} came", slice.from);
        due = slice.until;
    }
    hold!(markers <= 1 && of_one <= 1, "a follower got `Synced` twice");
    for writer in writers {
        writer.await.map_err(|error| Violation(format!("a writer ended: {error}")))??;
    }
    Ok(())
}

pub(super) async fn a_slow_follower_never_blocks_a_writer(log: Arc<dyn EventLog>) -> LawResult {
    const BATCHES: u64 = 300;
    let s = session(1);
    begin(&*log, s).await?;
    let mut slow = [
        log.follow(Scope::Session { session: s, from: Seq::ZERO }),
        log.follow(Scope::All { from: StoreCursor::START }),
    ];
    for follower in &mut slow {
        next_slice(follower).await?;
    }
    let text = "much to read ".repeat(500);
    for n in 0..BATCHES {
        log.append(draft(s, Seq(1 + n), vec![synthetic(text.clone())])).await?;
    }
    for follower in &mut slow {
        let (mut due, mut markers) = (Seq(1), 0);
        while due < Seq(1 + BATCHES) {
            let Followed::Batch { slice, .. } = next(follower).await? else {
                markers += 1;
                continue;
            };
            hold!(slice.from == due, "a slow follower got seq {}, not {due}", slice.from);
            due = slice.until;
        }
        hold!(markers == 1, "a slow follower got `Synced` {markers} times");
    }
    Ok(())
}

pub(super) async fn following_an_unknown_session_is_an_error(log: Arc<dyn EventLog>) -> LawResult {
    let unknown = session(7);
    let mut following = log.follow(Scope::Session { session: unknown, from: Seq::ZERO });
    let first = following.next().await;
    hold!(
        matches!(&first, Some(Err(ReadError::NoSession(one))) if *one == unknown),
        "following an unknown session gave {first:?}"
    );
    hold!(following.next().await.is_none(), "the stream continues after its error");
    Ok(())
}
