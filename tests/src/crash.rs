//! Shared by the crash tests: small stores, sessions to write, and the check that everything acknowledged is complete
//! and chained.

use annals_core::event::SyntheticAdded;
use annals_core::{BlobRef, Event, Seq, SessionId, Text};
use annals_store::conformance::{Violation, material};
use annals_store::disk::{DiskLog, Tuning};
use annals_store::{Draft, EventLog, Slice};
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Options of a store that rotates, packs and checkpoints after few batches.
pub fn small() -> Tuning {
    Tuning {
        segment_bytes: 64 << 10,
        checkpoint_every: 200,
        checkpoint_idle: Duration::from_millis(50),
        quiet: Duration::from_millis(5),
        sled_cache: 8 << 10,
        sled_segment: 1 << 20,
        ..Tuning::default()
    }
}

/// Seeded random numbers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// The number of rounds of a test: a default, or the value of an environment variable.
pub fn rounds(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// Runs a round for each case on all cores and prints progress on stderr. A round that panics ends the test.
///
/// # Panics
/// When a round panics, or a runtime cannot be created.
pub fn in_parallel<T: Sync>(what: &str, cases: &[T], round: impl AsyncFn(&T) + Sync) {
    let (next, began) = (AtomicUsize::new(0), Instant::now());
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime can be made");
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else { return };
            let failing = Failing(&next);
            runtime.block_on(round(case));
            std::mem::forget(failing);
            if at % 1000 == 999 {
                let took = began.elapsed();
                eprintln!("{what}: {} of {} in {:.0} s", at + 1, cases.len(), took.as_secs_f64());
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(2, NonZero::get);
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
}

/// Prevents further rounds after a panic.
struct Failing<'a>(&'a AtomicUsize);

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        self.0.store(usize::MAX / 2, Ordering::Relaxed);
    }
}

/// The draft at a sequence number of a session: the same in every run, 1 to 4 events, sometimes with a large text.
pub fn draft(session: SessionId, at: Seq) -> Draft {
    if at == Seq::ZERO {
        return material::draft(session, at, vec![material::created()]);
    }
    let mut dice = Dice::new(at.0 ^ u64::from(session.0[15]) << 32);
    let events = 1 + dice.below(4);
    let event = |n: u64| -> Event {
        let length = if dice.below(97) == 0 { 9_000 } else { 20 + dice.below(900) };
        let text: String = format!("{session} {at} {n} ").chars().cycle().take(length as usize).collect();
        SyntheticAdded { text: Text::from(text) }.into()
    };
    material::draft(session, at, (0..events).map(event).collect())
}

/// Checks that every batch of a session equals [`draft`], is chained, and has its blobs.
///
/// # Errors
/// What is missing or different.
pub async fn whole(log: &DiskLog, session: SessionId, at_least: Seq) -> Result<Vec<Slice>, Violation> {
    let slices = material::whole(log, session).await?;
    let end = slices.last().map_or(Seq::ZERO, |slice| slice.until);
    if end < at_least {
        return Err(Violation(format!("session {session} ends at {end}; {at_least} was acknowledged")));
    }
    let blobs = log.blobs();
    for slice in &slices {
        for BlobRef { blob, .. } in slice.batch.blobs() {
            if blobs.text(&blob).is_none() {
                return Err(Violation(format!("session {session}, seq {}: blob {blob} is missing", slice.from)));
            }
        }
        let wanted = draft(session, slice.batch.first);
        if slice.batch.events.len() != wanted.events.len() || slice.batch.at != wanted.at {
            return Err(Violation(format!("session {session}, seq {}: another batch", slice.from)));
        }
    }
    Ok(slices)
}

/// Copies a folder with its content.
///
/// # Errors
/// When reading or writing fails.
pub fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
