//! `annals copy`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::progress::Bar;
use crate::style::{Emphasis, counted};
use annals_core::SessionId;
use annals_host::StoreChoice;
use annals_inspect::reader::Reader;
use annals_store::exchange::{CopiedSession, CopyError, copy_session};
use annals_store::{EventLog, OpenMode};
use futures_util::{StreamExt, stream};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Copy sessions to another store, in a folder or in a cluster.
///
/// Copies have the digests of their originals, and are verified at the end. What is there already is not written again, so that the
/// same command continues a copy that was cut off. A session is copied with the events that it inherits; files of tools are not.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Copy from this store: a folder, or nats://HOST:PORT/NAME.
    #[arg(long, value_name = "STORE")]
    from: PathBuf,
    /// Copy to this store: a folder, which is created if it is missing, or nats://HOST:PORT/NAME.
    #[arg(long, value_name = "STORE")]
    to: PathBuf,
    /// Copy these sessions: ids, the start or end of an id, words of a title (default: all).
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
}

/// How many sessions are copied at a time.
const AT_A_TIME: usize = 16;

/// Runs the command.
///
/// # Errors
/// When a store cannot be opened, or no session has such a name. A session that cannot be copied is an answer.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (from, to) = (place(&args.from)?, place(&args.to)?);
    if from == to {
        return Err(CliError::SameStore { store: from.shown() });
    }
    let from = cli.host.at_place(from).store(OpenMode::ReadOnly).await?;
    let sessions = wanted(args, cli, &from).await?;
    let to = cli.host.at_place(to).store(OpenMode::Create).await?;
    let (from, to): (&dyn EventLog, &dyn EventLog) = (&**from.log(), &**to.log());
    let mut total = 0;
    for session in &sessions {
        total += from.head(*session).await?.map_or(0, |head| head.next.0);
    }
    let (bar, done) = (Bar::new(cli.shows_progress(), "copying"), AtomicU64::new(0));
    let progress = |events: u64| bar.update(done.fetch_add(events, Ordering::Relaxed) + events, Some(total));
    let mut copied: Vec<Result<CopiedSession, CopyError>> = stream::iter(sessions)
        .map(|session| copy_session(from, to, session, &progress))
        .buffer_unordered(AT_A_TIME)
        .collect()
        .await;
    bar.clear();
    copied.sort_by_key(|one| one.as_ref().ok().map(|one| one.session));
    show(&copied, cli, out)
}

fn place(named: &Path) -> Result<StoreChoice, CliError> {
    Ok(StoreChoice::of(Some(named), None)?)
}

/// The sessions that were named, or all.
async fn wanted(args: &Args, cli: &CommandContext, from: &Reader) -> Result<Vec<SessionId>, CliError> {
    if args.sessions.is_empty() {
        return Ok(from.log().sessions().all().await?.into_iter().map(|one| one.session).collect());
    }
    let mut named = BTreeSet::new();
    for name in &args.sessions {
        named.insert(cli.find_session(from, name).await?);
    }
    Ok(named.into_iter().collect())
}

fn show(
    copied: &[Result<CopiedSession, CopyError>],
    cli: &CommandContext,
    out: &mut dyn Write,
) -> Result<Verdict, CliError> {
    let fine = || copied.iter().filter_map(|one| one.as_ref().ok());
    let failures: Vec<String> = copied.iter().filter_map(|one| Some(one.as_ref().err()?.to_string())).collect();
    let new: u64 = fine().map(|one| one.new).sum();
    if cli.style.json {
        let sessions = fine().map(|one| json!({ "session": one.session, "new": one.new, "events": one.until.0 }));
        let answer = json!({ "sessions": sessions.collect::<Vec<_>>(), "new": new, "failures": failures });
        json::object(out, &answer)?;
        return Ok(Verdict::bad_if(!failures.is_empty()));
    }
    for failure in &failures {
        writeln!(out, "{} {}", cli.style.paint(Emphasis::Bad, "✗"), crate::layout::plain(failure))?;
    }
    let (sessions, new) = (counted(fine().count() as u64, "session"), counted(new, "new event"));
    if fine().count() > 0 || failures.is_empty() {
        writeln!(out, "{} copied {sessions}, {new}, integrity verified", cli.style.paint(Emphasis::Good, "✓"))?;
    }
    Ok(Verdict::bad_if(!failures.is_empty()))
}
