//! The tool `write`.

use super::read::path_is_one;
use super::seen_files::FileKnowledge;
use super::stop_signal::blocking;
use super::typed::{TypedTool, Worked};
use super::workplace::{PathAccess, Workplace};
use super::{change, files_in_log};
use annals_runtime::tools::{CallContext, Demand};
use schemars::JsonSchema;
use serde::Deserialize;
use std::str::from_utf8;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The file: absolute, or relative to the working directory.
    #[serde(alias = "file_path", alias = "filePath")]
    path: String,
    /// All that the file is to hold.
    content: String,
}

/// Looks up in the log what the session has read, if it is to replace a file of which this process knows nothing.
async fn recall(place: &Workplace, path: &str, context: &CallContext) {
    let Ok(path) = place.resolve(path) else { return };
    if place.seen().is_to_be_recalled(context.session, &path) && path.exists() {
        let files = files_in_log::files(&context.past, context.session).await.last();
        let resolved = files.into_iter().filter_map(|(path, stamp)| Some((place.resolve(&path).ok()?, stamp)));
        place.seen().recall(context.session, resolved);
    }
}

/// Writes a whole file.
pub(super) struct Write(pub(super) Workplace);

impl TypedTool for Write {
    type Input = Input;
    const NAME: &str = "write";
    const ACTION: &str = super::EDIT;
    const ABOUT: &str = "Writes a whole file, and makes it and its directories where there are none. The content \
        replaces all that the file held: to change a part of it, use `edit`. A file that exists must have been read \
        first. A file whose lines end in CRLF keeps them.";
    const PUTS_AWAY: bool = true;

    fn check(&self, input: &Input) -> Result<(), String> {
        path_is_one(&input.path)
    }

    fn demands(&self, input: &Input) -> Vec<Demand> {
        self.0.demands(Self::ACTION, &input.path, PathAccess::Touch)
    }

    async fn run(&self, input: Input, context: CallContext) -> Worked {
        let place = self.0.clone();
        recall(&place, &input.path, &context).await;
        self.0
            .diagnosed(
                &context,
                vec![input.path.clone()],
                blocking(move |stop| {
                    let _changing = place.seen().changing();
                    let path = place.resolve(&input.path).map_err(|error| format!("{}: {error}", input.path))?;
                    let Some(before) = change::before(&place, &path, stop)? else {
                        let lost = change::put(&place, context.session, &path, None, input.content.as_bytes())?;
                        let made = (None, input.content.as_str());
                        return Ok(change::tool_output(&place, context.session, &path, "Made", made, &lost));
                    };
                    let old = before.bytes().map(|bytes| from_utf8(bytes));
                    if before.known(&place, context.session, &path) == FileKnowledge::Unread
                        && before.bytes() != Some(b"")
                    {
                        let shown = place.shown(&path);
                        return Err(format!(
                            "{shown} exists, and you have not read it. Read it before you replace it."
                        )
                        .into());
                    }
                    before.refuse_changed(&place, context.session, &path)?;
                    let old = old.and_then(Result::ok);
                    let content = match old {
                        Some(old) if change::is_crlf(old) => change::to_crlf(&input.content),
                        _ => input.content,
                    };
                    let lost = change::put(&place, context.session, &path, Some(&before), content.as_bytes())?;
                    let replaced = (Some(old.unwrap_or_default()), content.as_str());
                    Ok(change::tool_output(&place, context.session, &path, "Replaced", replaced, &lost))
                }),
            )
            .await
    }
}
