//! Runs a target round by round, and prints how to repeat a failure.

use super::{Mutator, Target};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Limits of a run and of its rounds.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of rounds.
    pub rounds: u64,
    /// No round starts after this time.
    pub time: Duration,
    /// The maximum time of a round.
    pub round: Duration,
    /// The maximum growth of peak memory, in KiB.
    pub memory_kib: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let (time, round) = (Duration::MAX, Duration::from_secs(20));
        Self { rounds: u64::MAX, time, round, memory_kib: 1 << 20 }
    }
}

/// Why a round failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It panicked, with this message.
    Panic(String),
    /// It did not end within the limit.
    Hang(Duration),
    /// Peak memory grew by this much, in KiB. An earlier round may be the cause.
    Memory(u64),
    /// The target could not be run.
    Io(String),
}

/// A round that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The target.
    pub target: &'static str,
    /// The seed.
    pub seed: u64,
    /// The round.
    pub round: u64,
    /// The reason.
    pub why: Why,
    /// The file with the input, unless writing it failed.
    pub input: Option<PathBuf>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, seed, round, why, input } = self;
        match why {
            Why::Panic(message) => write!(f, "{target}: panic: {message}")?,
            Why::Hang(limit) => write!(f, "{target}: one round took more than {} s", limit.as_secs_f64())?,
            Why::Memory(kib) => write!(f, "{target}: the memory grew by {kib} KiB")?,
            Why::Io(message) => write!(f, "{target}: cannot be tried: {message}")?,
        }
        write!(f, " (seed {seed}, round {round})")?;
        match input {
            Some(path) => write!(f, "; repeat it with: fuzz {target} --input {}", path.display()),
            None => Ok(()),
        }
    }
}

/// Runs a target until a limit or the first failure. Returns the number of rounds.
///
/// # Errors
/// The first failure; its input is written into `artifacts`.
pub fn run(target: Target, seed: u64, limits: Limits, artifacts: &Path) -> Result<u64, Box<Failure>> {
    let failed = |round, why, input: &[u8]| {
        let path = artifacts.join(format!("{}-{seed}-{round}", target.name));
        let kept = std::fs::create_dir_all(artifacts).and_then(|()| std::fs::write(&path, input)).is_ok();
        Box::new(Failure { target: target.name, seed, round, why, input: kept.then_some(path) })
    };
    let corpus = (target.corpus)().map_err(|error| failed(0, Why::Io(error.to_string()), &[]))?;
    let input = move |corpus: &[Vec<u8>], round| Mutator::new(corpus, seed, target.name).input(round);
    let (sender, receiver) = channel();
    let (began, before, inputs) = (Instant::now(), peak_kib(), corpus.clone());
    // A thread of its own, so that one that hangs can be left behind.
    std::thread::spawn(move || {
        for round in 0..limits.rounds {
            let bytes = input(&inputs, round);
            if sender.send((round, outcome(target, &bytes))).is_err() || began.elapsed() >= limits.time {
                return;
            }
        }
    });
    let mut rounds = 0;
    loop {
        match receiver.recv_timeout(limits.round) {
            Ok((round, Err(why))) => return Err(failed(round, why, &input(&corpus, round))),
            Ok((round, Ok(()))) => {
                rounds = round + 1;
                let grown = peak_kib().saturating_sub(before);
                if rounds % 256 == 0 && grown > limits.memory_kib {
                    return Err(failed(round, Why::Memory(grown), &input(&corpus, round)));
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(rounds),
            Err(RecvTimeoutError::Timeout) => {
                return Err(failed(rounds, Why::Hang(limits.round), &input(&corpus, rounds)));
            }
        }
    }
}

/// Runs a target on one input.
///
/// # Errors
/// Why it failed.
pub fn run_one(target: Target, input: &[u8]) -> Result<(), Why> {
    outcome(target, input)
}

fn outcome(target: Target, input: &[u8]) -> Result<(), Why> {
    match catch_unwind(AssertUnwindSafe(|| (target.run)(input))) {
        Ok(tried) => tried.map_err(|error: io::Error| Why::Io(error.to_string())),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(Why::Panic(text.unwrap_or_else(|| "without a message".into())))
        }
    }
}

/// The peak memory of this process in KiB; 0 if the system does not report it.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
