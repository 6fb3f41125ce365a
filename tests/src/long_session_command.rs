//! Writes a long session into a new store: `long-session DIR EVENTS [--unproved]`. What `docs/benchmarks.md` measures.

use annals_store::{DiskLog, OpenMode};
use annals_tests::long_session::{Shape, write};
use std::path::Path;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, events, rest @ ..] = arguments.as_slice() else {
        return Err("long-session DIR EVENTS [--unproved]".into());
    };
    let shape = Shape { proved: !rest.iter().any(|word| word == "--unproved"), ..Shape::usual(events.parse()?) };
    let (log, _) = DiskLog::open(Path::new(dir), OpenMode::Create)?;
    let events = write(&log, shape).await?;
    log.close().await?;
    println!("{events} events");
    Ok(())
}
