//! The codec against `serde_json`, and canonical JSON against `serde_json::to_string`, in one run.
//!
//! `cargo bench -p annals-core` prints nanoseconds per event (the fastest of many rounds) and the ratio to the rival. After `--` it takes
//! exports (`annals export`), whose batches are sealed again.

use annals_core::event::{Event, SyntheticAdded};
use annals_core::{Batch, Blobs, Digest, Seq, SessionId, SessionKey, Time, canonical, codec};
use serde_json::Value;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// One fact per kind; see `fixtures/`.
const LINES: &str = include_str!("../../fixtures/events.jsonl");

/// Rounds per contestant. Contestants take turns, so that a slow moment of the machine meets all of them.
const ROUNDS: usize = 200;

/// How often a round does its work, so that it takes far longer than reading the clock.
const REPEATS: usize = 20;

const KEY: SessionKey = SessionKey([0x0f; 32]);

/// The blobs that the fixture names.
struct Large(String);

impl Blobs for Large {
    fn text(&self, _: &Digest) -> Option<String> {
        Some(self.0.clone())
    }
}

struct Contestant<'a> {
    name: &'static str,
    work: Box<dyn FnMut() + 'a>,
    best: Duration,
}

fn contestant<'a, T>(name: &'static str, mut work: impl FnMut() -> T + 'a) -> Contestant<'a> {
    Contestant { name, work: Box::new(move || drop(black_box(work()))), best: Duration::MAX }
}

/// Runs all contestants and prints each against the last one, the rival.
fn race(title: &str, events: usize, mut contestants: Vec<Contestant<'_>>) {
    for _ in 0..ROUNDS {
        for contestant in &mut contestants {
            let begin = Instant::now();
            (0..REPEATS).for_each(|_| (contestant.work)());
            contestant.best = contestant.best.min(begin.elapsed());
        }
    }
    let rival = contestants.last().map_or(Duration::ZERO, |rival| rival.best);
    println!("{title}");
    for Contestant { name, best, .. } in &contestants {
        let nanos = best.as_nanos() as f64 / (events * REPEATS) as f64;
        println!("  {name:<34} {nanos:>9.1} ns/event {:>7.2}x", rival.as_secs_f64() / best.as_secs_f64());
    }
}

fn main() {
    let values: Vec<Value> = LINES.lines().map(|line| serde_json::from_str(line).expect("a fixture of JSON")).collect();
    let mut events: Vec<Event> =
        values.iter().cloned().map(|v| Event::from_json(v).expect("a fixture of events")).collect();
    events.iter_mut().for_each(|event| event.set_key(KEY));
    let blobs = Large("x".repeat(9_000));
    let count = events.len();
    let seal = |events: &[Event]| Batch::seal(&KEY, &blobs, SessionId([7; 16]), Seq(0), Time(1), None, events.to_vec());
    let sealed = seal(&events).expect("the fixture fits a batch");
    let (batch, encoded) = (sealed.batch, sealed.encoded);
    let line = batch.to_canonical().expect("the fixture has small numbers");
    println!("{count} events: {} bytes in the codec, {} bytes of JSON\n", encoded.len(), line.len());

    race(
        "encode a batch (serde_json: of values already in the shape of JSON)",
        count,
        vec![
            contestant("codec::encode", || codec::encode(&batch)),
            contestant("canonical JSON", || batch.to_canonical()),
            contestant("serde_json::to_string", || serde_json::to_string(&values)),
        ],
    );
    race(
        "decode a batch",
        count,
        vec![
            contestant("codec::decode", || codec::decode(&encoded)),
            contestant("codec::decode_header", || codec::decode_header(&encoded)),
            contestant("serde_json::from_str to events", || {
                serde_json::from_str(&line).ok().and_then(|line| Batch::from_json(line).ok())
            }),
        ],
    );
    race(
        "canonical JSON of values",
        count,
        vec![
            contestant("canonical::value", || values.iter().map(canonical::value).collect::<Vec<_>>()),
            contestant("serde_json::to_string", || values.iter().map(serde_json::to_string).collect::<Vec<_>>()),
        ],
    );
    // What sealing was before texts were committed to: encode, write canonical JSON with the texts in it, hash that.
    let empty = Batch { events: Vec::new(), ..batch.clone() };
    let former = |events: &[Event]| {
        let packed = Batch { events: events.to_vec(), ..empty.clone() }.pack();
        packed.and_then(|packed| Ok((Digest::of(packed.batch.to_canonical()?.as_bytes()), packed)))
    };
    race(
        "seal a batch of one fact per kind (commit, encode; the rival hashes the texts themselves)",
        count,
        vec![
            contestant("Batch::seal", || seal(&events)),
            contestant("Batch::compute_digest alone", || batch.compute_digest(&KEY, &blobs)),
            contestant("canonical JSON, hash", || former(&events)),
        ],
    );
    for file in std::env::args().skip(1).filter(|name| name.ends_with(".jsonl")) {
        let text = std::fs::read_to_string(&file).expect("an export");
        let batches = text.lines().filter_map(|line| Batch::from_json(serde_json::from_str(line).ok()?).ok());
        let batches: Vec<Vec<Event>> = batches
            .map(|mut batch| {
                batch.events.iter_mut().for_each(|event| event.set_key(KEY));
                batch.events
            })
            .collect();
        race(
            &file,
            batches.iter().map(Vec::len).sum(),
            vec![
                contestant("Batch::seal", || batches.iter().map(|events| seal(events).is_ok()).collect::<Vec<_>>()),
                contestant("canonical JSON, hash", || batches.iter().map(|events| former(events)).collect::<Vec<_>>()),
            ],
        );
    }
    for event in events.iter().filter(|event| !matches!(event.kind().name(), "session.forked")) {
        let one = std::slice::from_ref(event);
        race(
            event.kind().name(),
            1,
            vec![contestant("Batch::seal", || seal(one)), contestant("canonical JSON, hash", || former(one))],
        );
    }
    for bytes in [100, 1_000, 8_000, 30_000] {
        let text = "All work and no play makes Jack a dull boy.\n".repeat(bytes / 44 + 1);
        let events = [SyntheticAdded { text: text.into() }.into()];
        race(
            &format!("a text of {bytes} bytes"),
            1,
            vec![contestant("Batch::seal", || seal(&events)), contestant("canonical JSON, hash", || former(&events))],
        );
    }
}
