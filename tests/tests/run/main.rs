//! `annals run`, `chat` and `rerun`: as processes with a model that follows a script and through each protocol, and the host alone.

mod acp;
mod acp_files;
mod again;
mod background;
mod blame;
mod chat_screen;
mod cluster;
mod cluster_commands;
mod cluster_erasing;
mod command;
mod day;
mod edited;
mod elsewhere;
mod endings;
mod guards;
mod host;
mod keys;
mod lab;
mod moved;
mod narrow;
#[allow(dead_code, reason = "the tests of the store use more of it")]
#[path = "../../../store/tests/nats/cluster.rs"]
mod nats_servers;
mod person;
mod picker;
mod processes;
mod protocols;
mod serving;
mod serving_others;
mod serving_questions;
mod signing;
mod stage;
mod stopping;
mod terminal;
mod tui;
#[path = "../cli/validate.rs"]
mod validate;
mod workday;
