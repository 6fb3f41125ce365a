//! A real child process, killed at random while 64 tasks append. 20 rounds; `ANNALS_KILL_ROUNDS=200 cargo test -p
//! annals-tests --test crash kill::` does more.

use annals_core::Seq;
use annals_store::OpenMode;
use annals_store::conformance::material;
use annals_store::disk::{DiskLog, files::RealDisk};
use annals_tests::crash::{self, Dice};
use annals_tests::deadline::WithDeadline;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_missing_after_sigkill() {
    let mut dice = Dice::new(u64::from(std::process::id()));
    let mut dir = tempfile::tempdir().unwrap();
    for round in 0..crash::rounds("ANNALS_KILL_ROUNDS", 20) {
        if round % 5 == 0 {
            dir = tempfile::tempdir().unwrap();
        }
        let acknowledged = append_and_kill(dir.path(), Duration::from_millis(20 + dice.below(300)));
        assert!(!acknowledged.is_empty(), "round {round}: the child acknowledged nothing");
        let (log, report) =
            DiskLog::open_with(dir.path(), OpenMode::Existing, crash::small(), Arc::new(RealDisk)).unwrap();
        assert!(!report.lost_something(), "round {round}: {:?}", report.remarks);
        for (number, next) in acknowledged {
            let whole = crash::whole(&log, material::session(number), next).await;
            whole.unwrap_or_else(|violation| panic!("round {round}: {violation}; {:?}", report.remarks));
        }
        assert_eq!(log.remarks(), vec![], "round {round}");
        log.close().await.unwrap();
    }
}

/// Runs the child for a while after its first word. Gives, by session, up to which Seq it said that it was acknowledged.
fn append_and_kill(dir: &Path, after: Duration) -> BTreeMap<u64, Seq> {
    let program = env!("CARGO_BIN_EXE_annals-test");
    let mut child = Command::new(program).arg("crash-writer").arg(dir).stdout(Stdio::piped()).spawn_watched().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut acknowledged = BTreeMap::new();
    let mut take = |line: &str| {
        // What the kill cut off was not said.
        let Some((number, next)) = line.strip_suffix('\n').and_then(|line| line.split_once(' ')) else { return };
        let place: &mut Seq = acknowledged.entry(number.parse().unwrap()).or_default();
        *place = (*place).max(Seq(next.parse().unwrap()));
    };
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    take(&line);
    let killer = std::thread::spawn(move || {
        std::thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap();
    });
    line.clear();
    while lines.read_line(&mut line).unwrap() > 0 {
        take(&line);
        line.clear();
    }
    killer.join().expect("the child was killed");
    acknowledged
}
