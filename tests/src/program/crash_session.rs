//! The child process of `crash_sessions`: continues one story on a store, and kills itself at the given append.
//!
//! `crash-session STORE STORY CALLS (never|before|after) APPEND`; prints the number of appends.

use annals_store::OpenMode;
use annals_store::disk::{DiskLog, files::RealDisk};
use annals_tests::crash;
use annals_tests::crash_stories::{Kill, KillingLog, STORIES, run_story};
use std::path::PathBuf;
use std::sync::Arc;

pub async fn run(arguments: Vec<String>) -> Result<(), Box<dyn std::error::Error>> {
    let usage = "usage: crash-session STORE STORY CALLS (never|before|after) APPEND";
    let [store, story, calls_file, side, append] = arguments.as_slice() else { return Err(usage.into()) };
    let append: u64 = append.parse()?;
    let kill = match side.as_str() {
        "never" => Kill::Never,
        "before" => Kill::Before(append),
        "after" => Kill::After(append),
        _ => return Err(usage.into()),
    };
    let (_, steps) = STORIES.get(story.parse::<usize>()?).ok_or(usage)?;
    let (log, _) = DiskLog::open_with(&PathBuf::from(store), OpenMode::Create, crash::small(), Arc::new(RealDisk))?;
    let log = Arc::new(log);
    let killing = Arc::new(KillingLog::new(log.clone(), kill));
    run_story(killing.clone(), steps, &PathBuf::from(calls_file)).await?;
    println!("{}", killing.appends());
    log.close().await?;
    Ok(())
}
