//! `annals diff --fold`

use super::{Args, past};
use crate::command_context::CommandContext;
use crate::draw::changes::lines;
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use crate::fold_arg::fold_command;
use crate::json;
use crate::layout::plain;
use annals_inspect::AskError;
use annals_inspect::diff::folds;
use std::io::Write;

pub(super) async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let Some((command, first)) = fold_command(args.fold.as_deref(), &args.command) else { return Ok(Verdict::Fine) };
    let mut words: Vec<String> = first.into_iter().chain([args.session.clone()]).chain(args.other.clone()).collect();
    let mut later = args.to;
    if words.len() > 2
        && let Some(to) = words.pop()
    {
        later = Some(to.parse().map_err(|_| CliError::NotASeq { text: to })?);
    }
    let [session, other] = words.as_slice() else {
        let what = "name two events of a session, or two sessions: annals diff SESSION FROM [TO] --fold -- COMMAND";
        return Err(AskError::Ends { what: what.to_owned() }.into());
    };
    let one = past(session, cli).await?;
    let found = match other.parse::<EventArg>() {
        Ok(from) => {
            let (reader, session) = cli.find(session).await?;
            let from = from.seq(&reader, session, &cli.style).await?;
            let to = match later {
                Some(to) => Some(to.seq(&reader, session, &cli.style).await?),
                None => None,
            };
            let (from, to) = (reader.until(session, Some(from)).await?, reader.until(session, to).await?);
            folds((&one, from), (&one, to), &command).await?
        }
        Err(_) if later.is_some() => return Err(CliError::NotASeq { text: other.clone() }),
        Err(_) => {
            let other = past(other, cli).await?;
            folds((&one, one.until), (&other, other.until), &command).await?
        }
    };
    if cli.style.json {
        json::object(out, &found)?;
    } else if args.stat {
        writeln!(out, "+{} -{}", found.lines.added, found.lines.removed)?;
    } else if !found.same {
        lines("", &plain(&found.before), &plain(&found.after), &cli.style, out)?;
    }
    Ok(Verdict::bad_if(!found.same))
}
