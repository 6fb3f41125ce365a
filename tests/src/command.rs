//! The `annals` command, for tests that need a process of their own.

use std::process::ExitCode;

fn main() -> ExitCode {
    annals_cli::app::main()
}
