//! The tool `ls`.

use super::stop_signal::blocking;
use super::typed::{TypedTool, Worked};
use super::walk;
use super::workplace::{Workplace, printable};
use annals_core::Json;
use annals_runtime::tools::{CallContext, Demand, ToolOutput};
use ignore::DirEntry;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;

/// How many entries are shown by default, and at most.
const USUAL: u64 = 200;
const MOST: u64 = 2_000;

/// How deep one call looks at most.
const DEEPEST: u64 = 8;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The directory; the working directory without it.
    path: Option<String>,
    /// How many levels to list: 1 without it, at most 8.
    #[schemars(range(min = 1, max = 8))]
    depth: Option<u64>,
    /// The most entries to show: 200 without it, at most 2000.
    #[schemars(range(min = 1, max = 2000))]
    limit: Option<u64>,
}

/// Lists a directory.
pub(super) struct Ls(pub(super) Workplace);

impl TypedTool for Ls {
    type Input = Input;
    const NAME: &str = "ls";
    const ABOUT: &str = "Lists a directory by name, one entry a line and those of directories indented below them: \
        directories end in `/`, links show where they point. Entries that `.gitignore` names and `.git` are left out; \
        hidden ones are not.";

    fn check(&self, input: &Input) -> Result<(), String> {
        if input.depth.is_some_and(|depth| !(1..=DEEPEST).contains(&depth)) {
            return Err(format!("`depth` must be between 1 and {DEEPEST}"));
        }
        walk::check(input.path.as_deref(), input.limit, MOST)
    }

    fn demands(&self, input: &Input) -> Vec<Demand> {
        walk::demands(&self.0, Self::ACTION, input.path.as_deref())
    }

    async fn run(&self, input: Input, _: CallContext) -> Worked {
        let place = self.0.clone();
        blocking(move |stop| {
            let root = walk::root(&place, input.path.as_deref())?;
            if !root.is_dir() {
                return Err(format!("{} is not a directory. Read a file with `read`.", place.shown(&root)).into());
            }
            let limit = usize::try_from(input.limit.unwrap_or(USUAL)).unwrap_or(usize::MAX);
            let depth = usize::try_from(input.depth.unwrap_or(1)).unwrap_or(1);
            let (mut text, mut all) = (format!("{}/\n", place.shown(&root).trim_end_matches('/')), 0);
            let complete = walk::through(&root, Some(depth), stop, |entry| {
                if entry.depth() > 0 {
                    all += 1;
                    if all <= limit {
                        text.push_str(&line(entry));
                    }
                }
            });
            if all == 0 && complete {
                text.push_str("(nothing, or only what is ignored)");
            }
            let shown = all.min(limit);
            text.push_str(&walk::rest(shown, all, "entries", complete));
            let structured = json!({"entries": all, "shown": shown, "complete": complete});
            Ok(ToolOutput { structured: Some(Json::canonical(&structured)), ..ToolOutput::text(text) })
        })
        .await
    }
}

fn line(entry: &DirEntry) -> String {
    let name = printable(Path::new(entry.file_name()));
    let kind = entry.file_type();
    let after = match kind {
        Some(kind) if kind.is_dir() => "/".into(),
        Some(kind) if kind.is_symlink() => {
            entry.path().read_link().map(|target| format!(" -> {}", printable(&target))).unwrap_or_default()
        }
        _ => String::new(),
    };
    format!("{}{name}{after}\n", "  ".repeat(entry.depth()))
}
