//! Subagents: a tool by which an agent lets a child session do a task (`docs/reference/turn.md#children`).
//!
//! Both sides record it: the child's `session.created` names its parent and the call, the parent has `child.started` and
//! `child.settled`. A child ends with its parent's run, and may do nothing that its parent is denied.

mod limits;
mod lost;
mod result;
mod serve;

pub(crate) use limits::{as_child, limits_of};
pub(crate) use lost::settle_lost;

use crate::Boxed;
use crate::state::{Runtime, RuntimeState};
use crate::tools::{CallContext, CallInput, Tool, ToolError, ToolOutput};
use annals_core::event::ToolDefinition;
use annals_core::{AgentName, Json, ModelName};
use serde::Deserialize;
use serde_json::json;
use std::sync::Weak;

/// The permission action that calls of a task tool are judged as; the resource is the agent's name.
pub const TASK: &str = "task";

/// An agent that tasks may be given to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subagent {
    /// Its name; [`Definitions`](crate::settings::Definitions) has the rest.
    pub agent: AgentName,
    /// Its purpose, as the model reads it.
    pub description: String,
    /// Its own model; without one a child has the model of the answer that called.
    pub model: Option<ModelName>,
}

/// Which agents take tasks, and how deep that goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subagents {
    /// The agents.
    pub agents: Vec<Subagent>,
    /// The deepest nesting of children below a session of the user; 1 allows no grandchildren.
    pub depth: usize,
}

impl Subagents {
    /// These agents, and children without children.
    pub fn new(agents: Vec<Subagent>) -> Self {
        Self { agents, depth: 1 }
    }
}

/// The tool `task`: begins a child session, or resumes one by its id, and gives its last text.
pub struct TaskTool {
    shared: Weak<RuntimeState>,
    subagents: Subagents,
}

/// The input of a call.
#[derive(Debug, Deserialize)]
struct Task {
    /// A title of a few words.
    description: String,
    /// What to do.
    prompt: String,
    /// Who does it.
    subagent_type: AgentName,
    /// The child to resume.
    #[serde(default)]
    task_id: Option<String>,
    /// Whether the caller continues without waiting.
    #[serde(default)]
    background: bool,
}

impl TaskTool {
    /// A tool whose children run in `runtime`. It does not keep the runtime alive.
    pub fn of(runtime: &Runtime, subagents: Subagents) -> Self {
        Self { shared: std::sync::Arc::downgrade(runtime.shared()), subagents }
    }

    fn subagent(&self, agent: &AgentName) -> Result<&Subagent, ToolError> {
        let found = self.subagents.agents.iter().find(|subagent| subagent.agent == *agent);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.subagents.agents.iter().map(|subagent| subagent.agent.as_str()).collect();
            ToolError(format!("Unknown agent type: {agent}. Available: {}", names.join(", ")))
        })
    }

    async fn run(&self, task: Task, context: CallContext) -> Result<ToolOutput, ToolError> {
        let shared = self.shared.upgrade().ok_or_else(|| ToolError("The runtime has ended".into()))?;
        let subagent = self.subagent(&task.subagent_type)?;
        let begun = serve::begin(&shared, &self.subagents, subagent, &task, &context).await?;
        let (child, background) = (begun.child, task.background);
        let ended = begun.serve();
        if background {
            return Ok(ToolOutput::text(result::running(child)));
        }
        match ended.await {
            Ok(ended) => ended?.output(child).map(ToolOutput::text),
            Err(error) => Err(ToolError(format!("Subagent failed (task_id: {child}): {error}"))),
        }
    }
}

impl Tool for TaskTool {
    fn definition(&self) -> ToolDefinition {
        let agents: Vec<String> =
            self.subagents.agents.iter().map(|one| format!("- {}: {}", one.agent, one.description)).collect();
        let description = format!(
            "Lets another agent do a task in a Session of its own and gives its last message. The agent sees nothing of \
             this conversation: state in the prompt everything that it needs, and what its answer must contain. Agents:\n{}",
            agents.join("\n")
        );
        let schema = json!({
            "type": "object",
            "properties": {
                "description": {"type": "string", "description": "The task in three to five words"},
                "prompt": {"type": "string", "description": "The whole task"},
                "subagent_type": {"type": "string", "description": "The agent that does it"},
                "task_id": {"type": "string", "description": "The task to continue, as an earlier result names it"},
                "background": {
                    "type": "boolean",
                    "description": "Continue without waiting; the result arrives as a separate message",
                },
            },
            "required": ["description", "prompt", "subagent_type"],
        });
        ToolDefinition { name: TASK.into(), description: description.into(), schema: Json::canonical(&schema) }
    }

    fn resources(&self, input: &CallInput) -> Vec<String> {
        // An input that does not decode is refused before it is judged.
        Task::deserialize(&input.value()).map(|task| vec![task.subagent_type.to_string()]).unwrap_or_default()
    }

    fn validate(&self, input: &CallInput) -> Result<(), String> {
        Task::deserialize(&input.value()).map(drop).map_err(|error| error.to_string())
    }

    fn execute<'a>(&'a self, input: CallInput, context: CallContext) -> Boxed<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let task = Task::deserialize(&input.value()).map_err(|error| ToolError(error.to_string()))?;
            self.run(task, context).await
        })
    }
}
