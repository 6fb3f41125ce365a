//! Runs of Sessions against a scripted world and the memory log.

mod compaction;
mod interruptions;
mod parallel;
mod redaction;
mod stream;
mod turns;
mod world;
