//! Commands that run in the background: `bash` starts them, `bash_output` reads what they wrote, `bash_kill` ends them. They end
//! with the process at the latest.

use super::pipe_output::PipeOutput;
use super::process_group::ProcessGroup;
use super::typed::{TypedTool, Worked};
use super::workplace::Workplace;
use annals_core::{Json, Seq, SessionId};
use annals_runtime::tools::{CallContext, Demand, ToolOutput};
use annals_sandbox::ProtectedFiles;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

/// How many of them run at once in a session.
const AT_ONCE: usize = 16;

/// The longest wait of one reading, in milliseconds.
const LONGEST_WAIT: u64 = 600_000;

/// How long the pipe of a command that has ended is still read.
const DRAIN: Duration = Duration::from_secs(1);

/// How often new output is looked for while it is waited for.
const LOOK: Duration = Duration::from_millis(50);

/// The commands in the background of all sessions of a process. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct BackgroundCommands(Arc<Mutex<RunningCommands>>);

type RunningCommands = BTreeMap<(SessionId, String), Arc<Running>>;

/// A command in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundCommand {
    /// The session that started it.
    pub session: SessionId,
    /// What the model names it by.
    pub id: String,
    /// The command.
    pub command: String,
}

struct Running {
    command: String,
    output: Mutex<PipeOutput>,
    /// How much of the output the model has read.
    read: Mutex<u64>,
    ended: watch::Receiver<Option<CommandEnd>>,
    kill: Arc<Notify>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("command", &self.command).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug)]
struct CommandEnd {
    exit: Option<i32>,
    signal: Option<i32>,
    killed: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BackgroundCommands {
    /// The commands that still run.
    pub fn running(&self) -> Vec<BackgroundCommand> {
        let all = locked(&self.0);
        let running = all.iter().filter(|(_, one)| one.ended.borrow().is_none());
        running
            .map(|((session, id), one)| BackgroundCommand {
                session: *session,
                id: id.clone(),
                command: one.command.clone(),
            })
            .collect()
    }

    /// Whether another one may be started.
    pub(super) fn has_room(&self, session: SessionId) -> Result<(), String> {
        match self.running().iter().filter(|one| one.session == session).count() {
            count if count >= AT_ONCE => {
                Err(format!("{count} commands run in the background already; end one with `bash_kill` first."))
            }
            _ => Ok(()),
        }
    }

    /// Keeps a command that was started; returns its id.
    pub(super) fn keep(
        &self,
        (session, step): (SessionId, Seq),
        command: String,
        group: ProcessGroup,
        output: PipeOutput,
        kept: Option<ProtectedFiles>,
    ) -> String {
        let (tell, ended) = watch::channel(None);
        let kill = Arc::new(Notify::new());
        tokio::spawn(watched(group, kill.clone(), kept, tell));
        let mut all = locked(&self.0);
        // The number of an event: no other process of this session gives the same.
        let mut names =
            (1u64..).map(|n| if n == 1 { format!("cmd_{}", step.0) } else { format!("cmd_{}_{n}", step.0) });
        let id = names.find(|id| !all.contains_key(&(session, id.clone()))).unwrap_or_default();
        let running = Running { command, output: Mutex::new(output), read: Mutex::new(0), ended, kill };
        all.insert((session, id.clone()), Arc::new(running));
        id
    }

    /// The command of an id, or the only one of a session.
    fn find(&self, session: SessionId, id: Option<&str>) -> Result<(String, Arc<Running>), String> {
        let all = locked(&self.0);
        let known: Vec<(&String, &Arc<Running>)> =
            all.iter().filter(|((of, _), _)| *of == session).map(|((_, id), one)| (id, one)).collect();
        let found = match (id, known.as_slice()) {
            (None, [only]) => Some(*only),
            (Some(id), known) => known.iter().copied().find(|(of, _)| *of == id),
            (None, _) => None,
        };
        if let Some((id, one)) = found {
            return Ok((id.clone(), one.clone()));
        }
        let ids: Vec<&str> = known.iter().map(|(id, _)| id.as_str()).collect();
        Err(match (id, ids.is_empty()) {
            (_, true) => "No command runs in the background: they end with the process that started them.".into(),
            (Some(id), false) => format!("There is no command {id:?}; there are {}.", ids.join(", ")),
            (None, false) => format!("Give the `id` of one of {}.", ids.join(", ")),
        })
    }
}

/// Waits for the end of a command, or makes it end.
async fn watched(
    mut group: ProcessGroup,
    kill: Arc<Notify>,
    kept: Option<ProtectedFiles>,
    tell: watch::Sender<Option<CommandEnd>>,
) {
    let (status, killed): (Option<ExitStatus>, bool) = tokio::select! {
        status = group.leader() => (status.ok(), false),
        () = kill.notified() => (None, true),
    };
    group.end().await;
    if let Some(kept) = kept {
        kept.restore();
    }
    let exit = status.and_then(|status| status.code());
    let signal = status.and_then(|status| status.signal());
    // Without a receiver the command was forgotten.
    let _ = tell.send(Some(CommandEnd { exit, signal, killed }));
}

impl Running {
    fn end(&self) -> Option<CommandEnd> {
        *self.ended.borrow()
    }

    fn total(&self) -> u64 {
        locked(&self.output).written().total()
    }

    /// Waits until it has ended or wrote more than was read.
    async fn news(&self) {
        while self.end().is_none() && self.total() <= *locked(&self.read) {
            sleep(LOOK).await;
        }
    }

    /// Waits until what an ended command wrote is there: a process that left its group may hold the pipe open.
    async fn drained(&self) {
        let mut before = None;
        let until = tokio::time::Instant::now() + DRAIN;
        while before != Some(self.total()) && tokio::time::Instant::now() < until {
            before = Some(self.total());
            sleep(LOOK).await;
        }
    }

    /// What was written since the last reading, and how it is.
    fn told(&self, id: &str) -> ToolOutput {
        let output = locked(&self.output);
        let written = output.written();
        let mut read = locked(&self.read);
        let mut text = written.since(*read);
        *read = written.total();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let end = self.end();
        text.push_str(&match end {
            None => format!("{id} is running."),
            Some(CommandEnd { killed: true, .. }) => format!("{id} was ended."),
            Some(CommandEnd { exit: Some(code), .. }) => format!("{id} exited with code {code}."),
            Some(CommandEnd { signal: Some(signal), .. }) => format!("{id} was ended by signal {signal}."),
            Some(_) => format!("{id} has ended."),
        });
        let structured = json!({
            "id": id, "running": end.is_none(), "exit": end.and_then(|end| end.exit), "signal": end.and_then(|end| end.signal),
            "bytes": written.total(),
        });
        ToolOutput { structured: Some(Json::canonical(&structured)), ..ToolOutput::text(text) }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OutputInput {
    /// The id that `bash` gave; not needed while only one command is known.
    #[serde(alias = "bash_id", alias = "shell_id")]
    id: Option<String>,
    /// How long to wait for new output or the end, in milliseconds; 0 without it.
    #[schemars(range(max = 600_000))]
    wait_ms: Option<u64>,
}

/// Reads what a command in the background wrote.
pub(super) struct BashOutput(pub(super) Workplace);

impl TypedTool for BashOutput {
    type Input = OutputInput;
    const NAME: &str = "bash_output";
    const ABOUT: &str =
        "Gives what a command in the background wrote since the last reading, and whether it still runs.";

    fn check(&self, input: &OutputInput) -> Result<(), String> {
        match input.wait_ms {
            Some(ms) if ms > LONGEST_WAIT => Err(format!("`wait_ms` must be at most {LONGEST_WAIT}")),
            _ => Ok(()),
        }
    }

    fn demands(&self, input: &OutputInput) -> Vec<Demand> {
        vec![Demand { action: Self::ACTION.into(), resources: input.id.iter().cloned().collect() }]
    }

    async fn run(&self, input: OutputInput, context: CallContext) -> Worked {
        let (id, running) = self.0.commands().find(context.session, input.id.as_deref())?;
        // What is there when the time is over is told.
        drop(timeout(Duration::from_millis(input.wait_ms.unwrap_or(0)), running.news()).await);
        if running.end().is_some() {
            running.drained().await;
        }
        Ok(running.told(&id))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KillInput {
    /// The id that `bash` gave; not needed while only one command is known.
    #[serde(alias = "bash_id", alias = "shell_id")]
    id: Option<String>,
}

/// Ends a command in the background.
pub(super) struct BashKill(pub(super) Workplace);

impl TypedTool for BashKill {
    type Input = KillInput;
    const NAME: &str = "bash_kill";
    const ABOUT: &str = "Ends a command in the background, with all that it started, and gives the rest of its output.";
    const PUTS_AWAY: bool = true;

    fn check(&self, _: &KillInput) -> Result<(), String> {
        Ok(())
    }

    fn demands(&self, input: &KillInput) -> Vec<Demand> {
        vec![Demand { action: Self::ACTION.into(), resources: input.id.iter().cloned().collect() }]
    }

    async fn run(&self, input: KillInput, context: CallContext) -> Worked {
        let (id, running) = self.0.commands().find(context.session, input.id.as_deref())?;
        running.kill.notify_one();
        let mut ended = running.ended.clone();
        // The sender is there as long as the command is.
        drop(ended.wait_for(Option::is_some).await);
        running.drained().await;
        Ok(running.told(&id))
    }
}
