//! The tool `bash`.

use super::command::{Departure, PathJudge, departure, resources};
use super::confinement::{Confinement, KeptFiles, OUTSIDE};
use super::open;
use super::pipe_output::PipeOutput;
use super::process_group::ProcessGroup;
use super::terminal::{self, COLUMNS, ROWS, TerminalInput, cleaned};
use super::typed::{TypedTool, Worked};
use super::workplace::{EXTERNAL_DIRECTORY, PathAccess, Workplace};
use annals_core::Json;
use annals_guard::is_obeyed_unasked;
use annals_runtime::tools::{CallContext, Demand, ToolError, ToolOutput};
use annals_sandbox::PutBack;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// The time limit without another, and the longest, in milliseconds.
const USUAL_MS: u64 = 120_000;
const LONGEST_MS: u64 = 600_000;

/// How long the pipe of a command that has ended is still read: a process that left its group may hold it open.
const DRAIN: Duration = Duration::from_secs(1);

/// When what there is so far is first shown; later less and less often, since each showing is a fact.
const FIRST_SHOWN: Duration = Duration::from_secs(1);
const SHOWN_EVERY: Duration = Duration::from_secs(10);

/// Shells, the preferred one first.
const SHELLS: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The command, as for `bash -c`.
    command: String,
    /// Where to run it: absolute, or relative to the working directory, which it is without this.
    workdir: Option<String>,
    /// The time limit in milliseconds: 120000 without it, at most 600000.
    #[serde(alias = "timeout")]
    #[schemars(range(min = 1, max = 600_000))]
    timeout_ms: Option<u64>,
    /// Whether to run it in the background, without a time limit, such as a server; read it with `bash_output`.
    #[serde(default, alias = "run_in_background")]
    background: bool,
    /// Whether to give it a terminal, for programs that need one; in the background `bash_input` types into it.
    #[serde(default, alias = "interactive", alias = "tty")]
    pty: bool,
    /// What the command does, in a few words, for people who watch.
    #[serde(rename = "description")]
    _description: Option<String>,
    /// Whether to ask for the command to run outside the sandbox. Models learn of it when a command was refused something.
    #[serde(default)]
    #[schemars(skip)]
    outside: bool,
}

/// Runs commands.
pub(super) struct Bash(pub(super) Workplace);

impl TypedTool for Bash {
    type Input = Input;
    const NAME: &str = "bash";
    const ABOUT: &str = "Runs a shell command and gives what it wrote, stdout and stderr together, and how it ended. \
        Every call is a new shell: directory and variables are not kept; use `workdir` rather than `cd`. There is no \
        input: a command that asks something reads its end at once. When the command ends, at its time limit and when \
        the turn is interrupted, all processes that it started are ended, also those started with `&`. Use `read`, \
        `edit`, `grep` and `glob` rather than `cat`, `sed`, `grep` and `find`. A long output is shown with its beginning \
        and its end and kept whole in a file.";
    const PUTS_AWAY: bool = true;

    fn check(&self, input: &Input) -> Result<(), String> {
        if input.command.trim().is_empty() {
            return Err("the command is empty".into());
        }
        if input.command.contains('\0') || input.workdir.as_ref().is_some_and(|path| path.contains('\0')) {
            return Err("a command holds no NUL".into());
        }
        let longest = self.longest_ms();
        match input.timeout_ms {
            Some(ms) if !(1..=longest).contains(&ms) => Err(format!("`timeout_ms` must be between 1 and {longest}")),
            _ => Ok(()),
        }
    }

    fn demands(&self, input: &Input) -> Vec<Demand> {
        let demand = |action: &str, resources| Demand { action: action.into(), resources };
        let mut demands = Vec::new();
        if let Some(named) = &input.workdir {
            let outside = match self.0.resolve(named) {
                Ok(real) => self.0.external(&real, PathAccess::Touch),
                Err(_) => Some(named.clone()),
            };
            demands.extend(outside.map(|directory| demand(EXTERNAL_DIRECTORY, vec![directory])));
        }
        let unconfined = self.0.confinement().is_none() || input.outside;
        let departure = if unconfined { self.departure(input) } else { Departure::default() };
        let left = departure.outside;
        demands.extend((!left.is_empty()).then(|| demand(EXTERNAL_DIRECTORY, left)));
        let resources = resources(&input.command, departure.beyond_its_parts);
        demands.push(demand(Self::ACTION, resources.clone()));
        if input.outside && self.0.confinement().is_some() {
            demands.push(demand(OUTSIDE, resources));
        }
        demands
    }

    async fn run(&self, input: Input, context: CallContext) -> Worked {
        let workdir = self.workdir(input.workdir.as_deref())?;
        let limit = input.timeout_ms.or(self.0.command_limit_ms()).unwrap_or(USUAL_MS);
        let limit = Duration::from_millis(limit);
        let confinement = self.0.confinement().filter(|_| !input.outside);
        let kept = confinement.map(Confinement::keep).transpose()?;
        if input.background {
            self.0.commands().has_room(context.session)?;
        }
        let started = match input.pty {
            true => self.start_on_terminal(&input.command, &workdir, confinement),
            false => self.start(&input.command, &workdir, confinement).map(|(group, output)| (group, output, None)),
        };
        let (mut group, mut output, typed) =
            started.map_err(|error| ToolError(format!("The command could not be started: {error}")))?;
        if input.background {
            let place = (context.session, context.step);
            let id = self.0.commands().keep(place, input.command.clone(), group, output, typed, kept);
            let text = format!(
                "Started in the background as {id}. `bash_output` reads what it writes, `bash_kill` ends it; it ends with this process \
                 at the latest."
            );
            let mut structured = json!({ "id": id, "background": true });
            note_terminal(&mut structured, input.pty);
            let answer = ToolOutput { structured: Some(Json::canonical(&structured)), ..ToolOutput::text(text) };
            return Ok(self.with_confinement(answer, confinement, &[]));
        }
        let end = watch(&mut group, &output, limit, input.pty, &context).await?;
        let left = group.end().await && matches!(end, CommandEnd::Itself(_));
        if timeout(DRAIN, output.ended()).await.is_err() {
            tracing::debug!(call = %context.call, "a process that left its group still holds the pipe of a command");
        }
        // The terminal hangs up.
        drop(typed);
        let put_back = kept.map(KeptFiles::restore).unwrap_or_default();
        if matches!(end, CommandEnd::Interrupted) {
            return Err("The command was interrupted.".into());
        }
        let answer = ToolOutput { shown: named(&input.command), ..tool_output(&output, &end, left, limit, input.pty) };
        Ok(self.with_confinement(answer, confinement, &put_back))
    }
}

impl Bash {
    /// A result with how its command was confined.
    fn with_confinement(
        &self,
        answer: ToolOutput,
        confinement: Option<&Confinement>,
        put_back: &[PutBack],
    ) -> ToolOutput {
        match (confinement, self.0.confinement()) {
            (Some(confinement), _) => confinement.noted(answer, put_back),
            (None, Some(_)) => Confinement::outside(answer),
            (None, None) => answer,
        }
    }

    /// Where a command goes beyond the project.
    fn departure(&self, input: &Input) -> Departure {
        let named = input.workdir.as_deref().unwrap_or(".");
        let Ok(start) = self.0.resolve(named) else { return Departure::default() };
        let judge = PathJudge {
            resolve: &|path| self.0.resolve(&path.to_string_lossy()).ok(),
            outside: &|real| self.0.external(real, PathAccess::Touch),
            other_repository: &|real| self.0.in_other_repository(real),
            obeyed: &|real| is_obeyed_unasked(&self.0.resource(real)),
            enters_repositories: &|| !annals_sandbox::entered_repositories(self.0.project()).is_empty(),
        };
        departure(&input.command, &start, &judge)
    }

    /// The longest time limit: the usual one, or that of the configuration if it is longer.
    fn longest_ms(&self) -> u64 {
        self.0.command_limit_ms().map_or(LONGEST_MS, |limit| limit.max(LONGEST_MS))
    }

    fn workdir(&self, named: Option<&str>) -> Result<PathBuf, ToolError> {
        let path = match named {
            Some(named) => self.0.resolve(named).map_err(|error| format!("{named}: {error}"))?,
            None => self.0.directory().into(),
        };
        match path.metadata() {
            Ok(found) if found.is_dir() => Ok(path),
            Ok(_) => Err(format!("{} is not a directory.", self.0.shown(&path)).into()),
            Err(error) => Err(open::trouble(&self.0, &path, &error)),
        }
    }

    /// Starts a command on a terminal of its own (PTY Environment).
    fn start_on_terminal(
        &self,
        command: &str,
        workdir: &Path,
        confinement: Option<&Confinement>,
    ) -> io::Result<(ProcessGroup, PipeOutput, Option<TerminalInput>)> {
        let words = words(command, confinement)?;
        let shown = std::env::vars_os().filter(|(variable, _)| self.0.shows(&variable.to_string_lossy()));
        let mut caller: BTreeMap<OsString, OsString> = shown.collect();
        // No user reads pages in it, unless the host says otherwise.
        caller.extend([("PAGER", "cat"), ("GIT_PAGER", "cat")].map(|(name, value)| (name.into(), value.into())));
        caller.insert("PWD".into(), workdir.into());
        let environment = terminal::environment(caller, self.0.terminal_overlay(workdir));
        let (group, output, input) = terminal::start(&words, workdir, environment)?;
        Ok((group, output, Some(input)))
    }

    fn start(
        &self,
        command: &str,
        workdir: &Path,
        confinement: Option<&Confinement>,
    ) -> io::Result<(ProcessGroup, PipeOutput)> {
        // One pipe for both, so that the output keeps its order.
        let (reader, writer) = io::pipe()?;
        let words = words(command, confinement)?;
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut shell = Command::new(program);
        shell.args(arguments).current_dir(workdir);
        shell.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        for (variable, _) in std::env::vars_os() {
            // The last two say where `cd` leads.
            let variable_name = variable.to_string_lossy();
            if !self.0.shows(&variable_name) || ["CDPATH", "OLDPWD"].contains(&&*variable_name) {
                shell.env_remove(variable);
            }
        }
        shell.envs(self.0.git_settings());
        // There is no terminal: no pager, no prompts, no colours.
        shell.envs([("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0"), ("TERM", "dumb")]);
        shell.env("PWD", workdir);
        let group = ProcessGroup::start(&mut shell)?;
        // Dropped first: it holds the writing end, and the pipe would never close.
        drop(shell);
        Ok((group, PipeOutput::of(Receiver::from_owned_fd(reader.into())?)))
    }
}

/// The words that start a command of a shell.
fn words(command: &str, confinement: Option<&Confinement>) -> io::Result<Vec<OsString>> {
    let shell = SHELLS.into_iter().find(|shell| Path::new(shell).exists()).unwrap_or("/bin/sh");
    match confinement {
        Some(confinement) => confinement.command(shell, command),
        None => Ok(vec![shell.into(), "-c".into(), command.into()]),
    }
}

/// The words of a command, any of which may be a file that it prints.
fn named(command: &str) -> Vec<String> {
    let words = command.split(|c: char| c.is_whitespace() || "\"'`;|&<>()=".contains(c));
    words
        .filter(|word| word.contains('.') || word.contains("cred") || word.contains("id_"))
        .map(str::to_owned)
        .collect()
}

/// How a command ended.
enum CommandEnd {
    /// By itself.
    Itself(ExitStatus),
    /// At its time limit.
    Late,
    /// With the turn.
    Interrupted,
}

/// Waits for the end of a command and shows what it writes meanwhile.
async fn watch(
    group: &mut ProcessGroup,
    output: &PipeOutput,
    limit: Duration,
    pty: bool,
    context: &CallContext,
) -> Result<CommandEnd, ToolError> {
    let until = Instant::now() + limit;
    let (mut pause, mut shown) = (FIRST_SHOWN, 0);
    loop {
        tokio::select! {
            biased;
            () = context.cancellation.cancelled() => return Ok(CommandEnd::Interrupted),
            status = group.leader() => {
                return status.map(CommandEnd::Itself).map_err(|error| format!("The command was lost: {error}").into());
            }
            () = sleep_until(until) => return Ok(CommandEnd::Late),
            () = sleep(pause) => {
                let written = output.written();
                if written.total() > shown {
                    shown = written.total();
                    let recent = written.recent();
                    let recent = if pty { cleaned(&recent) } else { recent };
                    context.progress.show(&context.call, Some(recent), None);
                    pause = (pause * 3 / 2).min(SHOWN_EVERY);
                }
            }
        }
    }
}

/// Notes the size of the terminal of a command that had one.
fn note_terminal(structured: &mut Value, pty: bool) {
    if let (true, Some(fields)) = (pty, structured.as_object_mut()) {
        fields.insert("terminal".to_owned(), json!({ "rows": ROWS, "columns": COLUMNS }));
    }
}

fn tool_output(output: &PipeOutput, end: &CommandEnd, left: bool, limit: Duration, pty: bool) -> ToolOutput {
    let written = output.written();
    let mut text = if pty { cleaned(&written.text()) } else { written.text() };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let status = match end {
        CommandEnd::Itself(status) => Some(status),
        CommandEnd::Late | CommandEnd::Interrupted => None,
    };
    let (exit, signal) = (status.and_then(|status| status.code()), status.and_then(|status| status.signal()));
    text.push_str(&match (exit, signal) {
        (Some(code), _) => format!("Command exited with code {code}."),
        (None, Some(signal)) => format!("Command was ended by signal {signal}."),
        (None, None) => format!("Command was ended at its time limit of {} ms.", limit.as_millis()),
    });
    if left {
        text.push_str(" Processes that it had left running were ended.");
    }
    let mut structured = json!({
        "exit": exit,
        "signal": signal,
        "timed_out": status.is_none(),
        "bytes": written.total(),
        "omitted": written.omitted(),
    });
    note_terminal(&mut structured, pty);
    ToolOutput { structured: Some(Json::canonical(&structured)), ..ToolOutput::text(text) }
}
