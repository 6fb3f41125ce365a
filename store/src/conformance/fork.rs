//! Forks: nothing is copied, everything is read through.

use super::material::{KEY, draft, fork, seqs, session, story, two, whole};
use super::{LawResult, hold};
use crate::append_rules::fork_at;
use crate::log::{AppendError, EventLog};
use annals_core::Seq;
use std::sync::Arc;

pub(super) async fn a_fork_reads_through_to_its_parent(log: Arc<dyn EventLog>) -> LawResult {
    let (parent, child) = (session(1), session(2));
    let done = story(&*log, parent, 3).await?; // 0 | 1 2 | 3 4 | 5 6
    fork(&*log, parent, Seq(5), child).await?;
    two(&*log, child, Seq(6)).await?;
    let slices = whole(&*log, child).await?;
    hold!(seqs(&slices) == (0..8).collect::<Vec<_>>(), "the fork reads {:?}", seqs(&slices));
    let writers: Vec<_> = slices.iter().map(|slice| slice.batch.session).collect();
    hold!(writers == [parent, parent, parent, child, child], "the fork's batches are of {writers:?}");
    hold!(slices.get(2).map(|slice| &slice.batch) == done.get(2).map(|one| &one.batch), "an inherited batch differs");
    let across = seqs(&log.read(child, Seq(4), 2).await?);
    hold!(across == [4, 5], "a read across the cut gave {across:?}");
    let back = seqs(&log.read_back(child, Seq(7), 4).await?);
    hold!(back == [6, 5, 3, 4, 1, 2], "a read back across the cut gave {back:?}");
    Ok(())
}

pub(super) async fn a_cut_inside_a_batch_hides_the_rest_of_it(log: Arc<dyn EventLog>) -> LawResult {
    let (parent, child) = (session(1), session(2));
    let done = story(&*log, parent, 3).await?;
    let first = fork(&*log, parent, Seq(4), child).await?;
    let holds = done.get(2).map(|one| one.batch.digest);
    hold!(first.batch.prev == holds, "the fork's chain does not begin with the batch that holds the cut");
    let slices = whole(&*log, child).await?;
    hold!(seqs(&slices) == [0, 1, 2, 3, 4], "the fork reads {:?}", seqs(&slices));
    let halved = slices.get(2).map(|slice| (slice.batch.next(), slice.until));
    hold!(halved == Some((Seq(5), Seq(4))), "the batch at the cut ends at {halved:?}");
    let back = seqs(&log.read_back(child, Seq(u64::MAX), 3).await?);
    hold!(back == [4, 3, 1, 2], "read backwards, the fork is {back:?}");
    Ok(())
}

pub(super) async fn a_fork_of_a_fork_reads_through_to_both(log: Arc<dyn EventLog>) -> LawResult {
    let (a, b, c) = (session(3), session(1), session(2));
    story(&*log, a, 2).await?; // 0 | 1 2 | 3 4
    fork(&*log, a, Seq(3), b).await?; // 3
    two(&*log, b, Seq(4)).await?; // 4 5
    fork(&*log, b, Seq(5), c).await?; // 5, in the middle of 4 5
    two(&*log, c, Seq(6)).await?;
    let slices = whole(&*log, c).await?;
    hold!(seqs(&slices) == (0..8).collect::<Vec<_>>(), "the fork of a fork reads {:?}", seqs(&slices));
    let writers: Vec<_> = slices.iter().map(|slice| slice.batch.session).collect();
    hold!(writers == [a, a, b, b, c, c], "its batches are of {writers:?}");
    let back = seqs(&log.read_back(c, Seq(6), 9).await?);
    hold!(back == [5, 4, 3, 1, 2, 0], "read backwards, it is {back:?}");
    Ok(())
}

pub(super) async fn a_forks_parent_is_who_wrote_what_lies_before_the_cut(log: Arc<dyn EventLog>) -> LawResult {
    let (a, b) = (session(1), session(2));
    story(&*log, a, 3).await?;
    fork(&*log, a, Seq(5), b).await?;
    for (n, cut) in [(3, 2), (4, 5)] {
        let (child, cut) = (session(n), Seq(cut));
        let mut begins = fork_at(&*log, b, cut, KEY).await?;
        hold!(begins.parent == a, "a fork of the fork at {cut}, below what it wrote, has parent {}", begins.parent);
        begins.parent = b;
        let wrong = log.append(draft(child, cut, vec![begins.into()])).await;
        hold!(matches!(wrong, Err(AppendError::Misplaced { .. })), "a parent that only inherited gave {wrong:?}");
        fork(&*log, b, cut, child).await?;
        two(&*log, child, cut.plus(1)).await?;
        let slices = whole(&*log, child).await?;
        hold!(seqs(&slices).into_iter().eq(0..cut.0 + 3), "the fork reads {:?}", seqs(&slices));
        hold!(slices.iter().all(|slice| slice.batch.session != b), "it reads what the other fork wrote");
    }
    Ok(())
}

pub(super) async fn parent_and_fork_continue_on_their_own(log: Arc<dyn EventLog>) -> LawResult {
    let (parent, child) = (session(1), session(2));
    story(&*log, parent, 1).await?;
    fork(&*log, parent, Seq(3), child).await?;
    for n in 0..4 {
        two(&*log, parent, Seq(3 + 2 * n)).await?;
        two(&*log, child, Seq(4 + 2 * n)).await?;
    }
    let (of_parent, of_child) = (whole(&*log, parent).await?, whole(&*log, child).await?);
    hold!(seqs(&of_parent).len() == 11 && seqs(&of_child).len() == 12, "one of them reads what the other wrote");
    hold!(of_parent.iter().all(|slice| slice.batch.session == parent), "the parent reads what its fork wrote");
    let inherited = of_child.iter().filter(|slice| slice.batch.session == parent).count();
    hold!(inherited == 2, "the fork inherits {inherited} batches");
    Ok(())
}
