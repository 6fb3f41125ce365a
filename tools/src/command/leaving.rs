//! Where a command leaves the project: the directories that it changes to, and files that it names to programs for files.
//!
//! A shell reads `cd link/../x` by the names (`x`), `cd -P` and every other program by where the link leads. Both readings are judged.
//! Whether a command succeeds is not known beforehand: after `cd a; …` it may have stayed where it was, unless `a` exists.

mod words;

use super::wrapped::{PATTERN, words as shell_words};
use super::{CommandParser, CommandToken, Join, behind};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use words::{Assigned, NamedPath, changes_files, is_device, is_there, named_paths, program};

/// Directories that are kept in mind at most. Beyond them it is not known where a command works.
const DIRECTORIES: usize = 64;

/// How often the parts of a command with loops are gone through.
const ROUNDS: usize = 4;

/// Keywords after which parts run under a condition, and those that end this.
const CONDITIONS: [&str; 7] = ["if", "while", "until", "for", "select", "case", "{"];
const LOOPS: [&str; 4] = ["while", "until", "for", "select"];
const ENDS: [&str; 4] = ["fi", "done", "esac", "}"];

/// Says where paths lead.
pub(crate) struct PathJudge<'a> {
    /// Without links, `.` and `..`, for whom opens it; `None` if that cannot be known.
    pub(crate) resolve: &'a dyn Fn(&Path) -> Option<PathBuf>,
    /// The directory to ask for, if such a path is outside.
    pub(crate) outside: &'a dyn Fn(&Path) -> Option<String>,
    /// Whether such a directory belongs to another repository than the project's.
    pub(crate) other_repository: &'a dyn Fn(&Path) -> bool,
    /// Whether git in the project enters other repositories.
    pub(crate) enters_repositories: &'a dyn Fn() -> bool,
    /// Whether programs start commands from what is at such a path.
    pub(crate) obeyed: &'a dyn Fn(&Path) -> bool,
}

/// Where a command goes beyond the project.
#[derive(Debug, Default)]
pub(crate) struct Departure {
    /// What it needs a permission for outside of the project, each once. What a variable or a pattern leads to is given as it is written.
    pub(crate) outside: Vec<String>,
    /// Whether it works in another repository, whose settings may name programs that git runs, or changes what programs obey unasked.
    /// Then no rule for its parts says what it does.
    pub(crate) beyond_its_parts: bool,
}

/// Where a command goes that starts in a directory.
pub(crate) fn departure(command: &str, start: &Path, judge: &PathJudge<'_>) -> Departure {
    let mut parser = CommandParser::default();
    parser.read(command);
    let mut walk = Walk::new(&parser.tokens, start, judge);
    let rounds = if walk.repeats || walk.mentions_loop(&parser.tokens) { ROUNDS } else { 1 };
    for _ in 0..rounds {
        walk.all(&parser.tokens);
    }
    let beyond = walk.beyond || (judge.other_repository)(start);
    Departure { outside: walk.left.into_iter().collect(), beyond_its_parts: beyond }
}

type Directories = BTreeSet<PathBuf>;

/// A command being gone through.
struct Walk<'a> {
    judge: &'a PathJudge<'a>,
    start: Directories,
    /// Where the shell may be, as it names the directories.
    at: Directories,
    /// Where it may be if a part before in the same list failed.
    failed: Directories,
    /// Where it was when the list began: what runs in the background leaves it there.
    list: Directories,
    seen: Directories,
    stack: Vec<Directories>,
    conditions: usize,
    loops: usize,
    /// Whether it defines functions, which may run any number of times.
    repeats: bool,
    assigned: Assigned,
    left: BTreeSet<String>,
    /// Whether a program may have brought a repository along.
    brought: bool,
    beyond: bool,
}

impl<'a> Walk<'a> {
    fn new(tokens: &[CommandToken], start: &Path, judge: &'a PathJudge<'a>) -> Self {
        let at = Directories::from([start.to_owned()]);
        let pair =
            |two: &[CommandToken]| matches!(two, [CommandToken::Join(Join::Open), CommandToken::Join(Join::Close)]);
        Self {
            judge,
            at: at.clone(),
            failed: Directories::new(),
            list: at.clone(),
            seen: at.clone(),
            start: at,
            stack: Vec::new(),
            conditions: 0,
            loops: 0,
            repeats: tokens.windows(2).any(pair),
            assigned: Assigned::of(tokens.iter().filter_map(|token| match token {
                CommandToken::Part(part, _) => Some(part.as_str()),
                CommandToken::Join(_) => None,
            })),
            left: BTreeSet::new(),
            brought: false,
            beyond: false,
        }
    }

    fn mentions_loop(&self, tokens: &[CommandToken]) -> bool {
        tokens.iter().any(
            |token| matches!(token, CommandToken::Part(part, _) if keywords(part).any(|word| LOOPS.contains(&word))),
        )
    }

    fn all(&mut self, tokens: &[CommandToken]) {
        let mut before = None;
        for (index, token) in tokens.iter().enumerate() {
            match token {
                CommandToken::Part(part, files) => {
                    let next = tokens[index + 1..].iter().find_map(|token| match token {
                        CommandToken::Join(join) => Some(*join),
                        CommandToken::Part(..) => None,
                    });
                    let alone = before == Some(Join::Pipe) || matches!(next, Some(Join::Pipe | Join::Background));
                    self.part(part, files, alone, next == Some(Join::And));
                    before = None;
                }
                // The end of a line after `&&` is none of the list.
                CommandToken::Join(Join::Then) if matches!(before, Some(Join::And | Join::Or | Join::Pipe)) => {}
                CommandToken::Join(join) => {
                    self.join(*join);
                    before = Some(*join);
                }
            }
        }
        self.join(Join::Then);
    }

    fn join(&mut self, join: Join) {
        match join {
            Join::And => self.failed.extend(self.at.iter().cloned()),
            Join::Or => {
                self.at.append(&mut self.failed.clone());
                self.failed = self.at.clone();
            }
            Join::Pipe => self.at.append(&mut self.failed),
            Join::Then | Join::Background | Join::Open | Join::Close => {
                self.at.append(&mut self.failed);
                if join == Join::Background {
                    self.at.append(&mut self.list.clone());
                }
                if join == Join::Close {
                    let outer = self.stack.pop().unwrap_or_else(|| self.start.clone());
                    self.at.extend(outer);
                }
                if join == Join::Open {
                    self.stack.push(self.at.clone());
                }
                self.list = self.at.clone();
            }
        }
    }

    /// One part. `alone`: it runs in a shell of its own. `and`: what follows it runs if it succeeds.
    fn part(&mut self, part: &str, files: &[String], alone: bool, and: bool) {
        for word in keywords(part) {
            self.conditions += usize::from(CONDITIONS.contains(&word));
            self.loops += usize::from(LOOPS.contains(&word));
            if ENDS.contains(&word) {
                self.conditions = self.conditions.saturating_sub(1);
                self.loops = if word == "done" { self.loops.saturating_sub(1) } else { self.loops };
            }
        }
        let words = shell_words(behind(part));
        let name = words.first().map_or("", |word| word.text.as_str());
        let (before, here) = (self.at.clone(), name);
        let moved = match here {
            "cd" | "pushd" => self.moved(&words[1..], here == "pushd"),
            "popd" => Some((self.seen.clone(), false)),
            _ => {
                self.program(program(&words));
                self.paths(named_paths(&words), changes_files(program(&words)));
                None
            }
        };
        let redirected = files.iter().flat_map(|file| shell_words(file)).filter(|file| !is_device(&file.text));
        self.paths(redirected.map(|word| NamedPath { word, certain: true }).collect(), false);
        let Some((moved, exist)) = moved else { return };
        self.seen.extend(moved.iter().cloned());
        if self.seen.len() > DIRECTORIES {
            self.left.insert(part.to_owned());
            return;
        }
        self.at = moved;
        let certain = exist && self.conditions == 0;
        match (alone, certain, and) {
            (true, ..) | (false, false, false) => self.at.extend(before),
            (false, false, true) => self.failed.extend(before),
            (false, true, _) => {}
        }
    }

    /// Judges where git runs: in another repository it obeys that one's settings. What a part before made is not there to be looked at.
    fn program(&mut self, program: &str) {
        if program == "git" {
            let elsewhere = self.at.iter().any(|directory| !self.start.contains(directory));
            let unknown = self.at.iter().any(|directory| !directory.is_dir());
            self.beyond |= unknown || elsewhere && self.brought || (self.judge.enters_repositories)();
        }
        self.brought |= changes_files(program);
    }

    /// Where `cd` leads, and whether all these directories exist. `None` if it stays.
    fn moved(&mut self, arguments: &[super::wrapped::ShellWord], pushes: bool) -> Option<(Directories, bool)> {
        let is_option = |text: &str| {
            text == "--"
                || text
                    .strip_prefix('-')
                    .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|one| "LPe@n".contains(one)))
        };
        let physical = !pushes && arguments.iter().any(|word| is_option(&word.text) && word.text.contains('P'));
        let target = arguments.iter().find(|word| !is_option(&word.text));
        let Some(target) = target else {
            if pushes {
                return Some((self.seen.clone(), false));
            }
            self.left.insert("~".into());
            return None;
        };
        let text = target.text.as_str();
        if text == "-" || pushes && text.starts_with(['+', '-']) {
            for place in self.assigned.old.clone() {
                self.left.extend((!place.starts_with('/')).then(|| place.clone()));
                self.left.extend((self.judge.outside)(Path::new(&place)));
            }
            return Some((self.seen.clone(), false));
        }
        let relative = !text.starts_with('/');
        let climbs = text.split('/').any(|component| component == "..");
        let repeated = self.loops > 0 || self.repeats;
        let named = relative && !text.starts_with("./") && !text.starts_with("../") && text != "." && text != "..";
        if target.varies || text.starts_with('~') || relative && climbs && repeated || named && self.assigned.unknown {
            self.left.insert(literal(text));
            return None;
        }
        let mut bases = self.at.clone();
        if named {
            for base in &self.assigned.searched {
                bases.extend(self.at.iter().map(|at| at.join(base)));
            }
        }
        let mut moved = Directories::new();
        for base in &bases {
            let joined = base.join(text);
            let real = (self.judge.resolve)(&joined);
            let readings = [real.clone(), (!physical).then(|| by_names(&joined))];
            if real.is_none() {
                self.left.insert(literal(text));
            }
            for reading in readings.into_iter().flatten() {
                match (self.judge.resolve)(&reading) {
                    Some(real) => {
                        self.beyond |= (self.judge.other_repository)(&real);
                        self.left.extend((self.judge.outside)(&real));
                    }
                    None => drop(self.left.insert(literal(text))),
                }
                moved.insert(reading);
            }
        }
        let exist = moved.iter().all(|directory| directory.is_dir());
        Some((moved, exist))
    }

    /// Judges files that a program opens, or `changes`, wherever the shell may be.
    fn paths(&mut self, paths: Vec<NamedPath>, changes: bool) {
        for NamedPath { word, certain } in paths {
            let hides_a_name = |part: &str| part.starts_with(['.', '[']) && part.contains(PATTERN);
            self.beyond |= changes && word.varies && word.text.split('/').any(hides_a_name);
            let Some(text) = words::known(&word) else {
                self.left.extend(words::may_leave(&word).then(|| literal(&word.text)));
                continue;
            };
            for at in &self.at {
                if !certain && !is_there(&text, at) {
                    continue;
                }
                match (self.judge.resolve)(&at.join(&text)) {
                    Some(real) => {
                        self.beyond |= changes && (self.judge.obeyed)(&real);
                        self.left.extend((self.judge.outside)(&real));
                    }
                    None => drop(self.left.insert(literal(&text))),
                }
            }
        }
    }
}

/// The keywords that a part begins with.
fn keywords(part: &str) -> impl Iterator<Item = &str> {
    let known = |word: &&str| super::BEFORE.contains(word) || CONDITIONS.contains(word) || ENDS.contains(word);
    part.split([' ', '\t', '\n']).filter(|word| !word.is_empty()).take_while(known)
}

/// A path as a shell reads it: `..` removes the name before it.
fn by_names(path: &Path) -> PathBuf {
    let mut names = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(names.pop()),
            Component::CurDir => {}
            other => names.push(other),
        }
    }
    names
}

/// A directory may be called `*`, which as a resource would mean everything.
fn literal(path: &str) -> String {
    crate::workplace::literal(path)
}
