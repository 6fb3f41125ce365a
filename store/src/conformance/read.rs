//! Reading: ranges in both directions, heads, the list of sessions.

use super::material::{begin, seqs, session, story, whole};
use super::{LawResult, hold};
use crate::log::{EventLog, ReadError, SessionListPage};
use annals_core::Seq;
use std::sync::Arc;

pub(super) async fn ranges_read_forwards(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    story(&*log, s, 5).await?; // 0 | 1 2 | 3 4 | 5 6 | 7 8 | 9 10
    for (from, limit, wanted) in [
        (0, 100, (0..11).collect::<Vec<u64>>()),
        (0, 1, vec![0]),
        (1, 2, vec![1, 2, 3, 4]),
        (4, 2, vec![4, 5, 6]),
        (9, 9, vec![9, 10]),
        (10, 1, vec![10]),
        (11, 5, vec![]),
        (999, 5, vec![]),
        (0, 0, vec![]),
    ] {
        let found = seqs(&log.read(s, Seq(from), limit).await?);
        hold!(found == wanted, "{limit} batches from seq {from} read {found:?}, not {wanted:?}");
    }
    whole(&*log, s).await.map(|_| ())
}

pub(super) async fn ranges_read_backwards(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    story(&*log, s, 5).await?;
    for (before, limit, wanted) in [
        (u64::MAX, 1, vec![9, 10]),
        (11, 2, vec![9, 10, 7, 8]),
        (10, 1, vec![9]),
        (4, 2, vec![3, 1, 2]),
        (3, 9, vec![1, 2, 0]),
        (1, 9, vec![0]),
        (0, 9, vec![]),
        (11, 0, vec![]),
    ] {
        let found = seqs(&log.read_back(s, Seq(before), limit).await?);
        hold!(found == wanted, "{limit} batches before seq {before} read {found:?}, not {wanted:?}");
    }
    Ok(())
}

pub(super) async fn sessions_are_listed_by_id_with_their_heads(log: Arc<dyn EventLog>) -> LawResult {
    hold!(log.sessions().all().await?.is_empty(), "a new log holds sessions");
    for n in [5, 2, 9, 1] {
        story(&*log, session(n), n).await?;
    }
    let listed = log.sessions().all().await?;
    let ids: Vec<_> = listed.iter().map(|one| one.session).collect();
    hold!(ids == [1, 2, 5, 9].map(session), "the sessions are listed as {ids:?}");
    for one in listed {
        let head = log.head(one.session).await?;
        hold!(head == Some(one.head), "session {} is listed at {:?}, its head is {head:?}", one.session, one.head);
        whole(&*log, one.session).await?;
    }
    Ok(())
}

pub(super) async fn sessions_come_in_pages_each_once(log: Arc<dyn EventLog>) -> LawResult {
    for n in 0..9 {
        begin(&*log, session(n)).await?;
    }
    for limit in [1, 2, 4, 9, 100] {
        let (mut token, mut found, mut pages) = (None, Vec::new(), 0);
        loop {
            let SessionListPage { sessions, next } = log.sessions_page(token, limit).await?;
            hold!(sessions.len() <= limit, "a page of at most {limit} sessions has {}", sessions.len());
            found.extend(sessions.iter().map(|one| one.session));
            // What comes meanwhile may be listed or not, and pushes nothing out.
            begin(&*log, session(1000 + limit as u64 * 100 + pages)).await?;
            pages += 1;
            token = next;
            if token.is_none() || pages > 100 {
                break;
            }
        }
        for n in 0..9 {
            let times = found.iter().filter(|one| **one == session(n)).count();
            hold!(times == 1, "in pages of {limit}, session {n} is listed {times} times");
        }
    }
    Ok(())
}

pub(super) async fn an_unknown_session_has_no_head_and_cannot_be_read(log: Arc<dyn EventLog>) -> LawResult {
    begin(&*log, session(1)).await?;
    let unknown = session(2);
    hold!(log.head(unknown).await?.is_none(), "an unknown session has a head");
    let is_unknown =
        |answer: &Result<Vec<_>, ReadError>| matches!(answer, Err(ReadError::NoSession(one)) if *one == unknown);
    let forwards = log.read(unknown, Seq::ZERO, 1).await;
    hold!(is_unknown(&forwards), "reading an unknown session gave {forwards:?}");
    let backwards = log.read_back(unknown, Seq(9), 1).await;
    hold!(is_unknown(&backwards), "reading an unknown session backwards gave {backwards:?}");
    Ok(())
}
