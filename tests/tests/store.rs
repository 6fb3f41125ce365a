//! A store as a whole: exchange, processes that share it, its folder.

mod exchange;
mod exchange_damage;
mod exchange_laws;
mod exchange_python;
mod folder;
mod processes;
