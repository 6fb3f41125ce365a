//! `annals fixture`

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use crate::json;
use crate::style::{Emphasis, counted};
use annals_inspect::goldens::{self, InstaOutcome, NamedFold, SESSION_FILE};
use annals_inspect::{FoldCommand, SessionAt};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write or compare golden files of every view and request.
///
/// Writes the session (`session.jsonl`), one file per view (`history.json`, `requests.json`, ...), `requests.jsonl` with
/// the body of each request, and `certificate.json` with the digest of each: goldens for the tests of your own
/// repository. The same session always gives the same bytes. With --check nothing is written; files that differ are
/// listed, and without SESSION the session is the one in DIR: `annals fixture --check DIR`. Exit status 1 if any differs.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last; or a FILE with one.
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Show the state right after EVENT (and the events written with it): its number, turn:N, -N from the end, a time.
    #[arg(long, value_name = "EVENT", allow_negative_numbers = true)]
    at: Option<EventArg>,
    /// The folder to write to; created if it does not exist.
    #[arg(long, short = 'o', value_name = "DIR", required_unless_present = "check")]
    output: Option<PathBuf>,
    /// Add the view that a program prints (see `annals fold`), as NAME.json or NAME.txt; may be repeated.
    #[arg(long = "fold", value_name = "NAME=CMD", value_parser = fold)]
    folds: Vec<NamedFold>,
    /// Write `.snap` files; one that differs stays, and `cargo insta review` shows the new one.
    #[arg(long)]
    insta: bool,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
    /// Compare the existing files; write nothing.
    #[arg(long, conflicts_with = "force")]
    check: bool,
}

fn fold(text: &str) -> Result<NamedFold, String> {
    let Some((name, command)) = text.split_once('=') else {
        return Err("expected NAME=CMD, such as steps='python3 steps.py'".to_owned());
    };
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return Err("NAME names a file: letters, digits, '-', '_' and '.'".to_owned());
    }
    if name.split('.').next() == Some("session") || name.starts_with("certificate") {
        return Err(format!("{name} is a golden already"));
    }
    Ok(NamedFold { name: name.to_owned(), command: FoldCommand::shell(command) })
}

impl Args {
    /// The folder, and the session.
    fn places(&self) -> Result<(PathBuf, String), CliError> {
        let own = |dir: &Path| dir.join(SESSION_FILE);
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        match (&self.output, &self.session) {
            (Some(dir), None) if self.check && own(dir).exists() => Ok((dir.clone(), text(own(dir)))),
            (Some(dir), session) => Ok((dir.clone(), session.clone().unwrap_or_else(|| "@last".to_owned()))),
            (None, Some(dir)) if own(Path::new(dir)).exists() => Ok((PathBuf::from(dir), text(own(Path::new(dir))))),
            (None, session) => Err(CliError::NoFile { path: own(Path::new(session.as_deref().unwrap_or("."))) }),
        }
    }
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (dir, session) = args.places()?;
    let past = SessionAt::from(&cli.target(&Target { session, at: args.at }).await?);
    if args.check {
        return check(args, &past, &dir, cli, out).await;
    }
    if args.insta {
        return insta(args, &past, &dir, cli, out).await;
    }
    let written = goldens::write(&past, &dir, &args.folds, args.force).await?;
    if cli.style.json {
        json::object(out, &written)?;
    } else {
        written.iter().try_for_each(|path| writeln!(out, "{}", path.display()))?;
    }
    Ok(Verdict::Fine)
}

async fn insta(
    args: &Args,
    past: &SessionAt,
    dir: &Path,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let written = goldens::write_insta(past, dir, &args.folds, args.force).await?;
    if cli.style.json {
        json::object(out, &written)?;
    } else {
        let touched = written.iter().filter(|snapshot| snapshot.outcome != InstaOutcome::Same);
        touched.into_iter().try_for_each(|snapshot| writeln!(out, "{}", snapshot.path.display()))?;
    }
    let pending = written.iter().filter(|snapshot| snapshot.outcome == InstaOutcome::Pending).count();
    if pending > 0 {
        cli.remark(&format!("{}; to see and accept: cargo insta review", counted(pending as u64, "difference")));
    }
    Ok(Verdict::bad_if(pending > 0))
}

async fn check(
    args: &Args,
    past: &SessionAt,
    dir: &Path,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let stale = match args.insta {
        true => goldens::check_insta(past, dir, &args.folds).await?,
        false => goldens::check(past, dir, &args.folds).await?,
    };
    if cli.style.json {
        json::object(out, &stale)?;
        return Ok(Verdict::bad_if(!stale.is_empty()));
    }
    for golden in &stale {
        let place = golden.line.map_or("is missing".to_owned(), |line| format!("differs at line {line}"));
        writeln!(out, "{} {}", golden.path.display(), cli.style.paint(Emphasis::Bad, &place))?;
    }
    if !args.insta {
        let left: Vec<String> =
            goldens::not_compared(dir, &args.folds)?.iter().map(|path| path.display().to_string()).collect();
        if !left.is_empty() {
            cli.remark(&format!("not compared: {} (--fold NAME=CMD compares the view of a program)", left.join(", ")));
        }
    }
    match stale.len() {
        0 => cli.remark("all golden files match"),
        some => cli.remark(&format!("{}; --force rewrites the files", counted(some as u64, "difference"))),
    }
    Ok(Verdict::bad_if(!stale.is_empty()))
}
