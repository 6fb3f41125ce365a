//! `annals run`, `chat` and `rerun` as processes: with a model that follows a script, and through each protocol.

#[path = "run/again.rs"]
mod again;
#[path = "run/background.rs"]
mod background;
#[path = "run/command.rs"]
mod command;
#[path = "run/elsewhere.rs"]
mod elsewhere;
#[path = "run/endings.rs"]
mod endings;
#[path = "run/guards.rs"]
mod guards;
#[path = "run/moved.rs"]
mod moved;
#[path = "run/person.rs"]
mod person;
#[path = "run/protocols.rs"]
mod protocols;
#[path = "run/stopping.rs"]
mod stopping;
#[path = "run/terminal.rs"]
mod terminal;
