//! CPU time of questions about long sessions, and how it grows.
//!
//! `cargo bench -p annals-inspect --bench questions -- EXPORT...`: exports of one session each, in the order of their lengths, as
//! `long-session` writes them. Each is imported into a store in a temporary folder with the views that an import saves; then each question
//! is asked by a reader that has just opened the store. Prints milliseconds, the fastest of five, and the largest resident memory.

use annals_core::{Seq, SessionId};
use annals_inspect::SessionAt;
use annals_inspect::cache::Asking;
use annals_inspect::reader::Reader;
use annals_store::cache::ViewCache;
use annals_store::exchange::import_file;
use annals_store::{DiskLog, EventLog, OpenMode, ReadOnlyLog};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Failed = Box<dyn Error>;

/// The questions, by the commands that ask them.
const QUESTIONS: [&str; 16] = [
    "opening alone",
    "show",
    "history",
    "usage",
    "requests",
    "requests N",
    "why",
    "when",
    "diff",
    "compactions",
    "cache --last 10",
    "cache",
    "transcript, 40",
    "statistics",
    "prove",
    "log",
];

/// CPU time of this process, in microseconds.
fn cpu() -> u64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    (now.tv_sec as u64) * 1_000_000 + (now.tv_nsec as u64) / 1_000
}

/// The largest resident memory so far, in MB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default() / 1_024
}

/// Forgets the largest resident memory, where the system allows that.
fn forget_memory() {
    drop(std::fs::write("/proc/self/clear_refs", "5"));
}

/// Imports an export with the views that an import saves. Gives the session, its length, and what it cost.
async fn imported(file: &Path, store: &Path) -> Result<(SessionId, Seq), Failed> {
    let before = cpu();
    forget_memory();
    let (log, _) = DiskLog::open(store, OpenMode::Create)?;
    let log: Arc<DiskLog> = Arc::new(log);
    import_file(&*log, file, &mut |_| {}).await?;
    let read = cpu();
    let head = log.sessions().all().await?.into_iter().next().ok_or("an empty export")?;
    let reader = Reader::new(log.clone(), Some(Arc::new(ViewCache::in_store(store))), store.to_owned());
    reader.session_at(head.session, head.head.next).save_views(&|directory| directory.into()).await?;
    let saved = cpu();
    drop(reader);
    log.close().await?;
    let events = head.head.next.0;
    println!(
        "{events} events imported: {} ms, {} events/s; views {} ms, closing {} ms, {} MB",
        (read - before) / 1_000,
        events * 1_000_000 / (read - before).max(1),
        (saved - read) / 1_000,
        (cpu() - saved) / 1_000,
        memory()
    );
    Ok((head.session, head.head.next))
}

async fn ask(question: &str, past: &SessionAt, reader: &Reader) -> Result<(), Failed> {
    let half = Seq(past.until.0 / 2);
    match question {
        "opening alone" => {}
        "show" => drop(past.log().batch_at(past.session, half).await?),
        "history" => drop(reader.bounded(past.session, past.until).await?),
        "usage" => {
            past.usage().await?;
            past.safety(&|directory| directory.into()).await?;
        }
        "requests" => drop(past.requests().await?.iter().count()),
        "requests N" => drop(past.rebuilt_request(1).await?),
        "why" => drop(past.why(None, None).await?),
        "when" => drop(past.when("zzqqy").await?),
        "diff" => drop(reader.session_at(past.session, Seq(half.0 + 10)).diff_views(half).await?),
        "compactions" => drop(past.compactions().await?),
        "cache --last 10" => drop(past.cache(Asking { last: Some(10), ttl_ms: 300_000 }).await?),
        "cache" => drop(past.cache(Asking { last: None, ttl_ms: 300_000 }).await?),
        "transcript, 40" => {
            let mut left = 40;
            let visit = |_: &_| {
                left -= 1;
                if left > 0 { Ok(()) } else { Err(Enough) }
            };
            drop(reader.each_message(past.session, past.until, visit).await);
        }
        "statistics" => drop(past.statistics().await?),
        "prove" => drop(past.prove(false).await?),
        _ => past.each(Seq::ZERO, past.until, |_| {}).await?,
    }
    Ok(())
}

/// Enough was seen.
struct Enough;

impl From<annals_inspect::reader::FindError> for Enough {
    fn from(_: annals_inspect::reader::FindError) -> Self {
        Self
    }
}

/// The fastest of five, in microseconds, and the largest resident memory.
async fn measured(question: &str, store: &Path, (session, until): (SessionId, Seq)) -> Result<(u64, u64), Failed> {
    let mut best = u64::MAX;
    forget_memory();
    for _ in 0..5 {
        let before = cpu();
        let (log, _) = ReadOnlyLog::open(store)?;
        let reader = Reader::new(Arc::new(log), Some(Arc::new(ViewCache::read_only(store))), store.to_owned());
        ask(question, &reader.session_at(session, until), &reader).await?;
        drop(reader);
        best = best.min(cpu() - before);
    }
    Ok((best, memory()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failed> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).filter(|arg| arg != "--bench").map(PathBuf::from).collect();
    if files.is_empty() {
        println!("name exports of one session each, as `annals export` writes them of what long-session wrote");
        return Ok(());
    }
    let mut stores = Vec::new();
    for file in &files {
        let dir = tempfile::tempdir()?;
        let session = imported(file, dir.path()).await?;
        stores.push((dir, session));
    }
    println!("CPU in ms (largest resident memory in MB), fastest of 5, exponent of growth");
    for question in QUESTIONS {
        let mut cells = Vec::new();
        for (dir, session) in &stores {
            cells.push((session.1.0, measured(question, dir.path(), *session).await?));
        }
        print!("{question:>16}");
        for (_, (micros, megabytes)) in &cells {
            print!(" {:>10.1} ({megabytes:>3})", *micros as f64 / 1_000.0);
        }
        if let (Some((small, (first, _))), Some((large, (last, _)))) = (cells.first(), cells.last())
            && small < large
        {
            let exponent = (*last as f64 / *first as f64).ln() / (*large as f64 / *small as f64).ln();
            print!("   {exponent:.2}");
        }
        println!();
    }
    Ok(())
}
