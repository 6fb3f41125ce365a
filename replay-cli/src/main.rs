//! The `annals` command.

fn main() -> std::process::ExitCode {
    annals_host::launched().unwrap_or_else(annals_cli::app::main)
}
