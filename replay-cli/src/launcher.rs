//! This program as the launcher of its own sandbox (`docs/sandbox.md`).

use std::env::args_os;
use std::process::ExitCode;

/// The first argument of a launcher. It is no command: only `run` and `chat` start one.
pub(crate) const LAUNCHER: &str = "__sandbox";

/// Becomes the command of a sandbox, if this process was started as its launcher; then gives the exit code if that fails.
/// Called before anything else, while there is one thread.
pub fn launched() -> Option<ExitCode> {
    let mut arguments = args_os().skip(1);
    (arguments.next()? == LAUNCHER).then(|| annals_tools::launch(arguments))
}
