//! Proof that the words and the folds of Annals are `no_std` (`ARCHITECTURE.md#invariants`).
//!
//! A panic handler may exist once in a program, and `std` brings one: this library has its own, so it would not build
//! if anything below `annals-core` or `annals-projections` brought `std` along. `.ci/run` links it into a C program
//! that has nothing but libc, and runs it.
//!
//! The only `unsafe` of the repository is here: an allocator needs it, and the workspace does without.
#![no_std]

extern crate alloc;

use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::Event;
use annals_core::{Batch, Blobs, Digest, Seq, SessionId, SessionKey, Time, codec};
use annals_projections::{Projection, SessionView};
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicUsize, Ordering};

/// One fact per kind.
const LINES: &str = include_str!("../../../fixtures/events.jsonl");

/// Reads every sample, seals a batch of them, reads it back and folds it: 0 when all is well, else the step that failed.
#[unsafe(no_mangle)]
pub extern "C" fn annals_without_std() -> i32 {
    let read = |line: &str| Event::from_json(serde_json::from_str(line).ok()?).ok();
    let Some(mut events) = LINES.lines().map(read).collect::<Option<Vec<Event>>>() else { return 1 };
    let session = SessionId::from_parts(1_780_488_000_000, 1);
    let key = SessionKey([0x0f; 32]);
    events.iter_mut().for_each(|event| event.set_key(key));
    let Ok(sealed) = Batch::seal(&key, &Anything, session, Seq::ZERO, Time(1_780_488_000_000), None, events) else {
        return 2;
    };
    let Ok(batch) = codec::decode(&sealed.encoded) else { return 3 };
    if batch != sealed.batch || batch.compute_digest(&key, &Anything) != Ok(batch.digest) {
        return 4;
    }
    let fold = || {
        let mut view = SessionView::default();
        batch.records().for_each(|record| view.apply(&record));
        view
    };
    if fold() == fold() { 0 } else { 5 }
}

/// A store that has a text for every blob.
struct Anything;

impl Blobs for Anything {
    fn text(&self, _: &Digest) -> Option<String> {
        Some("anything".into())
    }
}

/// Memory that is handed out once and never taken back: enough for one proof.
struct Arena {
    bytes: UnsafeCell<[u8; SIZE]>,
    used: AtomicUsize,
}

const SIZE: usize = 16 * 1024 * 1024;

#[global_allocator]
static ARENA: Arena = Arena { bytes: UnsafeCell::new([0; SIZE]), used: AtomicUsize::new(0) };

// SAFETY: `used` only grows, by atomic steps, so no two allocations share a byte of `bytes`.
unsafe impl Sync for Arena {}

// SAFETY: each block lies inside `bytes`, is aligned as asked, and is given to one caller only.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let base = self.bytes.get().cast::<u8>();
        let mut from = 0;
        let claim = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            let misaligned = (base as usize + used) % layout.align();
            from = if misaligned == 0 { used } else { used + layout.align() - misaligned };
            from.checked_add(layout.size()).filter(|until| *until <= SIZE)
        });
        match claim {
            // SAFETY: `from` is at most `SIZE`.
            Ok(_) => unsafe { base.add(from) },
            Err(_) => core::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}
