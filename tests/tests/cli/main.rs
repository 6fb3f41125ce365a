//! The `annals` command through its entry point, at 80 columns.

mod answers;
mod audit;
mod branching;
mod branching_files;
mod command;
mod config;
mod erase;
mod fill;
mod import_report;
mod imports;
mod index;
mod looking;
mod messages;
mod output;
mod processes;
mod questions;
mod reader;
mod report;
mod retention;
mod serve;
mod session_methods;
mod signing;
mod usage;
mod validate;
mod withheld;
