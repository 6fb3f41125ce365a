//! Subagents that run in the background: a notification says later how each ended.

use super::blocks::tagged;
use annals_core::SessionId;
use annals_core::event::{ChildOutcome, ChildSettled};
use std::collections::HashMap;

/// The subagents in the background that have not ended.
#[derive(Clone, Debug, Default)]
pub(super) struct BackgroundTasks {
    /// By the id of the call that began it, and by its own.
    children: HashMap<String, SessionId>,
}

impl BackgroundTasks {
    /// A subagent began, or was resumed.
    pub(super) fn started(&mut self, call: &str, agent: &str, child: SessionId) {
        for id in [call, agent] {
            self.children.insert(id.to_owned(), child);
        }
    }

    /// The subagents that ended, as the notifications in a text say.
    pub(super) fn settled(&mut self, text: &str) -> Vec<ChildSettled> {
        const END: &str = "</task-notification>";
        let mut settled = Vec::new();
        for notification in text.split_inclusive(END).filter(|part| part.ends_with(END)) {
            // What it returned may contain such tags, too.
            let head = notification.split("<result>").next().unwrap_or(notification);
            let field = |name: &str| tagged(head, name);
            let ids = [field("tool-use-id"), field("task-id")];
            let child = ids.iter().flatten().find_map(|id| self.children.get(id.as_str()).copied());
            let outcome = match field("status").as_deref() {
                Some("completed") => ChildOutcome::Completed,
                Some("failed") => ChildOutcome::Failed,
                Some("killed" | "stopped" | "cancelled" | "canceled") => ChildOutcome::Cancelled,
                _ => continue,
            };
            let Some(child) = child else { continue };
            self.children.retain(|_, other| *other != child);
            let result = tagged(notification, "result").or_else(|| field("summary")).unwrap_or_default().into();
            settled.push(ChildSettled { child, outcome, result });
        }
        settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_settles_its_subagent_once() {
        let mut tasks = BackgroundTasks::default();
        let child = SessionId([7; 16]);
        tasks.started("toolu_1", "a1", child);
        let notification = |id: &str, status: &str| {
            format!(
                "<task-notification>\n<task-id>{id}</task-id>\n<status>{status}</status>\n<summary>Done</summary>\n<result>It has <status>failed</status> main.rs.</result>\n</task-notification>"
            )
        };
        assert_eq!(tasks.settled(&notification("b9", "completed")), Vec::new(), "another task");
        assert_eq!(tasks.settled(&notification("a1", "running")), Vec::new());
        let settled = tasks.settled(&notification("a1", "completed"));
        assert_eq!(settled[0].child, child);
        assert_eq!(settled[0].outcome, ChildOutcome::Completed);
        assert_eq!(settled[0].result.inline(), Some("It has <status>failed</status> main.rs."));
        assert_eq!(tasks.settled(&notification("a1", "completed")), Vec::new());
    }
}
