//! How fast a recorded OpenCode log is replayed: read, imported, verified, folded and told, by the real command.
//!
//! `cargo bench -p annals-cli --bench replay [-- ROUNDS]`. The rival is OpenCode 1.18.33 itself, whose replay endpoint took
//! 580 events/s of the same files on one core of such a machine (measured when the fixtures were recorded; it needs its
//! own server, which is not started here).

use annals_cli::app::{Surroundings, run};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Events a second that OpenCode 1.18.33 replayed.
const OPENCODE: f64 = 580.0;

fn main() {
    let rounds: u32 = std::env::args().nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(20);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/opencode/v2");
    let mut logs: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the fixtures are there")
        .map(|entry| entry.expect("a folder can be read").path())
        .filter(|path| path.to_string_lossy().ends_with(".events.jsonl"))
        .collect();
    logs.sort();
    let events: usize =
        logs.iter().map(|path| std::fs::read_to_string(path).expect("a fixture can be read").lines().count()).sum();
    let mut best = Duration::MAX;
    let mut told = 0;
    for _ in 0..rounds {
        let start = Instant::now();
        told = 0;
        for path in &logs {
            let mut out: Vec<u8> = Vec::new();
            let args = ["annals", "replay"].map(OsString::from).into_iter().chain([path.clone().into_os_string()]);
            let status = run(args, Surroundings::of_process(), Some(&mut out));
            assert_eq!(status, 0, "{}", path.display());
            told += out.len();
        }
        best = best.min(start.elapsed());
    }
    let rate = events as f64 / best.as_secs_f64();
    println!("{events} events of {} logs, {told} bytes told, fastest of {rounds} rounds: {best:?}", logs.len());
    println!("{rate:.0} events/s, {:.0}x OpenCode 1.18.33 ({OPENCODE} events/s)", rate / OPENCODE);
}
