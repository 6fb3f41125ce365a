//! Tasks in the background on the user's screen.

use super::Screen;
use crate::layout::plain;
use crate::style::{Emphasis, counted};
use annals_core::event::{ChildOutcome, ChildSettled, ChildStarted};
use annals_core::{Blobs, SessionId};
use annals_inspect::timeline::one_line;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Instant;

/// The children of the session that is shown.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// Those that run in the background: agent, and when they were seen to begin.
    background: BTreeMap<SessionId, (String, Instant)>,
    /// Those that a call waits for: their calls say how they end.
    awaited: BTreeMap<SessionId, String>,
    /// Whether the next input is the result that was just shown.
    gives_input: bool,
}

impl Tasks {
    pub(super) fn began(&mut self, started: &ChildStarted) {
        let agent = started.agent.to_string();
        match started.background {
            true => drop(self.background.insert(started.child, (agent, Instant::now()))),
            false => drop(self.awaited.insert(started.child, agent)),
        }
    }

    /// Whether the input that is admitted now is the result of a task.
    pub(super) fn gave_input(&mut self) -> bool {
        std::mem::take(&mut self.gives_input)
    }

    /// Each that runs, and since when.
    pub(super) fn live(&self) -> Vec<(String, Instant)> {
        self.background.values().cloned().collect()
    }

    /// What runs, in a line, and since when.
    pub(super) fn in_brief(&self) -> Option<(String, Instant)> {
        let since = self.background.values().map(|(_, since)| *since).min()?;
        let agents: Vec<&str> = self.background.values().map(|(agent, _)| agent.as_str()).collect();
        let count = counted(agents.len() as u64, "background task");
        Some((format!("{count}: {}", plain(&agents.join(", "))), since))
    }
}

impl Screen {
    /// A child has ended. One that was lost with its process is not known here, but its end is shown.
    pub(super) fn task_ended(
        &mut self,
        settled: &ChildSettled,
        blobs: &dyn Blobs,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if self.tasks.awaited.remove(&settled.child).is_some() {
            return Ok(());
        }
        let known = self.tasks.background.remove(&settled.child);
        self.tasks.gives_input = known.is_some();
        let agent = known.map_or_else(|| "a subagent".to_owned(), |(agent, _)| plain(&agent));
        let result = one_line(&plain(&settled.result.resolve(blobs)));
        let (mark, emphasis, end) = match settled.outcome {
            ChildOutcome::Completed => ('✓', Emphasis::Tool, "done"),
            ChildOutcome::Failed => ('✗', Emphasis::Bad, "failed"),
            ChildOutcome::Cancelled => ('✗', Emphasis::Bad, "cancelled"),
        };
        self.line(emphasis, &format!("{mark} background task of {agent} {end}: {result}"), out)
    }
}
