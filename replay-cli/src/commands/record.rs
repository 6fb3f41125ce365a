//! `annals record`

use crate::command_context::CommandContext;
use crate::error::{CliError, RecordingError, Verdict};
use crate::layout::plain;
use crate::style::{counted, money, thousands};
use annals_core::Digest;
use annals_core::event::Location;
use annals_host::live::LiveSender;
use annals_host::{Signal, Signals};
use annals_inspect::reader::Reader;
use annals_inspect::recordings::{RecordingEntry, RecordingSummary};
use annals_record::{AgentKind, Launch, Recorder, RecorderAddresses, RecorderSettings, RecordingReport};
use annals_runtime::DescribeProcess;
use annals_runtime::bus::{Bus, Notice};
use annals_runtime::host::Leases;
use annals_runtime::ports::{Ids, SeededIds, SystemClock};
use annals_runtime::worktree::Files;
use annals_store::OpenMode;
use annals_store::views::Views;
use annals_tools::worktree::files_kept_in;
use std::cell::OnceCell;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use tokio::process::{Child, Command};

/// Run an agent and record what it sends to the model and receives.
///
/// Listens on this machine, points COMMAND there, and passes every byte on unchanged. Each request is recorded so that
/// annals verify --requests --wire proves it byte for byte; each conversation is a session. Keys and other credentials
/// are never written, and known secrets are replaced. Exit status: that of COMMAND.
#[derive(Clone, Debug, clap::Args)]
#[command(override_usage = "annals record [OPTIONS] -- COMMAND...\n       annals record --serve [OPTIONS]")]
pub struct Args {
    /// The agent: claude, codex, opencode, gemini, or any for other programs (default: by the name of COMMAND).
    #[arg(long, value_name = "NAME", value_parser = ["claude", "claude-code", "codex", "opencode", "gemini", "any"])]
    agent: Option<String>,
    /// Send requests to URL instead of the provider.
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// Run no command: print the variables to set, and record until interrupted.
    #[arg(long, conflicts_with = "command")]
    serve: bool,
    /// Listen on this address of this machine.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: String,
    /// Capture the files of the project at every request: see annals files, and annals revert.
    #[arg(long)]
    files: bool,
    /// Do not keep answers as they were received; what they say is recorded.
    #[arg(long)]
    no_answers: bool,
    /// The command and its arguments.
    #[arg(value_name = "COMMAND", last = true, required_unless_present = "serve")]
    command: Vec<OsString>,
}

/// Runs the command.
///
/// # Errors
/// When the store cannot be opened, the address is taken, or the command cannot be started.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let _indexed = cli.keep_indexed();
    let program = args.command.first();
    let by_name = || program.map_or(AgentKind::Any, |program| AgentKind::of_program(program));
    let agent = args.agent.as_deref().and_then(AgentKind::named).unwrap_or_else(by_name);
    if let Some(url) =
        args.upstream.as_deref().filter(|url| !url.starts_with("http://") && !url.starts_with("https://"))
    {
        return Err(RecordingError::Upstream(url.to_owned()).into());
    }
    let variable = |name: &str| cli.environment.variables.get(name);
    let directory = &cli.environment.directory;
    let recorder = start(args, agent, cli).await?;
    let base = |route: &str| recorder.proxy().base_url(route);
    let mut signals = Signals::listen()?;
    let status = match args.serve {
        true => {
            for (name, value) in agent.variables(&base, &variable, directory).iter().filter(|(name, _)| !is_proxy(name))
            {
                writeln!(out, "export {name}={}", quoted(value))?;
            }
            out.flush()?;
            cli.remark("recording (Ctrl-C ends it)");
            signals.next().await;
            None
        }
        false => {
            // Kept until the command has ended: it may read them again.
            let kept = OnceCell::new();
            let keep = |text: &str| {
                let mut file = tempfile::Builder::new().prefix("annals-settings-").suffix(".json").tempfile()?;
                file.write_all(text.as_bytes())?;
                let path = file.path().to_owned();
                drop(kept.set(file));
                Ok(path)
            };
            let shown = |route: &str| recorder.proxy().shown_url(route);
            let addresses = RecorderAddresses { base: &base, shown: &shown, keep: &keep };
            let launch = agent.launch(&args.command, addresses, &variable, directory).map_err(RecordingError::from)?;
            match spawn(&launch) {
                Ok(child) => Some(wait(child, &mut signals).await?),
                Err(source) => {
                    recorder.finish().await;
                    let program = launch.program.to_string_lossy().into_owned();
                    return Err(RecordingError::Start { program, source }.into());
                }
            }
        }
    };
    let report = recorder.finish().await;
    summarise(&report, cli);
    let printed = if cli.style.json { print(&report, out) } else { Ok(()) };
    match status {
        None => printed.map(|()| Verdict::Fine).map_err(CliError::from),
        // The status is that of the command, with or without the report.
        Some(status) => {
            if let Err(error) = printed {
                cli.remark(&plain(&format!("cannot write the report of the recording: {error}")));
            }
            let recorded = !report.sessions.is_empty();
            if !recorded {
                cli.remark(&plain(&unrecorded(agent)));
            }
            // A command that did its work past the recorder did not do what was asked for.
            let code = exit_code(status);
            Ok(Verdict::Exit(if code == 0 && !recorded { 1 } else { code }))
        }
    }
}

/// What to look at where a command sent nothing to the recorder.
fn unrecorded(agent: AgentKind) -> String {
    let setting = match agent {
        AgentKind::Claude => {
            "env.ANTHROPIC_BASE_URL in .claude/settings.json, or a managed setting, wins over the recorder's"
        }
        AgentKind::Codex => "a profile, or model_providers.NAME.base_url in a config.toml, wins over openai_base_url",
        AgentKind::OpenCode => {
            "a provider without options.baseURL in opencode.json sends to its own address: set it, or use --upstream"
        }
        AgentKind::Gemini => "a Google login, and Vertex AI, do not use GOOGLE_GEMINI_BASE_URL: use an API key",
        AgentKind::Any => {
            "it must send to ANTHROPIC_BASE_URL, OPENAI_BASE_URL or GOOGLE_GEMINI_BASE_URL of its environment"
        }
    };
    format!("the command sent nothing to the recorder: {setting}. annals record --serve prints the addresses")
}

/// Writes the report as JSON, to its end: an error shows here, not when the program ends.
pub(crate) fn print(report: &RecordingReport, out: &mut (dyn Write + Send)) -> std::io::Result<()> {
    let mut text = serde_json::to_string_pretty(&to_json(report))?;
    text.push('\n');
    out.write_all(text.as_bytes())?;
    out.flush()
}

async fn start(args: &Args, agent: AgentKind, cli: &CommandContext) -> Result<Recorder, CliError> {
    let directory = cli.environment.directory.clone();
    let config = cli.environment.config(&directory)?;
    let reader = cli.store(OpenMode::Create).await?;
    let ids = Arc::new(SeededIds::from_entropy().map_err(std::io::Error::other)?);
    let token = Digest::of(&ids.session_key().0).to_string();
    let location = Location { directory: directory.to_string_lossy().into_owned(), workspace: None };
    let process = cli.this_process().describe(Some(&location)).await;
    let variable = |name: &str| cli.environment.variables.get(name);
    let files = match args.files {
        true => Some(captured_files(&reader, &directory).await?),
        false => None,
    };
    let live = LiveSender::start(reader.folder(), &Bus::default());
    let settings = RecorderSettings {
        agent: agent.recorded(args.command.first().map(OsString::as_os_str)),
        location,
        process: Some(process),
        redactor: config.redactor().unwrap_or_default(),
        keep_answers: !args.no_answers,
        files,
        views: Views::new(reader.log().clone(), reader.saved().cloned()),
        leases: Some(Arc::new(Leases::of(&**reader.log(), reader.folder().clone()))),
        upstreams: agent.upstreams(args.upstream.as_deref(), &variable, &directory),
        observer: Some(Arc::new(move |notice: &Notice| live.notice(notice))),
        clock: Arc::new(SystemClock::local()),
        ids,
    };
    let token = token.get(..24).unwrap_or(&token).to_owned();
    let recorder = Recorder::start(&args.listen, token, reader.log().clone(), settings).await;
    Ok(recorder.map_err(RecordingError::from)?)
}

/// What captures the files of a git worktree.
async fn captured_files(reader: &Reader, directory: &Path) -> Result<Arc<dyn Files>, CliError> {
    let (store, location) = (reader.folder().clone(), directory.to_owned());
    let files = tokio::task::spawn_blocking(move || files_kept_in(store, &location)).await;
    let files = files.map_err(std::io::Error::other)?;
    match files.conversation_only() {
        Some(why) => Err(RecordingError::Files(why.to_owned()).into()),
        None => Ok(files),
    }
}

fn spawn(launch: &Launch) -> std::io::Result<Child> {
    Command::new(&launch.program).args(&launch.arguments).envs(launch.variables.iter().cloned()).spawn()
}

/// Waits for the command. The terminal sends Ctrl-C to it as well; a request to end is passed on.
async fn wait(mut child: Child, signals: &mut Signals) -> Result<ExitStatus, CliError> {
    loop {
        tokio::select! {
            status = child.wait() => return Ok(status?),
            signal = signals.next() => {
                let process = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
                if let (Signal::End, Some(process)) = (signal, process) {
                    let sent = rustix::process::kill_process(process, rustix::process::Signal::TERM);
                    tracing::debug!(?sent, "asked the command to end");
                }
            }
        }
    }
}

/// The exit status of a command, as shells give it: for one that a signal ended, 128 and the signal.
fn exit_code(status: ExitStatus) -> u8 {
    let signal = || status.signal().map(|signal| 128 + signal);
    status.code().or_else(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn is_proxy(name: &str) -> bool {
    name.eq_ignore_ascii_case("no_proxy")
}

/// A value as a word of a shell.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "'\\''"))
}

/// Says in one line what was recorded, and what is worth typing next.
pub(crate) fn summarise(report: &RecordingReport, cli: &CommandContext) {
    let mains: Vec<_> = report.sessions.iter().filter(|session| session.parent.is_none()).collect();
    let requests = report.sessions.iter().map(|session| session.requests).sum::<u64>();
    let tokens = report.sessions.iter().map(|session| session.usage);
    let tokens =
        tokens.map(|usage| usage.input + usage.output + usage.reasoning + usage.cache_read + usage.cache_write);
    let (tokens, cost) = (tokens.sum::<u64>(), report.sessions.iter().map(|session| session.cost).sum::<u64>());
    match mains.as_slice() {
        [] => cli.remark("no request was recorded"),
        [first, rest @ ..] => {
            let subject = match rest {
                [] => format!("session {}", first.session),
                rest => format!("{}, the first {}", counted(rest.len() as u64 + 1, "session"), first.session),
            };
            let (requests, id) = (counted(requests, "request"), first.session);
            // As in lists: an unknown price is not a price of 0.
            let cost = if cost == 0 { "-".to_owned() } else { money(cost) };
            let facts = format!("{subject} · {requests} · {} tokens · {cost}", thousands(tokens));
            let has_children = report.sessions.iter().any(|session| session.parent.is_some());
            let all = if has_children { " --children" } else { "" };
            cli.remark(&facts);
            cli.remark(&format!("annals replay {id} · annals verify {id}{all} --requests --wire"));
        }
    }
    for session in report.sessions.iter().filter(|session| session.differing > 0) {
        let parts = counted(session.differing, "part");
        let id = session.session;
        cli.remark(&format!(
            "differing between the recorded bodies and the events: {parts} · annals verify {id} --requests --wire"
        ));
    }
    if report.missed > 0 {
        let why = report.why.as_deref().unwrap_or("the reason is not known");
        cli.remark(&plain(&format!("{} not recorded: {why}", counted(report.missed, "request"))));
    }
}

fn to_json(report: &RecordingReport) -> RecordingSummary {
    let sessions = report.sessions.iter().map(|session| RecordingEntry {
        session: session.session,
        parent: session.parent,
        requests: session.requests,
        usage: session.usage,
        cost: session.cost,
        differing: session.differing,
    });
    RecordingSummary { sessions: sessions.collect(), missed: report.missed, why: report.why.clone() }
}
