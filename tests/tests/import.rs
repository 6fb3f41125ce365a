//! Sessions of other agents become logs of ours.

mod again;
mod claude;
mod damage;
mod follow;
mod generations;
mod growth;
mod harness;
mod lines;
mod local;
mod oracle;
mod processes;
mod recognition;
mod sessions;
mod sources;
mod threads;
mod tree;
