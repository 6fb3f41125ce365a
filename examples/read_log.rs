//! Reads a log: imports a session that another agent recorded into a log in memory and prints each event.
//!
//! `cargo run -p annals-examples --bin read_log [FILE]`

use annals_core::Seq;
use annals_import::{ImportOptions, import, recognise};
use annals_store::{EventLog, MemoryLog};
use std::path::PathBuf;
use std::sync::Arc;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/opencode/v2/tools.events.jsonl");

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().nth(1).map_or_else(|| RECORDED.into(), PathBuf::from);
    // `SharedLog::open` opens a store instead, and `annals_store::exchange::import_file` reads an export of ours.
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    import(&log, &recognise(&file)?, &ImportOptions::default(), &mut |_| {}).await?;
    for head in log.sessions().all().await? {
        for slice in log.read(head.session, Seq::ZERO, usize::MAX).await? {
            for record in slice.records() {
                println!("{:>4}  {}", record.seq, record.event.kind().name());
            }
        }
    }
    Ok(())
}
