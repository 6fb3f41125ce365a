//! What a request is for: a turn of its conversation, or something aside.

use annals_core::event::Purpose;
use annals_providers::recorded::{Speaker, WireConversation, WireItem};

/// Agents whose requests aside are known by their content.
pub(crate) const KNOWN: [&str; 5] = ["claude-code", "codex", "opencode", "gemini", "qwen"];

/// What agents write when they ask for a summary of a conversation.
const SUMMARISES: [&str; 6] = [
    "Your task is to create a detailed summary of",
    "CONTEXT CHECKPOINT COMPACTION",
    "Provide a detailed prompt for continuing our conversation above",
    "context summarization assistant",
    "context summarization agent",
    "distilling chat history into a structured XML <state_snapshot>",
];

/// A request, as far as its purpose depends on it.
pub(crate) struct Requester<'c> {
    pub(crate) agent: &'c str,
    pub(crate) conversation: &'c WireConversation,
    /// Whether it only counts tokens.
    pub(crate) counts: bool,
    /// Whether the agent says that it asks for a summary.
    pub(crate) compacts: bool,
    /// Whether its conversation had requests before.
    pub(crate) has_main: bool,
}

/// The purpose of a request aside from the turns of a conversation; `None` if it may be a turn.
pub(crate) fn aside(asking: &Requester<'_>) -> Option<Purpose> {
    let conversation = asking.conversation;
    if asking.counts || conversation.output_limit == Some(1) {
        return Some(Purpose::Other);
    }
    // Only of an agent whose conversations have tools is one without known to be aside.
    if !KNOWN.contains(&asking.agent) {
        return None;
    }
    if asking.has_main && (asking.compacts || summarises(conversation)) {
        return Some(Purpose::Summary);
    }
    if !conversation.tools.is_empty() || speaks(conversation) && !has_schema(conversation) {
        return None;
    }
    let titles = conversation.system().iter().any(|text| text.to_lowercase().contains("title"));
    Some(if titles { Purpose::Title } else { Purpose::Other })
}

/// Whether the newest message, or the system prompt, asks for a summary.
fn summarises(conversation: &WireConversation) -> bool {
    let asks = |text: &str| SUMMARISES.iter().any(|words| text.contains(words));
    let newest = conversation.units.last().filter(|unit| unit.speaker == Speaker::User);
    let texts = newest.into_iter().flat_map(|unit| &unit.items).filter_map(|item| match item {
        WireItem::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.chain(conversation.instructions.iter().map(|instruction| instruction.text.as_str())).any(asks)
}

/// Whether the model spoke already.
fn speaks(conversation: &WireConversation) -> bool {
    conversation.units.iter().any(|unit| unit.speaker == Speaker::Assistant)
}

/// Whether the answer is asked for as JSON of a schema.
fn has_schema(conversation: &WireConversation) -> bool {
    let options = &conversation.options;
    let values = options.controls.values().chain(options.body.values());
    let texts = values.filter_map(|value| value.0.inline());
    let words = ["\"responseJsonSchema\"", "\"responseSchema\"", "\"json_schema\""];
    texts.into_iter().any(|text| words.iter().any(|word| text.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::Json;
    use annals_core::event::ToolDefinition;
    use annals_providers::recorded::{SystemInstruction, Unit};

    fn asked(text: &str, system: &str) -> WireConversation {
        let mut unit = Unit::new(Speaker::User);
        unit.items.push(WireItem::Text(text.to_owned()));
        let instruction = SystemInstruction { pointer: String::new(), text: system.to_owned(), is_volatile: false };
        WireConversation { units: vec![unit], instructions: vec![instruction], ..WireConversation::default() }
    }

    fn purpose(agent: &str, conversation: &WireConversation, has_main: bool) -> Option<Purpose> {
        aside(&Requester { agent, conversation, counts: false, compacts: false, has_main })
    }

    #[test]
    fn requests_aside_are_known_by_what_they_ask_for() {
        let title = asked("Generate a title for this conversation", "You are a title generator.");
        assert_eq!(purpose("opencode", &title, false), Some(Purpose::Title));
        assert_eq!(purpose("my-agent", &title, true), None, "an SDK may speak without tools");
        let summary =
            asked("CRITICAL: Respond with TEXT ONLY. Your task is to create a detailed summary of it", "You are");
        assert_eq!(purpose("claude-code", &summary, true), Some(Purpose::Summary));
        let system = "You are a context summarization agent. You are given a conversation.";
        let summary = asked("Here is the conversation so far:", system);
        assert_eq!(purpose("opencode", &summary, true), Some(Purpose::Summary));
        let mut classifier = asked("list", "Rate the complexity");
        let schema = Json::received(r#"{"responseJsonSchema":{"type":"OBJECT"}}"#);
        classifier.options.controls.insert("generationConfig".to_owned(), schema);
        assert_eq!(purpose("gemini", &classifier, false), Some(Purpose::Other));
        classifier.tools =
            vec![ToolDefinition { name: "ls".into(), description: "".into(), schema: Json::received("{}") }];
        assert_eq!(purpose("gemini", &classifier, false), None, "with tools it is a turn");
    }
}
