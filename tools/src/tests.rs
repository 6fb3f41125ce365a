//! The tools on real files, each call judged and run as the runtime does it.

mod background;
mod bench;
mod changing;
mod definitions;
mod language;
mod patching;
mod paths;
mod process;
mod reading;
mod repositories;
mod running;
mod searching;
mod terminal;
mod web;

pub(super) use bench::pipe;
