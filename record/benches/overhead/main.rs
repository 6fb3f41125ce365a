//! What recording costs: added latency to the first byte and per event, CPU time per MB, and bytes stored per byte sent.
//!
//! `cargo bench -p annals-record --bench overhead`. The rival is a proxy that only copies bytes between two connections.

mod client;
mod provider;

use annals_core::event::Location;
use annals_record::{Recorder, RecorderSettings, Upstream};
use annals_runtime::ports::{SeededIds, SystemClock};
use annals_store::views::Views;
use annals_store::{DiskLog, EventLog, OpenMode};
use client::Client;
use provider::Provider;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::error::Error;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

/// Requests whose latencies are measured.
const REQUESTS: usize = 200;
/// Events of an answer.
const EVENTS: usize = 50;
/// Megabytes of answers for the CPU time.
const MEGABYTES: usize = 64;

/// CPU time of this process.
fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Times, in order.
struct Times(Vec<Duration>);

impl Times {
    fn of(mut all: Vec<Duration>) -> Self {
        all.sort_unstable();
        Self(all)
    }

    /// Below which so many of a hundred are.
    fn percentile(&self, percent: usize) -> Duration {
        self.0.get(self.0.len() * percent / 100).copied().unwrap_or_default()
    }

    /// The middle and the 99th of a hundred, beyond those of others.
    fn beyond(&self, others: &Self) -> String {
        let beyond = |percent| micros(self.percentile(percent).saturating_sub(others.percentile(percent)));
        format!("p50 +{}, p99 +{}", beyond(50), beyond(99))
    }

    fn both(&self) -> String {
        format!("p50 {}, p99 {}", micros(self.percentile(50)), micros(self.percentile(99)))
    }
}

/// A proxy that copies bytes; gives its address.
async fn plain_proxy(to: String) -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    tokio::spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            let to = to.clone();
            tokio::spawn(async move {
                let Ok(mut to) = TcpStream::connect(to).await else { return };
                let quick = from.set_nodelay(true).and_then(|()| to.set_nodelay(true));
                if quick.is_ok() {
                    // An end of either side ends both.
                    copy_bidirectional(&mut from, &mut to).await.ok();
                }
            });
        }
    });
    Ok(address)
}

/// A recorder over a store on disk.
async fn recorder(folder: &Path, provider: &str) -> Result<(Recorder, Arc<DiskLog>), Box<dyn Error>> {
    let log = Arc::new(DiskLog::open(folder, OpenMode::Create)?.0);
    let shared: Arc<dyn EventLog> = log.clone();
    let settings = RecorderSettings {
        agent: "bench".to_owned(),
        location: Location { directory: "/bench".to_owned(), workspace: None },
        process: None,
        redactor: Arc::default(),
        keep_answers: true,
        files: None,
        upstreams: vec![Upstream { name: "anthropic".to_owned(), url: format!("http://{provider}") }],
        views: Views::new(shared.clone(), None),
        leases: None,
        observer: None,
        clock: Arc::new(SystemClock::local()),
        ids: Arc::new(SeededIds::scripted(1)),
    };
    Ok((Recorder::start("127.0.0.1:0", "token".to_owned(), shared, settings).await?, log))
}

/// The body of request `turn` of a conversation of an agent: 60 kB of tools, a system prompt, and what was said so far.
fn body(turn: usize) -> String {
    let text = |words: usize, seed: usize| {
        (0..words)
            .map(|at| format!("w{:x}", (at + 1) * (seed + 7) * 2_654_435_761 % 99_991))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let tools = (0..20).map(|tool| {
        let schema =
            json!({"type": "object", "properties": {"command": {"type": "string", "description": text(40, tool)}}});
        json!({"name": format!("tool{tool}"), "description": text(450, tool), "input_schema": schema})
    });
    let mut messages: Vec<Value> = Vec::new();
    for at in 0..=turn {
        messages.push(json!({"role": "user", "content": [{"type": "text", "text": text(150, at + 100)}]}));
        if at < turn {
            messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": provider::text(EVENTS)}]}));
        }
    }
    let tools: Vec<Value> = tools.collect();
    json!({"model": "claude-sonnet-4-5", "max_tokens": 8000, "system": text(2_000, 1), "tools": tools, "messages": messages, "stream": true}).to_string()
}

/// How a provider is reached.
struct Way<'a> {
    name: &'a str,
    address: &'a str,
    path: &'a str,
    /// Times to the first byte, and delays of events.
    first: Vec<Duration>,
    delays: Vec<Duration>,
}

/// Measures latencies, in turns, so that what else the machine does meets all.
async fn latencies(ways: &mut [Way<'_>], provider: &Provider) -> Result<(), Box<dyn Error>> {
    let mut clients = Vec::new();
    for way in ways.iter() {
        clients.push(Client::connect(way.address).await?);
    }
    for request in 0..REQUESTS {
        let body = body(request % 8);
        for (way, client) in ways.iter_mut().zip(&mut clients) {
            let answer = client.send(way.path, &body).await?;
            let sent = provider.sent();
            // The first request connects, and begins a session.
            if request > 0 {
                way.first.push(answer.first);
                let delays = answer.events.iter().zip(&sent);
                way.delays.extend(delays.map(|(got, sent)| got.saturating_duration_since(*sent)));
            }
        }
    }
    Ok(())
}

/// CPU time per MB of answers, of this process with client and provider.
async fn per_megabyte(address: &str, path: &str) -> Result<Duration, Box<dyn Error>> {
    let mut client = Client::connect(address).await?;
    let (before, mut bytes) = (cpu(), 0);
    while bytes < MEGABYTES << 20 {
        bytes += client.send(path, &body(0)).await?.bytes;
    }
    // What is recorded after the answer counts too.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    Ok((cpu() - before) / MEGABYTES as u32)
}

fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.fold(0, |sum, entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => sum + size(&entry.path()),
        // Segments are allocated before they are written.
        Ok(metadata) => sum + metadata.blocks() * 512,
        Err(_) => sum,
    })
}

fn micros(time: Duration) -> String {
    format!("{:.0} µs", time.as_secs_f64() * 1e6)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = "/v1/messages";
    let recorded = "/token/anthropic/v1/messages";
    let paced = Provider::start(EVENTS, Duration::from_millis(1)).await?;
    let folder = tempfile::tempdir()?;
    let (recording, _) = recorder(folder.path(), &paced.address).await?;
    let through = recording.proxy().base_url("anthropic");
    let address = through.trim_start_matches("http://").split('/').next().unwrap_or_default().to_owned();
    let plain = plain_proxy(paced.address.clone()).await?;
    println!("{REQUESTS} requests of 60 to 80 kB, answers of {EVENTS} events, one a millisecond");
    let way = |name, address, path| Way { name, address, path, first: Vec::new(), delays: Vec::new() };
    let mut ways =
        [way("direct", &paced.address, path), way("plain proxy", &plain, path), way("recorder", &address, recorded)];
    latencies(&mut ways, &paced).await?;
    let measured = ways.map(|way| (way.name, Times::of(way.first), Times::of(way.delays)));
    let [(name, first, delays), rest @ ..] = &measured;
    println!("{name:<12} first byte {}; event {}", first.both(), delays.both());
    for (name, added, late) in rest {
        println!("{name:<12} first byte {}; event {}", added.beyond(first), late.beyond(delays));
    }
    recording.finish().await;

    let quick = Provider::start(20_000, Duration::ZERO).await?;
    let folder = tempfile::tempdir()?;
    let (recording, _) = recorder(folder.path(), &quick.address).await?;
    let through = recording.proxy().base_url("anthropic");
    let address = through.trim_start_matches("http://").split('/').next().unwrap_or_default().to_owned();
    let plain = plain_proxy(quick.address.clone()).await?;
    let direct = per_megabyte(&quick.address, path).await?;
    for (name, address, path) in [("plain proxy", &plain, path), ("recorder", &address, recorded)] {
        let used = per_megabyte(address, path).await?.saturating_sub(direct);
        println!("{name:<12} {} of CPU per MB of answers", micros(used));
    }
    recording.finish().await;

    let turns = 60;
    let provider = Provider::start(EVENTS, Duration::ZERO).await?;
    let folder = tempfile::tempdir()?;
    let (recording, log) = recorder(folder.path(), &provider.address).await?;
    let through = recording.proxy().base_url("anthropic");
    let address = through.trim_start_matches("http://").split('/').next().unwrap_or_default().to_owned();
    let mut client = Client::connect(&address).await?;
    let mut sent = 0;
    for turn in 0..turns {
        let body = body(turn);
        sent += body.len() as u64;
        client.send(recorded, &body).await?;
    }
    let report = recording.finish().await;
    drop(log);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let sessions = report.sessions.len();
    let stored = size(folder.path());
    println!(
        "{turns} requests, {sent} bytes sent in {sessions} session: {stored} bytes stored, {:.3} per byte sent",
        stored as f64 / sent as f64
    );
    Ok(())
}
