//! Tools by command: JSON in, text out.

use super::reason;
use crate::program::ExternalProgram;
use annals_core::Json;
use annals_core::event::ToolDefinition;
use annals_runtime::Boxed;
use annals_runtime::tools::{CallContext, CallInput, Tool, ToolError, ToolOutput};
use serde_json::Value;
use std::path::PathBuf;

/// A tool of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomTool {
    /// Its name, which is also what its calls are judged as.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: Value,
    /// The program: it is given the input as JSON and prints the text of the result.
    pub program: ExternalProgram,
}

/// A tool of the configuration in a directory.
pub(crate) struct ProgramTool {
    pub(crate) settings: CustomTool,
    pub(crate) directory: PathBuf,
}

impl ProgramTool {
    fn required(&self) -> impl Iterator<Item = &str> {
        self.settings.schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }
}

impl Tool for ProgramTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.settings.name.clone(),
            description: self.settings.description.as_str().into(),
            schema: Json::canonical(&self.settings.schema),
        }
    }

    fn validate(&self, input: &CallInput) -> Result<(), String> {
        let value = input.value();
        let fields = value.as_object().ok_or("expected an object")?;
        match self.required().find(|name| !fields.contains_key(*name)) {
            Some(name) => Err(format!("missing field `{name}`")),
            None => Ok(()),
        }
    }

    fn execute<'a>(&'a self, input: CallInput, _: CallContext) -> Boxed<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let ran = self.settings.program.run(&self.directory, &input.value().to_string()).await;
            let output = ran.map_err(|error| ToolError(error.to_string()))?;
            match output.exit {
                Some(0) => Ok(ToolOutput::text(output.stdout)),
                _ => Err(ToolError(reason(&output))),
            }
        })
    }
}
