use super::{LAWS, Violation, run_all};
use crate::{EventLog, MemoryLog};
use std::collections::BTreeSet;
use std::sync::Arc;

async fn fresh() -> Result<Arc<dyn EventLog>, Violation> {
    Ok(Arc::new(MemoryLog::new()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_log_conforms() {
    run_all(fresh).await.unwrap();
}

#[tokio::test]
async fn the_memory_log_conforms_on_one_thread() {
    run_all(fresh).await.unwrap();
}

#[tokio::test]
async fn a_clone_of_a_memory_log_is_the_same_log() {
    let log = MemoryLog::new();
    let again = log.clone();
    super::material::begin(&log, super::material::session(1)).await.unwrap();
    drop(log);
    assert_eq!(again.sessions().all().await.unwrap().len(), 1);
}

#[test]
fn every_law_has_its_own_name() {
    assert_eq!(LAWS.iter().map(|law| law.name).collect::<BTreeSet<_>>().len(), LAWS.len());
}

#[tokio::test]
async fn a_log_that_is_not_empty_at_first_does_not_conform() {
    let log = MemoryLog::new();
    let shared = async || Ok(Arc::new(log.clone()) as Arc<dyn EventLog>);
    let violation = run_all(shared).await.unwrap_err();
    assert!(violation.0.contains(": "), "{violation}");
}
