//! Commands that their own words tell to run something else, to write elsewhere, or to work elsewhere: what a rule such as
//! `git *` or `find *` is hardly meant to allow.
//!
//! This knows a few programs that are allowed often. It errs on the side of asking, and it is no sandbox: of any other
//! program everything is allowed that a rule for its name allows.

/// Words that run the rest of their line. With options of their own it is not known where that begins.
pub(super) const WRAPPERS: [&str; 6] = ["command", "builtin", "exec", "env", "nohup", "sudo"];

/// Builtins that evaluate the subscript of a variable that they are given, substitutions within quotes included.
const SUBSCRIPTS: [&str; 16] = [
    "[",
    "[[",
    "declare",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "test",
    "typeset",
    "unset",
    "wait",
];

/// What one program takes that goes further than its name says: whole words or beginnings of long options, and letters of
/// short ones.
struct Program {
    names: &'static [&'static str],
    long: &'static [&'static str],
    short: &'static [char],
}

const PROGRAMS: [Program; 5] = [
    Program {
        names: &["find", "gfind"],
        // Its options have one dash and any length.
        long: &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"],
        short: &[],
    },
    Program { names: &["fd", "fdfind"], long: &["--exec", "--exec-batch"], short: &['x', 'X'] },
    Program { names: &["rg"], long: &["--pre", "--hostname-bin"], short: &[] },
    Program { names: &["sort", "gsort"], long: &["--compress-program", "--output"], short: &['o'] },
    Program {
        names: &["tar", "gtar", "bsdtar"],
        long: &[
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
        ],
        short: &['I', 'F'],
    },
];

/// What stands before git's subcommand and lets it run anything, or work in another place with other settings and hooks.
const GIT_FIRST: [&str; 5] = ["--config-env", "--exec-path", "--git-dir", "--work-tree", "--namespace"];

/// What stands behind it. Git takes any beginning of a long option that is the only one.
const GIT_THEN: [&str; 9] = [
    "--config",
    "--exec",
    "--ext-diff",
    "--extcmd",
    "--open-files-in-pager",
    "--output",
    "--receive-pack",
    "--template",
    "--upload-pack",
];

/// Subcommands that are there to run something.
const GIT_RUNS: [&str; 9] = [
    "credential",
    "difftool",
    "filter-branch",
    "for-each-repo",
    "hook",
    "instaweb",
    "mergetool",
    "send-email",
    "web--browse",
];

/// Whether a simple command, without keywords and assignments before it, does more than its name says.
pub(super) fn goes_further(command: &str) -> bool {
    let words = words(command);
    let Some((Word { text: name, .. }, rest)) = words.split_first() else { return false };
    let name = name.rsplit('/').next().unwrap_or(name);
    if name == "xargs" || name == "parallel" || WRAPPERS.contains(&name) {
        return !rest.is_empty();
    }
    if SUBSCRIPTS.contains(&name) {
        return command.contains("$(") || command.contains("${") || command.contains('`');
    }
    let known = PROGRAMS.iter().find(|program| program.names.contains(&name));
    let says = |word: &Word| match known {
        Some(program) => begins(&word.text, program.long) || has_letter(&word.text, program.short),
        None => false,
    };
    // Braces can make one word of many, an option among them.
    let makes_options = |word: &Word| word.braces && word.text.contains('-');
    match (known, name) {
        (Some(_), _) => rest.iter().any(|word| says(word) || makes_options(word)),
        (None, "git") => rest.iter().any(makes_options) || git(rest),
        (None, _) => false,
    }
}

fn git(words: &[Word]) -> bool {
    let mut words = words.iter().map(|word| word.text.as_str());
    let subcommand = loop {
        match words.next() {
            None => return false,
            Some(option) if option.starts_with("--") => {
                if begins(option, &GIT_FIRST) {
                    return true;
                }
            }
            Some("-p" | "-P" | "-h" | "-v") => {}
            // `-c`, `-C`, and whatever else takes a word with it.
            Some(option) if option.starts_with('-') => return true,
            Some(subcommand) => break subcommand,
        }
    };
    let rest: Vec<&str> = words.collect();
    let letters: &[char] = match subcommand {
        "rebase" => &['x'],
        "grep" => &['O'],
        "clone" => &['c', 'u'],
        "fetch" | "pull" | "ls-remote" => &['u'],
        "archive" | "format-patch" => &['o'],
        _ => &[],
    };
    let further = |word: &&str| begins(word, &GIT_THEN) || has_letter(word, letters) || word.starts_with("ext::");
    match subcommand {
        "bisect" => rest.first() == Some(&"run"),
        "submodule" => rest.contains(&"foreach"),
        // What is set there, git runs next time.
        "config" => !rest.iter().any(|word| matches!(*word, "--get" | "--get-all" | "--list" | "-l" | "get" | "list")),
        subcommand => GIT_RUNS.contains(&subcommand) || rest.iter().any(further),
    }
}

/// Whether a word is one of some options, or the beginning of one, with or without a value behind it.
fn begins(word: &str, options: &[&str]) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    match name.strip_prefix("--") {
        Some("") => false,
        Some(_) => options.iter().any(|option| option.starts_with(name)),
        None => options.contains(&name),
    }
}

/// Whether a group of short options has one of these letters.
fn has_letter(word: &str, letters: &[char]) -> bool {
    let group = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    group.is_some_and(|group| group.contains(letters))
}

/// A word of a command as a shell reads it.
#[derive(Default)]
struct Word {
    text: String,
    /// Whether it has a brace that is not quoted.
    braces: bool,
}

/// The words of a simple command, without their quotes.
fn words(command: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let (mut quote, mut chars) = (None, command.chars());
    while let Some(one) = chars.next() {
        match (quote, one) {
            (None, ' ' | '\t' | '\n') => words.extend(word.take()),
            (None, '\'' | '"') => {
                word.get_or_insert_default();
                quote = Some(one);
            }
            (Some(open), one) if open == one => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().text.extend(chars.next()),
            (quote, one) => {
                let word = word.get_or_insert_default();
                word.braces |= quote.is_none() && one == '{';
                word.text.push(one);
            }
        }
    }
    words.extend(word);
    words
}
