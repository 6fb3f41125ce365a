//! Runs of Sessions against a scripted world and the memory log.

mod interruptions;
mod parallel;
mod stream;
mod turns;
mod world;
