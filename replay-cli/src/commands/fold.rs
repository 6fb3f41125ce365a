//! `annals fold`

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use crate::json;
use crate::style::counted;
use annals_inspect::{FoldCommand, FoldEvery, SessionAt};
use std::io::Write;

/// Fold the events of a session with a program of yours.
///
/// The program reads one event per line, as in `log --json`: `{"seq": 3, "at": MS, "type": "tool.called", ...}`, with every text
/// whole. What it prints is the view, and is printed unchanged. It runs once per session; with --every, once per turn
/// or cut, each time over the events up to there. ANNALS_SESSION and ANNALS_AT name the session and the last event. The exit
/// status is the first of the program that is not 0.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The sessions: ids, starts or ends of ids, words of titles, or @last; or FILES with one each.
    #[arg(value_name = "SESSION", default_value = "@last")]
    sessions: Vec<String>,
    /// Fold up to EVENT (and the events written with it): its number, turn:N, -N from the end, a time.
    #[arg(long, value_name = "EVENT", allow_negative_numbers = true)]
    at: Option<EventArg>,
    /// Fold up to the end of each turn, or up to each cut (the end of each batch).
    #[arg(long, value_enum, value_name = "turn|cut")]
    every: Option<Every>,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Where views are taken.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Every {
    Turn,
    Cut,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let program = FoldCommand::new(args.command.clone());
    let (mut status, mut folds) = (0, 0);
    let mut views = Vec::new();
    for session in &args.sessions {
        let target = cli.target(&Target { session: session.clone(), at: args.at }).await?;
        let past = SessionAt::from(&target);
        let cuts = match args.every {
            None => vec![past.until],
            Some(Every::Turn) => FoldEvery::Turn.cuts(&past).await?,
            Some(Every::Cut) => FoldEvery::Cut.cuts(&past).await?,
        };
        for until in cuts {
            let view = program.view(&past, until).await?;
            status = if status == 0 { view.status } else { status };
            folds += 1;
            match cli.style.json {
                true => views.push(view.to_json(&past)),
                false => out.write_all(&view.printed)?,
            }
        }
    }
    if cli.style.json {
        json::list(out, &views)?;
    } else if folds > 1 {
        cli.remark(&format!("{}; --json names the event of each", counted(folds, "view")));
    }
    Ok(match status {
        0 => Verdict::Fine,
        status => Verdict::Exit(status),
    })
}
