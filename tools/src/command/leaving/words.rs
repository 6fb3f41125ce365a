//! Which words of a command are paths.

use super::super::behind;
use super::super::wrapped::{PATTERN, ShellWord, WordStart, words};

/// Programs whose arguments are files that they read or change.
const FILE_PROGRAMS: [&str; 29] = [
    "base64", "cat", "chgrp", "chmod", "chown", "cp", "dd", "head", "install", "less", "ln", "mkdir", "mkfifo", "more",
    "mv", "nl", "od", "readlink", "rm", "rmdir", "rsync", "shred", "strings", "tac", "tail", "tee", "touch",
    "truncate", "xxd",
];

/// Files that are no place.
pub(super) fn is_device(path: &str) -> bool {
    let named = ["null", "zero", "full", "stdin", "stdout", "stderr", "tty", "urandom", "random"];
    path.strip_prefix("/dev/").is_some_and(|name| named.contains(&name) || name.starts_with("fd/"))
}

/// The arguments of a program for files that may be paths.
pub(super) fn named_paths(command: &[ShellWord]) -> Vec<ShellWord> {
    let Some((name, arguments)) = command.split_first() else { return Vec::new() };
    let program = name.text.rsplit('/').next().unwrap_or_default();
    if !FILE_PROGRAMS.contains(&program) {
        return Vec::new();
    }
    let mut paths = Vec::new();
    let mut options = true;
    for word in arguments {
        let text = word.text.as_str();
        if options && text == "--" {
            options = false;
            continue;
        }
        // Redirections are judged with their part.
        if text.starts_with(['<', '>']) || text.contains(">&") {
            continue;
        }
        let value = match text.split_once('=') {
            Some((_, value)) if options && text.starts_with("--") || program == "dd" => value,
            // The value of a short option may follow it at once: `-t/etc`.
            _ if options && text.starts_with('-') => {
                text.get(2..).filter(|rest| rest.starts_with(['/', '~', '.'])).unwrap_or("")
            }
            _ => text,
        };
        // `rsync HOST:PATH` is elsewhere altogether, and asked for by name.
        if !value.is_empty() && !is_device(value) {
            paths.push(ShellWord { text: value.to_owned(), first: word.first, varies: word.varies });
        }
    }
    paths
}

/// A path as far as it is known: up to a pattern of file names.
pub(super) fn known(word: &ShellWord) -> Option<String> {
    let text = word.text.as_str();
    if text.starts_with('~') || word.varies && text.contains(['$', '{', '`']) {
        return None;
    }
    let Some(at) = text.find(PATTERN).filter(|_| word.varies) else { return Some(text.to_owned()) };
    let (folder, pattern) = text.split_at(text[..at].rfind('/').map_or(0, |slash| slash + 1));
    // `.*` may be `..`.
    let climbs =
        pattern.split('/').rev().skip(1).any(|name| name == ".." || name.starts_with('.') && name.contains(PATTERN));
    (!climbs).then(|| if folder.is_empty() { ".".into() } else { folder.to_owned() })
}

/// Whether a path that is not known may well be elsewhere: it is in a home folder, or goes up.
pub(super) fn may_leave(word: &ShellWord) -> bool {
    let text = word.text.as_str();
    let homes = ["$HOME", "${HOME}", "$OLDPWD", "$TMPDIR", "${TMPDIR}"];
    text.starts_with(['~', '/'])
        || homes.iter().any(|home| text.starts_with(home))
        || ["../", "/..", "{/", ",/", "{~", ",~"].iter().any(|part| text.contains(part))
        || word.first == WordStart::Pattern && text.contains("..")
        || word.varies && !text.contains(['$', '{', '`']) && text.contains(PATTERN)
}

/// Variables that say where `cd` leads.
#[derive(Default)]
pub(super) struct Assigned {
    /// Directories of `CDPATH`.
    pub(super) searched: Vec<String>,
    /// Values of `OLDPWD`.
    pub(super) old: Vec<String>,
    /// Whether one of them is set in a way that is not understood.
    pub(super) unknown: bool,
}

impl Assigned {
    pub(super) fn of<'a>(parts: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.unknown |= part.contains("cdable_vars") || part.contains("autocd");
            let words = words(part);
            for (variable, at) in [("CDPATH", true), ("OLDPWD", false)] {
                if !part.contains(variable) {
                    continue;
                }
                let found =
                    words.iter().filter_map(|word| Some((word, word.text.strip_prefix(variable)?.strip_prefix('=')?)));
                let found: Vec<_> = found.collect();
                let odd = found.is_empty() && !behind(part).starts_with("unset ")
                    || found.iter().any(|(word, value)| word.varies || value.contains('~'));
                match at {
                    true => {
                        all.unknown |= odd;
                        all.searched.extend(found.iter().flat_map(|(_, value)| value.split(':').map(str::to_owned)));
                    }
                    false => {
                        all.old.extend(odd.then(|| "$OLDPWD".to_owned()));
                        all.old.extend(found.iter().map(|(_, value)| (*value).to_owned()));
                    }
                }
            }
        }
        all
    }
}
