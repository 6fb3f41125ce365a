//! Every recorded Session of three agents becomes a log of ours, once.

use annals_cli::import::{ImportReport, Options, Outcome, import, recognise, sources};
use annals_store::{EventLog, MemoryLog};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

fn memory() -> Arc<dyn EventLog> {
    Arc::new(MemoryLog::new())
}

async fn run(log: &Arc<dyn EventLog>, path: &Path) -> ImportReport {
    let source = recognise(path).unwrap();
    import(log, &source, &Options::default(), &mut |_| {}).await.unwrap()
}

#[tokio::test]
async fn every_fixture_imports_once_and_is_known_ever_after() {
    for folder in ["opencode/v1", "opencode/v2", "codex", "claude-code"] {
        let (found, errors) = sources(&fixtures().join(folder)).unwrap();
        assert!(errors.is_empty(), "{errors:?}");
        for source in found {
            let log = memory();
            let first = import(&log, &source, &Options::default(), &mut |_| {}).await.unwrap();
            assert!(!first.has_bad_news(), "{first:#?}");
            println!(
                "{:?} {} {:?}",
                source.path.file_name(),
                first.new_batches(),
                first
                    .sessions
                    .iter()
                    .flat_map(|s| s.losses.iter().map(|(k, v)| (k.clone(), v.count)))
                    .collect::<Vec<_>>()
            );
            let again = import(&log, &source, &Options::default(), &mut |_| {}).await.unwrap();
            assert_eq!((again.new_batches(), again.known_batches()), (0, first.new_batches()), "{again:#?}");
            assert!(again.sessions.iter().all(|session| session.outcome == Outcome::Imported));
        }
    }
    let log = memory();
    let first = run(&log, &fixtures().join("opencode/opencode.db")).await;
    println!(
        "{:?}",
        first.sessions.iter().map(|s| (s.title.clone(), s.new, s.outcome.clone(), s.losses.len())).collect::<Vec<_>>()
    );
    assert!(!first.has_bad_news(), "{first:#?}");
    assert_eq!(first.sessions.len(), 25);
}
