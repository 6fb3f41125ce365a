//! Events that Codex records to show a thread again. Most of them repeat what other lines contain.

use super::super::foreign::JsonObject;
use super::mapping::RolloutMapper;
use super::usage::tokens;
use annals_core::Time;
use annals_core::event::*;

/// Whether an event only repeats other lines, or is about the display.
fn is_display(kind: &str) -> bool {
    const KINDS: [&str; 33] = [
        "agent_message",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "agent_reasoning_section_break",
        "background_event",
        "context_compacted",
        "deprecation_notice",
        "entered_review_mode",
        "exec_command_begin",
        "exec_command_end",
        "exited_review_mode",
        "image_generation_begin",
        "image_generation_end",
        "item_started",
        "mcp_startup_complete",
        "mcp_tool_call_begin",
        "mcp_tool_call_end",
        "model_reroute",
        "patch_apply_begin",
        "patch_apply_end",
        "plan_update",
        "session_configured",
        "skills_update_available",
        "stream_error",
        "task_started",
        "thread_goal_updated",
        "thread_settings_applied",
        "turn_diff",
        "turn_started",
        "user_message",
        "view_image_tool_call",
        "warning",
        "web_search_begin",
    ];
    KINDS.contains(&kind) || kind.starts_with("collab_") || kind.starts_with("web_search_") || kind.ends_with("_delta")
}

impl RolloutMapper {
    pub(super) fn message(&mut self, line: u64, at: Time, payload: &JsonObject<'_>) {
        let kind = payload.text("type").unwrap_or_default();
        match kind.as_str() {
            "token_count" => {
                let info = payload.object("info");
                let used = |name| info.as_ref().and_then(|info| info.object(name)).map(|usage| tokens(&usage));
                let last = used("last_token_usage");
                let usage = self.total.count(used("total_token_usage"), last);
                info.iter().for_each(JsonObject::skip_all);
                match usage {
                    Some(_) if self.is_copy(line, at) => self.spent_elsewhere(payload),
                    Some(_) => self.spent(line, at, usage),
                    None => self.counted_again(line, at, last),
                }
            }
            "task_complete" | "turn_complete" => {
                match payload.object("error") {
                    Some(_) if self.failed => self.close(),
                    Some(error) => self.failed_turn(line, at, &error),
                    None => self.close(),
                }
                self.failed = false;
            }
            "item_completed" => self.item_completed(line, at, payload),
            "collab_agent_spawn_end" => self.agent_activity(line, at, payload),
            "turn_aborted" => {
                let reason = payload.text("reason").unwrap_or_else(|| "interrupted".into());
                self.fail(line, at, Failure { kind: reason, message: "turn aborted".into(), status: None }, false);
            }
            "error" => self.failed_turn(line, at, payload),
            "thread_rolled_back" => {
                let turns = payload.number("num_turns").and_then(|it| usize::try_from(it).ok()).unwrap_or(0);
                self.close();
                let from = self.inputs.len().saturating_sub(turns);
                let first_removed = self.inputs.get(from).copied();
                self.inputs.truncate(from);
                if let Some(first_removed) = first_removed {
                    self.push(line, at, vec![RevertCommitted { first_removed }.into()]);
                }
            }
            kind if is_display(kind) => {}
            kind => payload.note(&format!("{kind}: not recognised")),
        }
        payload.skip_all();
    }
}
