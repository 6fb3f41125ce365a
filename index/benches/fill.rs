//! How long it takes to fill the index of a store that is there.
//!
//! `cargo bench -p annals-index --bench fill -- STORE [ROUNDS]`. Reads the store and writes nothing to it: the index is made elsewhere, from
//! nothing in each round.

use annals_index::{IndexPlace, fill};
use annals_store::ReadOnlyLog;
use std::path::PathBuf;
use std::time::Instant;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let store = args.next().map(PathBuf::from).ok_or("the folder of a store is needed")?;
    let rounds: u32 = args.next().map_or(Ok(3), |rounds| rounds.parse())?;
    let (log, _) = ReadOnlyLog::open(&store)?;
    for _ in 0..rounds {
        let elsewhere = tempfile::tempdir()?;
        let place = IndexPlace::in_store(elsewhere.path());
        let begun = Instant::now();
        let filled = fill(&log, &place, |_| {}).await?;
        let (seconds, bytes) = (begun.elapsed().as_secs_f64(), std::fs::metadata(place.file())?.len());
        let per_second = filled.events as f64 / seconds;
        println!("{} events in {seconds:.2} s, {per_second:.0} a second; {bytes} bytes", filled.events);
    }
    Ok(())
}
