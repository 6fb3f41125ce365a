//! The launcher as a program of its own, for hosts that cannot start themselves again.

fn main() -> std::process::ExitCode {
    annals_sandbox::launch(std::env::args_os().skip(1))
}
