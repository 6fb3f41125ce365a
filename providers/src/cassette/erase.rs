//! Removing recorded answers whose requests held an erased text.

use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

#[derive(Deserialize)]
struct FirstLine {
    parts: Vec<NamedPart>,
}

#[derive(Deserialize)]
struct NamedPart {
    digest: String,
}

/// Removes the answers to these requests from a cassette, durably, and the parts that no other request has. Returns how many files went.
///
/// # Errors
/// When the folder cannot be read or a file not be removed; what was removed stays removed.
pub fn erase_answers(folder: &Path, requests: &BTreeSet<String>) -> io::Result<u64> {
    let (mut removed, mut kept) = (0, BTreeSet::new());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|name| name.ends_with(".jsonl")) else {
            continue;
        };
        if name.split('.').next().is_some_and(|request| requests.contains(request)) {
            fs::remove_file(&path)?;
            removed += 1;
            continue;
        }
        let mut line = String::new();
        BufReader::new(fs::File::open(&path)?).read_line(&mut line)?;
        // An answer that cannot be read may name any part: then all parts stay, and the caller hears of it.
        let first: FirstLine = serde_json::from_str(&line).map_err(io::Error::other)?;
        kept.extend(first.parts.into_iter().map(|part| part.digest));
    }
    let parts = folder.join("parts");
    if removed > 0 && parts.is_dir() {
        for entry in fs::read_dir(&parts)? {
            let path = entry?.path();
            let is_kept = path.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| kept.contains(stem));
            if !is_kept {
                fs::remove_file(&path)?;
                removed += 1;
            }
        }
    }
    for changed in [folder, parts.as_path()] {
        if removed > 0 && changed.is_dir() {
            fs::File::open(changed)?.sync_all()?;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::erase_answers;
    use std::collections::BTreeSet;
    use std::fs;

    #[test]
    fn the_answers_of_erased_requests_go_with_parts_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let parts = dir.path().join("parts");
        fs::create_dir(&parts).unwrap();
        let request = |name: &str, own: &str| {
            let line = format!(
                r#"{{"cassette":1,"request":"{name}","parts":[{{"part":"a","digest":"shared"}},{{"part":"b","digest":"{own}"}}]}}"#
            );
            fs::write(dir.path().join(format!("{name}.1.jsonl")), line + "\n").unwrap();
            fs::write(parts.join(format!("{own}.json")), "{}").unwrap();
        };
        fs::write(parts.join("shared.json"), "{}").unwrap();
        request("one", "of-one");
        request("two", "of-two");
        assert_eq!(erase_answers(dir.path(), &BTreeSet::from(["one".to_owned()])).unwrap(), 2);
        assert!(!dir.path().join("one.1.jsonl").exists() && !parts.join("of-one.json").exists());
        assert!(
            dir.path().join("two.1.jsonl").exists()
                && parts.join("of-two.json").exists()
                && parts.join("shared.json").exists()
        );
    }
}
