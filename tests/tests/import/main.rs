//! Sessions of other agents become logs of ours.

mod damage;
mod follow;
mod generations;
mod harness;
mod lines;
mod local;
mod oracle;
mod sessions;
mod tree;
