//! `annals fixture`

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::style::{Emphasis, counted};
use annals_inspect::{SessionAt, goldens};
use std::io::Write;
use std::path::PathBuf;

/// Write golden files of every view and request, or compare them.
///
/// Writes one file per view (`history.json`, `requests.json`, ...), `requests.jsonl` with the body of each request,
/// and `certificate.json` with the digest of each: goldens for the tests of your own repository. The same session
/// always gives the same bytes. With --check nothing is written; files that differ are listed. Exit status 1 if any
/// differs.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The folder to write to; created if it does not exist.
    #[arg(long, short = 'o', value_name = "DIR")]
    output: PathBuf,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
    /// Compare the existing files; write nothing.
    #[arg(long, conflicts_with = "force")]
    check: bool,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let past = SessionAt::from(&cli.target(&args.target).await?);
    if args.check {
        return check(args, &past, cli, out).await;
    }
    let written = goldens::write(&past, &args.output, args.force).await?;
    if cli.style.json {
        json::object(out, &written)?;
    } else {
        written.iter().try_for_each(|path| writeln!(out, "{}", path.display()))?;
    }
    Ok(Verdict::Fine)
}

async fn check(
    args: &Args,
    past: &SessionAt,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let stale = goldens::check(past, &args.output).await?;
    if cli.style.json {
        json::object(out, &stale)?;
        return Ok(Verdict::bad_if(!stale.is_empty()));
    }
    for golden in &stale {
        let place = golden.line.map_or("is missing".to_owned(), |line| format!("differs at line {line}"));
        writeln!(out, "{} {}", golden.path.display(), cli.style.paint(Emphasis::Bad, &place))?;
    }
    match stale.len() {
        0 => cli.remark("all golden files match"),
        some => cli.remark(&format!("{}; --force rewrites the files", counted(some as u64, "difference"))),
    }
    Ok(Verdict::bad_if(!stale.is_empty()))
}
