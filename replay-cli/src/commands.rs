//! One file per command: its arguments, whose doc comment is the help text, and `run`, which prints the answer. The exit
//! status follows from the verdict; an error means that there is no answer: nothing has that name, the store refuses, or
//! the output does.

pub mod bisect;
pub mod cache;
pub mod certify;
pub mod chat;
pub mod compact;
pub mod compactions;
pub mod completions;
pub mod config;
pub mod context;
pub mod diff;
pub mod doctor;
pub mod erase;
pub mod export;
pub mod fixture;
pub mod fork;
pub mod history;
pub mod import;
pub mod inbox;
pub mod log;
pub mod models;
pub mod move_session;
pub mod pin;
pub mod prove;
pub mod replay;
pub mod requests;
pub mod rerun;
pub mod retention;
pub mod revert;
pub mod run;
pub mod scenario;
pub mod schema;
pub mod search;
pub mod sessions;
pub mod show;
pub mod sign;
pub mod signed;
pub mod title;
pub mod transcript;
pub mod tree;
pub mod usage;
pub mod verify;
pub mod when;
pub mod why;
pub mod witness;
