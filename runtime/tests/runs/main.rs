//! Runs of sessions against a scripted world and the memory log.

mod answers;
mod batches;
mod calls;
mod compaction;
mod interruptions;
mod logs;
mod parallel;
mod processes;
mod redaction;
mod stream;
mod subagents;
mod titles;
mod turns;
mod world;
