//! How a session begins.

use super::material::{admitted, begin, created, draft, forked, session, story, two, whole};
use super::{LawResult, hold};
use crate::append_rules::fork_at;
use crate::log::{AppendError, Draft, EventLog};
use annals_core::event::{SessionCreated, SessionEvent};
use annals_core::{Digest, Event, Seq, SessionKey, StoredKey};
use std::sync::Arc;

async fn is_misplaced(log: &dyn EventLog, draft: Draft) -> LawResult {
    let (session, expected) = (draft.session, draft.expected);
    let before = log.head(session).await?;
    let answer = log.append(draft).await;
    hold!(matches!(answer, Err(AppendError::Misplaced { .. })), "a misplaced batch at seq {expected} gave {answer:?}");
    hold!(log.head(session).await? == before, "a misplaced batch changed the head");
    Ok(())
}

pub(super) async fn a_session_begins_with_session_created_at_seq_0(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    is_misplaced(&*log, draft(s, Seq(0), vec![admitted("a", "no session")])).await?;
    is_misplaced(&*log, draft(s, Seq(4), vec![admitted("a", "no session")])).await?;
    is_misplaced(&*log, draft(s, Seq(1), vec![created()])).await?;
    is_misplaced(&*log, draft(s, Seq(0), vec![admitted("a", "no session"), created()])).await?;
    is_misplaced(&*log, draft(s, Seq(0), vec![created(), created()])).await?;
    hold!(log.sessions().all().await?.is_empty(), "a refused batch made a session");
    log.append(draft(s, Seq(0), vec![created(), admitted("a", "in the same batch")])).await?;
    whole(&*log, s).await.map(|_| ())
}

pub(super) async fn a_session_begins_once(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    let last = story(&*log, s, 1).await?.pop();
    let digest = last.map_or(Digest([0; 32]), |last| last.batch.digest);
    is_misplaced(&*log, draft(s, Seq(3), vec![created()])).await?;
    is_misplaced(&*log, draft(s, Seq(3), vec![admitted("a", "text"), created()])).await?;
    is_misplaced(&*log, draft(s, Seq(3), vec![forked(s, Seq(3), digest)])).await?;
    let mut other = draft(s, Seq(0), vec![created()]);
    other.at = other.at.plus(1);
    let other = log.append(other).await;
    hold!(matches!(other, Err(AppendError::Conflict { .. })), "another beginning of the same session gave {other:?}");
    hold!(begin(&*log, s).await?.known, "the same beginning again is not known");
    Ok(())
}

pub(super) async fn a_session_and_its_fork_have_the_keys_that_they_begin_with(log: Arc<dyn EventLog>) -> LawResult {
    let (s, child) = (session(1), session(2));
    let begins = |key: StoredKey| match created() {
        Event::Session(SessionEvent::Created(created)) => SessionCreated { key, ..*created }.into(),
        other => other,
    };
    let keyless = log.append(draft(s, Seq(0), vec![begins(StoredKey::NONE)])).await;
    hold!(keyless.is_err() && log.head(s).await?.is_none(), "a session without a key began: {keyless:?}");
    let (own, of_fork) = (SessionKey([1; 32]), SessionKey([2; 32]));
    let wrong = StoredKey { hash: own.hash(), key: Some(of_fork) };
    hold!(log.append(draft(s, Seq(0), vec![begins(wrong)])).await.is_err(), "a session began with two keys");
    log.append(draft(s, Seq(0), vec![begins(own.into())])).await?;
    two(&*log, s, Seq(1)).await?;
    let other = log.append(draft(s, Seq(0), vec![begins(of_fork.into())])).await;
    hold!(matches!(other, Err(AppendError::Conflict { .. })), "the same beginning with another key gave {other:?}");
    let begins = fork_at(&*log, s, Seq(3), of_fork).await?;
    log.append(draft(child, Seq(3), vec![begins.into()])).await?;
    two(&*log, child, Seq(4)).await?;
    // Each reads back with its key, and its digests are made with that.
    for (session, keys) in [(s, vec![own]), (child, vec![own, of_fork])] {
        let found: Vec<_> = whole(&*log, session).await?.iter().filter_map(|slice| slice.batch.session_key()).collect();
        hold!(found == keys, "session {session} has the keys {found:?}");
    }
    Ok(())
}

pub(super) async fn a_fork_begins_at_its_cut_with_its_parents_digest(log: Arc<dyn EventLog>) -> LawResult {
    let (parent, child) = (session(1), session(2));
    let done = story(&*log, parent, 2).await?;
    let Some(digest) = done.get(1).map(|holds| holds.batch.digest) else { return Ok(()) };
    let unknown = session(9);
    is_misplaced(&*log, draft(child, Seq(2), vec![forked(parent, Seq(3), digest)])).await?;
    is_misplaced(&*log, draft(child, Seq(0), vec![forked(parent, Seq(0), digest)])).await?;
    is_misplaced(&*log, draft(child, Seq(6), vec![forked(parent, Seq(6), digest)])).await?;
    is_misplaced(&*log, draft(child, Seq(3), vec![forked(unknown, Seq(3), digest)])).await?;
    is_misplaced(&*log, draft(child, Seq(3), vec![forked(child, Seq(3), digest)])).await?;
    let other = log.append(draft(child, Seq(5), vec![forked(parent, Seq(5), digest)])).await;
    match other {
        Err(AppendError::Diverged { session: of, seq, expected, .. }) => {
            hold!(of == parent && seq == Seq(3) && expected == digest, "the refusal names another place");
        }
        other => hold!(false, "a fork that names another digest gave {other:?}"),
    }
    hold!(log.head(child).await?.is_none(), "a refused fork made a session");
    let wanted = draft(child, Seq(3), vec![forked(parent, Seq(3), digest)]);
    let landed = log.append(wanted.clone()).await?;
    hold!(landed.batch.prev == Some(digest), "the fork's chain does not begin with its parent's digest");
    hold!(log.append(wanted).await?.known, "the same fork again is not known");
    let head = log.head(child).await?;
    hold!(head.is_some_and(|head| head.next == Seq(4)), "the fork's head is {head:?}");
    Ok(())
}
