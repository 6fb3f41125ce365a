//! The conformance suite: what every backend of [`EventLog`] does, one law a function
//! (`docs/reference/store.md#eventlog`).
//!
//! ```
//! # use annals_store::{conformance, EventLog, MemoryLog};
//! # use std::sync::Arc;
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! conformance::run_all(async || Ok(Arc::new(MemoryLog::new()) as Arc<dyn EventLog>)).await.unwrap();
//! # });
//! ```
//! Runs inside a tokio runtime with its timer. A law never panics on what a backend does: it returns a [`Violation`].

mod append;
mod begin;
mod blob;
mod follow;
mod fork;
pub mod material;
mod read;
mod states;

use crate::log::{AppendError, Boxed, EventLog, ReadError};
use std::sync::Arc;

/// A backend does what it must not, or does not do what it must.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(pub String);

impl From<AppendError> for Violation {
    fn from(error: AppendError) -> Self {
        Self(format!("append: {error}"))
    }
}

impl From<ReadError> for Violation {
    fn from(error: ReadError) -> Self {
        Self(format!("read: {error}"))
    }
}

/// What a law ends with.
pub type LawResult = Result<(), Violation>;

/// One law: a sentence, and what tries it on an empty log.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// The sentence, with underscores for spaces.
    pub name: &'static str,
    /// Tries it. The log is empty and the law's own.
    pub holds: fn(Arc<dyn EventLog>) -> Boxed<'static, LawResult>,
}

macro_rules! laws {
    ($($module:ident :: $law:ident),* $(,)?) => {
        &[$( Law { name: stringify!($law), holds: |log| Box::pin($module::$law(log)) } ),*]
    };
}

/// Every law.
pub const LAWS: &[Law] = laws![
    append::a_batch_lands_whole_at_the_expected_seq,
    append::another_expected_seq_is_a_conflict,
    append::a_refused_batch_leaves_nothing_behind,
    append::the_same_batch_again_is_known,
    append::the_same_batch_from_many_writers_lands_once,
    append::of_rivals_at_one_place_exactly_one_wins,
    append::a_batch_with_another_digest_is_refused,
    append::concurrent_writers_make_one_dense_chain,
    append::what_was_acknowledged_is_visible_at_once,
    append::many_batches_land_in_order_up_to_the_first_that_is_refused,
    begin::a_session_begins_with_session_created_at_seq_0,
    begin::a_session_begins_once,
    begin::a_fork_begins_at_its_cut_with_its_parents_digest,
    begin::a_session_and_its_fork_have_the_keys_that_they_begin_with,
    states::withheld_and_disclosed_texts_read_back_as_they_were_appended,
    states::another_commitment_is_another_batch,
    states::a_session_without_its_key_is_continued_by_a_fork_alone,
    states::a_batch_keeps_many_states,
    blob::large_texts_move_to_blobs,
    blob::a_batch_that_exceeds_a_record_moves_its_largest_texts,
    blob::a_batch_waits_for_the_blobs_that_it_names,
    read::ranges_read_forwards,
    read::ranges_read_backwards,
    read::sessions_are_listed_by_id_with_their_heads,
    read::sessions_come_in_pages_each_once,
    read::an_unknown_session_has_no_head_and_cannot_be_read,
    fork::a_fork_reads_through_to_its_parent,
    fork::a_cut_inside_a_batch_hides_the_rest_of_it,
    fork::a_fork_of_a_fork_reads_through_to_both,
    fork::a_forks_parent_is_who_wrote_what_lies_before_the_cut,
    fork::parent_and_fork_continue_on_their_own,
    follow::a_follower_of_a_session_gets_what_was_there_one_marker_and_what_is_new,
    follow::a_follower_may_start_inside_a_batch_or_at_the_end,
    follow::a_follower_of_a_fork_gets_what_it_inherits,
    follow::a_follower_of_all_sessions_gets_every_position_once,
    follow::a_cursor_continues_after_the_last_batch_that_was_received,
    follow::nothing_is_lost_or_doubled_while_many_append,
    follow::a_slow_follower_never_blocks_a_writer,
    follow::following_an_unknown_session_is_an_error,
];

/// Tries every law, each on an empty log from `make`.
///
/// # Errors
/// The first violation, with the name of its law. An `Err` of `make` counts as one.
pub async fn run_all(make: impl AsyncFn() -> Result<Arc<dyn EventLog>, Violation>) -> LawResult {
    for law in LAWS {
        let named = |violation: Violation| Violation(format!("{}: {violation}", law.name.replace('_', " ")));
        let log = make().await.map_err(named)?;
        (law.holds)(log).await.map_err(named)?;
    }
    Ok(())
}

/// Returns a [`Violation`] unless the condition holds.
macro_rules! hold {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err($crate::conformance::Violation(format!($($message)+)));
        }
    };
}
pub(crate) use hold;

#[cfg(test)]
mod tests;
