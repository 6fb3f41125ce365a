//! `annals bisect`

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use crate::fold_arg::fold_command;
use crate::json;
use crate::layout::Sheet;
use crate::style::{Emphasis, counted};
use annals_inspect::bisect::{BisectResult, Judge};
use annals_inspect::{AskError, SessionAt, bisect};
use serde_json::Value;
use std::io::Write;

/// Find the first event after which a condition is true.
///
/// The condition must be false after --good and true after --bad. It is a text in what the model sees (`--text 'spare
/// shelf'`), a pattern over the views, as in scenario files (`--where '{"history": {"$contains": {"type":
/// "compaction"}}}'`), or a command after `--`, which gets all views as JSON on stdin and whose exit status counts as in
/// `git bisect run`: 0 good (false), 125 unknown, any other status up to 127 bad (true). With --fold
/// the command reads events, one per line, as in `annals fold`: its exit status counts likewise; if it is 0 at both ends,
/// the condition is that it prints something else than after --good; with --where, that what it prints (JSON, or a
/// text) matches PATTERN.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last; or a FILE with one.
    #[arg(value_name = "SESSION", default_value = "@last")]
    session: String,
    /// An event after which the condition is false.
    #[arg(long, value_name = "EVENT", default_value = "0", allow_negative_numbers = true)]
    good: EventArg,
    /// A later event after which the condition is true (default: the last one).
    #[arg(long, value_name = "EVENT", default_value = "-1", hide_default_value = true, allow_negative_numbers = true)]
    bad: EventArg,
    /// The condition as a text in the messages or the system prompt that the model sees.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["pattern", "command", "fold"])]
    text: Option<String>,
    /// The condition as a pattern that the views match.
    #[arg(long = "where", value_name = "PATTERN", required_unless_present_any = ["command", "text", "fold"])]
    pattern: Option<String>,
    /// Give the command events, one per line; CMD is a line for the shell instead of a command after `--`.
    #[arg(long, value_name = "CMD", num_args = 0..=1, default_missing_value = "")]
    fold: Option<String>,
    /// The condition as a command.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

const ONE: &str = "the condition is either --where or a command; with --fold, --where is about what the command prints";

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let fold = fold_command(args.fold.as_deref(), &args.command);
    let named = fold.as_ref().and_then(|(_, session)| session.clone());
    let session = named.unwrap_or_else(|| args.session.clone());
    let target = cli.target(&Target { session, at: None }).await?;
    let good = args.good.seq(&target.reader, target.session, &cli.style).await?;
    let bad = args.bad.seq(&target.reader, target.session, &cli.style).await?;
    let past = SessionAt::from(&target);
    let found = match (&fold, &args.pattern) {
        (Some((command, _)), pattern) => {
            let predicate = pattern.as_deref().map(annals_scenario::value_judge).transpose()?;
            bisect::ask_fold(&past, good, bad, command, predicate).await?
        }
        (None, _) if args.text.is_some() => {
            bisect::ask(&past, good, bad, &shows(args.text.clone().unwrap_or_default())).await?
        }
        (None, Some(_)) if !args.command.is_empty() => return Err(AskError::Ends { what: ONE.to_owned() }.into()),
        (None, Some(pattern)) => bisect::ask(&past, good, bad, &annals_scenario::judge(pattern)?).await?,
        (None, None) => bisect::ask(&past, good, bad, &Judge::Command { words: args.command.clone() }).await?,
    };
    if cli.style.json {
        json::object(out, &found)?;
    } else {
        draw(&found, &mut Sheet::new(out, &cli.style))?;
    }
    let (probes, folded) = (counted(found.probes, "place"), counted(found.folded, "event"));
    cli.remark(&format!("checked {probes}, folded {folded}"));
    Ok(Verdict::Fine)
}

/// Whether a text is in what the model sees.
fn shows(text: String) -> Judge {
    let holds = move |views: &Value| mentions(views, &text);
    Judge::Where { holds: Box::new(holds), views: vec!["history", "baseline"] }
}

fn mentions(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found.contains(text),
        Value::Array(items) => items.iter().any(|item| mentions(item, text)),
        Value::Object(fields) => fields.values().any(|field| mentions(field, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Draws the batch after which it holds.
pub fn draw(found: &BisectResult, sheet: &mut Sheet<'_>) -> Result<(), CliError> {
    let last = found.bad.0.saturating_sub(1);
    sheet.rule(&format!("first true after event {last}"), "written together", Emphasis::Strong)?;
    for fact in &found.facts {
        let time = sheet.style.clock(fact.at);
        sheet.row(Some(fact.seq), ("", Emphasis::Plain), (fact.kind, Emphasis::Plain), (&time, Emphasis::Dim))?;
    }
    Ok(())
}
