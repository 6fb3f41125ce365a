//! The command line: global options, the commands, and how a run ends.

use crate::command_context::CommandContext;
use crate::commands;
use crate::config::Environment;
use crate::diagnostics::{self, Diagnostics};
use crate::error::{CliError, Verdict};
use crate::escape::{EscapingWriter, Form, is_unsafe};
use crate::pager::Output;
use crate::remarks::Remarks;
use crate::store_path::{Place, VARIABLE};
use crate::style::{Emphasis, Style};
use annals_core::Time;
use annals_store::disk::Displaced;
use clap::builder::Styles;
use clap::{ArgAction, CommandFactory, Parser, Subcommand, ValueEnum};
use jiff::tz::TimeZone;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;
use tokio::signal::unix::{SignalKind, signal};

/// Record, search, replay and verify the sessions of coding agents.
///
/// From the log alone, every request that a model ever received can be rebuilt byte for byte, explained, and proved
/// unaltered. Try `annals import --discover`, then `annals replay`.
#[derive(Clone, Debug, Parser)]
#[command(name = "annals", version, max_term_width = 100)]
pub struct App {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, clap::Args)]
struct Global {
    /// The store's folder; else $ANNALS_STORE, else `annals` in the platform's data folder.
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    store: Option<PathBuf>,
    /// Read FILE instead of the store: what an agent left on disk, or an export. Nothing is created.
    #[arg(id = "in", long = "in", global = true, value_name = "FILE", help_heading = "Everywhere")]
    file: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, global = true, help_heading = "Everywhere")]
    json: bool,
    /// When to use colours; NO_COLOR is respected.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN", help_heading = "Everywhere")]
    color: When,
    /// Report more of what the program does, on stderr: -v what, -vv how. $ANNALS_LOG names a finer filter.
    #[arg(long, short = 'v', action = ArgAction::Count, global = true, help_heading = "Everywhere")]
    verbose: u8,
    /// Do not use a pager.
    #[arg(long, global = true, help_heading = "Everywhere")]
    no_pager: bool,
    /// Print control, bidirectional and invisible characters as they are. Texts of a session can steer a terminal with
    /// them, so use it for pipes and files only.
    #[arg(long, global = true, help_heading = "Everywhere")]
    raw: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    Run(commands::run::Args),
    Chat(commands::chat::Args),
    Rerun(commands::rerun::Args),
    Replay(commands::replay::Args),
    Sessions(commands::sessions::Args),
    Tree(commands::tree::Args),
    Search(commands::search::Args),
    Log(commands::log::Args),
    Show(commands::show::Args),
    History(commands::history::Args),
    Transcript(commands::transcript::Args),
    Context(commands::context::Args),
    Usage(commands::usage::Args),
    Requests(commands::requests::Args),
    Diff(commands::diff::Args),
    Why(commands::why::Args),
    When(commands::when::Args),
    Cache(commands::cache::Args),
    Bisect(commands::bisect::Args),
    Fixture(commands::fixture::Args),
    Certify(commands::certify::Args),
    Import(commands::import::Args),
    Export(commands::export::Args),
    Verify(commands::verify::Args),
    Doctor(commands::doctor::Args),
    Compactions(commands::compactions::Args),
    Fork(commands::fork::Args),
    Move(commands::moving::Args),
    Inbox(commands::inbox::Args),
    Revert(commands::revert::Args),
    Pin(commands::pin::Args),
    Unpin(commands::pin::UnpinArgs),
    Scenario(commands::scenario::Args),
    Schema(commands::schema::Args),
    Config(commands::config::Args),
    Models(commands::models::Args),
    Completions(commands::completions::Args),
}

impl Command {
    fn is_paged(&self) -> bool {
        match self {
            Self::Replay(args) => !args.is_live(),
            Self::Log(args) => !args.is_live(),
            Self::Sessions(_)
            | Self::Tree(_)
            | Self::Search(_)
            | Self::Show(_)
            | Self::History(_)
            | Self::Transcript(_)
            | Self::Context(_)
            | Self::Requests(_)
            | Self::Diff(_)
            | Self::Compactions(_)
            | Self::Schema(_)
            | Self::Why(_)
            | Self::When(_)
            | Self::Config(_)
            | Self::Models(_)
            | Self::Cache(_) => true,
            Self::Usage(_)
            | Self::Bisect(_)
            | Self::Fixture(_)
            | Self::Certify(_)
            | Self::Import(_)
            | Self::Export(_)
            | Self::Verify(_)
            | Self::Doctor(_)
            | Self::Completions(_)
            | Self::Fork(_)
            | Self::Move(_)
            | Self::Inbox(_)
            | Self::Revert(_)
            | Self::Pin(_)
            | Self::Unpin(_)
            | Self::Scenario(_)
            | Self::Run(_)
            | Self::Chat(_)
            | Self::Rerun(_) => false,
        }
    }

    /// Whether the answer is data whose very bytes count, or a program for a shell.
    fn gives_bytes(&self) -> bool {
        match self {
            Self::Export(_) | Self::Completions(_) => true,
            Self::Requests(args) => args.gives_bytes(),
            _ => false,
        }
    }

    async fn run(&self, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
        match self {
            Self::Run(args) => commands::run::run(args, cli, out).await,
            Self::Chat(args) => commands::chat::run(args, cli, out).await,
            Self::Rerun(args) => commands::rerun::run(args, cli, out).await,
            Self::Replay(args) => commands::replay::run(args, cli, out).await,
            Self::Sessions(args) => commands::sessions::run(args, cli, out).await,
            Self::Tree(args) => commands::tree::run(args, cli, out).await,
            Self::Search(args) => commands::search::run(args, cli, out).await,
            Self::Log(args) => commands::log::run(args, cli, out).await,
            Self::Show(args) => commands::show::run(args, cli, out).await,
            Self::History(args) => commands::history::run(args, cli, out).await,
            Self::Transcript(args) => commands::transcript::run(args, cli, out).await,
            Self::Context(args) => commands::context::run(args, cli, out).await,
            Self::Usage(args) => commands::usage::run(args, cli, out).await,
            Self::Requests(args) => commands::requests::run(args, cli, out).await,
            Self::Diff(args) => commands::diff::run(args, cli, out).await,
            Self::Why(args) => commands::why::run(args, cli, out).await,
            Self::When(args) => commands::when::run(args, cli, out).await,
            Self::Cache(args) => commands::cache::run(args, cli, out).await,
            Self::Bisect(args) => commands::bisect::run(args, cli, out).await,
            Self::Fixture(args) => commands::fixture::run(args, cli, out).await,
            Self::Certify(args) => commands::certify::run(args, cli, out).await,
            Self::Import(args) => commands::import::run(args, cli, out).await,
            Self::Export(args) => commands::export::run(args, cli, out).await,
            Self::Verify(args) => commands::verify::run(args, cli, out).await,
            Self::Compactions(args) => commands::compactions::run(args, cli, out).await,
            Self::Fork(args) => commands::fork::run(args, cli, out).await,
            Self::Move(args) => commands::moving::run(args, cli, out).await,
            Self::Inbox(args) => commands::inbox::run(args, cli, out).await,
            Self::Revert(args) => commands::revert::run(args, cli, out).await,
            Self::Pin(args) => commands::pin::run(args, cli).await,
            Self::Unpin(args) => commands::pin::run_unpin(args, cli).await,
            Self::Scenario(args) => commands::scenario::run(args, cli, out).await,
            Self::Schema(args) => commands::schema::run(args, cli, out),
            Self::Config(args) => commands::config::run(args, cli, out),
            Self::Models(args) => commands::models::run(args, cli, out),
            Self::Doctor(args) => commands::doctor::run(args, cli, out).await,
            Self::Completions(args) => commands::completions::run::<App>(args, out),
        }
    }
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
    /// Whether a person looks at the answer: then it may be paged.
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
    ExitCode::from(run(std::env::args_os(), Surroundings::of_process(), None))
}

/// Runs the program: parses `args` (the first is the program's name), runs, tells errors as remarks. The answer goes to
/// `out`, or to stdout. Gives the exit status: 0 fine, 1 bad news, 2 wrong use.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    surroundings: Surroundings,
    out: Option<&mut (dyn Write + Send)>,
) -> u8 {
    let remarks = surroundings.remarks.clone();
    let args: Vec<OsString> = args.into_iter().collect();
    let app = match App::try_parse_from(&args) {
        Ok(app) => app,
        Err(error) => return unparsed(&error, &args, &remarks, out),
    };
    match app.run(surroundings, out) {
        Ok(Verdict::Fine) => 0,
        Ok(Verdict::BadNews) => 1,
        Err(error) if error.is_closed_pipe() => 0,
        Err(error) => {
            remarks.say(Emphasis::Bad, &error.shown(remarks.style()));
            error.status()
        }
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
    // When nobody is left to read it, there is nothing more to do.
    match out {
        // With the colours of the terminal: arguments are quoted as they are, and none of them could steer it.
        None if quoted_safely => drop(error.print()),
        Some(out) if !error.use_stderr() => drop(write!(EscapingWriter::new(out, Form::Text), "{}", error.render())),
        Some(_) if quoted_safely => remarks.write(&error.render().to_string()),
        Some(_) | None => {
            // Without any style of clap's own, what looks like one comes from an argument.
            let plain = App::command().styles(Styles::plain()).try_get_matches_from(args);
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
            When::Auto => found,
            When::Always => true,
            When::Never => false,
        };
        let mut cli = CommandContext::new(
            Place::of(global.store.as_deref(), store.as_deref())?,
            global.store.clone(),
            global.file.clone(),
            Style { json: global.json, colour: colour(style.colour), ..style },
            remarks.coloured(colour),
        )
        .in_environment(environment);
        cli.watched = paged;
        if reports {
            let filter = cli.environment.variables.get(diagnostics::VARIABLE);
            cli.diagnostics = Diagnostics::install(global.verbose, filter.as_deref(), cli.remarks.clone())?;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let form = match (global.raw, self.command.gives_bytes(), global.json) {
            (true, ..) => Form::Raw,
            (_, true, _) if !paged => Form::Raw,
            (_, true, _) | (_, _, true) => Form::Json,
            (..) => Form::Text,
        };
        let run = |out: &mut (dyn Write + Send)| {
            runtime.block_on(async {
                hear_of_limits();
                let mut out = EscapingWriter::new(out, form);
                let answer = self.command.run(&cli, &mut out).await;
                let answer = answer.and_then(|verdict| out.finish().map(|()| verdict).map_err(CliError::from));
                (answer, cli.close().await)
            })
        };
        let (answer, closed, finished) = match out {
            Some(out) => {
                let (answer, closed) = run(out);
                (answer, closed, Ok(()))
            }
            None => {
                let mut out = Output::new(paged && !global.no_pager && !global.json && self.command.is_paged());
                let (answer, closed) = run(&mut out);
                (answer, closed, out.finish())
            }
        };
        if !matches!(answer, Ok(Verdict::Fine))
            && let Some(path) = cli.diagnostics.written()
        {
            cli.remark(&format!("diagnostics are in {}", path.display()));
        }
        let verdict = answer?;
        finished?;
        if let Err(CliError::File { source, .. }) = &closed
            && let Some(displaced) = source.get_ref().and_then(|error| error.downcast_ref::<Displaced>())
        {
            cli.remark(&displaced.to_string());
            return Ok(Verdict::BadNews);
        }
        // What was acknowledged stands in the journal: lists that could not be written on closing only cost time later.
        // On a full disk a command that failed has said so.
        let full = matches!(&closed, Err(CliError::File { source, .. }) if matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::FileTooLarge));
        if let Err(error) = closed
            && !(full && verdict == Verdict::BadNews)
        {
            cli.remark(&format!("{error}; nothing is lost, but the next opening takes longer"));
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
    Style { width, colour: terminal && !plain, json: false, zone: TimeZone::system(), now }
}
