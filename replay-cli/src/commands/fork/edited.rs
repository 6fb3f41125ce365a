//! The other wording of a text: from the command line, a file, or an editor.

use super::Args;
use crate::command_context::CommandContext;
use crate::error::{CliError, EditTextError};
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Command;

/// The editor of a user who has configured none.
const EDITOR: &str = "vi";

/// The new wording of `recorded`.
pub async fn text(args: &Args, recorded: &str, cli: &CommandContext) -> Result<String, CliError> {
    if let Some(text) = &args.text {
        return Ok(text.clone());
    }
    if let Some(path) = &args.text_file {
        return Ok(file(path)?);
    }
    let variable = |name: &str| cli.environment.variables.get(name).filter(|value| !value.trim().is_empty());
    let editor = variable("VISUAL").or_else(|| variable("EDITOR")).unwrap_or_else(|| EDITOR.to_owned());
    let recorded = recorded.to_owned();
    let edited = tokio::task::spawn_blocking(move || edit(&editor, &recorded)).await;
    Ok(edited.map_err(|error| EditTextError::Editor { editor: String::new(), why: error.to_string() })??)
}

/// The text of a file, or of stdin (`-`).
fn file(path: &Path) -> Result<String, EditTextError> {
    let mut bytes = Vec::new();
    let read = match path == Path::new("-") {
        true => io::stdin().lock().read_to_end(&mut bytes).map(drop),
        false => fs::read(path).map(|read| bytes = read),
    };
    read.map_err(|source| EditTextError::File { path: path.to_owned(), source })?;
    String::from_utf8(bytes).map_err(|_| EditTextError::NotText { path: path.to_owned() })
}

/// Opens the user's editor. A newline that it adds at the end does not count as a change.
fn edit(editor: &str, recorded: &str) -> Result<String, EditTextError> {
    let cannot = |source: io::Error| EditTextError::Editor { editor: editor.to_owned(), why: source.to_string() };
    let mut draft = tempfile::Builder::new().prefix("annals-").suffix(".md").tempfile().map_err(cannot)?;
    draft.write_all(recorded.as_bytes()).and_then(|()| draft.flush()).map_err(cannot)?;
    // The editor may be a command with options; only the user's own variable is a command.
    let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(draft.path()).status();
    let status = status.map_err(cannot)?;
    if !status.success() {
        return Err(EditTextError::Editor { editor: editor.to_owned(), why: format!("it ended with {status}") });
    }
    let mut text = file(draft.path())?;
    if text.ends_with('\n') && !recorded.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}
