//! The `annals` command.
fn main() {}
