//! What the import stories share.
#![allow(dead_code, reason = "each story file uses its part")]

use annals_core::{Event, Seq, SessionId};
use annals_import::{ImportOptions, ImportReport, import, recognise};
use annals_projections::{Projection, SessionView};
use annals_store::{EventLog, Head, MemoryLog};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// The folders with one session in each file.
pub const FOLDERS: [&str; 4] = ["opencode/v1", "opencode/v2", "codex", "claude-code"];

pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

pub fn fixture(name: &str) -> PathBuf {
    fixtures().join(name)
}

pub fn memory() -> Arc<dyn EventLog> {
    Arc::new(MemoryLog::new())
}

pub fn scratch() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// A fixture under another name.
pub fn copied(folder: &TempDir, fixture_name: &str, name: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::copy(fixture(fixture_name), &path).unwrap();
    path
}

/// Lines with their line ends.
pub fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

pub async fn run(log: &Arc<dyn EventLog>, path: &Path) -> ImportReport {
    import(log, &recognise(path).unwrap(), &ImportOptions::default(), &mut |_| {}).await.unwrap()
}

pub async fn head(log: &Arc<dyn EventLog>, session: SessionId) -> Option<Head> {
    log.head(session).await.unwrap()
}

pub async fn events(log: &Arc<dyn EventLog>, session: SessionId) -> Vec<(Seq, Event)> {
    let slices = log.read(session, Seq::ZERO, usize::MAX).await.unwrap();
    slices.iter().flat_map(|slice| slice.records().map(|it| (it.seq, it.event.clone())).collect::<Vec<_>>()).collect()
}

pub async fn view(log: &Arc<dyn EventLog>, session: SessionId) -> SessionView {
    let mut view = SessionView::default();
    for slice in log.read(session, Seq::ZERO, usize::MAX).await.unwrap() {
        slice.records().for_each(|record| view.apply(&record));
    }
    view
}
