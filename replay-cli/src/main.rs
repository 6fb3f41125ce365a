//! The `annals` command.

fn main() -> std::process::ExitCode {
    annals_cli::launched().unwrap_or_else(annals_cli::app::main)
}
