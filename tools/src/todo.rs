//! The tool `todo`: the session's list of tasks, which is a fact of the log.

use super::typed::{TypedTool, Worked};
use annals_core::event::{MessageEvent, Todo};
use annals_core::{Event, Json, Seq, SessionId};
use annals_runtime::tools::{CallContext, Demand, Past, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// How many tasks a list holds, and how many bytes each.
const TASKS: usize = 200;
const LONGEST: usize = 2_000;

/// How many events are read at once.
const PAGE: usize = 1_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// The whole list, which takes the place of the former one; without it the list is only shown.
    #[serde(alias = "todos", alias = "plan")]
    items: Option<Vec<TaskItem>>,
}

#[derive(Deserialize, JsonSchema)]
struct TaskItem {
    /// The task.
    #[serde(alias = "step")]
    content: String,
    status: TaskStatus,
    priority: Option<TaskPriority>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TaskStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TaskPriority {
    High,
    Medium,
    Low,
}

impl TaskItem {
    fn todo(self) -> Todo {
        let status = match self.status {
            TaskStatus::Pending => "pending",
            TaskStatus::InProgress => "in_progress",
            TaskStatus::Completed => "completed",
            TaskStatus::Cancelled => "cancelled",
        };
        let priority = self.priority.map(|priority| match priority {
            TaskPriority::High => "high",
            TaskPriority::Medium => "medium",
            TaskPriority::Low => "low",
        });
        Todo { content: self.content, status: status.into(), priority: priority.map(str::to_owned) }
    }
}

/// Keeps a list of tasks.
pub(super) struct TodoList;

impl TypedTool for TodoList {
    type Input = Input;
    const NAME: &str = "todo";
    const ABOUT: &str = "Keeps your list of tasks, which the user sees: give the whole list whenever it changes. Use it for \
        work of three steps and more, and have one task in progress at a time.";

    fn check(&self, input: &Input) -> Result<(), String> {
        let items = input.items.as_deref().unwrap_or_default();
        if items.len() > TASKS {
            return Err(format!("a list holds at most {TASKS} tasks"));
        }
        match items.iter().any(|item| item.content.trim().is_empty() || item.content.len() > LONGEST) {
            true => Err(format!("the `content` of a task has 1 to {LONGEST} bytes")),
            false => Ok(()),
        }
    }

    fn demands(&self, _: &Input) -> Vec<Demand> {
        vec![Demand { action: Self::ACTION.into(), resources: vec!["*".into()] }]
    }

    async fn run(&self, input: Input, context: CallContext) -> Worked {
        let Some(items) = input.items else {
            let items = recorded(&context.past, context.session).await?;
            return Ok(tool_output(&items));
        };
        let items: Vec<Todo> = items.into_iter().map(TaskItem::todo).collect();
        // A rerun of the recorded session records the same list.
        let structured = Json::canonical(&json!({ "recorded": items }));
        Ok(ToolOutput { todos: Some(items.clone()), structured: Some(structured), ..tool_output(&items) })
    }
}

fn tool_output(items: &[Todo]) -> ToolOutput {
    let lines = items.iter().map(|item| {
        let mark = match item.status.as_str() {
            "completed" => 'x',
            "in_progress" => '>',
            "cancelled" => '-',
            _ => ' ',
        };
        format!("[{mark}] {}", item.content)
    });
    let lines: Vec<String> = lines.collect();
    let text = if lines.is_empty() { "The list is empty.".to_owned() } else { lines.join("\n") };
    let open = items.iter().filter(|item| matches!(item.status.as_str(), "pending" | "in_progress")).count();
    let structured = json!({ "tasks": items.len(), "open": open });
    ToolOutput { structured: Some(Json::canonical(&structured)), ..ToolOutput::text(text) }
}

/// The list as the log has it.
async fn recorded(past: &Past, session: SessionId) -> Result<Vec<Todo>, String> {
    let (mut items, mut from) = (Vec::new(), Seq::ZERO);
    let Some(log) = past.log() else { return Ok(items) };
    loop {
        let page = log.read(session, from, PAGE).await.map_err(|error| format!("The list cannot be read: {error}"))?;
        let before = from;
        for record in page.iter().flat_map(|slice| slice.records()) {
            if let Event::Message(MessageEvent::TodoUpdated(updated)) = record.event {
                items = updated.items.clone();
            }
            from = Seq(record.seq.0 + 1);
        }
        if from == before {
            return Ok(items);
        }
    }
}
