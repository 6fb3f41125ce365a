//! How fast recorded OpenCode logs are replayed: verified and folded into every view, from our log and from the foreign file
//! on; and the same by the real command, whose every run starts anew.
//!
//! `cargo bench -p annals-cli --bench replay [-- ROUNDS]`. The rival is OpenCode 1.18.33 itself, whose replay endpoint took
//! 580 events/s of the same files on one core of such a machine (measured when the fixtures were recorded; it needs its
//! own server, which is not started here).

use annals_cli::app::{Surroundings, run};
use annals_core::Seq;
use annals_import::{ImportOptions, import, recognise};
use annals_store::exchange::verify_store;
use annals_store::views::Views;
use annals_store::{EventLog, MemoryLog};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Events a second that OpenCode 1.18.33 replayed.
const OPENCODE: f64 = 580.0;

fn fastest(rounds: u32, mut work: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..rounds {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed());
    }
    best
}

async fn read(path: &Path) -> Arc<dyn EventLog> {
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let source = recognise(path).expect("a fixture is recognised");
    let report = import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.expect("a fixture is imported");
    assert!(!report.has_bad_news(), "{}", path.display());
    log
}

async fn replay(log: &Arc<dyn EventLog>) {
    let sound = verify_store(&**log, &mut |_| {}).await.expect("a log in memory can be read");
    assert!(sound.is_sound());
    for session in log.sessions().all().await.expect("a log in memory can be read") {
        Views::new(log.clone(), None).whole(session.session, Seq(u64::MAX)).await.expect("a Session folds");
    }
}

fn main() {
    let rounds: u32 = std::env::args().nth(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(20);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/opencode/v2");
    let mut logs: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the fixtures are there")
        .map(|entry| entry.expect("a folder can be read").path())
        .filter(|path| path.to_string_lossy().ends_with(".events.jsonl"))
        .collect();
    logs.sort();
    let count = |path: &PathBuf| std::fs::read_to_string(path).expect("a fixture can be read").lines().count();
    let events: usize = logs.iter().map(count).sum();
    println!("{events} events of {} logs; fastest of {rounds} rounds", logs.len());
    let print = |what: &str, best: Duration| {
        let rate = events as f64 / best.as_secs_f64();
        println!("{what:<34} {rate:>9.0} events/s  {:>6.0}x OpenCode 1.18.33 ({OPENCODE} events/s)", rate / OPENCODE);
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
    let imported: Vec<Arc<dyn EventLog>> = logs.iter().map(|path| runtime.block_on(read(path))).collect();
    let replayed = fastest(rounds, || imported.iter().for_each(|log| runtime.block_on(replay(log))));
    print("replay: verify and fold all views", replayed);
    let both = || logs.iter().for_each(|path| runtime.block_on(async { replay(&read(path).await).await }));
    print("the same from the foreign file on", fastest(rounds, both));
    let command = fastest(rounds, || {
        for path in &logs {
            let mut out: Vec<u8> = Vec::new();
            let args = ["annals", "replay"].map(OsString::from).into_iter().chain([path.clone().into_os_string()]);
            let status = run(args, Surroundings::of_process(), Some(&mut out));
            assert_eq!(status, 0, "{}", path.display());
        }
    });
    print("`annals replay`, one run a log", command);
}
