//! `annals run`, `chat` and `rerun` as processes: with a model that follows a script, and through each protocol.

#[path = "run/again.rs"]
mod again;
#[path = "run/command.rs"]
mod command;
#[path = "run/guards.rs"]
mod guards;
#[path = "run/person.rs"]
mod person;
#[path = "run/protocols.rs"]
mod protocols;
