//! What is done about a store from outside its daily work: reporting, examining, repairing, removing unused blobs.
//!
//! ```text
//! opening ──► remarks (`report`): every place that was damaged, restored, cut off or rebuilt
//! doctor            examine: both copies, every frame, every blob      writes nothing
//! doctor --repair   open with the purpose `Repair`: read everything, restore each copy from the other
//! doctor --compact  open with the purpose `Compact`: rebuild sled, then remove the old one
//! doctor --gc       blobs that no batch names and that are old enough are removed
//! ```
//!
//! A crash in any of them leaves what a crash while opening leaves: see `recovery` and `index`.

pub(in crate::disk) mod doctor;
mod json;
pub(in crate::disk) mod open_error;
pub(in crate::disk) mod report;
pub(in crate::disk) mod summary;
pub(in crate::disk) mod trimming;
mod unmatched;
pub(in crate::disk) mod usage;
