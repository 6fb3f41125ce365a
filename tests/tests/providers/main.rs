//! Models behind HTTP that fail in every way a network knows: what the log says afterwards, that it verifies, that
//! nothing hangs, and that the key stands nowhere.

mod cassettes;
mod connections;
mod limits;
mod refusals;
mod server;
mod story;
mod streams;
mod traces;
