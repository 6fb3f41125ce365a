//! Declared tools as the runtime sees them.

use super::ScriptedWorld;
use super::declared::PerformActions;
use crate::action::{CrashPoint, DeclaredTool};
use crate::crash::CrashSwitch;
use annals_core::Json;
use annals_core::event::ToolDefinition;
use annals_runtime::Boxed;
use annals_runtime::tools::{CallContext, CallInput, Tool, ToolError, ToolOutput};
use serde_json::json;
use std::sync::Arc;

/// A declared tool, registered in one process.
pub(crate) struct ScenarioTool {
    number: u64,
    declared: Arc<DeclaredTool>,
    world: Arc<ScriptedWorld>,
    crash: CrashSwitch,
    perform: PerformActions,
}

impl ScenarioTool {
    /// A tool of `world` with the number of its declaration; `perform` runs its `during`.
    pub fn new(
        (number, declared): (u64, Arc<DeclaredTool>),
        world: Arc<ScriptedWorld>,
        crash: CrashSwitch,
        perform: PerformActions,
    ) -> Self {
        Self { number, declared, world, crash, perform }
    }
}

impl Tool for ScenarioTool {
    fn definition(&self) -> ToolDefinition {
        let schema = json!({ "type": "object", "required": self.declared.required });
        ToolDefinition {
            name: self.declared.name.clone(),
            description: "A tool of a scenario.".into(),
            schema: Json::canonical(&schema),
        }
    }

    fn action(&self) -> String {
        self.declared.permission.clone().unwrap_or_else(|| self.declared.name.clone())
    }

    fn validate(&self, input: &CallInput) -> Result<(), String> {
        let lacking = |field: &&String| !input.fields().contains_key(*field);
        match self.declared.required.iter().find(lacking) {
            Some(field) => Err(format!("the field `{field}` is missing")),
            None => Ok(()),
        }
    }

    fn execute<'a>(&'a self, _: CallInput, context: CallContext) -> Boxed<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            #[cfg(test)]
            self.world.state().ran.push(context.call.clone());
            let calls = self.world.called(self.number);
            let given = self.declared.given(calls);
            (self.perform)(given.during).await;
            if context.cancellation.is_cancelled() {
                // Interrupted while it ran: it never ends.
                return std::future::pending().await;
            }
            self.world.crash_at(CrashPoint::DuringTool, &self.crash).await;
            if let Some(error) = given.error {
                return Err(ToolError(error));
            }
            // A tool with neither a text nor a value returns an empty text.
            let empty = given.structured.is_none().then(String::new);
            Ok(ToolOutput {
                text: given.output.or(empty),
                structured: given.structured.as_ref().map(Json::canonical),
                paths: given.paths,
                ..ToolOutput::default()
            })
        })
    }
}
