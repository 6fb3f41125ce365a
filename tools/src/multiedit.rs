//! The tool `multiedit`: several replacements in one file, all of them or none.

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
    /// The replacements, each made in the result of those before it.
    edits: Vec<Replacement>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Replacement {
    #[serde(alias = "oldString")]
    old_string: String,
    #[serde(alias = "newString")]
    new_string: String,
    #[serde(alias = "replaceAll")]
    replace_all: Option<bool>,
}

/// Makes several replacements in a file.
pub(super) struct MultiEdit(pub(super) Workplace);

impl TypedTool for MultiEdit {
    type Input = Input;
    const NAME: &str = "multiedit";
    const ACTION: &str = super::EDIT;
    const ABOUT: &str =
        "Makes several replacements in one file, as `edit` does each, in their order: all of them or none.";
    const PUTS_AWAY: bool = true;

    fn check(&self, input: &Input) -> Result<(), String> {
        if input.edits.is_empty() {
            return Err("`edits` is empty".into());
        }
        for (at, edit) in input.edits.iter().enumerate() {
            let number = at + 1;
            if edit.old_string.is_empty() {
                return Err(format!("`old_string` of edit {number} is empty; make a file with `write`"));
            }
            if edit.old_string == edit.new_string {
                return Err(format!("`old_string` and `new_string` of edit {number} are the same"));
            }
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
                        let mut text = text.to_owned();
                        for (at, edit) in input.edits.iter().enumerate() {
                            let all = edit.replace_all.unwrap_or_default();
                            let made = replaced(&text, &edit.old_string, &edit.new_string, all);
                            (text, _) =
                                made.map_err(|reason| format!("{shown} was not changed: edit {}: {reason}", at + 1))?;
                        }
                        let did = match input.edits.len() {
                            1 => "Made 1 edit in".to_owned(),
                            count => format!("Made {count} edits in"),
                        };
                        Ok((text, did))
                    };
                    change::edit_text(&place, context.session, &input.path, stop, edited)
                }),
            )
            .await
    }
}
