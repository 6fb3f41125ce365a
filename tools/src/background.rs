//! Commands that run in the background. They end with the process at the latest.

use super::confinement::{KeptFiles, noted_later};
use super::pipe_output::PipeOutput;
use super::process_group::ProcessGroup;
use super::terminal::{TerminalInput, cleaned};
use annals_core::{Json, Seq, SessionId};
use annals_runtime::tools::ToolOutput;
use annals_sandbox::PutBack;
use serde_json::json;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

/// How many of them run at once in a session.
const AT_ONCE: usize = 16;

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

pub(super) struct Running {
    command: String,
    output: Mutex<PipeOutput>,
    /// How much of the output the model has read.
    read: Mutex<u64>,
    /// What is typed into its terminal, if it has one.
    typed: Option<TerminalInput>,
    ended: watch::Receiver<Option<BackgroundEnd>>,
    kill: Arc<Notify>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("command", &self.command).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug)]
pub(super) struct BackgroundEnd {
    exit: Option<i32>,
    signal: Option<i32>,
    killed: bool,
    /// Protected files that it changed.
    put_back: Vec<PutBack>,
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
        typed: Option<TerminalInput>,
        kept: Option<KeptFiles>,
    ) -> String {
        let (sender, ended) = watch::channel(None);
        let kill = Arc::new(Notify::new());
        tokio::spawn(watched(group, kill.clone(), kept, sender));
        let mut all = locked(&self.0);
        // The number of an event: no other process of this session gives the same.
        let mut names =
            (1u64..).map(|n| if n == 1 { format!("cmd_{}", step.0) } else { format!("cmd_{}_{n}", step.0) });
        let id = names.find(|id| !all.contains_key(&(session, id.clone()))).unwrap_or_default();
        let running = Running { command, output: Mutex::new(output), read: Mutex::new(0), typed, ended, kill };
        all.insert((session, id.clone()), Arc::new(running));
        id
    }

    /// The command of an id, or the only one of a session.
    pub(super) fn find(&self, session: SessionId, id: Option<&str>) -> Result<(String, Arc<Running>), String> {
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
    kept: Option<KeptFiles>,
    sender: watch::Sender<Option<BackgroundEnd>>,
) {
    let (status, killed): (Option<ExitStatus>, bool) = tokio::select! {
        status = group.leader() => (status.ok(), false),
        () = kill.notified() => (None, true),
    };
    group.end().await;
    let put_back = kept.map(KeptFiles::restore).unwrap_or_default();
    let exit = status.and_then(|status| status.code());
    let signal = status.and_then(|status| status.signal());
    // Without a receiver the command was forgotten.
    let _ = sender.send(Some(BackgroundEnd { exit, signal, killed, put_back }));
}

impl Running {
    pub(super) fn end(&self) -> Option<BackgroundEnd> {
        self.ended.borrow().clone()
    }

    /// Makes it end, and waits until it has.
    pub(super) async fn kill(&self) {
        self.kill.notify_one();
        // The sender is there as long as the command is.
        drop(self.ended.clone().wait_for(Option::is_some).await);
    }

    /// What is typed into its terminal, if it has one.
    pub(super) fn typed(&self) -> Option<&TerminalInput> {
        self.typed.as_ref()
    }

    /// Waits until it has written more than `before` and then nothing for a while, or has ended.
    pub(super) async fn settled(&self, before: u64, pause: Duration) {
        while self.end().is_none() && self.total() <= before {
            sleep(LOOK).await;
        }
        let mut last = self.total();
        while self.end().is_none() {
            sleep(pause).await;
            let total = self.total();
            if std::mem::replace(&mut last, total) == total {
                return;
            }
        }
    }

    /// Bytes that were written.
    pub(super) fn total(&self) -> u64 {
        locked(&self.output).written().total()
    }

    /// Waits until it has ended or wrote more than was read.
    pub(super) async fn news(&self) {
        while self.end().is_none() && self.total() <= *locked(&self.read) {
            sleep(LOOK).await;
        }
    }

    /// Waits until what an ended command wrote is there: a process that left its group may hold the pipe open.
    pub(super) async fn drained(&self) {
        let mut before = None;
        let until = tokio::time::Instant::now() + DRAIN;
        while before != Some(self.total()) && tokio::time::Instant::now() < until {
            before = Some(self.total());
            sleep(LOOK).await;
        }
    }

    /// What was written since the last reading, and how it is.
    pub(super) fn output(&self, id: &str) -> ToolOutput {
        let output = locked(&self.output);
        let written = output.written();
        let mut read = locked(&self.read);
        let mut text = written.since(*read);
        if self.typed.is_some() {
            text = cleaned(&text);
        }
        *read = written.total();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let end = self.end();
        text.push_str(&match &end {
            None => format!("{id} is running."),
            Some(BackgroundEnd { killed: true, .. }) => format!("{id} was ended."),
            Some(BackgroundEnd { exit: Some(code), .. }) => format!("{id} exited with code {code}."),
            Some(BackgroundEnd { signal: Some(signal), .. }) => format!("{id} was ended by signal {signal}."),
            Some(_) => format!("{id} has ended."),
        });
        let structured = json!({
            "id": id, "running": end.is_none(), "exit": end.as_ref().and_then(|end| end.exit),
            "signal": end.as_ref().and_then(|end| end.signal), "bytes": written.total(),
        });
        let answer = ToolOutput { structured: Some(Json::canonical(&structured)), ..ToolOutput::text(text) };
        noted_later(answer, &end.map(|end| end.put_back).unwrap_or_default())
    }
}
