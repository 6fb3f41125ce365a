//! Writes a log layer that counts appended events by kind and refuses sessions above a limit.
//!
//! `cargo run -p annals-examples --bin store_layer`

use annals_core::event::SyntheticAdded;
use annals_core::{Event, Seq, SessionId, Time};
use annals_store::conformance::material::created;
use annals_store::{AppendError, Boxed, Committed, Draft, EventLog, LogLayer, MemoryLog};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A log with a limit on the length of sessions.
struct Bounded {
    inner: MemoryLog,
    longest: Seq,
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

impl LogLayer for Bounded {
    // Whatever this layer does not mention passes unchanged.
    fn inner(&self) -> &dyn EventLog {
        &self.inner
    }

    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(async move {
            if draft.expected >= self.longest {
                let reason = "the session has reached its limit";
                return Err(AppendError::Misplaced { session: draft.session, reason });
            }
            let kinds: Vec<_> = draft.events.iter().map(|event| event.kind().name()).collect();
            let committed = self.inner.append(draft).await?;
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            kinds.into_iter().for_each(|kind| *counts.entry(kind).or_default() += 1);
            Ok(committed)
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let log = Bounded { inner: MemoryLog::new(), longest: Seq(3), counts: Mutex::default() };
    let session = SessionId([1; 16]);
    let notes = ["first", "second", "third"].map(|text| Event::from(SyntheticAdded { text: text.to_owned().into() }));
    for (at, event) in (0..).zip([created()].into_iter().chain(notes)) {
        let draft = Draft {
            session,
            expected: Seq(at),
            at: Time(1_800_000_000_000),
            events: vec![event],
            digest: None,
            states: Vec::new(),
        };
        match EventLog::append(&log, draft).await {
            Ok(committed) => println!("event {at}: appended, digest {}", committed.batch.digest.short()),
            Err(error) => println!("event {at}: {error}"),
        }
    }
    println!("{:?}", log.counts.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(())
}
