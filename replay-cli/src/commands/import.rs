//! `annals import`

mod bodies;
mod filling;
mod secrets;
mod service;
mod wanted;
use crate::ago::ago;
use crate::command_context::CommandContext;
use crate::draw::import::draw;
use crate::error::{CliError, Verdict};
use crate::import_into::import_into;
use crate::import_secret;
use crate::json;
use crate::layout::plain;
use crate::progress::Bar;
use crate::style::{Emphasis, counted};
use annals_core::Time;
use annals_host::Signals;
use annals_host::project::root;
use annals_import::{
    ImportFollower, ImportOptions, ImportReport, ImportState, PlannedSource, Selection, SourceImportError,
};
use annals_inspect::reader::Reader;
use annals_store::cache::ViewCache;
use annals_store::{EventLog, OpenMode};
use secrets::ImportSecrets;
use service::ServiceKind;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wanted::{ListedSources, NOTHING, Wanted, save_state};

/// Import sessions of OpenCode, Codex CLI and Claude Code.
///
/// Without FILE, imports everything that these agents keep on this machine. A file is recognised by its content. A folder
/// with raw bodies of Claude Code (OTEL_LOG_RAW_API_BODIES=file:DIR) is imported as a recording: see annals record.
/// Importing again adds only what is new. A session whose source was rewritten is not imported; the first different
/// line is shown. Creates the store if there is none.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(override_usage = "annals import [OPTIONS] [FILE]...")]
pub struct Args {
    /// Files to import (exports too), or folders with such files.
    #[arg(value_name = "FILE", conflicts_with_all = ["discover", "since", "agent"])]
    files: Vec<PathBuf>,
    /// List what the agents keep on this machine; import nothing.
    #[arg(long)]
    discover: bool,
    /// List what would be imported; import nothing.
    #[arg(long, short = 'n', conflicts_with = "follow")]
    dry_run: bool,
    /// Import everything that is found (the default without FILE).
    #[arg(long)]
    all: bool,
    /// Only what changed within this time: 90m, 12h, 7d.
    #[arg(long, value_name = "TIME", value_parser = ago)]
    since: Option<u64>,
    /// Only sessions of this agent.
    #[arg(long, value_name = "NAME", value_parser = ["opencode", "kilo", "codex", "claude-code"])]
    agent: Option<String>,
    /// Continue to import what is written, until interrupted.
    #[arg(long, short = 'f')]
    follow: bool,
    /// Print a service that imports what is written from login on: a systemd unit or a launchd property list.
    #[arg(long, value_name = "KIND", num_args = 0..=1, require_equals = true, default_missing_value = ServiceKind::HERE,
          conflicts_with_all = ["files", "discover", "dry_run", "all", "follow", "as_new", "report"])]
    service: Option<ServiceKind>,
    /// Import a session whose source differs from the earlier import as a second session.
    #[arg(long)]
    as_new: bool,
    /// Store the original of every record that could not be imported completely.
    #[arg(long)]
    keep_originals: bool,
    /// Replace keys and other secrets by placeholders such as [redacted:jwt]. The imported session then differs from
    /// its source, and signatures in it are no longer valid.
    #[arg(long)]
    redact: bool,
    /// Write everything that could not be imported to FILE, as JSON; - prints it instead of the summary.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl Args {
    fn reports_to_stdout(&self) -> bool {
        self.report.as_deref() == Some(Path::new("-"))
    }
}

/// How often a follower looks.
const ROUND: Duration = Duration::from_millis(1_000);
/// How often it keeps what it has read.
const SAVES: Duration = Duration::from_secs(60);

/// Runs the command. Damage in a file is an answer, not an error: exit status 1, like a file that is refused while others are
/// imported.
///
/// # Errors
/// When nothing that was named can be imported, or the store refuses.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if let Some(kind) = args.service {
        service::write(kind, args, cli, out)?;
        return Ok(Verdict::Fine);
    }
    let (folders, others) = bodies::split(args);
    if !folders.is_empty() {
        let recorded = bodies::import(&folders, args, cli, out).await?;
        if others.files.is_empty() {
            return Ok(recorded);
        }
        let imported = Box::pin(run(&others, cli, out)).await?;
        return Ok(if imported == Verdict::Fine { recorded } else { imported });
    }
    let selection = Selection {
        agent: args.agent.clone(),
        since: args.since.map(|ms| Time(cli.style.now.millis().saturating_sub(ms))),
    };
    if args.dry_run || args.discover && !args.all && !args.follow {
        let mut wanted = ListedSources::of(args, &selection, cli);
        wanted.list(cli, out).await?;
        let verdict = Verdict::bad_if(!wanted.refused.is_empty());
        wanted.say_refused(cli)?;
        return Ok(verdict);
    }
    let mut wanted = Wanted::of(args, &selection, cli).await?;
    let refused = wanted.refused.iter().map(|(path, error)| (path.clone(), error.to_string())).collect();
    let mut report = ImportReport { refused, sessions: std::mem::take(&mut wanted.known), ..ImportReport::default() };
    wanted.say_refused(cli)?;
    if wanted.sources.is_empty() && !args.follow {
        match report.sessions.is_empty() {
            true => cli.remark(NOTHING),
            false if !cli.style.json && !args.reports_to_stdout() => draw(&report, &cli.style, out)?,
            false => {}
        }
        if cli.style.json {
            json::object(out, &report.to_json())?;
        }
        return Ok(Verdict::bad_if(report.has_bad_news()));
    }
    let options = ImportOptions {
        as_new: args.as_new,
        follows: args.follow,
        keep_originals: args.keep_originals,
        prompts: true,
        without_requests: args.redact,
        secret: import_secret::obtain(&cli.environment)?,
        ..ImportOptions::default()
    };
    let reader = cli.store(OpenMode::Create).await?;
    let sources = wanted.sources.iter().map(|planned| &planned.source);
    let secrets = ImportSecrets::of(args.redact, reader.log(), sources, cli)?;
    let log = secrets.log();
    let before = log.sessions().all().await?.len();
    let (mut signals, mut fuller) = (Signals::listen()?, Vec::new());
    let bar = Bar::new(cli.shows_progress(), "importing").counting(wanted.sessions(), !args.redact);
    let indexed = cli.keep_indexed_in_import();
    let interrupted = tokio::select! {
        imported = import_all(&log, &wanted.sources, &mut wanted.state, &options, &bar, cli, &mut report) => {
            fuller = imported?;
            false
        }
        _ = signals.next() => true,
    };
    indexed.finish().await;
    if !interrupted {
        save_views(&reader, &report).await?;
    }
    bar.clear();
    wanted.save_state(cli);
    secrets.report(&mut report);
    if let Some(remark) = secrets.remark() {
        cli.remark(&remark);
    }
    if let Some(path) = args.report.as_ref().filter(|_| !args.reports_to_stdout()) {
        write_report(path, &report)?;
    }
    if interrupted {
        let sessions = counted(log.sessions().all().await?.len().saturating_sub(before) as u64, "session");
        cli.remark(&format!("interrupted: {sessions} imported; run the same command again to continue"));
        return Ok(Verdict::BadNews);
    }
    let unfilled = match args.follow {
        true => false,
        false => !filling::fill_in(&fuller, &mut report, cli).await?,
    };
    if cli.style.json || args.reports_to_stdout() {
        json::object(out, &report.to_json())?;
    } else if !(args.follow && wanted.sources.is_empty()) {
        draw(&report, &cli.style, out)?;
    }
    if args.follow {
        let cache = wanted.kept_in(cli);
        follow(wanted.follower(selection, options), cache.as_ref(), &log, &secrets, &mut signals, cli, out).await?;
    }
    Ok(Verdict::bad_if(report.has_bad_news() || unfilled))
}

/// Sessions of no fewer events than this are worth a saved view.
const LONG: u64 = 2_000;

/// Saves views and indexes of long sessions for commands that only read, which save nothing.
async fn save_views(reader: &Reader, report: &ImportReport) -> Result<(), CliError> {
    for one in report.sessions.iter().filter(|one| one.new > 0) {
        let Some(head) = reader.log().head(one.session).await? else { continue };
        if head.next.0 >= LONG {
            reader.session_at(one.session, head.next).save_views(&|directory| root(Path::new(directory))).await?;
        }
    }
    Ok(())
}

/// Imports one source after another into the report. One that cannot be read keeps no other from being imported. Returns the exports
/// that may have texts which the store was given without.
async fn import_all(
    log: &Arc<dyn EventLog>,
    sources: &[PlannedSource],
    state: &mut ImportState,
    options: &ImportOptions,
    bar: &Bar,
    cli: &CommandContext,
    report: &mut ImportReport,
) -> Result<Vec<PathBuf>, CliError> {
    let (mut empty, mut fuller) = (Vec::new(), Vec::new());
    for planned in sources {
        let source = &planned.source;
        match import_into(log, source, options, bar).await {
            Ok(imported) => {
                state.imported(planned, &imported, &**log).await.map_err(SourceImportError::from)?;
                let is_empty = imported.sessions.is_empty() && imported.damage.is_empty();
                empty.extend(is_empty.then_some(&source.path));
                fuller.extend(imported.is_fuller.then(|| source.path.clone()));
                report.extend(imported);
            }
            Err(error) if error.is_of_source() => {
                let why = error.to_string();
                cli.remarks.say(Emphasis::Bad, &why);
                report.refused.push((source.path.clone(), why));
            }
            Err(error) => return Err(error),
        }
    }
    match empty.as_slice() {
        [] => {}
        [one] => cli.remark(&plain(&format!("{}: no prompt yet; nothing to import", one.display()))),
        several => {
            cli.remark(&format!("{} without a prompt yet; nothing to import", counted(several.len() as u64, "file")));
        }
    }
    Ok(fuller)
}

fn write_report(path: &Path, report: &ImportReport) -> Result<(), CliError> {
    let at = |source| CliError::File { path: path.to_owned(), source };
    let mut file = std::fs::File::create(path).map_err(at)?;
    json::object(&mut file, &report.to_json()).map_err(at)
}

/// Imports what changes, until interrupted.
async fn follow(
    mut follower: ImportFollower,
    cache: Option<&ViewCache>,
    log: &Arc<dyn EventLog>,
    secrets: &ImportSecrets,
    signals: &mut Signals,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<(), CliError> {
    out.flush()?;
    cli.remark("following (Ctrl-C ends it)");
    let _indexed = cli.keep_indexed();
    let mut saved = Instant::now();
    loop {
        let mut report = follower.round(log, &mut |_| {}).await?;
        if let Some(cache) = cache.filter(|_| saved.elapsed() >= SAVES) {
            save_state(&mut follower.state, cache);
            saved = Instant::now();
        }
        if report.new_batches() > 0 || report.has_bad_news() {
            for session in &mut report.sessions {
                session.title = session.title.take().map(|title| secrets.shown(&title));
            }
            draw(&report, &cli.style, out)?;
            out.flush()?;
        }
        tokio::select! {
            () = tokio::time::sleep(ROUND) => {}
            _ = signals.next() => {
                cache.into_iter().for_each(|cache| save_state(&mut follower.state, cache));
                return Ok(());
            }
        }
    }
}
