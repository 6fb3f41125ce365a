//! Reads a log: verifies an export, reads its session into memory and prints each event.
//!
//! `cargo run -p annals-examples --bin read_log [EXPORT]`

use annals_core::Seq;
use annals_store::exchange::import_file;
use annals_store::{EventLog, MemoryLog};
use std::path::PathBuf;

const STORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/stories/compaction-after-date-change/log.jsonl");

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().nth(1).map_or_else(|| STORY.into(), PathBuf::from);
    // `SharedLog::open` opens a store instead. Nothing of a damaged export is imported.
    let log = MemoryLog::new();
    import_file(&log, &file, &mut |_| {}).await?;
    for head in log.sessions().await? {
        for slice in log.read(head.session, Seq::ZERO, usize::MAX).await? {
            for record in slice.records() {
                println!("{:>4}  {}", record.seq, record.event.kind().name());
            }
        }
    }
    Ok(())
}
