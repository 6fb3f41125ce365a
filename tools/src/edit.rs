//! The tool `edit`.

use super::change;
use super::matching::replaced;
use super::read::path_is_one;
use super::stop_signal::blocking;
use super::typed::{TypedTool, Worked};
use super::workplace::{PathAccess, Workplace};
use annals_runtime::tools::{CallContext, Demand};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The file: absolute, or relative to the working directory.
    #[serde(alias = "file_path", alias = "filePath")]
    path: String,
    /// The exact text to replace, with its white space. It must occur once, unless `replace_all` is set.
    #[serde(alias = "oldString")]
    old_string: String,
    /// What to put in its place.
    #[serde(alias = "newString")]
    new_string: String,
    /// Whether to replace every occurrence; false without it.
    #[serde(alias = "replaceAll")]
    replace_all: Option<bool>,
}

/// Replaces text in a file.
pub(super) struct Edit(pub(super) Workplace);

impl TypedTool for Edit {
    type Input = Input;
    const NAME: &str = "edit";
    const ABOUT: &str = "Replaces exact text in a file. `old_string` must occur in the file exactly once, white space \
        included and without the line numbers that `read` shows; take in lines around it to make it unique, or set \
        `replace_all` to replace every occurrence. A file that changed since you read it must be read again first. \
        Lines that end in CRLF keep it, whichever you write.";
    const PUTS_AWAY: bool = true;

    fn check(&self, input: &Input) -> Result<(), String> {
        if input.old_string.is_empty() {
            return Err("`old_string` is empty; make a file with `write`".into());
        }
        if input.old_string == input.new_string {
            return Err("`old_string` and `new_string` are the same".into());
        }
        path_is_one(&input.path)
    }

    fn demands(&self, input: &Input) -> Vec<Demand> {
        self.0.demands(super::EDIT, &input.path, PathAccess::Touch)
    }

    async fn run(&self, input: Input, context: CallContext) -> Worked {
        let place = self.0.clone();
        self.0
            .diagnosed(
                &context,
                vec![input.path.clone()],
                blocking(move |stop| {
                    let edited = |shown: &str, text: &str| {
                        let all = input.replace_all.unwrap_or_default();
                        let (text, count) = replaced(text, &input.old_string, &input.new_string, all)
                            .map_err(|reason| format!("{shown} was not changed: {reason}"))?;
                        let did = if count == 1 { "Edited".into() } else { format!("Replaced {count} occurrences in") };
                        Ok((text, did))
                    };
                    change::edit_text(&place, context.session, &input.path, stop, edited)
                }),
            )
            .await
    }
}
