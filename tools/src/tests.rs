//! The tools on real files, each call judged and run as the runtime does it.

mod bench;
mod changing;
mod definitions;
mod paths;
mod process;
mod reading;
mod running;
mod searching;

pub(super) use bench::pipe;
