//! The child process of `tests/crash/kill.rs`: appends from 64 tasks until it is killed, and prints each acknowledged position.

use annals_core::{Seq, SessionId};
use annals_store::conformance::material;
use annals_store::disk::DiskLog;
use annals_store::{AppendError, EventLog, OpenMode};
use annals_tests::crash;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Sixty tasks have a session each; four share one.
const TASKS: u64 = 64;
const SESSIONS: u64 = 61;

pub async fn run(arguments: Vec<String>) -> Result<(), Box<dyn std::error::Error>> {
    let dir = PathBuf::from(arguments.first().ok_or("usage: crash-writer STORE")?);
    let disk = Arc::new(annals_store::disk::files::RealDisk);
    let (log, _) = DiskLog::open_with(&dir, OpenMode::Create, crash::small(), disk)?;
    let log = Arc::new(log);
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let log = log.clone();
            tokio::spawn(async move { append_for_ever(&*log, task.min(SESSIONS - 1)).await })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

async fn append_for_ever(log: &dyn EventLog, number: u64) -> Result<(), String> {
    let session: SessionId = material::session(number);
    let head = log.head(session).await.map_err(|error| error.to_string())?;
    let mut next = head.map_or(Seq::ZERO, |head| head.next);
    loop {
        match log.append(crash::draft(session, next)).await {
            Ok(committed) => {
                next = committed.batch.next();
                let line = format!("{number} {next}\n");
                std::io::stdout().lock().write_all(line.as_bytes()).map_err(|error| error.to_string())?;
            }
            Err(AppendError::Conflict { actual, .. }) => next = actual,
            Err(error) => return Err(error.to_string()),
        }
    }
}
