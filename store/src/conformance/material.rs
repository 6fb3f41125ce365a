//! Small sessions to try a backend with: ids, events and Drafts that are the same on every run.

use super::{Violation, hold};
use crate::append_rules::fork_at;
use crate::log::{AppendError, Committed, Draft, EventLog, Followed, Following, Slice};
use annals_core::event::{
    Delivery, InputAdmitted, InputPromoted, Location, Policy, SessionCreated, SessionForked, SyntheticAdded,
};
use annals_core::{Batch, Digest, Event, InputId, Seq, SessionId, SessionKey, Text, Time};
use futures_util::StreamExt;
use std::collections::BTreeMap;
use std::time::Duration;

/// The key of every session here.
pub const KEY: SessionKey = SessionKey([0x0f; 32]);

/// A Session id; `n` orders them.
pub fn session(n: u64) -> SessionId {
    SessionId::from_parts(1_780_488_000_000 + n, u128::from(n))
}

/// `session.created`.
pub fn created() -> Event {
    SessionCreated {
        location: Location { directory: "/work/project".into(), workspace: None },
        agent: "build".into(),
        model: "acme/one".into(),
        policy: Policy::default(),
        title: None,
        parent: None,
        origin: None,
        process: None,
        key: KEY.into(),
    }
    .into()
}

/// `session.forked`.
pub fn forked(parent: SessionId, cut: Seq, parent_digest: Digest) -> Event {
    SessionForked { parent, cut, parent_digest, title: None, origin: None, key: KEY.into() }.into()
}

/// `input.admitted` with a text.
pub fn admitted(input: &str, text: &str) -> Event {
    InputAdmitted { input: input.into(), text: text.into(), attachments: vec![], delivery: Delivery::Steer }.into()
}

/// `input.promoted`.
pub fn promoted(input: &str) -> Event {
    InputPromoted { input: InputId::from(input) }.into()
}

/// `synthetic.added`.
pub fn synthetic(text: impl Into<Text>) -> Event {
    SyntheticAdded { text: text.into() }.into()
}

/// A Draft whose time follows from its place.
pub fn draft(session: SessionId, expected: Seq, events: Vec<Event>) -> Draft {
    Draft { session, expected, at: Time(1_780_488_000_000 + expected.0), events, digest: None, states: Vec::new() }
}

/// Creates a session of one event.
///
/// # Errors
/// When the append fails.
pub async fn begin(log: &dyn EventLog, session: SessionId) -> Result<Committed, AppendError> {
    log.append(draft(session, Seq::ZERO, vec![created()])).await
}

/// Creates a session and appends `batches` Batches of two events each: it ends at seq `1 + 2 * batches`.
///
/// # Errors
/// When an append fails.
pub async fn story(log: &dyn EventLog, session: SessionId, batches: u64) -> Result<Vec<Committed>, AppendError> {
    let mut done = vec![begin(log, session).await?];
    for n in 0..batches {
        done.push(two(log, session, Seq(1 + 2 * n)).await?);
    }
    Ok(done)
}

/// Appends one batch of two events.
///
/// # Errors
/// When the append fails.
pub async fn two(log: &dyn EventLog, session: SessionId, at: Seq) -> Result<Committed, AppendError> {
    let input = format!("input-{at}");
    log.append(draft(session, at, vec![admitted(&input, "what now?"), promoted(&input)])).await
}

/// Forks `from` at `cut`.
///
/// # Errors
/// When it cannot be read or the append fails.
pub async fn fork(log: &dyn EventLog, from: SessionId, cut: Seq, session: SessionId) -> Result<Committed, Violation> {
    let begins = fork_at(log, from, cut, KEY).await?;
    Ok(log.append(draft(session, cut, vec![begins.into()])).await?)
}

/// Every Seq in view of some slices, in order.
pub fn seqs(slices: &[Slice]) -> Vec<u64> {
    slices.iter().flat_map(|slice| slice.records().map(|record| record.seq.0).collect::<Vec<_>>()).collect()
}

/// Reads a whole session, a few batches at a time, and checks that it is dense, its digests chain, and its key is there or needed nowhere.
///
/// # Errors
/// When it cannot be read, or does not chain.
pub async fn whole(log: &dyn EventLog, session: SessionId) -> Result<Vec<Slice>, Violation> {
    let mut all: Vec<Slice> = Vec::new();
    loop {
        let next = all.last().map_or(Seq::ZERO, |last| last.until);
        let page = log.read(session, next, 3).await?;
        let Some(first) = page.first() else { break };
        hold!(first.from == next, "session {session}: a read from seq {next} begins at {}", first.from);
        hold!(page.len() <= 3, "session {session}: a read of at most 3 batches gave {}", page.len());
        all.extend(page);
    }
    let (mut before, mut keys): (Option<&Batch>, BTreeMap<SessionId, SessionKey>) = (None, BTreeMap::new());
    for Slice { batch, from, until } in &all {
        let Batch { session: of, first, prev, digest, .. } = **batch;
        hold!(from < until, "session {of}, seq {first}: a slice shows nothing");
        keys.extend(batch.session_key().map(|key| (of, key)));
        let key = keys.get(&of);
        hold!(
            key.is_some() || !batch.states.is_empty(),
            "session {of}, seq {first}: the key of the session is not in its first batch"
        );
        hold!(
            batch.compute_digest(key, &*log.blobs()).ok() == Some(digest),
            "session {of}, seq {first}: the digest is of something else"
        );
        hold!(prev == before.map(|before| before.digest), "session {of}, seq {first}: the chain is broken");
        before = Some(batch);
    }
    let (ends, head) = (all.last().map(|last| last.until), log.head(session).await?);
    hold!(ends == head.map(|head| head.next), "session {session} reads up to {ends:?}, its head is {head:?}");
    hold!(before.map(|before| before.digest) == head.map(|head| head.digest), "session {session}: wrong head digest");
    Ok(all)
}

/// The next item of a follower. A follower that stays silent for half a minute violates the law that waits for it.
///
/// # Errors
/// When the stream ends, fails, or stays silent.
pub async fn next(following: &mut Following) -> Result<Followed, Violation> {
    match tokio::time::timeout(Duration::from_secs(30), following.next()).await {
        Ok(Some(item)) => Ok(item?),
        Ok(None) => Err(Violation("a follower's stream ended".into())),
        Err(_) => Err(Violation("a follower heard nothing for 30 seconds".into())),
    }
}

/// The next batch of a follower, past nothing else.
///
/// # Errors
/// When something else comes.
pub async fn next_slice(following: &mut Following) -> Result<Slice, Violation> {
    match next(following).await? {
        Followed::Batch { slice, .. } => Ok(slice),
        Followed::Synced => Err(Violation("a follower got `Synced` too early, or twice".into())),
    }
}

/// The marker, and nothing else.
///
/// # Errors
/// When something else comes.
pub async fn next_synced(following: &mut Following) -> Result<(), Violation> {
    match next(following).await? {
        Followed::Synced => Ok(()),
        Followed::Batch { slice, .. } => {
            Err(Violation(format!("a follower got seq {} where `Synced` was due", slice.from)))
        }
    }
}
