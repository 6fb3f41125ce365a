//! `item_completed`: what Codex shows of a turn. Most of it repeats other lines. Commands and file changes that a script of code mode
//! made are only here.

use super::super::foreign::{JsonObject, compact, quote};
use super::mapping::RolloutMapper;
use annals_core::event::*;
use annals_core::{CallId, Json, Text, Time};

impl RolloutMapper {
    pub(super) fn item_completed(&mut self, line: u64, at: Time, payload: &JsonObject<'_>) {
        let Some(item) = payload.object("item") else { return };
        let (kind, id) = (item.text("type").unwrap_or_default(), item.text("id").unwrap_or_default());
        if self.calls.contains_key(&id) {
            // Exit status and full output of a command, or the changes of a file: the structured value of the next result.
            if let Some(json) = payload.json("item") {
                self.shown.insert(id.clone(), json);
            }
            if kind == "SubAgentActivity" {
                self.agent_activity(line, at, &item);
            }
        } else {
            match kind.as_str() {
                "SubAgentActivity" => self.agent_activity(line, at, &item),
                "CommandExecution" | "FileChange" | "McpToolCall" if !self.had_call(&id) => {
                    self.nested_call(line, at, &kind, &id, &item, payload.json("item"));
                }
                // A command that went on after its call had a result: what it printed reached the model by later calls.
                "CommandExecution" => payload.note("the end of a command that ran in the background"),
                _ => {}
            }
        }
        item.skip_all();
    }

    /// A call that a script made, with its result.
    fn nested_call(&mut self, line: u64, at: Time, kind: &str, id: &str, item: &JsonObject<'_>, whole: Option<Json>) {
        // The user's own command: the line that the model gets says so.
        if item.text("source").is_some_and(|source| source.to_lowercase().contains("user")) {
            return;
        }
        let member = |name: &str| item.raw(name).map(|raw| format!("{}:{}", quote(name), compact(raw.get())));
        let input = |names: &[&str]| {
            let members: Vec<String> = names.iter().filter_map(|name| member(name)).collect();
            Json::received(format!("{{{}}}", members.join(",")))
        };
        let (name, input, structured) = match kind {
            "FileChange" => ("apply_patch".to_owned(), input(&["changes"]), None),
            "CommandExecution" => ("exec_command".to_owned(), input(&["command", "cwd"]), whole),
            _ => {
                let part = |name| item.text(name).unwrap_or_default();
                let arguments = item.json("arguments").unwrap_or_else(|| Json::received("{}"));
                (format!("mcp__{}__{}", part("server"), part("tool")), arguments, whole)
            }
        };
        let call = CallId(self.unique.next(id));
        let index = self.nested_content(line, at);
        let called = ToolCalled { index, call: call.clone(), name, input, hosted: false, metadata: None };
        let failed = item.text("status").is_some_and(|status| status != "completed")
            || item.number("exit_code").is_some_and(|code| code != 0)
            || item.has("error");
        let output = Text::from(printed(item));
        let outcome = if failed { ToolOutcome::Failed } else { ToolOutcome::Completed };
        let error = failed.then(|| output.clone());
        let settled = ToolSettled { output, error, structured, ..ToolSettled::bare(call, outcome) };
        self.push(line, at, vec![called.into(), settled.into()]);
    }
}

/// What a call printed.
fn printed(item: &JsonObject<'_>) -> String {
    if let Some(output) = item.text("aggregated_output") {
        return output;
    }
    let mut texts: Vec<String> = ["stdout", "stderr"].iter().filter_map(|name| item.text(name)).collect();
    for name in ["result", "error"] {
        texts.extend(item.text(name));
        if let Some(result) = item.object(name) {
            texts.extend(result.text("message"));
            texts.extend(result.objects("content").iter().filter_map(|part| {
                part.skip_all();
                part.text("text")
            }));
            result.skip_all();
        }
    }
    texts.retain(|text| !text.is_empty());
    texts.join("\n")
}
