//! Copies of texts that a host keeps outside the log, for the erasure of texts (`docs/reference/erasure.md`).

use crate::worktree::{WORKTREES, shadow_folder};
use annals_runtime::host::OUTPUTS;
use annals_runtime::ports::StorePath;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

/// The lines that were typed in chats.
pub const CHAT_HISTORY: &str = "chat-history";

/// The diagnostics of a store, and those before.
const DIAGNOSTICS: [&str; 2] = ["annals.log", "annals.log.1"];

/// Shorter texts are compared whole only: they would be found in anything.
const SHORT: usize = 8;

/// What was erased of a session: which copies of it are to be removed.
pub struct ErasedTexts<'a> {
    /// The texts.
    pub texts: &'a BTreeSet<String>,
    /// Whether a text would have been erased, for what the log never held whole.
    pub matches: &'a dyn Fn(&str) -> bool,
    /// Names of output files in texts of the session, and whether an erased text names it.
    pub outputs: &'a BTreeMap<String, bool>,
    /// Directories of the session.
    pub directories: &'a BTreeSet<String>,
}

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasedFiles {
    /// Whole outputs of tools.
    pub outputs: u64,
    /// Repositories of captured files: undoing does not restore files from before any more.
    pub captures: u64,
    /// Lines of the history of chats.
    pub lines: u64,
    /// Files of diagnostics, which were emptied: a provider's error may quote what was sent, in any form.
    pub diagnostics: u64,
    /// Directories that do not exist: files that were captured in them, if any, are still in the folder `worktrees` of the store.
    pub unknown: Vec<String>,
}

impl ErasedTexts<'_> {
    /// Removes the copies in a store's folder, durably. Safe to repeat.
    ///
    /// # Errors
    /// When a file cannot be read or removed.
    pub fn remove_copies(&self, store: &StorePath) -> io::Result<ErasedFiles> {
        let mut erased = ErasedFiles::default();
        for (name, is_named) in self.outputs {
            let path = store.join(OUTPUTS).join(name).reach()?;
            let Some(content) = read(&path)? else { continue };
            if *is_named || self.concerns(&String::from_utf8_lossy(&content)) {
                fs::remove_file(&path)?;
                erased.outputs += 1;
            }
        }
        for directory in self.directories {
            match shadow_folder(store.clone(), Path::new(directory)) {
                Ok(folder) => {
                    let path = folder.reach()?;
                    if path.is_dir() {
                        fs::remove_dir_all(path)?;
                        erased.captures += 1;
                    }
                }
                Err(_) if Path::new(directory).exists() => {}
                Err(_) if !store.join(WORKTREES).reach()?.is_dir() => {}
                Err(_) => erased.unknown.push(directory.clone()),
            }
        }
        erased.lines = self.remove_lines(&store.join(CHAT_HISTORY).reach()?)?;
        for name in DIAGNOSTICS {
            erased.diagnostics += u64::from(empty(&store.join(name).reach()?)?);
        }
        for folder in [store.clone(), store.join(OUTPUTS), store.join(WORKTREES)] {
            sync_folder(&folder.reach()?)?;
        }
        Ok(erased)
    }

    /// Whether a record of another program holds an erased text or a match: as it is, or as a string of its JSON.
    pub fn are_in(&self, record: &str) -> bool {
        let mut waiting: Vec<Value> = serde_json::from_str(record).into_iter().collect();
        while let Some(value) = waiting.pop() {
            match value {
                Value::String(text) if self.concerns(&text) => return true,
                Value::Array(items) => waiting.extend(items),
                Value::Object(members) => {
                    if members.keys().any(|name| self.concerns(name)) {
                        return true;
                    }
                    waiting.extend(members.into_iter().map(|(_, value)| value));
                }
                _ => {}
            }
        }
        self.concerns(record)
    }

    fn concerns(&self, text: &str) -> bool {
        let contains = |erased: &String| text == erased || (erased.len() >= SHORT && text.contains(erased.as_str()));
        (self.matches)(text) || self.texts.iter().any(contains)
    }

    /// Removes lines of the history: one entry each, with line ends and backslashes escaped.
    fn remove_lines(&self, path: &Path) -> io::Result<u64> {
        let unfinished = path.with_extension("new");
        // A process that was killed may have left it.
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let Some(content) = read(path)? else { return Ok(0) };
        let content = String::from_utf8_lossy(&content);
        let mut kept = String::with_capacity(content.len());
        let mut removed = 0;
        for (index, line) in content.lines().enumerate() {
            let typed = line.replace("\\n", "\n").replace("\\\\", "\\").replace("\\\n", "\n");
            if !(index == 0 && line.starts_with('#')) && (self.concerns(&typed) || self.concerns(line)) {
                removed += 1;
            } else {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        if removed > 0 {
            fs::write(&unfinished, kept)?;
            fs::File::open(&unfinished)?.sync_all()?;
            fs::set_permissions(&unfinished, fs::metadata(path)?.permissions())?;
            fs::rename(&unfinished, path)?;
        }
        Ok(removed)
    }
}

/// Makes the names in a folder durable, if it exists.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match fs::File::open(folder) {
        Ok(folder) => folder.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Empties a file, durably. It stays, since this process may have it open. Returns whether anything was in it.
fn empty(path: &Path) -> io::Result<bool> {
    match fs::File::options().write(true).open(path) {
        Ok(file) if file.metadata()?.len() == 0 => Ok(false),
        Ok(file) => {
            file.set_len(0)?;
            file.sync_all()?;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::{CHAT_HISTORY, ErasedTexts};
    use annals_runtime::host::OUTPUTS;
    use annals_runtime::ports::StorePath;
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;

    #[test]
    fn outputs_and_lines_of_the_chat_history_with_an_erased_text_go_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(OUTPUTS)).unwrap();
        let name = |n: u8| format!("tool_{}{n}", "0".repeat(25));
        for (n, text) in [(1, "ada@example.org"), (2, "nothing of hers"), (3, "matched"), (4, "named")] {
            fs::write(dir.path().join(OUTPUTS).join(name(n)), text).unwrap();
        }
        let history = "#V2\nwrite to ada@example.org\nhello\nline one\\nmatched\n";
        fs::write(dir.path().join(CHAT_HISTORY), history).unwrap();
        fs::write(dir.path().join("annals.log"), "provider: bad request: write to ada\u{a0}@example.org\n").unwrap();
        let erased = ErasedTexts {
            texts: &BTreeSet::from(["ada@example.org".to_owned(), "o".to_owned()]),
            matches: &|text| text.contains("matched"),
            outputs: &BTreeMap::from([
                (name(1), false),
                (name(2), false),
                (name(3), false),
                (name(4), true),
                (name(5), true),
            ]),
            directories: &BTreeSet::new(),
        };
        let removed = erased.remove_copies(&StorePath::from(dir.path())).unwrap();
        assert_eq!((removed.outputs, removed.lines, removed.diagnostics), (3, 2, 1));
        assert_eq!(fs::read(dir.path().join("annals.log")).unwrap(), b"");
        assert_eq!(fs::read_to_string(dir.path().join(CHAT_HISTORY)).unwrap(), "#V2\nhello\n");
        assert!(dir.path().join(OUTPUTS).join(name(2)).exists());
        assert_eq!(erased.remove_copies(&StorePath::from(dir.path())).unwrap().outputs, 0, "safe to repeat");
    }
}
