//! The command line: global options, the commands, and how a run ends.

mod command;
mod completion;
mod grouped;
mod help;
mod start;

pub use crate::remarks::Remarks;
pub use crate::style::Style;

use crate::command_context::CommandContext;
use crate::commands::completions;
use crate::diagnostics::{self, Diagnostics};
use crate::error::{CliError, Verdict};
use crate::escape::{Escaping, EscapingWriter, is_unsafe};
use crate::pager::PagedOutput;
use crate::parent;
use crate::refresh;
use crate::style::Emphasis;
use annals_config::Environment;
use annals_core::Time;
use annals_host::HostError;
use annals_host::{StoreChoice, VARIABLE};
use annals_runtime::ports::system_zone;
use annals_store::disk::Displaced;
use clap::builder::Styles;
use clap::{ArgAction, FromArgMatches, Parser, ValueEnum};
use clap_complete::CompleteEnv;
use command::Command;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use tokio::signal::unix::{SignalKind, signal};

/// Record, search, replay and verify the sessions of coding agents.
///
/// From the log alone, every request that a model received can be rebuilt byte for byte, explained, and proved
/// unaltered. To start: `annals` alone, which imports what it finds and lets you pick a session; or `annals run "..."`.
#[derive(Clone, Debug, Parser)]
#[command(name = "annals", version, max_term_width = 100)]
pub struct App {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Clone, Debug, clap::Args)]
struct Global {
    /// Folder of the store, or nats://HOST:PORT/NAME of one in a cluster (default: $ANNALS_STORE, else `annals` in the
    /// user's data folder).
    #[arg(long, global = true, value_name = "STORE", help_heading = "Everywhere")]
    store: Option<PathBuf>,
    /// Read FILE instead of the store: a session file of an agent, or an export.
    #[arg(id = "in", long = "in", global = true, value_name = "FILE", help_heading = "Everywhere")]
    file: Option<PathBuf>,
    /// Consider the sessions of all projects, for lists and for @last.
    #[arg(long, global = true, help_heading = "Everywhere")]
    all: bool,
    /// Print JSON.
    #[arg(long, global = true, help_heading = "Everywhere")]
    json: bool,
    /// Use colours: auto (on a terminal, unless NO_COLOR is set), always or never.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN", help_heading = "Everywhere")]
    color: ColorChoice,
    /// Show diagnostics on stderr; -vv shows more. $ANNALS_LOG sets a filter.
    #[arg(long, short = 'v', action = ArgAction::Count, global = true, help_heading = "Everywhere")]
    verbose: u8,
    /// Do not import what agents wrote since the last import before a question on a terminal is answered.
    #[arg(long, global = true, help_heading = "Everywhere")]
    no_refresh: bool,
    /// Do not use a pager.
    #[arg(long, global = true, help_heading = "Everywhere")]
    no_pager: bool,
    /// Print control, bidirectional and invisible characters unescaped. Text of a session could control your terminal
    /// with them: use it with pipes and files only.
    #[arg(long, global = true, help_heading = "Everywhere")]
    raw: bool,
}

/// The exit status of a program that a closed pipe ended, as shells report it: 128 and the number of SIGPIPE.
const CLOSED_PIPE: u8 = 141;

/// How long the end of abandoned work is waited for, once the store is closed.
const ABANDONED: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ColorChoice {
    Auto,
    Always,
    Never,
}

/// What a run finds around it: where its answer goes, what looks at it, what time it is.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// What `ANNALS_STORE` holds.
    pub store: Option<OsString>,
    /// How answers look unless options say otherwise.
    pub style: Style,
    /// Where remarks go, and how they look.
    pub remarks: Remarks,
    /// Whether the answer goes to a terminal: then it may be paged.
    pub paged: bool,
    /// Variables and the directory, for what is configured.
    pub environment: Environment,
    /// Whether the program reports trouble of its own code: it has the process to itself.
    pub reports: bool,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Self {
        let (out, remarks) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Self {
            store: std::env::var_os(VARIABLE),
            style: style(out),
            remarks: Remarks::new(Box::new(io::stderr()), style(remarks), remarks),
            paged: out,
            environment: Environment::of_process(),
            reports: true,
        }
    }
}

/// Runs the program as a process does; gives the exit status.
pub fn main() -> ExitCode {
    parent::watch();
    // A shell that asks for completions gets them, and the process ends.
    CompleteEnv::with_factory(|| completion::with_sessions(help::grouped(true))).var(completions::VARIABLE).complete();
    ExitCode::from(run(std::env::args_os(), Surroundings::of_process(), None))
}

/// Runs the program: parses `args` (the first is the program's name), runs, prints errors as remarks. The answer goes to
/// `out`, or to stdout. Returns the exit status: 0 fine, 1 bad news, 2 wrong use, 141 a run
/// whose reader is gone.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    surroundings: Surroundings,
    out: Option<&mut (dyn Write + Send)>,
) -> u8 {
    let remarks = surroundings.remarks.clone();
    let args: Vec<OsString> = args.into_iter().collect();
    // Without a command, a terminal gets a picker and everything else the help.
    let picks = surroundings.reports && surroundings.paged && io::stdin().is_terminal();
    let command = help::grouped(help::is_long(&args)).subcommand_required(!picks).arg_required_else_help(!picks);
    let parsed = command.try_get_matches_from(&args).and_then(|found| App::from_arg_matches(&found));
    let app = match parsed {
        Ok(app) => app,
        Err(error) => return unparsed(&error, &args, &remarks, out),
    };
    let runs_a_session = app.command.as_ref().is_some_and(Command::runs_a_session);
    match app.run(surroundings, out) {
        Ok(Verdict::Fine) => 0,
        Ok(Verdict::BadNews) => 1,
        Ok(Verdict::Exit(status)) => status,
        // What was asked for was not done; a command that only shows something has shown all that was read.
        Err(error) if error.is_closed_pipe() && runs_a_session => CLOSED_PIPE,
        Err(error) if error.is_closed_pipe() => 0,
        Err(error) => {
            remarks.say(Emphasis::Bad, &error.shown(remarks.style()));
            error.status()
        }
    }
}

/// The verdict after the end of the answer was written, or was not. The status of another program stays: the command that ran it
/// has reported what it could not write.
fn ended(verdict: Verdict, written: Result<(), CliError>) -> Result<Verdict, CliError> {
    match verdict {
        Verdict::Exit(_) => Ok(verdict),
        Verdict::Fine | Verdict::BadNews => written.map(|()| verdict),
    }
}

/// A file that may grow no further (`ulimit -f`) is an error like a full disk, not the end of the process without a word.
fn hear_of_limits() {
    let limit = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    // Heard once, it never ends the process again; without that the log is as safe as after any kill.
    if let Err(error) = signal(limit) {
        tracing::debug!(%error, "a limit on the length of files ends the process");
    }
}

/// Help goes to the answer, wrong use to the remarks.
fn unparsed(error: &clap::Error, args: &[OsString], remarks: &Remarks, out: Option<&mut (dyn Write + Send)>) -> u8 {
    let status = u8::try_from(error.exit_code()).unwrap_or(2);
    let quoted_safely = args.iter().all(|arg| !arg.to_string_lossy().chars().any(is_unsafe));
    // When the reader is gone, there is nothing more to do.
    match out {
        // With the colours of the terminal: arguments are quoted as they are, and none of them could steer it.
        None if quoted_safely => drop(error.print()),
        Some(out) if !error.use_stderr() => {
            drop(write!(EscapingWriter::new(out, Escaping::Text), "{}", error.render()));
        }
        Some(_) if quoted_safely => remarks.write(&error.render().to_string()),
        Some(_) | None => {
            // Without any style of clap's own, what looks like one comes from an argument.
            let plain = help::grouped(help::is_long(args)).styles(Styles::plain()).try_get_matches_from(args);
            remarks.write(&plain.map_or_else(|error| error.render().ansi().to_string(), |_| error.to_string()));
        }
    }
    status
}

impl App {
    fn run(&self, surroundings: Surroundings, out: Option<&mut (dyn Write + Send)>) -> Result<Verdict, CliError> {
        let global = &self.global;
        let Surroundings { store, style, remarks, paged, environment, reports } = surroundings;
        let colour = |found: bool| match global.color {
            ColorChoice::Auto => found,
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        };
        let mut cli = CommandContext::new(
            StoreChoice::of(global.store.as_deref(), store.as_deref())?,
            global.store.clone(),
            global.file.clone(),
            Style { json: global.json, colour: colour(style.colour), markdown: style.markdown && !global.raw, ..style },
            remarks.coloured(colour),
        )
        .in_environment(environment);
        cli.watched = paged;
        cli.all_projects = global.all;
        if reports {
            let filter = cli.environment.variables.get(diagnostics::VARIABLE);
            cli.diagnostics = Diagnostics::install(global.verbose, filter.as_deref(), cli.remarks.clone())?;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let gives_bytes = self.command.as_ref().is_some_and(Command::gives_bytes);
        let form = match (global.raw, gives_bytes, global.json) {
            (true, ..) => Escaping::Raw,
            (_, true, _) if !paged => Escaping::Raw,
            (_, true, _) | (_, _, true) => Escaping::Json,
            (..) => Escaping::Text,
        };
        let run = |out: &mut (dyn Write + Send)| {
            runtime.block_on(async {
                hear_of_limits();
                // To a person: a script that uses an old name gets what it got.
                if let Some(renamed) = self.command.as_ref().and_then(Command::renamed).filter(|_| cli.shows_progress())
                {
                    cli.remark(&renamed);
                }
                let asks = self.command.as_ref().is_none_or(Command::asks_of_sessions);
                if asks && paged && !global.no_refresh && !global.json && global.file.is_none() {
                    refresh::run(&cli).await;
                }
                let mut out = EscapingWriter::new(out, form);
                let answer: Pin<Box<dyn Future<Output = _> + '_>> = match &self.command {
                    Some(command) => command.run(&cli, &mut out),
                    None => Box::pin(start::run(&cli, &mut out)),
                };
                let answer = answer.await;
                let answer = answer.and_then(|verdict| ended(verdict, out.finish().map_err(CliError::from)));
                (answer, cli.close().await)
            })
        };
        let (answer, closed, finished) = match out {
            Some(out) => {
                let (answer, closed) = run(out);
                (answer, closed, Ok(()))
            }
            None => {
                let is_paged = self.command.as_ref().is_some_and(Command::is_paged);
                let mut out = PagedOutput::new(paged && !global.no_pager && !global.json && is_paged);
                if matches!(out, PagedOutput::Pager(_)) {
                    cli.remarks.hold();
                }
                let (answer, closed) = run(&mut out);
                let finished = out.finish();
                cli.remarks.release();
                (answer, closed, finished)
            }
        };
        // A thread whose work was abandoned does not delay the end.
        runtime.shutdown_timeout(ABANDONED);
        if !matches!(answer, Ok(Verdict::Fine))
            && let Some(path) = cli.diagnostics.written()
        {
            cli.remark(&format!("for diagnostics see {}", path.display()));
        }
        let verdict = ended(answer?, finished.map_err(CliError::from))?;
        if let Err(HostError::File { source, .. }) = &closed
            && let Some(displaced) = source.get_ref().and_then(|error| error.downcast_ref::<Displaced>())
        {
            cli.remark(&displaced.to_string());
            return Ok(Verdict::BadNews);
        }
        // What was acknowledged is in the journal: lists that could not be written on closing only cost time later.
        // On a full disk a command that failed has said so.
        let full = matches!(&closed, Err(HostError::File { source, .. }) if matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::FileTooLarge));
        if let Err(error) = closed
            && !(full && verdict == Verdict::BadNews)
        {
            cli.remark(&format!("{error}; everything is in the journal, nothing is lost; the next command that writes takes longer to open the store"));
        }
        Ok(verdict)
    }
}

/// How answers look on what they go to.
fn style(terminal: bool) -> Style {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse::<usize>().ok());
    let measured = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let width = columns.or(measured.filter(|_| terminal)).unwrap_or(80).clamp(40, 400);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = Time(u64::try_from(now.as_millis()).unwrap_or_default());
    Style { width, colour: terminal && !plain, json: false, markdown: terminal, zone: system_zone(), now }
}
