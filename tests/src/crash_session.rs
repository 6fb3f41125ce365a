//! The child of the session crashes: lives one life on a store, and dies where it is told to.
//!
//! `crash-session STORE LIFE RAN (never|before|after) APPEND`; prints how many appends it asked for.

use annals_store::OpenMode;
use annals_store::disk::{DiskLog, files::RealDisk};
use annals_tests::crash;
use annals_tests::lives::{Kill, KillingLog, LIVES, live};
use std::path::PathBuf;
use std::sync::Arc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let usage = "usage: crash-session STORE LIFE RAN (never|before|after) APPEND";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, life, ran, side, append] = arguments.as_slice() else { return Err(usage.into()) };
    let append: u64 = append.parse()?;
    let kill = match side.as_str() {
        "never" => Kill::Never,
        "before" => Kill::Before(append),
        "after" => Kill::After(append),
        _ => return Err(usage.into()),
    };
    let (_, steps) = LIVES.get(life.parse::<usize>()?).ok_or(usage)?;
    let (log, _) = DiskLog::open_with(&PathBuf::from(store), OpenMode::Create, crash::small(), Arc::new(RealDisk))?;
    let log = Arc::new(log);
    let killing = Arc::new(KillingLog::new(log.clone(), kill));
    live(killing.clone(), steps, &PathBuf::from(ran)).await?;
    println!("{}", killing.appends());
    log.close().await?;
    Ok(())
}
