//! Prompts that wait while Claude Code works: `queue-operation` lines. One that is sent is in a line of its own.

use crate::foreign::JsonObject;

/// The prompts that wait.
#[derive(Debug, Default)]
pub struct PromptQueue(Vec<QueuedPrompt>);

#[derive(Debug)]
struct QueuedPrompt {
    line: u64,
    text: String,
}

impl PromptQueue {
    /// Takes in a line of any type.
    pub fn line(&mut self, line: u64, object: &JsonObject<'_>) {
        if object.text("type").as_deref() != Some("queue-operation") {
            return;
        }
        let text = object.text("content");
        match (object.text("operation").as_deref(), text) {
            (Some("enqueue"), Some(text)) => self.0.push(QueuedPrompt { line, text }),
            (Some("dequeue"), _) if !self.0.is_empty() => drop(self.0.remove(0)),
            (Some("remove"), Some(text)) => self.0.retain(|prompt| prompt.text != text),
            (Some("enqueue" | "dequeue"), _) => {}
            _ => self.0.clear(),
        }
    }

    /// The lines of the user's prompts that still wait at the end.
    pub fn never_sent(self) -> impl Iterator<Item = u64> {
        // Claude Code queues notifications as well.
        self.0.into_iter().filter(|prompt| !prompt.text.starts_with('<')).map(|prompt| prompt.line)
    }
}
