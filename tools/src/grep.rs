//! The tool `grep`.

use super::open;
use super::read::Read;
use super::stop_signal::{StopSignal, blocking};
use super::typed::{TypedTool, Worked};
use super::walk::{self, PathPattern};
use super::workplace::Workplace;
use annals_core::Json;
use annals_runtime::tools::{CallContext, Demand, Permits, ToolError, ToolOutput};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Bytes;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;

/// How many matches are shown by default, and at most.
const USUAL: u64 = 100;
const MOST: u64 = 1_000;

/// How many characters of a line are shown.
const CHARACTERS: usize = 300;

/// What a file whose lines are shown is judged as, as when it is read.
const READ: &str = <Read as TypedTool>::ACTION;

/// How many files that were not searched are named.
const NAMED: usize = 5;

/// How long a line may be to be searched, in bytes. A file with a longer one is searched up to there.
const LINE: usize = 16 * 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// A regular expression, in Rust's syntax; `(?i)` before it ignores case. It matches within one line.
    pattern: String,
    /// The directory or file to search; the working directory without it.
    path: Option<String>,
    /// Only files of this shape, such as `*.rs` or `src/**/*.{ts,tsx}`.
    #[serde(alias = "glob")]
    include: Option<String>,
    /// The most matches to show: 100 without it, at most 1000.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u64>,
}

/// Searches the contents of files.
pub(super) struct Grep(pub(super) Workplace);

impl TypedTool for Grep {
    type Input = Input;
    const NAME: &str = "grep";
    const ABOUT: &str = "Searches the contents of files for a regular expression and gives the matching lines with their \
        numbers, by file, in the order of paths. Files that `.gitignore` names, `.git` and binary files are not \
        searched; hidden files are. Files that may not be read without asking are left out and named.";

    fn check(&self, input: &Input) -> Result<(), String> {
        walk::check(input.path.as_deref(), input.limit, MOST)
    }

    fn demands(&self, input: &Input) -> Vec<Demand> {
        let path = input.path.as_deref().unwrap_or(".");
        let mut demands = walk::demands(&self.0, Self::ACTION, input.path.as_deref());
        // Searching a file shows its content. In a directory each file is checked when it is found.
        if self.0.resolve(path).is_ok_and(|real| !real.is_dir())
            && let Some(searched) = demands.pop()
        {
            demands.push(Demand { action: READ.into(), ..searched.clone() });
            demands.push(searched);
        }
        demands
    }

    async fn run(&self, input: Input, context: CallContext) -> Worked {
        let (place, permits) = (self.0.clone(), context.permits);
        blocking(move |stop| {
            let root = walk::root(&place, input.path.as_deref())?;
            let matcher = matcher(&input.pattern)?;
            let shape = input.include.as_ref().map(|include| PathPattern::of(include, &root)).transpose()?;
            let limit = usize::try_from(input.limit.unwrap_or(USUAL)).unwrap_or(usize::MAX);
            let (searcher, text) = (searcher(), String::new());
            let withheld = Withheld::default();
            let mut search = GrepRun {
                place: &place,
                stop,
                matcher,
                searcher,
                limit,
                text,
                matches: 0,
                files: 0,
                left_out: 0,
                withheld,
            };
            let searched = place.resource(&root);
            let complete = if root.is_dir() {
                walk::through(&root, None, stop, |entry| {
                    let file = entry.file_type().is_some_and(|kind| kind.is_file());
                    let within = entry.path().strip_prefix(&root).unwrap_or(entry.path());
                    if file && shape.as_ref().is_none_or(|shape| shape.has(within)) {
                        search.found(entry.path(), &searched, &permits);
                    }
                })
            } else {
                open::regular(&place, &root)?;
                search.file(&root);
                !stop.is_due()
            };
            Ok(search.output(complete))
        })
        .await
    }
}

fn matcher(pattern: &str) -> Result<RegexMatcher, ToolError> {
    let built = RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build(pattern);
    built.map_err(|error| format!("The pattern cannot be searched for: {error}").into())
}

fn searcher() -> Searcher {
    SearcherBuilder::new().line_number(true).heap_limit(Some(LINE)).binary_detection(BinaryDetection::quit(0)).build()
}

/// A search and what it has found.
struct GrepRun<'a> {
    place: &'a Workplace,
    stop: &'a StopSignal,
    matcher: RegexMatcher,
    searcher: Searcher,
    limit: usize,
    text: String,
    matches: usize,
    files: usize,
    /// Files that were not searched, or not to their end.
    left_out: usize,
    withheld: Withheld,
}

/// Files that may not be read without asking.
#[derive(Default)]
struct Withheld {
    /// The first of them.
    first: Vec<String>,
    count: usize,
}

impl GrepRun<'_> {
    /// Searches a file that the call does not name, if it may be read without a question.
    fn found(&mut self, path: &Path, searched: &str, permits: &Permits) {
        let resource = self.place.resource(path);
        if permits.allow(READ, &resource) && permits.allow_below(Grep::ACTION, searched, &resource) {
            return self.file(path);
        }
        self.withheld.count += 1;
        if self.withheld.first.len() < NAMED {
            self.withheld.first.push(self.place.shown(path));
        }
    }

    /// Searches one file. What cannot be read is left out, as is the rest of one with a line too long.
    fn file(&mut self, path: &Path) {
        let Ok((file, _)) = open::regular(self.place, path) else {
            self.left_out += 1;
            return;
        };
        let (text, matches, limit, place) = (&mut self.text, &mut self.matches, self.limit, self.place);
        let mut first = true;
        let sink = Bytes(|number, line| {
            *matches += 1;
            if *matches <= limit {
                if first {
                    let gap = if text.is_empty() { "" } else { "\n" };
                    text.push_str(&format!("{gap}{}\n", place.shown(path)));
                }
                text.push_str(&format!("{number:>6}\t{}\n", preview(line)));
            }
            first = false;
            Ok(true)
        });
        if let Err(error) = self.searcher.search_reader(&self.matcher, self.stop.watch(file), sink) {
            tracing::debug!(%error, "a file was not searched to its end");
            self.left_out += 1;
        }
        self.files += usize::from(!first);
    }

    fn output(self, complete: bool) -> ToolOutput {
        let shown = self.matches.min(self.limit);
        let rest = walk::rest(shown, self.matches, "matches", complete);
        let mut text = match self.matches {
            0 if complete => "No matches.".into(),
            _ => format!("{}{rest}", self.text),
        };
        if self.left_out > 0 && complete {
            text.push_str(&format!("\n(Files that could not be searched to their end: {}.)", self.left_out));
        }
        let Withheld { first, count } = self.withheld;
        if count > 0 {
            let more = if count > first.len() { format!(" and {} more", count - first.len()) } else { String::new() };
            text.push_str(&format!(
                "\n(Not searched without permission: {}{more}. Name one as `path` to ask for it.)",
                first.join(", ")
            ));
        }
        let structured = json!({
            "matches": self.matches, "shown": shown, "files": self.files, "complete": complete, "withheld": count,
        });
        ToolOutput { structured: Some(Json::canonical(&structured)), ..ToolOutput::text(text) }
    }
}

fn preview(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let held = line.get(..CHARACTERS * 4 + 4).unwrap_or(line);
    let text = String::from_utf8_lossy(held);
    match text.char_indices().nth(CHARACTERS) {
        None => text.into_owned(),
        Some((cut, _)) => format!("{}...", text.get(..cut).unwrap_or_default()),
    }
}
