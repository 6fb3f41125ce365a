//! The last program of `cargo test --workspace`: one line for each program whose tests were not run.

use annals_tests::needed::{NEEDED, not_run};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Programs that list tests expect none here.
    if std::env::args().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    let all = match not_run() {
        Ok(all) => all,
        Err(error) => {
            eprintln!("what was not run cannot be read: {error}");
            return ExitCode::FAILURE;
        }
    };
    for needed in NEEDED.iter().filter(|needed| needed.found().is_none()) {
        let Some(tests) = all.get(needed.program) else { continue };
        let first = tests.first().map(String::as_str).unwrap_or_default();
        println!("not run: {} tests, since {} is missing ({}): {first}, ...", tests.len(), needed.program, needed.from);
    }
    ExitCode::SUCCESS
}
