//! Writes a long session into a new store: `long-session DIR EVENTS [--unproved] [--views]`. With `--views` what an import saves at its
//! end is saved. What `docs/benchmarks.md` measures.

use annals_core::Seq;
use annals_host::project::root;
use annals_inspect::SessionAt;
use annals_store::cache::ViewCache;
use annals_store::views::Views;
use annals_store::{DiskLog, EventLog, OpenMode};
use annals_tests::long_session::{Shape, session, write};
use std::path::Path;
use std::sync::Arc;

pub async fn run(arguments: Vec<String>) -> Result<(), Box<dyn std::error::Error>> {
    let [dir, events, rest @ ..] = arguments.as_slice() else {
        return Err("long-session DIR EVENTS [--unproved] [--views]".into());
    };
    let has = |option: &str| rest.iter().any(|word| word == option);
    let shape = Shape { proved: !has("--unproved"), ..Shape::usual(events.parse()?) };
    let (log, _) = DiskLog::open(Path::new(dir), OpenMode::Create)?;
    let log = Arc::new(log);
    // Into a store that has the session already, only views are saved.
    let known = log.head(session()).await?.map(|head| head.next.0);
    let events = match known {
        Some(events) => events,
        None => write(&*log, shape).await?,
    };
    if has("--views") {
        let cache = Arc::new(ViewCache::in_store(Path::new(dir)));
        SessionAt::new(log.clone(), Some(cache.clone()), session(), Seq(events))
            .save_views(&|directory| root(Path::new(directory)))
            .await?;
        let views = Views::new(log.clone(), Some(cache));
        views.catalogue().await?;
        views.spending().await?;
    }
    log.close().await?;
    println!("{events} events");
    Ok(())
}
