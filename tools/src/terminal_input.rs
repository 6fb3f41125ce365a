//! The tool `bash_input`.

use super::typed::{TypedTool, Worked};
use super::workplace::{Workplace, literal};
use annals_runtime::tools::{CallContext, Demand};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;
use tokio::time::timeout;

/// How long the answer of a program is waited for without another wish, and at most, in milliseconds.
const WAIT: u64 = 2_000;
const LONGEST_WAIT: u64 = 60_000;

/// The longest text, in bytes.
const LONGEST: usize = 64 * 1024;

/// How long what a program shows may pause before it counts as its answer.
const SETTLED: Duration = Duration::from_millis(300);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The id that `bash` gave; not needed while only one command is known.
    id: Option<String>,
    /// What to type: a line feed is Enter, \u001b Escape, \u0003 Ctrl-C.
    text: String,
    /// How long to wait for what it shows then, in milliseconds; 2000 without it.
    #[schemars(range(max = 60_000))]
    wait_ms: Option<u64>,
}

/// Types into the terminal of a command.
pub(super) struct BashInput(pub(super) Workplace);

impl TypedTool for BashInput {
    type Input = Input;
    const NAME: &str = "bash_input";
    const NEEDS: Option<&str> = Some("bash");
    const ABOUT: &str = "Types text into the terminal of a command that `bash` started with `pty` and `background`, and gives \
        what it shows then.";

    fn check(&self, input: &Input) -> Result<(), String> {
        match input.wait_ms {
            _ if input.text.len() > LONGEST => Err(format!("`text` must be at most {LONGEST} bytes")),
            Some(ms) if ms > LONGEST_WAIT => Err(format!("`wait_ms` must be at most {LONGEST_WAIT}")),
            _ => Ok(()),
        }
    }

    /// What is typed may be a command: it is judged by its text.
    fn demands(&self, input: &Input) -> Vec<Demand> {
        vec![Demand { action: Self::ACTION.into(), resources: vec![literal(&input.text)] }]
    }

    async fn run(&self, input: Input, context: CallContext) -> Worked {
        let (id, running) = self.0.commands().find(context.session, input.id.as_deref())?;
        let Some(typed) = running.typed() else {
            return Err(format!("{id} has no terminal: start the command with `pty` to type into it.").into());
        };
        if running.end().is_some() {
            return Ok(running.output(&id));
        }
        let before = running.total();
        // Enter is a carriage return.
        let wrote = typed.write(&input.text.replace("\r\n", "\r").replace('\n', "\r")).await;
        wrote.map_err(|error| format!("The terminal of {id} takes no input: {error}"))?;
        // What is there when the time is over is given.
        let limit = Duration::from_millis(input.wait_ms.unwrap_or(WAIT));
        drop(timeout(limit, running.settled(before, SETTLED)).await);
        if running.end().is_some() {
            running.drained().await;
        }
        Ok(running.output(&id))
    }
}
