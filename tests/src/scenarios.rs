//! The scenario files of the repository.

use std::path::{Path, PathBuf};

/// The name and the file of each, by name. `SCENARIO=part-of-a-name` picks some of them.
pub fn files() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/scenarios");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("fixtures").map(|entry| entry.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let only = std::env::var("SCENARIO").unwrap_or_default();
    files
        .into_iter()
        .map(|file| (file.file_stem().expect("a name").to_string_lossy().into_owned(), file))
        .filter(|(name, _)| name.contains(&only))
        .collect()
}
