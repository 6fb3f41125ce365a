//! Reading a long session, single places, the first screen; and what it takes on disk.

use crate::material::draft;
use crate::rivals::{Record, Rival, Sqlite};
use crate::{median, rate, timed};
use annals_core::{Batch, Digest, Seq, SessionId, codec};
use annals_store::cache::{FoldVersion, Saved, ViewCache};
use annals_store::conformance::material::session;
use annals_store::disk::{Tuning, files::RealDisk};
use annals_store::exchange::verify_store;
use annals_store::{DiskLog, EventLog, OpenMode, SharedLog};
use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
/// Events a batch.
const TOGETHER: usize = 2;
/// Bytes a batch.
const SIZE: usize = 600;
/// How many batches a reader takes at a time.
const PAGE: usize = 1024;

/// Makes one long session and reads it.
pub async fn all(events: u64, tuning: Tuning, asked: &dyn Fn(&str) -> bool) -> Result<(), Box<dyn Error>> {
    let dir = crate::folder()?;
    let store = dir.path().join("store");
    let id = session(1);
    let open = |mode| DiskLog::open_with(&store, mode, tuning, Arc::new(RealDisk));
    let (log, _) = open(OpenMode::Create)?;
    let (records, payload) = write(&log, id, events).await?;
    // Closed first: until then sled may lack what was written last.
    log.close().await?;
    if asked("disk") {
        print_size("live", &store, payload)?;
    }
    // Everything is read as it lies for good: packed, sled without what it no longer uses.
    let (sealed, took) = timed(|| DiskLog::compact(&store, tuning));
    sealed?;
    println!("compacting took {took:.1?}");
    if asked("disk") {
        print_size("sealed", &store, payload)?;
    }
    let ((log, report), opened) = timed(|| open(OpenMode::Existing)).transpose()?;
    println!("open a clean store of {events} events: {opened:.1?}; remarks: {:?}", report.remarks);
    if asked("replay") {
        replay(&log, id, &records, &dir.path().join("raw")).await?;
    }
    if asked("point") {
        point(&log, id, &records, &dir.path().join("sqlite")).await?;
    }
    if asked("verify") {
        verify(&log, &records).await?;
    }
    if asked("screen") {
        screen(&log, id, &ViewCache::in_folder(store.join("cache"))).await?;
    }
    log.close().await?;
    if asked("guest") {
        guest(&store, id, events).await?;
    }
    Ok(())
}

/// The same read in order through the owner of the store and through a guest, which reads sealed segments by itself, in turns.
async fn guest(store: &Path, id: SessionId, events: u64) -> Result<(), Box<dyn Error>> {
    let owner = SharedLog::open(store, OpenMode::Existing).await?;
    let guest = SharedLog::open(store, OpenMode::Existing).await?;
    let mut took: [Vec<Duration>; 2] = Default::default();
    for _ in 0..2 * ROUNDS {
        for (log, took) in [&owner, &guest].into_iter().zip(&mut took) {
            let (begin, mut seen) = (Instant::now(), 0);
            read_all(log, id, |batch| seen += black_box(batch).events.len() as u64).await?;
            took.push(begin.elapsed());
            assert!(seen >= events, "both read everything");
        }
    }
    let [owned, visited] = took.map(median);
    println!(
        "read in order: owner {:.0} events/s, guest {:.0}/s: {:.2} of the owner's time",
        rate(events as usize, owned),
        rate(events as usize, visited),
        visited.as_secs_f64() / owned.as_secs_f64()
    );
    guest.close().await?;
    owner.close().await?;
    Ok(())
}

trait Transpose<T, E, D> {
    fn transpose(self) -> Result<(T, D), E>;
}

impl<T, E, D> Transpose<T, E, D> for (Result<T, E>, D) {
    fn transpose(self) -> Result<(T, D), E> {
        Ok((self.0?, self.1))
    }
}

/// One session, many batches a flush: how fast that goes is measured elsewhere.
async fn write(log: &DiskLog, id: SessionId, events: u64) -> Result<(Vec<Record>, u64), Box<dyn Error>> {
    let begin = Instant::now();
    let (mut at, mut records, mut payload) = (Seq::ZERO, Vec::new(), 0);
    while at.0 < events {
        let mut drafts = vec![draft(id, at, TOGETHER, SIZE)];
        while drafts.len() < 256 {
            let last = drafts.last().map_or(at, |last| last.expected.plus(last.events.len() as u64));
            drafts.push(draft(id, last, TOGETHER, SIZE));
        }
        let appended = log.append_all(drafts).await;
        appended.refused.map_or(Ok(()), Err)?;
        for committed in appended.committed {
            let encoded = codec::encode(&committed.batch)?;
            payload += encoded.len() as u64;
            records.push((id, committed.batch.first.0, encoded));
            at = committed.batch.next();
        }
    }
    let batches = records.len();
    println!("wrote {at} events in {batches} batches ({payload} bytes) in {:.1?}", begin.elapsed());
    Ok((records, payload))
}

/// Everything in order, checked and decoded, against the same from a plain file.
async fn replay(log: &DiskLog, id: SessionId, records: &[Record], path: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = Vec::new();
    for (_, _, bytes) in records {
        file.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        file.extend_from_slice(&crc32c::crc32c(bytes).to_le_bytes());
        file.extend_from_slice(bytes);
    }
    std::fs::write(path, &file)?;
    let (mut ours, mut raw, mut events) = (Vec::new(), Vec::new(), 0);
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let mut seen = 0usize;
        read_all(log, id, |batch| seen += black_box(batch).events.len()).await?;
        ours.push(begin.elapsed());
        let (read, took) = timed(|| read_plain(path));
        raw.push(took);
        println!("    a round: {:.1?}, raw file {took:.1?}", ours.last().copied().unwrap_or_default());
        events = read?;
        assert_eq!(seen, events, "both readers see the same");
    }
    let (ours, raw) = (median(ours), median(raw));
    let ratio = raw.as_secs_f64() / ours.as_secs_f64();
    println!("replay: {:.0} events/s; raw file {:.0}/s", rate(events, ours), rate(events, raw));
    println!("    x raw file {ratio:.2}");
    Ok(())
}

async fn read_all(log: &impl EventLog, id: SessionId, mut each: impl FnMut(&Arc<Batch>)) -> Result<(), Box<dyn Error>> {
    let mut from = Seq::ZERO;
    loop {
        let page = log.read(id, from, PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        from = last.until;
        page.iter().for_each(|slice| each(&slice.batch));
    }
}

fn read_plain(path: &Path) -> Result<usize, Box<dyn Error>> {
    use std::io::Read;
    let mut reader = std::io::BufReader::with_capacity(1 << 20, std::fs::File::open(path)?);
    let (mut events, mut header, mut body) = (0, [0; 8], Vec::new());
    while reader.read_exact(&mut header).is_ok() {
        let [l0, l1, l2, l3, c0, c1, c2, c3] = header;
        body.resize(u32::from_le_bytes([l0, l1, l2, l3]) as usize, 0);
        reader.read_exact(&mut body)?;
        if crc32c::crc32c(&body) != u32::from_le_bytes([c0, c1, c2, c3]) {
            return Err("checksum".into());
        }
        events += black_box(codec::decode(&body)?).events.len();
    }
    Ok(events)
}

/// Single places all over the session, decoded.
async fn point(log: &DiskLog, id: SessionId, records: &[Record], path: &Path) -> Result<(), Box<dyn Error>> {
    let mut sqlite = Sqlite::new(path)?;
    for records in records.chunks(10_000) {
        sqlite.commit(records).map_err(|error| error.to_string())?;
    }
    let places: Vec<u64> = (0..100_000).map(|n| records[(n * 7919) % records.len()].1).collect();
    let (mut ours, mut its) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for seq in &places {
            black_box(log.read(id, Seq(*seq), 1).await?);
        }
        ours.push(begin.elapsed());
        let begin = Instant::now();
        for seq in &places {
            black_box(codec::decode(&sqlite.get(id, *seq)?)?);
        }
        its.push(begin.elapsed());
    }
    let (ours, its) = (median(ours), median(its));
    let ratio = its.as_secs_f64() / ours.as_secs_f64();
    println!("point read: {:.1?} each; SQLite {:.1?}", ours / places.len() as u32, its / places.len() as u32);
    println!("    x SQLite {ratio:.2}");
    Ok(())
}

/// Verifying the whole store: every digest made again from the canonical form, every chain followed. The rival is BLAKE3
/// alone, over the encoded bytes in memory, batch by batch.
async fn verify(log: &DiskLog, records: &[Record]) -> Result<(), Box<dyn Error>> {
    let (mut ours, mut its, mut events) = (Vec::new(), Vec::new(), 0);
    for _ in 0..3 {
        let begin = Instant::now();
        let report = verify_store(log, &mut |_| {}).await?;
        ours.push(begin.elapsed());
        events = report.events as usize;
        let (_, took) = timed(|| {
            records.iter().for_each(|(_, _, bytes)| {
                black_box(Digest::of(bytes));
            });
        });
        its.push(took);
    }
    let (ours, its) = (median(ours), median(its));
    let ratio = its.as_secs_f64() / ours.as_secs_f64();
    println!("verify: {:.0} events/s; BLAKE3 alone {:.0}/s", rate(events, ours), rate(events, its));
    println!("    x BLAKE3 {ratio:.2}");
    Ok(())
}

/// A view of fixed size over the whole session and its last 50 batches: from scratch, and from the saved view.
async fn screen(log: &DiskLog, id: SessionId, cache: &ViewCache) -> Result<(), Box<dyn Error>> {
    let fold = FoldVersion { name: "bench", version: 1 };
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    let begin = Instant::now();
    read_all(log, id, |batch| {
        batch.events.iter().for_each(|event| *counts.entry(event.kind().name()).or_default() += 1);
    })
    .await?;
    black_box(log.read_back(id, Seq(u64::MAX), 50).await?);
    let scratch = begin.elapsed();
    let head = log.head(id).await?.ok_or("the session is there")?;
    let bytes = serde_json::to_vec(&counts)?;
    cache.put(id, fold, &Saved { seq: head.next, digest: head.digest, bytes })?;
    let mut saved = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let head = log.head(id).await?.ok_or("the session is there")?;
        let view = cache.nearest(id, fold, head.next).ok_or("a view was saved")?;
        black_box(serde_json::from_slice::<BTreeMap<String, u64>>(&view.bytes)?);
        black_box(log.read(id, view.seq, PAGE).await?);
        black_box(log.read_back(id, Seq(u64::MAX), 50).await?);
        saved.push(begin.elapsed());
    }
    let saved = median(saved);
    let ratio = scratch.as_secs_f64() / saved.as_secs_f64();
    println!("first screen: {saved:.1?} with a saved view, {scratch:.1?} from scratch");
    println!("    x scratch {ratio:.0}; resident memory {}", resident());
    Ok(())
}

fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.map_or_else(|| "unknown".to_owned(), |line| line.trim().to_owned())
}

fn print_size(when: &str, store: &Path, payload: u64) -> Result<(), Box<dyn Error>> {
    let usage = DiskLog::usage(store)?;
    let times = |bytes: u64| bytes as f64 / payload as f64;
    let [journal, sealed, sled] = [usage.journal, usage.sealed, usage.sled].map(|usage| usage.bytes);
    println!(
        "disk, {when}: {:.2} x payload (journal {:.2}, packed {:.2}, sled {:.2})",
        times(journal + sealed + sled),
        times(journal),
        times(sealed),
        times(sled)
    );
    Ok(())
}
