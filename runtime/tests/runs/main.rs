//! Runs of Sessions against a scripted world and the memory log.

mod calls;
mod compaction;
mod interruptions;
mod logs;
mod parallel;
mod redaction;
mod stream;
mod turns;
mod world;
