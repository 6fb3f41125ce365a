//! Which words of a command are paths.

use super::super::behind;
use super::super::wrapped::{PATTERN, ShellWord, WordStart, words};
use std::path::Path;

/// Programs whose arguments are files that they read or change.
const FILE_PROGRAMS: [&str; 29] = [
    "base64", "cat", "chgrp", "chmod", "chown", "cp", "dd", "head", "install", "less", "ln", "mkdir", "mkfifo", "more",
    "mv", "nl", "od", "readlink", "rm", "rmdir", "rsync", "shred", "strings", "tac", "tail", "tee", "touch",
    "truncate", "xxd",
];

/// Programs whose arguments are texts, not files.
const TEXT_PROGRAMS: [&str; 16] = [
    "alias", "basename", "break", "dirname", "echo", "exit", "expr", "false", "kill", "printf", "return", "seq",
    "sleep", "tr", "true", "type",
];

/// Programs that change the files that they are given, or bring files along.
const CHANGING_PROGRAMS: [&str; 27] = [
    "7z", "bsdtar", "chgrp", "chmod", "chown", "cp", "cpio", "dd", "install", "ln", "mkdir", "mkfifo", "mv", "patch",
    "rm", "rmdir", "rsync", "scp", "shred", "tar", "tee", "touch", "truncate", "unlink", "unrar", "unzip", "gtar",
];

/// The name of the program of a command.
pub(super) fn program(command: &[ShellWord]) -> &str {
    command.first().map_or("", |name| name.text.rsplit('/').next().unwrap_or_default())
}

/// Whether a program changes the files that it is given.
pub(super) fn changes_files(program: &str) -> bool {
    CHANGING_PROGRAMS.contains(&program)
}

/// Device files, which lead nowhere.
pub(super) fn is_device(path: &str) -> bool {
    let named = ["null", "zero", "full", "stdin", "stdout", "stderr", "tty", "urandom", "random"];
    path.strip_prefix("/dev/").is_some_and(|name| named.contains(&name) || name.starts_with("fd/"))
}

/// An argument that may be a path.
pub(super) struct NamedPath {
    pub(super) word: ShellWord,
    /// Whether it is one in any case: the program takes nothing but files. Of other programs, a text that begins like a path is one if
    /// something is there.
    pub(super) certain: bool,
}

/// The arguments of a program that may be paths: words, values of options behind `=`, and those that follow a short option at once.
pub(super) fn named_paths(command: &[ShellWord]) -> Vec<NamedPath> {
    let program = program(command);
    if command.is_empty() || TEXT_PROGRAMS.contains(&program) {
        return Vec::new();
    }
    let certain = FILE_PROGRAMS.contains(&program);
    let mut paths = Vec::new();
    let (mut options, mut separates) = (true, false);
    for word in &command[1..] {
        let text = word.text.as_str();
        if options && text == "--" {
            options = false;
            continue;
        }
        // Redirections are judged with their part.
        if text.starts_with(['<', '>']) || text.contains(">&") {
            continue;
        }
        let is_option = options && text.starts_with('-');
        // `cut -d /`, `sort -t /`: a character.
        let single = text == "/" && std::mem::replace(&mut separates, false);
        separates = is_option && ["-d", "-t", "-F", "-s"].contains(&text);
        let leads = |rest: &&str| rest.len() > 1 && rest.starts_with(['/', '~', '.', '$']);
        let values: Vec<&str> = match text.split_once('=') {
            _ if single => continue,
            Some((_, value)) if is_option && text.starts_with("--") || program == "dd" => vec![value],
            Some((_, value)) if is_option => [text.get(2..), Some(value)].into_iter().flatten().filter(leads).collect(),
            // The value of a short option may follow it at once: `-t/etc`.
            _ if is_option => text.get(2..).filter(leads).into_iter().collect(),
            Some((_, value)) if !certain => [text].into_iter().chain(Some(value).filter(leads)).collect(),
            _ => vec![text],
        };
        // `rsync HOST:PATH` is elsewhere altogether, and asked for by name.
        for value in values.into_iter().filter(|value| !value.is_empty() && !is_device(value)) {
            let first = if value == text { word.first } else { WordStart::Literal };
            paths.push(NamedPath { word: ShellWord { text: value.to_owned(), first, varies: word.varies }, certain });
        }
    }
    paths
}

/// Whether a text that is perhaps no path is one: a program that opens it finds something, or could make it.
pub(super) fn is_there(text: &str, at: &Path) -> bool {
    // A word with blanks is a text, a pattern or a program more often than a name.
    let plain = !text.contains([' ', '\n', '\t', '|', '(', ')']);
    let path = at.join(text);
    let there = |path: &Path| path.symlink_metadata().is_ok();
    let above = || path.parent().is_some_and(|above| above.parent().is_some() && there(above));
    there(&path) || plain && (text.starts_with('/') || text.split('/').any(|part| part == "..")) && above()
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
