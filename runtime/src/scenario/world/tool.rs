//! A declared tool as the runtime sees it.

use super::World;
use super::declared::Perform;
use crate::Boxed;
use crate::scenario::action::{CrashPoint, Tool as Declared};
use crate::scenario::dying::Death;
use crate::tools::{CallContext, CallInput, Tool, ToolError, ToolOutput};
use annals_core::Json;
use annals_core::event::ToolDefinition;
use serde_json::json;
use std::sync::Arc;

/// A declared tool, registered in one process.
pub(in crate::scenario) struct ScriptedTool {
    declared: Arc<Declared>,
    world: Arc<World>,
    death: Death,
    perform: Perform,
}

impl ScriptedTool {
    /// The tool `declared` of `world`; `perform` runs its `during`.
    pub fn new(declared: Arc<Declared>, world: Arc<World>, death: Death, perform: Perform) -> Self {
        Self { declared, world, death, perform }
    }
}

impl Tool for ScriptedTool {
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

    fn execute<'a>(&'a self, _: CallInput, _: CallContext) -> Boxed<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let tool = &self.declared;
            (self.perform)(tool.during.clone()).await;
            self.death.at(CrashPoint::DuringTool, &self.world).await;
            if let Some(error) = &tool.error {
                return Err(ToolError(error.clone()));
            }
            // A tool that declares neither a text nor a value gives an empty text.
            let empty = tool.structured.is_none().then(String::new);
            Ok(ToolOutput {
                text: tool.output.clone().or(empty),
                structured: tool.structured.as_ref().map(Json::canonical),
                paths: tool.paths.clone(),
                ..ToolOutput::default()
            })
        })
    }
}
