//! The `annals` command.

fn main() -> std::process::ExitCode {
    annals_cli::app::main()
}
