//! Events folded per second for all views together and for each, against decoding the same events alone.
//!
//! `cargo bench -p annals-projections --bench folds [-- ROUNDS [TURNS]]`. Prints ratios; trust those, not the absolutes.

#[path = "../tests/story/mod.rs"]
mod story;

use annals_core::{Batch, codec};
use annals_projections::{
    Calls, Catalogue, Epochs, History, Inbox, Permissions, Profiles, Projection, Requests, SessionInfo, SessionView,
    Transcript, UsageTotals,
};
use std::hint::black_box;
use std::time::{Duration, Instant};
use story::{Command, Writer};

/// A session of many turns, each with two calls, a context message now and then, a compaction every 400 turns.
fn log(turns: usize) -> Vec<Batch> {
    let mut writer = Writer::new();
    writer.command(&Command::StartEpoch(annals_core::event::EpochCause::FirstTurn));
    for turn in 0..turns {
        let n = (turn % 251) as u8;
        writer.command(&Command::Admit { queue: false, text: n });
        writer.command(&Command::Promote);
        if turn % 20 == 0 {
            writer.command(&Command::Tell { key: 1, value: n });
        }
        writer.command(&Command::Step { texts: 1, calls: 2 });
        writer.command(&Command::Settle { fail: turn % 9 == 0 });
        writer.command(&Command::Settle { fail: false });
        writer.command(&Command::EndStep);
        if turn % 400 == 399 {
            writer.command(&Command::Compact);
            writer.command(&Command::StartEpoch(annals_core::event::EpochCause::Compaction));
        }
    }
    writer.batches
}

fn fastest(rounds: usize, mut work: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..rounds {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed());
    }
    best
}

fn fold<P: Projection>(batches: &[Batch]) -> P {
    let mut view = P::default();
    batches.iter().flat_map(Batch::records).for_each(|record| view.apply(&record));
    view
}

fn main() {
    let number = |at, default| std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let rounds = number(1, 7);
    let batches = log(number(2, 20_000));
    let events: usize = batches.iter().map(|batch| batch.events.len()).sum();
    let encoded: Vec<Vec<u8>> = batches.iter().map(|batch| codec::encode(batch).expect("a sealed batch")).collect();
    let decode = fastest(rounds, || {
        for bytes in &encoded {
            black_box(codec::decode(bytes).expect("an encoded batch"));
        }
    });
    let rate = |time: Duration| events as f64 / time.as_secs_f64() / 1e6;
    println!("{events} events in {} batches; fastest of {rounds} rounds", batches.len());
    println!("{:<14} {:>8.2} M events/s", "decode alone", rate(decode));
    let line = |name: &str, time: Duration| {
        let cost = time.as_secs_f64() / decode.as_secs_f64();
        println!("{name:<14} {:>8.2} M events/s   {cost:>5.2}x the cost of decoding", rate(time));
    };
    line("all views", fastest(rounds, || drop(black_box(fold::<SessionView>(&batches)))));
    line("history", fastest(rounds, || drop(black_box(fold::<History>(&batches)))));
    line("transcript", fastest(rounds, || drop(black_box(fold::<Transcript>(&batches)))));
    line("epochs", fastest(rounds, || drop(black_box(fold::<Epochs>(&batches)))));
    line("inbox", fastest(rounds, || drop(black_box(fold::<Inbox>(&batches)))));
    line("calls", fastest(rounds, || drop(black_box(fold::<Calls>(&batches)))));
    line("permissions", fastest(rounds, || drop(black_box(fold::<Permissions>(&batches)))));
    line(
        "usage",
        fastest(rounds, || {
            black_box(fold::<UsageTotals>(&batches));
        }),
    );
    line("profiles", fastest(rounds, || drop(black_box(fold::<Profiles>(&batches)))));
    line("requests", fastest(rounds, || drop(black_box(fold::<Requests>(&batches)))));
    line("session", fastest(rounds, || drop(black_box(fold::<SessionInfo>(&batches)))));
    line(
        "catalogue",
        fastest(rounds, || {
            let mut catalogue = Catalogue::default();
            batches.iter().flat_map(Batch::records).for_each(|record| catalogue.apply(&record));
            drop(black_box(catalogue));
        }),
    );
}
