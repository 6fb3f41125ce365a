//! What Claude Code gives to the model besides the conversation: its system prompt, and reminders.

use super::mapping::TranscriptBranch;
use crate::foreign::JsonObject;
use annals_core::event::EpochCause;
use annals_core::{Event, Key};
use serde_json::Value;

const BEGINNING: &str = "<system-reminder>";
const END: &str = "</system-reminder>";

/// Context that waits for the next answer, and the system prompt in force.
#[derive(Clone, Default)]
pub(super) struct TranscriptContext {
    /// Texts that attachments were rendered to.
    reminders: Vec<(Key, String)>,
    /// The newest system prompt that the transcript has.
    prompt: Option<Vec<String>>,
    /// The system prompt in force, of a transcript without requests.
    in_force: Option<Vec<String>>,
    /// The model of the newest epoch; `None` before the first.
    model: Option<String>,
    /// What ended the newest epoch.
    ended: Option<EpochCause>,
}

impl TranscriptContext {
    /// The next epoch begins since this happened.
    pub(super) fn end(&mut self, cause: EpochCause) {
        self.ended = Some(cause);
        self.in_force = None;
    }

    /// Why an epoch begins now.
    pub(super) fn cause(&mut self, model: &str) -> EpochCause {
        let before = self.model.replace(model.to_owned());
        match (self.ended.take(), before) {
            (Some(cause), Some(_)) => cause,
            (_, None) => EpochCause::FirstTurn,
            (None, Some(before)) if before != model => EpochCause::ModelSwitched,
            (None, Some(_)) => EpochCause::Incompatible,
        }
    }

    /// A request says what the model was given.
    pub(super) fn given(&mut self) {
        self.reminders.clear();
    }
}

impl TranscriptBranch {
    /// Takes in what an attachment was rendered to: the model reads it with the next request.
    pub(super) fn rendered(&mut self, kind: &str, object: &JsonObject<'_>) -> Vec<String> {
        let role = object.text("renderedRole");
        object.skip(&["renderedInHumanTurn", "renderedBesideToolResult"]);
        let mut texts = Vec::new();
        for piece in object.objects("rendered") {
            match piece.text("content") {
                Some(text) => texts.push(text),
                None => {
                    let blocks = piece.objects("content");
                    texts.extend(blocks.iter().filter_map(|block| {
                        block.skip(&["type"]);
                        block.text("text")
                    }));
                }
            }
            piece.skip(&["uuid", "origin"]);
        }
        // The system role has no need of the marks around a reminder.
        let inner = |text: String| if role.as_deref() == Some("system") { within(&text).to_owned() } else { text };
        let texts: Vec<String> = texts.into_iter().map(inner).filter(|text| !text.trim().is_empty()).collect();
        if let Some(key) = reminder_key(kind) {
            for text in &texts {
                if let Some(state) = &mut self.requests {
                    state.render(&key, text.trim());
                }
                self.context.reminders.push((key.clone(), text.clone()));
            }
        }
        texts
    }

    /// Takes in the system prompt that an attachment has.
    pub(super) fn prompt(&mut self, attachment: &JsonObject<'_>) {
        let texts = attachment.texts("systemPrompt");
        let prefix = attachment.text("cliPrefix");
        attachment.skip_all();
        if !texts.is_empty() {
            self.context.prompt = Some(prefix.into_iter().chain([texts.join("\n\n")]).collect());
        }
    }

    /// What the model was given before an answer whose request is not recorded.
    pub(super) fn unrequested(&mut self, events: &mut Vec<Event>) {
        let is_requested = self.requests.as_ref().is_some_and(|state| state.has_system());
        if let Some(prompt) = self.context.prompt.clone().filter(|_| !is_requested)
            && self.context.in_force.as_ref() != Some(&prompt)
        {
            events.push(self.epoch(prompt.clone()));
            self.context.in_force = Some(prompt);
        }
        for (key, text) in std::mem::take(&mut self.context.reminders) {
            match &mut self.requests {
                Some(state) => state.admit(&key, &text, events),
                None => events.push(annals_core::event::ContextAdmitted { keys: vec![key], text: text.into() }.into()),
            }
        }
    }
}

/// The key of what an attachment of a kind adds.
pub(super) fn reminder_key(kind: &str) -> Option<Key> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
    let name: String = kind.to_lowercase().chars().map(|c| if allowed(c) { c } else { '-' }).collect();
    format!("claude-code/{name}").parse().ok()
}

/// The texts of a message that the program added, each with a name for its kind.
pub(super) fn contexts_of(message: &Value) -> Vec<(&'static str, String)> {
    let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
    let blocks = message.get("content").and_then(Value::as_array);
    let texts = blocks.into_iter().flatten().filter_map(|block| {
        let is_text = block.get("type").and_then(Value::as_str) == Some("text");
        block.get("text").filter(|_| is_text)?.as_str()
    });
    let named = texts.filter_map(|text| match role {
        "system" => Some(("system", text.to_owned())),
        "user" if is_reminder(text) => Some(("reminder", text.to_owned())),
        _ => None,
    });
    named.collect()
}

fn is_reminder(text: &str) -> bool {
    text.trim_start().starts_with(BEGINNING) && text.trim_end().ends_with(END)
}

/// A text without the marks of a reminder around it.
pub(super) fn within(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix(BEGINNING).and_then(|text| text.strip_suffix(END)).unwrap_or(text).trim()
}

/// The rendered texts in a text that the program added, in their order, and the rest of it, if there is any. What was said in the
/// conversation is left out.
pub(super) fn split(text: &str, rendered: &[(Key, String)], texts: &[String]) -> (Vec<(Key, String)>, Option<String>) {
    let mut rest = text.to_owned();
    let mut found: Vec<(usize, Key, String)> = Vec::new();
    // The longest first: a short one may be within another.
    let mut known: Vec<&(Key, String)> = rendered.iter().filter(|(_, piece)| text.contains(piece.as_str())).collect();
    known.sort_by_key(|(_, piece)| std::cmp::Reverse(piece.len()));
    for (key, piece) in known {
        if let (Some(at), Some(_)) = (text.find(piece.as_str()), rest.find(piece.as_str())) {
            rest = rest.replacen(piece.as_str(), "", 1);
            found.push((at, key.clone(), piece.clone()));
        }
    }
    let mut is_part = !found.is_empty();
    for known in texts {
        if rest.contains(known.as_str()) {
            rest = rest.replacen(known.as_str(), "", 1);
            is_part = true;
        }
    }
    found.sort_by_key(|(at, ..)| *at);
    let pieces = found.into_iter().map(|(_, key, piece)| (key, piece)).collect();
    let left = within(&rest);
    let rest = (!left.is_empty()).then(|| if is_part { left.to_owned() } else { text.to_owned() });
    (pieces, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_program_is_split_into_what_is_known_of_it() {
        let key = |name: &str| reminder_key(name).unwrap();
        let rendered = vec![(key("date"), "Today is Friday.".to_owned()), (key("model"), "You are Opus.".to_owned())];
        let (pieces, rest) = split("You are Opus.\n\nToday is Friday.", &rendered, &[]);
        assert_eq!(
            pieces.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(),
            ["claude-code/model", "claude-code/date"]
        );
        assert_eq!(rest, None);
        let reminder = "<system-reminder>\nBe kind.\n</system-reminder>";
        assert_eq!(split(reminder, &rendered, &[]), (Vec::new(), Some(reminder.to_owned())));
        let (_, rest) = split("NOT USER INPUT\n\nthe task is done", &[], &["the task is done".to_owned()]);
        assert_eq!(rest.as_deref(), Some("NOT USER INPUT"));
        assert_eq!(reminder_key("Agent Listing/x").unwrap().as_str(), "claude-code/agent-listing-x");
    }
}
