//! The tour of the README and the examples of the questions: every command in a `console` block is run, and prints the lines
//! below it.
//!
//! `UPDATE_README=1 cargo test -p annals-cli --test command readme` writes what the commands print now. A line `...` is any number
//! of lines.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One command of a block and the lines that follow it.
struct Shown {
    command: String,
    output: Vec<String>,
}

enum Part {
    Prose(String),
    Console(Vec<Shown>),
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut block: Option<Vec<Shown>> = None;
    for line in text.lines() {
        match &mut block {
            None if line == "```console" => block = Some(Vec::new()),
            None => parts.push(Part::Prose(line.to_owned())),
            Some(_) if line == "```" => parts.extend(block.take().map(Part::Console)),
            Some(shown) => match (line.strip_prefix("$ "), shown.last_mut()) {
                (Some(command), _) => shown.push(Shown { command: command.to_owned(), output: Vec::new() }),
                (None, Some(last)) => last.output.push(line.to_owned()),
                (None, None) => panic!("a console block begins with {line:?}, not with a command"),
            },
        }
    }
    assert!(block.is_none(), "a console block does not end");
    parts
}

fn run(command: &str, root: &Path, home: &Path) -> Vec<String> {
    let binaries = Path::new(env!("CARGO_BIN_EXE_annals")).parent().expect("a binary lies in a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut all = vec![binaries.to_path_buf()];
    all.extend(std::env::split_paths(&path));
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(root)
        .env("PATH", std::env::join_paths(all).expect("a path list"))
        .env("HOME", home)
        // The digests in the README are those of this secret.
        .env("ANNALS_IMPORT_SECRET", "00".repeat(32))
        .env("XDG_DATA_HOME", home.join("data"))
        .env_remove("ANNALS_STORE")
        .env("COLUMNS", "80")
        .env("NO_COLOR", "1")
        .env("TZ", "UTC")
        .output()
        .unwrap_or_else(|error| panic!("{command}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    text.replace(&*home.to_string_lossy(), "~").lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Whether `found` is `expected`, where `...` stands for any number of lines.
fn fits(expected: &[String], found: &[String]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((line, rest)) if line == "..." => (0..=found.len()).any(|skipped| fits(rest, &found[skipped..])),
        Some((line, rest)) => found.split_first().is_some_and(|(first, others)| first == line && fits(rest, others)),
    }
}

/// What to write for a command: the lines before a `...` renewed, the `...` and what follows it kept where it still fits.
fn renewed(expected: &[String], found: &[String]) -> Vec<String> {
    match expected.iter().position(|line| line == "...") {
        Some(at) if at <= found.len() => {
            let mut lines = found[..at].to_vec();
            lines.push("...".to_owned());
            lines
        }
        _ => found.to_vec(),
    }
}

/// Runs every command that a page shows; gives what it shows otherwise, or writes it.
fn shown_otherwise(page: &Path, root: &Path) -> (usize, Vec<String>) {
    let text = std::fs::read_to_string(page).expect("the page is there");
    let home = tempfile::tempdir().expect("a temporary folder");
    let update = std::env::var_os("UPDATE_README").is_some();
    let mut written = Vec::new();
    let mut wrong = Vec::new();
    let mut commands = 0;
    for part in parts(&text) {
        match part {
            Part::Prose(line) => written.push(line),
            Part::Console(block) => {
                written.push("```console".to_owned());
                for shown in block {
                    commands += 1;
                    let found = run(&shown.command, root, home.path());
                    if !update && !fits(&shown.output, &found) {
                        wrong.push(format!("$ {}\n{}", shown.command, found.join("\n")));
                    }
                    written.push(format!("$ {}", shown.command));
                    written.extend(if update { renewed(&shown.output, &found) } else { shown.output });
                }
                written.push("```".to_owned());
            }
        }
    }
    if update {
        std::fs::write(page, written.join("\n") + "\n").expect("the page can be written");
    }
    (commands, wrong)
}

#[test]
fn the_tour_of_the_readme_prints_what_stands_there() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let (commands, wrong) = shown_otherwise(&root.join("README.md"), &root);
    assert!(commands >= 5, "the README shows {commands} commands");
    assert!(wrong.is_empty(), "the README shows something else for:\n{}", wrong.join("\n\n"));
}

#[test]
fn the_worked_examples_of_every_question_print_what_stands_there() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    for question in ["why", "when", "diff", "cache", "bisect", "files", "fixture", "what-if", "certify"] {
        let (commands, wrong) = shown_otherwise(&root.join(format!("docs/questions/{question}.md")), &root);
        assert!(commands >= 1, "the page of {question} shows no command");
        assert!(wrong.is_empty(), "the page of {question} shows something else for:\n{}", wrong.join("\n\n"));
    }
}
