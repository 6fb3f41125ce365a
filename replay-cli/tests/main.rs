//! The `annals` program as a process of its own.

mod process;
mod readme;
mod shells;
