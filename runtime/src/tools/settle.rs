//! Settles a call: bounds its result and keeps a long output in a file.

use super::indent::indented;
use super::{CallError, ToolOutput};
use crate::ports::{Clock, Ids, OutputFiles};
use annals_core::bound::{self, Limits};
use annals_core::event::{ToolOutcome, ToolSettled};
use annals_core::{CallId, Json, NoBlobs};
use serde::de::IgnoredAny;
use std::sync::Arc;

/// Settles calls that this runtime executed. The result of a hosted call goes past it: providers want theirs back
/// exactly ([`hosted`]).
///
/// ```
/// # use annals_core::bound::Limits;
/// # use annals_runtime::ports::SeededIds;
/// # use annals_runtime::testing::{ManualClock, MemoryOutputs};
/// # use annals_runtime::tools::{Bounding, ToolOutput};
/// # use std::sync::Arc;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
/// let bounding = Bounding {
///     files: Arc::new(MemoryOutputs::new(clock.clone())),
///     ids: Arc::new(SeededIds::scripted(1)),
///     clock,
///     limits: Limits { lines: 7, bytes: 200 },
/// };
/// let settled = bounding.settle("c1".into(), Ok(ToolOutput::text("1\n2\n3\n4\n5\n6\n7\n8\n9"))).await;
/// let path = &settled.paths[0];
/// let preview = format!("1\n2\n\n... output truncated; full content saved to {path} ...\n\n9");
/// assert_eq!(settled.output.inline(), Some(preview.as_str()));
/// # }
/// ```
#[derive(Clone)]
pub struct Bounding {
    /// Where whole outputs go.
    pub files: Arc<dyn OutputFiles>,
    /// Names the files.
    pub ids: Arc<dyn Ids>,
    /// For their ids.
    pub clock: Arc<dyn Clock>,
    /// One budget for all the text of one settlement.
    pub limits: Limits,
}

impl Bounding {
    /// The fact that settles a call: its bounded output, or its error. Failing to keep the whole output fails nothing:
    /// the preview then says that the rest is lost, and the reason is logged.
    ///
    /// Once a call has succeeded, this and the append of what it gives are one step: the caller does not interrupt it.
    pub async fn settle(&self, call: CallId, outcome: Result<ToolOutput, CallError>) -> ToolSettled {
        let mut settled = ToolSettled::bare(call, ToolOutcome::Completed);
        let output = match outcome.and_then(checked) {
            Ok(output) => output,
            Err(error) => {
                settled.outcome = match &error {
                    CallError::Interrupted => ToolOutcome::Interrupted,
                    CallError::StepsExhausted | CallError::GivenUp { .. } => ToolOutcome::Exhausted,
                    _ => ToolOutcome::Failed,
                };
                settled.error = Some(error.to_string().into());
                return settled;
            }
        };
        let shown = output.text.unwrap_or_else(|| match &output.structured {
            // The tool's value is not in any store yet.
            Some(value) => indented(&value.0.resolve(&NoBlobs)),
            None => String::new(),
        });
        settled.structured = output.structured;
        settled.attachments = output.attachments;
        settled.paths = output.paths;
        if self.limits.hold(&shown) {
            settled.output = shown.into();
            return settled;
        }
        settled.truncated = true;
        let name = self.ids.output_file(self.clock.now());
        let path = match self.files.keep(&name, &shown).await {
            Ok(path) => Some(path),
            Err(error) => {
                tracing::warn!(call = %settled.call, %error, "a tool output could not be kept whole");
                settled.lossy = true;
                None
            }
        };
        settled.output = bound::preview(&shown, self.limits, &bound::marker(path.as_deref())).into();
        settled.paths.extend(path);
        settled
    }
}

/// The fact that settles a call which the provider executed itself: its result as received, never bounded.
pub fn hosted(call: CallId, result: String, error: Option<String>, metadata: Option<String>) -> ToolSettled {
    let outcome = if error.is_some() { ToolOutcome::Failed } else { ToolOutcome::Completed };
    ToolSettled {
        error: error.map(Into::into),
        hosted_result: Some(Json::received(result)),
        metadata: metadata.map(Json::received),
        ..ToolSettled::bare(call, outcome)
    }
}

/// A structured value that its readers cannot decode is left out.
fn checked(output: ToolOutput) -> Result<ToolOutput, CallError> {
    if let Some(value) = &output.structured {
        let parsed: Result<IgnoredAny, _> = serde_json::from_str(&value.0.resolve(&NoBlobs));
        parsed.map_err(|error| CallError::InvalidOutput(error.to_string()))?;
    }
    Ok(output)
}
