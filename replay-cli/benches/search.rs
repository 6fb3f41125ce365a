//! How fast `annals search` answers, with its index and without, compared with ripgrep over the source files.
//!
//! `cargo bench -p annals-cli --bench search [-- EVENTS [ROUNDS]]`. Writes sessions in the format of Claude Code, imports them, and
//! asks whole commands in this process, each of which opens the store anew. The rival is the searching library of ripgrep on one
//! thread, and `rg` itself where it is installed; both read files that the system has in memory.

use annals_cli::app::{Surroundings, run};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::Searcher;
use grep_searcher::sinks::Lossy;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Events that a turn of the corpus becomes.
const EVENTS_OF_A_TURN: usize = 10;
const TURNS: usize = 150;

/// Text of a fixed vocabulary in which a few words are most of it: the same on each run.
struct Words {
    state: u64,
}

impl Words {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.state >> 33
    }

    fn word(&mut self) -> String {
        // The product of two numbers is small more often than large.
        let rank = self.next() % 200 * (self.next() % 200);
        let (mut rest, mut word) = (rank + 30, String::new());
        while rest > 0 {
            word.push(char::from(b"bcdfglmnprstvz"[(rest % 14) as usize]));
            word.push(char::from(b"aeiou"[(rest / 14 % 5) as usize]));
            rest /= 70;
        }
        word
    }

    fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

fn corpus(dir: &Path, sessions: usize) {
    let mut words = Words { state: 7 };
    let mut at = 0;
    for session in 0..sessions {
        let id = format!("00000000-0000-4000-8000-{session:012}");
        let (mut file, mut parent) = (String::new(), "null".to_owned());
        let mut line = |kind: &str, message: serde_json::Value| {
            at += 1;
            let uuid = format!("\"00000000-0000-4000-9000-{at:012}\"");
            let time = format!(
                "2026-01-{:02}T{:02}:{:02}:{:02}.000Z",
                1 + at / 86_400,
                at / 3_600 % 24,
                at / 60 % 60,
                at % 60
            );
            writeln!(
                file,
                r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{kind}","message":{message},"uuid":{uuid},"timestamp":"{time}","cwd":"/p/project{}","sessionId":"{id}","version":"2.1.197","gitBranch":"main","userType":"external"}}"#,
                session % 7
            )
            .expect("a text can be written to");
            parent = uuid;
        };
        for turn in 0..TURNS {
            let answer = |id: &str, content: serde_json::Value, stop: &str| {
                serde_json::json!({"id": id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [content],
                    "stop_reason": stop, "usage": {"input_tokens": 1000, "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 200, "output_tokens": 50}})
            };
            let call = format!("toolu_{session}_{turn}");
            let (first, second) = (format!("msg_{session}_{turn}"), format!("msg_{session}_{turn}b"));
            line("user", serde_json::json!({"role": "user", "content": words.text(30)}));
            line("assistant", answer(&first, serde_json::json!({"type": "text", "text": words.text(40)}), "tool_use"));
            let command = format!("grep -rn {}", words.text(3));
            let called =
                serde_json::json!({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}});
            line("assistant", answer(&first, called, "tool_use"));
            let output: Vec<String> = (0..12).map(|_| words.text(12)).collect();
            let result = serde_json::json!({"type": "tool_result", "tool_use_id": call, "content": output.join("\n")});
            line("user", serde_json::json!({"role": "user", "content": [result]}));
            line("assistant", answer(&second, serde_json::json!({"type": "text", "text": words.text(60)}), "end_turn"));
        }
        std::fs::write(dir.join(format!("{id}.jsonl")), file).expect("a corpus can be written");
    }
}

fn fastest<T>(rounds: u32, mut work: impl FnMut() -> T) -> Duration {
    let timed = |work: &mut dyn FnMut() -> T| {
        let start = Instant::now();
        std::hint::black_box(work());
        start.elapsed()
    };
    (0..rounds.max(1)).map(|_| timed(&mut work)).min().unwrap_or_default()
}

fn annals(store: &Path, args: &[&str]) -> usize {
    let mut out: Vec<u8> = Vec::new();
    let all = [["annals", "--store"].map(OsString::from).to_vec(), vec![store.as_os_str().to_owned()]].concat();
    let all = all.into_iter().chain(args.iter().map(OsString::from));
    let status = run(all, Surroundings::of_process(), Some(&mut out));
    assert!(status < 2, "{args:?}");
    out.len()
}

/// The lines that ripgrep's library finds in the files, one after another.
fn ripgrep(files: &[PathBuf], matcher: &RegexMatcher) -> u64 {
    let (mut searcher, mut lines) = (Searcher::new(), 0);
    for file in files {
        let count = Lossy(|_, _| {
            lines += 1;
            Ok(true)
        });
        searcher.search_path(matcher, file, count).expect("a file can be searched");
    }
    lines
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let events = numbers.first().copied().unwrap_or(100_000);
    let rounds = numbers.get(1).map_or(10, |rounds| *rounds as u32);
    let dir = tempfile::tempdir().expect("a folder for the bench");
    let (source, store) = (dir.path().join("source"), dir.path().join("store"));
    std::fs::create_dir(&source).expect("a folder for the bench");
    corpus(&source, events.div_ceil(TURNS * EVENTS_OF_A_TURN).max(1));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&source).expect("the corpus").flatten().map(|entry| entry.path()).collect();
    files.sort();
    let bytes: u64 = files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
    let import = fastest(1, || annals(&store, &["import", &source.to_string_lossy()]));
    let index = store.join("cache/index.sqlite");
    let size = index.metadata().map_or(0, |index| index.len());
    let fill = fastest(1, || annals(&store, &["index", "--rebuild"]));
    println!("about {events} events, {} MB of source files; fastest of {rounds} rounds", bytes / 1_000_000);
    println!("import with index {import:.1?}, index alone {fill:.1?}, {} MB", size / 1_000_000);
    let mut words = Words { state: 99 };
    let rare = words.text(1);
    let queries = [
        ("a word that is nowhere", vec!["zzyzx".to_owned()], "zzyzx".to_owned()),
        ("a word", vec![rare.clone()], rare.clone()),
        ("two words", vec![rare.clone(), words.word()], format!("{rare}.*")),
        ("a regular expression", vec!["-e".to_owned(), "grep -rn bo.*gi".to_owned()], "grep -rn bo.*gi".to_owned()),
        ("part of most texts", vec!["grep".to_owned()], "grep".to_owned()),
    ];
    for (what, args, expression) in queries {
        let args: Vec<&str> = ["search", "--all"].into_iter().chain(args.iter().map(String::as_str)).collect();
        let indexed = fastest(rounds, || annals(&store, &args));
        let hidden = dir.path().join("hidden.sqlite");
        std::fs::rename(&index, &hidden).expect("the index can be moved");
        let scanned = fastest(rounds.min(3), || annals(&store, &args));
        std::fs::rename(&hidden, &index).expect("the index can be moved");
        let matcher = RegexMatcherBuilder::new().case_insensitive(true).build(&expression).expect("an expression");
        let rival = fastest(rounds, || ripgrep(&files, &matcher));
        let ratio = rival.as_secs_f64() / indexed.as_secs_f64();
        print!("{what:<24} {indexed:>9.1?}  without an index {scanned:>9.1?}  ripgrep {rival:>9.1?}  {ratio:.1}x");
        let rg = || Command::new("rg").arg("-i").arg(&expression).arg(&source).stdout(Stdio::null()).status();
        match rg() {
            Ok(_) => println!("  rg {:>9.1?}", fastest(rounds, rg)),
            Err(_) => println!(),
        }
    }
    let sql = "select model, count(*), sum(input) from usage group by model";
    println!("{:<24} {:>9.1?}", "sql, all of usage", fastest(rounds, || annals(&store, &["sql", sql])));
}
