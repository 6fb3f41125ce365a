//! The tool that loads a skill: the only way to a skill's body (`docs/reference/context.md#skills`).

use super::{CallContext, CallInput, Tool, ToolError, ToolOutput};
use crate::Boxed;
use crate::context::{Loaded, SkillCatalogue};
use annals_core::Json;
use annals_core::event::ToolDefinition;
use annals_core::permission::SKILL;
use serde_json::json;
use std::sync::Arc;

/// The tool `skill`. A call is judged as `skill` on the skill's name.
#[derive(Clone)]
pub struct SkillTool {
    catalogue: Arc<dyn SkillCatalogue>,
}

impl SkillTool {
    /// Loads skills of a location.
    pub fn new(catalogue: Arc<dyn SkillCatalogue>) -> Self {
        Self { catalogue }
    }
}

fn name(input: &CallInput) -> Option<&str> {
    input.fields().get("name")?.as_str()
}

impl Tool for SkillTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: SKILL.into(),
            description: "Loads the instructions of a skill by its name.".into(),
            schema: Json::canonical(&json!({
                "type": "object",
                "properties": { "name": { "type": "string", "description": "The name of an available skill." } },
                "required": ["name"],
                "additionalProperties": false,
            })),
        }
    }

    fn resources(&self, input: &CallInput) -> Vec<String> {
        name(input).map(str::to_string).into_iter().collect()
    }

    fn validate(&self, input: &CallInput) -> Result<(), String> {
        name(input).map(drop).ok_or_else(|| "expected the name of a skill as the text field `name`".into())
    }

    fn execute<'a>(&'a self, input: CallInput, _: CallContext) -> Boxed<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let wanted = name(&input).unwrap_or_default();
            match self.catalogue.skills().await {
                Loaded::Available(skills) => match skills.into_iter().find(|skill| skill.name == wanted) {
                    Some(skill) => Ok(ToolOutput::text(skill.body)),
                    None => Err(format!("There is no skill named {wanted:?}.").into()),
                },
                Loaded::Absent => Err(format!("There is no skill named {wanted:?}.").into()),
                Loaded::Unavailable { reason } => Err(format!("The skills cannot be read now: {reason}").into()),
            }
        })
    }
}
