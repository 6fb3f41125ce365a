//! What is counted: bytes that are allocated.

use cap::Cap;
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// How many bytes were allocated so far, those that were freed included.
pub fn allocated() -> u64 {
    ALLOCATOR.total_allocated() as u64
}
