//! The `annals` command.
