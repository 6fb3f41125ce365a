//! Optional programs of tests (Node, Python): without them a test is skipped with a remark on stderr, which the test harness does
//! not capture. Where `CI` is set it fails instead, so that a green run has skipped nothing. Tests that need git, which every
//! machine needs, do not ask: they fail without it.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Whether a program can be started; prints a remark if not.
///
/// # Panics
/// When it is missing and `CI` is set.
pub fn is_here(program: &str) -> bool {
    let started = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    may_run(program, started.is_ok_and(|status| status.success()), in_ci())
}

/// Whether this is a run of CI: `CI` is set to anything but nothing, `0` or `false`.
pub fn in_ci() -> bool {
    is_ci(std::env::var("CI").ok().as_deref())
}

fn is_ci(value: Option<&str>) -> bool {
    !matches!(value, None | Some("" | "0" | "false"))
}

fn may_run(program: &str, here: bool, in_ci: bool) -> bool {
    assert!(here || !in_ci, "the program {program} is missing, and CI is set: no test may be skipped");
    if !here {
        skipped(&format!("the program {program} is missing"));
    }
    here
}

/// Prints why a test is skipped. `eprintln!` would be captured, and a test that passes shows nothing of it.
pub fn skipped(reason: &str) {
    let thread = std::thread::current();
    // Without a stderr nobody could read it.
    drop(writeln!(io::stderr(), "skipped {}: {reason}", thread.name().unwrap_or("a test")));
}

#[cfg(test)]
mod tests {
    use super::{is_ci, is_here, may_run};

    #[test]
    fn a_program_that_is_there_is_never_a_reason_to_skip() {
        assert!(may_run("cargo", true, true));
        assert!(may_run("cargo", true, false));
        assert!(is_here("cargo"));
    }

    #[test]
    fn on_a_developers_machine_a_missing_program_skips() {
        assert!(!may_run("no-such-program", false, false));
    }

    #[test]
    #[should_panic(expected = "no-such-program is missing, and CI is set")]
    fn in_ci_a_missing_program_fails() {
        may_run("no-such-program", false, true);
    }

    #[test]
    fn ci_is_any_value_that_does_not_say_no() {
        assert!(is_ci(Some("true")) && is_ci(Some("1")) && is_ci(Some("woodpecker")));
        assert!(!is_ci(None) && !is_ci(Some("")) && !is_ci(Some("0")) && !is_ci(Some("false")));
    }
}
