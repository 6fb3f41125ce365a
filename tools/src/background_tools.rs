//! The tools `bash_output` and `bash_kill`.

use super::typed::{TypedTool, Worked};
use super::workplace::Workplace;
use annals_runtime::tools::{CallContext, Demand};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;
use tokio::time::timeout;

/// The longest wait of one reading, in milliseconds.
const LONGEST_WAIT: u64 = 600_000;

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
    const NEEDS: Option<&str> = Some("bash");
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
        // What is there when the time is over is given.
        drop(timeout(Duration::from_millis(input.wait_ms.unwrap_or(0)), running.news()).await);
        if running.end().is_some() {
            running.drained().await;
        }
        Ok(running.output(&id))
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
    const NEEDS: Option<&str> = Some("bash");
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
        running.kill().await;
        running.drained().await;
        Ok(running.output(&id))
    }
}
