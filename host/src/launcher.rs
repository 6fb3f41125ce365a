//! This program as the launcher of its own sandbox (`docs/sandbox.md`).

use annals_tools::Launcher;
use std::env::{args_os, current_exe};
use std::io;
use std::process::ExitCode;

/// The first argument of a launcher. It is not listed as a command: only a host starts one.
const LAUNCHER: &str = "__sandbox";

/// Becomes the command of a sandbox, if this process was started as its launcher; then gives the exit code if that fails. Every program
/// that hosts sessions calls it before anything else, while there is one thread.
pub fn launched() -> Option<ExitCode> {
    let mut arguments = args_os().skip(1);
    (arguments.next()? == LAUNCHER).then(|| annals_tools::launch(arguments))
}

/// How this program is started as a launcher.
///
/// # Errors
/// When the path of this program is not known.
pub(crate) fn launcher() -> io::Result<Launcher> {
    Ok(Launcher { program: current_exe()?, arguments: vec![LAUNCHER.to_owned()] })
}
