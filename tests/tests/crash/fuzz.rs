//! Every parser takes whatever bytes it is given: some rounds of each fuzz target, from one seed. `.ci/long` runs them longer.

use annals_core::codec;
use annals_import::recognise;
use annals_scenario::Scenario;
use annals_store::exchange::verify_file;
use annals_tests::fuzz::{Limits, Mutator, TARGETS, Target, Why, run};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

fn holds(name: &str, rounds: u64) {
    let target = TARGETS.into_iter().find(|target| target.name == name).expect("a target of that name");
    let artifacts = std::env::temp_dir().join("annals-fuzz-failures");
    let ran = run(target, 20_261_122, Limits { rounds, ..Limits::default() }, &artifacts);
    assert_eq!(ran.unwrap_or_else(|failure| panic!("{failure}")), rounds);
}

#[test]
fn segments_of_the_journal_may_hold_anything() {
    holds("journal", 1_000);
}

#[test]
fn packed_segments_and_outlines_may_hold_anything() {
    holds("packed", 1_000);
}

#[test]
fn batches_in_the_codec_may_be_anything() {
    holds("codec", 10_000);
}

#[test]
fn messages_between_processes_may_be_anything() {
    holds("messages", 10_000);
}

#[test]
fn files_of_other_agents_may_hold_anything() {
    holds("importers", 150);
}

#[test]
fn answers_of_providers_may_be_anything() {
    holds("answers", 500);
}

#[test]
fn configuration_may_be_anything() {
    holds("config", 300);
}

#[test]
fn scenario_files_may_hold_anything() {
    holds("scenarios", 1_000);
}

#[test]
fn exports_may_hold_anything() {
    holds("export", 300);
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let target = TARGETS.into_iter().find(|target| target.name == name).expect("a target of that name");
    (target.corpus)().expect("a corpus")
}

/// Mutations of what a parser refuses at once would reach nothing behind its first check.
#[test]
fn mutations_begin_with_what_the_parsers_accept() {
    for bytes in corpus("codec") {
        codec::decode(&bytes).expect("a Batch");
    }
    for bytes in corpus("scenarios") {
        let text = String::from_utf8(bytes).expect("text");
        Scenario::parse(&text, Path::new("it.json")).expect("a scenario");
    }
    let exports = corpus("export");
    let sound = exports.iter().filter(|bytes| verify_file(&mut &***bytes, None, &mut |_| {}).unwrap().is_sound());
    assert_eq!(sound.count(), exports.len());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it.events.jsonl");
    for bytes in corpus("importers") {
        std::fs::write(&path, bytes).unwrap();
        recognise(&path).expect("a file of another agent");
    }
}

/// A target of the tests, which fails or not.
fn target(run: fn(&[u8]) -> std::io::Result<()>) -> Target {
    Target { name: "sample", corpus: || Ok(vec![b"{\"a\": 1}\n".to_vec(), vec![0xff; 64]]), run }
}

#[test]
fn a_panic_names_its_seed_and_its_input_fails_again() {
    let folder = tempfile::tempdir().unwrap();
    let panics = target(|bytes| {
        assert!(bytes.len() < 70, "too long");
        Ok(())
    });
    let failure = run(panics, 7, Limits { rounds: 10_000, ..Limits::default() }, folder.path()).unwrap_err();
    assert_eq!((failure.seed, &failure.why), (7, &Why::Panic("too long".into())));
    let input = std::fs::read(failure.input.unwrap()).unwrap();
    assert!(input.len() >= 70);
    let corpus = (panics.corpus)().unwrap();
    assert_eq!(Mutator::new(&corpus, 7, "sample").input(failure.round), input, "the same seed gives the same input");
}

/// Set when the test is over, so that its thread ends as well.
static OVER: AtomicBool = AtomicBool::new(false);

#[test]
fn a_round_that_does_not_end_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let hangs = target(|bytes| {
        while bytes.first() == Some(&0xff) && !OVER.load(SeqCst) {
            std::thread::yield_now();
        }
        Ok(())
    });
    let limits = Limits { rounds: 10, round: Duration::from_millis(200), ..Limits::default() };
    let failure = run(hangs, 7, limits, folder.path()).unwrap_err();
    OVER.store(true, SeqCst);
    assert_eq!((failure.round, failure.why), (1, Why::Hang(limits.round)));
}
