//! The codec against `serde_json`, and canonical JSON against `serde_json::to_string`, in one run.
//!
//! `cargo bench -p annals-core` prints nanoseconds per event (the fastest of many rounds) and the ratio to the rival.

use annals_core::event::Event;
use annals_core::{Batch, Seq, SessionId, Time, canonical, codec};
use serde_json::Value;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// One fact per kind; see `fixtures/`.
const LINES: &str = include_str!("../../fixtures/events.jsonl");

/// Rounds per contestant. Contestants take turns, so that a slow moment of the machine meets all of them.
const ROUNDS: usize = 200;

/// How often a round does its work, so that it takes far longer than reading the clock.
const REPEATS: usize = 20;

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
    let events: Vec<Event> =
        values.iter().cloned().map(|v| Event::from_json(v).expect("a fixture of events")).collect();
    let count = events.len();
    let sealed =
        Batch::seal(SessionId([7; 16]), Seq(0), Time(1), None, events.clone()).expect("the fixture fits a batch");
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
    race(
        "seal a batch (encode, canonical JSON, hash)",
        count,
        vec![
            contestant("Batch::seal", || Batch::seal(batch.session, batch.first, batch.at, None, events.clone())),
            contestant("Batch::compute_digest alone", || batch.compute_digest()),
        ],
    );
}
