//! The tool `glob`.

use super::stop_signal::blocking;
use super::typed::{TypedTool, Worked};
use super::walk::{self, PathPattern};
use super::workplace::Workplace;
use annals_core::Json;
use annals_runtime::tools::{CallContext, Demand, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::cmp::Reverse;
use std::path::PathBuf;
use std::time::SystemTime;

/// How many files are shown by default, and at most.
const USUAL: u64 = 100;
const MOST: u64 = 2_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// What the paths look like, such as `**/*.rs` or `src/*.{ts,tsx}`. Without a slash it is of names at any depth.
    pattern: String,
    /// The directory to look in; the working directory without it.
    path: Option<String>,
    /// The most files to show: 100 without it, at most 2000.
    #[schemars(range(min = 1, max = 2000))]
    limit: Option<u64>,
}

/// Finds files by the look of their paths.
pub(super) struct Glob(pub(super) Workplace);

impl TypedTool for Glob {
    type Input = Input;
    const NAME: &str = "glob";
    const ABOUT: &str = "Finds files whose paths match a glob pattern, the most recently changed first. Files that \
        `.gitignore` names and `.git` are left out; hidden files are not.";

    fn check(&self, input: &Input) -> Result<(), String> {
        walk::check(input.path.as_deref(), input.limit, MOST)
    }

    fn demands(&self, input: &Input) -> Vec<Demand> {
        walk::demands(&self.0, Self::ACTION, input.path.as_deref())
    }

    async fn run(&self, input: Input, _: CallContext) -> Worked {
        let place = self.0.clone();
        blocking(move |stop| {
            let root = walk::root(&place, input.path.as_deref())?;
            let shape = PathPattern::of(&input.pattern, &root)?;
            let mut found: Vec<(Reverse<Option<SystemTime>>, PathBuf)> = Vec::new();
            let complete = walk::through(&root, None, stop, |entry| {
                let directory = entry.file_type().is_none_or(|kind| kind.is_dir());
                let within = entry.path().strip_prefix(&root).unwrap_or(entry.path());
                if !directory && shape.has(within) {
                    let changed = entry.metadata().ok().and_then(|found| found.modified().ok());
                    found.push((Reverse(changed), entry.path().into()));
                }
            });
            found.sort();
            let shown = found.len().min(usize::try_from(input.limit.unwrap_or(USUAL)).unwrap_or(usize::MAX));
            let mut text: String =
                found.iter().take(shown).map(|(_, path)| format!("{}\n", place.shown(path))).collect();
            if found.is_empty() && complete {
                text.push_str("No files.");
            }
            text.push_str(&walk::rest(shown, found.len(), "files", complete));
            let structured = json!({"files": found.len(), "shown": shown, "complete": complete});
            Ok(ToolOutput { structured: Some(Json::canonical(&structured)), ..ToolOutput::text(text) })
        })
        .await
    }
}
