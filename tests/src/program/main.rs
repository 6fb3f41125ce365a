//! The programs that tests and measurements start, in one: `annals-test fuzz|long-session|crash-writer|crash-session ARGUMENTS`;
//! with anything else it is the `annals` command.

mod crash_session;
mod crash_writer;
mod fuzz;
mod long_session;

use std::error::Error;
use std::process::ExitCode;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    let name = std::env::args_os().nth(1).and_then(|name| name.into_string().ok()).unwrap_or_default();
    let arguments = || std::env::args().skip(2).collect::<Vec<String>>();
    match name.as_str() {
        "fuzz" => fuzz::main(arguments().into_iter()),
        "long-session" => finished(1, long_session::run(arguments())),
        "crash-writer" => finished(2, crash_writer::run(arguments())),
        "crash-session" => finished(1, crash_session::run(arguments())),
        _ => annals_host::launched().unwrap_or_else(annals_cli::app::main),
    }
}

/// Runs a program on so many threads to its end.
fn finished(threads: usize, program: impl Future<Output = Result<(), Box<dyn Error>>>) -> ExitCode {
    let mut runtime = match threads {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let ended = runtime.worker_threads(threads).enable_all().build().map_err(Box::from);
    match ended.and_then(|runtime| runtime.block_on(program)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
