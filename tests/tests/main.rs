//! Stories across the crates: the command, agents, stores, servers and crashes.

mod cli;
mod crash;
mod import;
mod nats;
mod questions;
mod recording;
mod run;
mod scenarios;
mod store;
mod wire;
