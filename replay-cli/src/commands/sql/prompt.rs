//! Queries one after another, on a terminal.

use super::answer::{self, AnswerForm};
use super::{Args, ask};
use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use std::io::Write;

const COMMANDS: &str = ".schema shows the tables, .quit ends";

/// Prompts for queries until the end of the input. A query ends with `;` or an empty line.
pub(super) async fn run(
    args: &Args,
    form: AnswerForm,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let mut editor = DefaultEditor::new().map_err(std::io::Error::other)?;
    cli.remark(&format!("a query ends with ; ({COMMANDS})"));
    let mut query = String::new();
    loop {
        let line = match editor.readline(if query.is_empty() { "sql> " } else { "  -> " }) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                query.clear();
                continue;
            }
            Err(ReadlineError::Eof) => return Ok(Verdict::Fine),
            Err(error) => return Err(std::io::Error::other(error).into()),
        };
        match line.trim() {
            ".quit" | ".exit" if query.is_empty() => return Ok(Verdict::Fine),
            ".schema" | ".tables" if query.is_empty() => {
                answer::schema(cli, out)?;
                out.flush()?;
                continue;
            }
            text if query.is_empty() && text.starts_with('.') => {
                cli.remark(&format!("no command {text}; {COMMANDS}"));
                continue;
            }
            text => {
                query.push_str(text);
                query.push('\n');
                if query.trim().is_empty() {
                    query.clear();
                    continue;
                }
                if !text.ends_with(';') && !text.is_empty() {
                    continue;
                }
            }
        }
        let whole = std::mem::take(&mut query);
        if let Err(error) = editor.add_history_entry(whole.trim()) {
            tracing::debug!(%error, "a query is not in the history");
        }
        match ask(args, &whole, form, cli, out).await {
            Err(CliError::Sql(error)) => cli.remark(&error.to_string()),
            asked => drop(asked?),
        }
        out.flush()?;
    }
}
