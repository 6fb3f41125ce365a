//! Commands whose arguments run something else, write elsewhere, or work elsewhere: what a rule such as
//! `git *` or `find *` is hardly meant to allow.
//!
//! This knows a few programs that are allowed often. It errs on the side of asking, and it is not a sandbox: a rule
//! for the name of any other program allows everything that this program does.

mod editors;

use annals_core::permission::wildcard;

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

/// Variables that decide what programs run, as patterns.
const DECISIVE: [&str; 18] = [
    "BASH_ENV",
    "BASHOPTS",
    "DYLD_*",
    "EDITOR",
    "ENV",
    "GIT_*",
    "IFS",
    "LD_*",
    "LESSOPEN",
    "NODE_OPTIONS",
    "PAGER",
    "PATH",
    "PERL5*",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHON*",
    "SHELLOPTS",
    "VISUAL",
];

const PROGRAMS: [Program; 9] = [
    Program { names: &["tree", "shuf", "iconv", "xmllint"], long: &["--output", "--output-file"], short: &['o'] },
    Program {
        names: &["less"],
        long: &["--log-file", "--LOG-FILE", "--lesskey-file", "--lesskey-src", "--lesskey-content"],
        short: &['o', 'O', 'k'],
    },
    Program {
        names: &["go"],
        // Its options have one dash and any length.
        long: &["-exec", "-toolexec", "-vettool", "-overlay", "-modfile", "-o", "-C"],
        short: &[],
    },
    Program {
        names: &["make", "gmake"],
        long: &["--eval", "--file", "--makefile", "--directory", "--include-dir"],
        short: &['f', 'C', 'I', 'E'],
    },
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
            "--create",
            "--append",
            "--update",
            "--directory",
            "--concatenate",
        ],
        short: &['I', 'F', 'c', 'r', 'u', 'A'],
    },
];

/// Options before git's subcommand that let it run any program, or work in another place with other settings and hooks.
const GIT_FIRST: [&str; 6] = ["--bare", "--config-env", "--exec-path", "--git-dir", "--work-tree", "--namespace"];

/// Options after it. Git accepts any unique prefix of a long option.
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
    let Some((ShellWord { text: name, .. }, rest)) = words.split_first() else { return false };
    let name = name.rsplit('/').next().unwrap_or(name);
    if name == "xargs" || name == "parallel" || WRAPPERS.contains(&name) {
        return !rest.is_empty();
    }
    if name == "cargo" {
        return rest.iter().any(|word| {
            begins(&word.text, &["--config", "--manifest-path", "--target-dir", "--artifact-dir"])
                || word.text.starts_with("-Z")
                || word.text == "-C"
        });
    }
    if SUBSCRIPTS.contains(&name) && rest.iter().any(|word| is_decisive(&word.text)) {
        return true;
    }
    if SUBSCRIPTS.contains(&name) {
        // Without the quotes, too: put into the middle of a substitution they hide it from us alone.
        let substitutes = |text: &str| ["$(", "${", "`"].iter().any(|mark| text.contains(mark));
        return substitutes(command) || rest.iter().any(|word| substitutes(&word.text));
    }
    if let Some(further) = editors::goes_further(name, &rest.iter().map(|word| word.text.as_str()).collect::<Vec<_>>())
    {
        return further;
    }
    match (PROGRAMS.iter().find(|program| program.names.contains(&name)), name) {
        (Some(program), _) => {
            // In tar's oldest form the letters have no dash.
            let bare = rest.first().filter(|_| program.names.contains(&"tar"));
            bare.is_some_and(|word| !word.text.starts_with('-') && word.text.contains(program.short))
                || rest.iter().any(|word| program.has_option(word) || word.may_be_option() || program.may_find(word))
        }
        (None, "git") => rest.iter().any(ShellWord::may_be_option) || git(rest),
        (None, _) => false,
    }
}

/// Whether a word sets or removes a variable that decides what programs run.
fn is_decisive(word: &str) -> bool {
    let name = word.split(['=', '+', '[']).next().unwrap_or_default();
    !name.is_empty() && DECISIVE.iter().any(|pattern| wildcard(pattern, name))
}

impl Program {
    fn has_option(&self, word: &ShellWord) -> bool {
        begins(&word.text, self.long) || has_letter(&word.text, self.short)
    }

    /// Whether a pattern may match a file named like an option: a project can contain one.
    fn may_find(&self, word: &ShellWord) -> bool {
        let tail = word.text.rsplit(PATTERN).next().unwrap_or_default();
        // The options of `find` have no `=VALUE` that could be part of a file name.
        let valued = self.long.iter().any(|option| option.starts_with("--"));
        word.first == WordStart::Pattern && (valued || self.long.iter().any(|option| option.ends_with(tail)))
    }
}

fn git(all: &[ShellWord]) -> bool {
    let mut words = all.iter().map(|word| word.text.as_str());
    let subcommand = loop {
        match words.next() {
            None => return false,
            Some(option) if option.starts_with("--") => {
                if begins(option, &GIT_FIRST) {
                    return true;
                }
            }
            Some("-p" | "-P" | "-h" | "-v") => {}
            // `-c`, `-C`, and other options that take a value.
            Some(option) if option.starts_with('-') => return true,
            Some(subcommand) => break subcommand,
        }
    };
    let rest: Vec<&str> = words.collect();
    let (before, behind) = all.split_at(all.len() - rest.len());
    // An expansion that is empty vanishes, and the next word takes its place.
    if before.iter().any(|word| word.varies)
        || ["bisect", "submodule", "config"].contains(&subcommand) && behind.iter().any(|word| word.varies)
    {
        return true;
    }
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
        // They write where their arguments say.
        "init" | "clone" | "bundle" | "checkout-index" => !rest.is_empty(),
        "worktree" => !matches!(rest.first(), None | Some(&"list")),
        "format-patch" if rest.iter().any(|word| begins(word, &["--output-directory"])) => true,
        "bisect" => matches!(rest.first(), Some(&("run" | "visualize" | "view"))),
        "submodule" => rest.contains(&"foreach"),
        // What is set there, git runs next time.
        "config" => !rest
            .iter()
            .find(|word| !["--global", "--local", "--system", "--worktree"].contains(*word))
            .is_some_and(|word| matches!(*word, "--get" | "--get-all" | "--list" | "-l" | "get" | "list")),
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

/// What a pattern of file names is made of.
pub(super) const PATTERN: [char; 3] = ['*', '?', '['];

/// A word of a command as a shell reads it.
#[derive(Default)]
pub(super) struct ShellWord {
    pub(super) text: String,
    pub(super) first: WordStart,
    /// Whether a variable, a pattern or braces may make another word of it, many, or none.
    pub(super) varies: bool,
}

/// What a word begins with.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum WordStart {
    #[default]
    Literal,
    Variable,
    Pattern,
    Braces,
}

impl ShellWord {
    fn push(&mut self, one: char, kind: WordStart) {
        if self.text.is_empty() {
            self.first = kind;
        }
        self.varies |= kind != WordStart::Literal;
        self.text.push(one);
    }

    /// Whether a shell may make an option of it that it does not show.
    fn may_be_option(&self) -> bool {
        let dashes = || self.text.contains('-');
        match self.first {
            WordStart::Literal => self.varies && self.text.starts_with('-'),
            // The last word of the command before.
            WordStart::Variable => {
                dashes() || self.text.contains(PATTERN) || ["$_", "${_}"].contains(&self.text.as_str())
            }
            WordStart::Braces => dashes(),
            WordStart::Pattern => false,
        }
    }
}

/// The words of a simple command, without their quotes.
pub(super) fn words(command: &str) -> Vec<ShellWord> {
    let mut words = Vec::new();
    let mut word: Option<ShellWord> = None;
    let (mut quote, mut chars) = (None, command.chars());
    while let Some(one) = chars.next() {
        match (quote, one) {
            (None, ' ' | '\t' | '\n') => words.extend(word.take()),
            (None, '\'' | '"') => {
                word.get_or_insert_default();
                quote = Some(one);
            }
            (Some(open), one) if open == one => quote = None,
            (None | Some('"'), '\\') => {
                let word = word.get_or_insert_default();
                let next = chars.next();
                // Within quotes it stays before most characters.
                if quote.is_some() && next.is_some_and(|one| !"$`\"\\\n".contains(one)) {
                    word.push('\\', WordStart::Literal);
                }
                next.into_iter().for_each(|one| word.push(one, WordStart::Literal));
            }
            (quote, one) => {
                let kind = match (quote, one) {
                    (None | Some('"'), '$') => WordStart::Variable,
                    (None, '{') => WordStart::Braces,
                    (None, one) if PATTERN.contains(&one) => WordStart::Pattern,
                    _ => WordStart::Literal,
                };
                word.get_or_insert_default().push(one, kind);
            }
        }
    }
    words.extend(word);
    words
}
