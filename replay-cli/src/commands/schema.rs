//! `annals dev schema`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json;
use annals_core::Kind;
use annals_inspect::schema::{ANSWERS, named};
use annals_inspect::views;
use annals_lab::{LAB_ANSWERS, lab_schema};
use annals_rules::{RULE_ANSWERS, answer_schema};
use std::io::Write;

/// Print the JSON Schema of a view, an answer or a kind of event.
///
/// NAME is a view (`history`), an answer (`why`), a kind of event (`tool.called`), or `all` for all views. Without NAME,
/// lists the names.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// A view, an answer, a kind of event, or `all`.
    #[arg(value_name = "NAME", value_parser = name)]
    name: Option<String>,
}

fn names() -> impl Iterator<Item = &'static str> {
    let kinds = Kind::ALL.iter().map(|kind| kind.name());
    let answers = ANSWERS.iter().chain(&RULE_ANSWERS).chain(&LAB_ANSWERS);
    views::NAMES.iter().chain(answers).copied().chain(std::iter::once("all")).chain(kinds)
}

fn name(text: &str) -> Result<String, String> {
    if names().any(|name| name == text) {
        return Ok(text.to_owned());
    }
    let near = names().max_by(|a, b| strsim::jaro_winkler(text, a).total_cmp(&strsim::jaro_winkler(text, b)));
    Err(format!("no view, answer or kind of event has this name; did you mean {}?", near.unwrap_or("all")))
}

/// Runs the command.
pub fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let Some(name) = &args.name else {
        if cli.style.json {
            json::object(out, &names().collect::<Vec<_>>())?;
            return Ok(Verdict::Fine);
        }
        for name in names() {
            writeln!(out, "{name}")?;
        }
        return Ok(Verdict::Fine);
    };
    if let Some(schema) = named(name).or_else(|| answer_schema(name)).or_else(|| lab_schema(name)) {
        json::object(out, &schema)?;
    }
    Ok(Verdict::Fine)
}
