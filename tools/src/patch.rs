//! The tool `apply_patch`: changes of several files in the form that models are trained on.

mod apply;
mod parse;

use super::change::{self, FileBefore};
use super::open;
use super::read::path_is_one;
use super::stop_signal::{StopSignal, blocking};
use super::typed::{TypedTool, Worked};
use super::workplace::{PathAccess, Workplace};
use annals_core::{Json, SessionId};
use annals_runtime::tools::{CallContext, Demand, ToolError, ToolOutput};
use parse::FilePatch;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::str::from_utf8;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The patch, from `*** Begin Patch` to `*** End Patch`.
    #[serde(alias = "input", alias = "patch_text", alias = "patchText")]
    patch: String,
}

/// Applies patches.
pub(super) struct ApplyPatch(pub(super) Workplace);

impl TypedTool for ApplyPatch {
    type Input = Input;
    const NAME: &str = "apply_patch";
    const ACTION: &str = super::EDIT;
    const ABOUT: &str = "Changes files by a patch: `*** Begin Patch`, then `*** Add File: PATH` with `+` lines, `*** Delete \
        File: PATH`, or `*** Update File: PATH` (then perhaps `*** Move to: PATH`) with hunks of ` `, `-` and `+` lines \
        after `@@` or `@@ LINE ABOVE`, then `*** End Patch`. Nothing is changed if a hunk is not found.";
    const PUTS_AWAY: bool = true;

    fn check(&self, input: &Input) -> Result<(), String> {
        let files = parse::parse(&input.patch)?;
        let mut paths: Vec<&str> = files.iter().flat_map(FilePatch::paths).collect();
        paths.sort_unstable();
        if let Some(twice) =
            paths.windows(2).find_map(|pair| (pair.first() == pair.last()).then(|| pair.first())).flatten()
        {
            return Err(format!("the patch names {twice} twice; put all its hunks into one section"));
        }
        paths.into_iter().try_for_each(path_is_one)
    }

    fn demands(&self, input: &Input) -> Vec<Demand> {
        let files = parse::parse(&input.patch).unwrap_or_default();
        let mut demands: Vec<Demand> = Vec::new();
        for path in files.iter().flat_map(FilePatch::paths) {
            for demand in self.0.demands(super::EDIT, path, PathAccess::Touch) {
                match demands.iter_mut().find(|before| before.action == demand.action) {
                    Some(before) => before.resources.extend(
                        demand.resources.into_iter().filter(|one| !before.resources.contains(one)).collect::<Vec<_>>(),
                    ),
                    None => demands.push(demand),
                }
            }
        }
        // Outside first, as for other tools.
        demands.sort_by_key(|demand| demand.action == super::EDIT);
        demands
    }

    async fn run(&self, input: Input, context: CallContext) -> Worked {
        let files = parse::parse(&input.patch)?;
        let paths = files.iter().flat_map(FilePatch::paths).map(str::to_owned).collect();
        let place = self.0.clone();
        self.0
            .diagnosed(
                &context,
                paths,
                blocking(move |stop| {
                    let _changing = place.seen().changing();
                    let planned: Result<Vec<PlannedChange>, ToolError> =
                        files.into_iter().map(|file| plan(&place, context.session, file, stop)).collect();
                    let planned = planned.map_err(|error| ToolError(format!("Nothing was changed. {error}")))?;
                    let mut done = Vec::new();
                    for change in planned {
                        match change.make(&place, context.session) {
                            Ok(one) => done.push(one),
                            Err(error) if done.is_empty() => {
                                return Err(ToolError(format!("Nothing was changed. {error}")));
                            }
                            Err(error) => {
                                let output = joined(done);
                                let text = output.text.unwrap_or_default();
                                return Err(ToolError(format!(
                                    "Only a part of the patch was applied.\n{text}\nThen: {error}"
                                )));
                            }
                        }
                    }
                    Ok(joined(done))
                }),
            )
            .await
    }
}

/// One change whose hunks were found.
struct PlannedChange {
    path: PathBuf,
    before: Option<FileBefore>,
    after: Option<String>,
    moved_to: Option<(PathBuf, Option<FileBefore>)>,
}

fn plan(place: &Workplace, session: SessionId, file: FilePatch, stop: &StopSignal) -> Result<PlannedChange, ToolError> {
    let resolve = |path: &str| place.resolve(path).map_err(|error| ToolError(format!("{path}: {error}")));
    match file {
        FilePatch::Add { path, content } => {
            let path = resolve(&path)?;
            match change::before(place, &path, stop)? {
                Some(before) if before.bytes() != Some(b"") => {
                    Err(format!("{} exists; change it with `*** Update File`.", place.shown(&path)).into())
                }
                before => Ok(PlannedChange { path, before, after: Some(content), moved_to: None }),
            }
        }
        FilePatch::Delete { path } => {
            let path = resolve(&path)?;
            let Some(before) = change::before(place, &path, stop)? else { return Err(open::missing(place, &path)) };
            before.refuse_changed(place, session, &path)?;
            Ok(PlannedChange { path, before: Some(before), after: None, moved_to: None })
        }
        FilePatch::Update { path, moved_to, hunks } => {
            let path = resolve(&path)?;
            let shown = place.shown(&path);
            let Some(before) = change::before(place, &path, stop)? else { return Err(open::missing(place, &path)) };
            before.refuse_changed(place, session, &path)?;
            let old = before.bytes().and_then(|bytes| from_utf8(bytes).ok());
            let old = old.ok_or_else(|| ToolError(format!("{shown} is not text, or too long to be patched.")))?;
            let text = old.replace("\r\n", "\n");
            let new = apply::applied(&text, &hunks).map_err(|reason| ToolError(format!("{shown}: {reason}")))?;
            let after = Some(if change::is_crlf(old) { change::to_crlf(&new) } else { new });
            let moved_to = match moved_to {
                None => None,
                Some(to) => {
                    let to = resolve(&to)?;
                    match change::before(place, &to, stop)? {
                        Some(there) if there.bytes() != Some(b"") && to != path => {
                            return Err(format!("{} exists; {shown} cannot be moved there.", place.shown(&to)).into());
                        }
                        there => (to != path).then_some((to, there)),
                    }
                }
            };
            Ok(PlannedChange { path, before: Some(before), after, moved_to })
        }
    }
}

impl PlannedChange {
    fn make(self, place: &Workplace, session: SessionId) -> Result<ToolOutput, ToolError> {
        let Self { path, before, after, moved_to } = self;
        let old =
            before.as_ref().and_then(FileBefore::bytes).and_then(|bytes| from_utf8(bytes).ok()).map(str::to_owned);
        let Some(after) = after else {
            std::fs::remove_file(&path).map_err(|error| open::trouble(place, &path, &error))?;
            return Ok(change::removal_output(place, &path, old.as_deref().unwrap_or_default()));
        };
        let (target, there, did) = match moved_to {
            Some((to, there)) => (to, there, format!("Moved {} to", place.shown(&path))),
            None => (path.clone(), None, if before.is_some() { "Changed".into() } else { "Made".to_owned() }),
        };
        // A moved file keeps what belongs to the one that it was.
        let carried = if target == path { before.as_ref() } else { there.as_ref().or(before.as_ref()) };
        let lost = change::put(place, session, &target, carried, after.as_bytes())?;
        if target != path {
            std::fs::remove_file(&path).map_err(|error| open::trouble(place, &path, &error))?;
        }
        Ok(change::tool_output(place, session, &target, &did, (old.as_deref(), &after), &lost))
    }
}

/// The results of all files as one.
fn joined(done: Vec<ToolOutput>) -> ToolOutput {
    let texts: Vec<String> = done.iter().filter_map(|one| one.text.clone()).collect();
    let values: Vec<Value> =
        done.iter().filter_map(|one| one.structured.as_ref()).map(|value| value.value(&annals_core::NoBlobs)).collect();
    let diffs: Vec<&str> = values.iter().filter_map(|value| value.get("diff")?.as_str()).collect();
    let sum = |key: &str| values.iter().filter_map(|value| value.get(key)?.as_u64()).sum::<u64>();
    let structured = json!({
        "added": sum("added"), "removed": sum("removed"), "diff": diffs.concat(), "files": values,
    });
    ToolOutput { structured: Some(Json::canonical(&structured)), ..ToolOutput::text(texts.join("\n")) }
}
