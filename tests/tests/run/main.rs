//! `annals run`, `chat` and `rerun`: as processes with a model that follows a script and through each protocol, and the host alone.

mod acp;
mod again;
mod background;
mod command;
mod day;
mod elsewhere;
mod endings;
mod guards;
mod host;
mod moved;
mod person;
mod picker;
mod processes;
mod protocols;
mod serving;
mod signing;
mod stage;
mod stopping;
mod terminal;
mod tui;
mod workday;
