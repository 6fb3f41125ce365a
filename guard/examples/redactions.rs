//! Prints what the redactor replaces in files of other projects, and fails if it replaces what is not listed as a secret.
//!
//! `cargo run -p annals-guard --example redactions -- FOLDER LIST [COUNT [SEED]]`: COUNT files (1,000) below FOLDER are drawn by
//! SEED (1). A line of LIST is a part of a path and a kind, which say that the replaced text is a secret: a key in a test, say.

use annals_guard::redaction::Redactor;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Larger files are generated tables.
const LARGEST: u64 = 1 << 20;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, list, rest @ ..] = arguments.as_slice() else {
        return Err("usage: redactions FOLDER LIST [COUNT [SEED]]".into());
    };
    let number = |at: usize, default: usize| rest.get(at).map_or(Ok(default), |text| text.parse());
    let (count, seed) = (number(0, 1_000)?, number(1, 1)? as u64);
    let list = fs::read_to_string(list)?;
    let listed: Vec<(&str, &str)> =
        list.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' ')).collect();
    let mut files = Vec::new();
    collect(Path::new(folder), &mut files)?;
    files.sort_by_cached_key(|path| drawn(&path.to_string_lossy(), seed));
    let (mut read, mut wrong) = (0, 0);
    let redactor = Redactor::default();
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if read == count {
            break;
        }
        read += 1;
        let redacted = redactor.redact(&text);
        let name = path.to_string_lossy();
        let is_listed = |kind: &str| listed.iter().any(|(part, of)| name.contains(part) && *of == kind);
        if redacted.counts.keys().all(|kind| is_listed(kind)) {
            continue;
        }
        wrong += 1;
        println!("{name}: {:?}", redacted.counts);
        for (before, after) in
            text.lines().zip(redacted.text.lines()).filter(|(before, after)| before != after).take(20)
        {
            println!("  {}\n  {}", cut(before), cut(after));
        }
    }
    println!("{read} files, {wrong} with replacements that are not listed");
    Ok(if wrong == 0 && read == count { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn cut(line: &str) -> String {
    line.trim().chars().take(200).collect()
}

/// The place of a file in an order that a seed gives (FNV-1a).
fn drawn(path: &str, seed: u64) -> u64 {
    path.bytes()
        .fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else if entry.metadata()?.len() <= LARGEST {
            files.push(entry.path());
        }
    }
    Ok(())
}
