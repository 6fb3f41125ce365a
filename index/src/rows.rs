//! Rows of messages and calls, made from the folds.

use annals_core::event::{CompactionReason, Finish, ToolOutcome};
use annals_core::{Blobs, Json, Text, Time};
use annals_projections::{Assistant, Body, Content, Message, Status, ToolCall};
use serde_json::Value;

/// How many characters of a message a row has at most. Larger texts are in the log.
const LONGEST: usize = 4_000;
/// The same for outputs of tools, which are most of what is in a log.
const OUTPUT: usize = 1_000;

/// A message as a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageRow {
    pub role: &'static str,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub text: String,
    /// Characters of the whole text.
    pub chars: u64,
    pub reasoning: Option<String>,
    pub finish: Option<&'static str>,
    pub error: Option<String>,
    pub ended: Option<Time>,
}

impl MessageRow {
    pub fn of(message: &Message, blobs: &dyn Blobs) -> Self {
        let of_text = |role, text: &Text| Self {
            role,
            text: excerpt([text].into_iter(), LONGEST, blobs),
            chars: text.chars(),
            ..Self::default()
        };
        let named = |role, name: &str| Self {
            role,
            text: name.to_owned(),
            chars: name.chars().count() as u64,
            ..Self::default()
        };
        match &message.body {
            Body::User { text, .. } => of_text("user", text),
            Body::Assistant(assistant) => Self::of_answer(assistant, blobs),
            Body::System { text, .. } => of_text("context", text),
            Body::Synthetic { text } => of_text("synthetic", text),
            Body::Shell { command, output, .. } => Self {
                role: "shell",
                text: excerpt([command, output].into_iter(), LONGEST, blobs),
                chars: command.chars() + output.chars(),
                ..Self::default()
            },
            Body::Compaction { reason, summary, .. } => {
                Self { finish: Some(compaction(*reason)), ..of_text("summary", summary) }
            }
            Body::AgentSwitched { agent } => named("agent-switch", agent.as_str()),
            Body::ModelSwitched { model } => named("model-switch", model.as_str()),
        }
    }

    fn of_answer(answer: &Assistant, blobs: &dyn Blobs) -> Self {
        let texts = answer.content.iter().filter_map(|content| match content {
            Content::Text { text, .. } => Some(text),
            Content::Reasoning { .. } | Content::Tool(_) => None,
        });
        let reasoning = answer.content.iter().filter_map(|content| match content {
            Content::Reasoning { text, .. } => Some(text),
            Content::Text { .. } | Content::Tool(_) => None,
        });
        Self {
            role: "assistant",
            agent: Some(answer.agent.as_str().to_owned()),
            model: Some(answer.model.as_str().to_owned()),
            chars: texts.clone().map(Text::chars).sum(),
            text: excerpt(texts, LONGEST, blobs),
            reasoning: Some(excerpt(reasoning, LONGEST, blobs)).filter(|text| !text.is_empty()),
            finish: answer.finish.map(Finish::as_str),
            error: answer.error.as_ref().map(|error| excerpt([&error.message].into_iter(), LONGEST, blobs)),
            ended: answer.ended,
        }
    }
}

fn compaction(reason: CompactionReason) -> &'static str {
    reason.as_str()
}

/// A call as a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallRow {
    pub call: String,
    pub tool: String,
    pub input: Option<String>,
    pub status: &'static str,
    pub outcome: Option<&'static str>,
    pub output: Option<String>,
    pub output_chars: u64,
    pub error: Option<String>,
    pub ended: Option<Time>,
}

impl CallRow {
    pub fn of(call: &ToolCall, blobs: &dyn Blobs) -> Self {
        Self {
            call: call.call.as_str().to_owned(),
            tool: call.name.clone(),
            input: input(&call.input, blobs),
            status: Status::as_str(call.status),
            outcome: call.outcome.map(ToolOutcome::as_str),
            output: (!call.output.is_empty()).then(|| excerpt([&call.output].into_iter(), OUTPUT, blobs)),
            output_chars: call.output.chars(),
            error: call.error.as_ref().map(|error| excerpt([error].into_iter(), OUTPUT, blobs)),
            ended: call.settled.map(|(_, at)| at),
        }
    }
}

/// The beginning of texts, with an empty line between them.
fn excerpt<'a>(texts: impl Iterator<Item = &'a Text>, longest: usize, blobs: &dyn Blobs) -> String {
    let (mut out, mut left) = (String::new(), longest);
    for text in texts.filter(|text| !text.is_empty()) {
        if left == 0 {
            break;
        }
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        let text = text.resolve(blobs);
        let end = text.char_indices().nth(left).map_or(text.len(), |(at, _)| at);
        let part = text.get(..end).unwrap_or_default();
        left -= part.chars().count();
        out.push_str(part);
    }
    out
}

/// The input of a call as JSON, so that SQL can take it apart: long strings in it are cut, other text is a JSON string.
fn input(input: &Json, blobs: &dyn Blobs) -> Option<String> {
    let text = input.0.resolve(blobs);
    if text.is_empty() {
        return None;
    }
    let Ok(mut value) = serde_json::from_str::<Value>(&text) else {
        return Some(Value::from(text.chars().take(LONGEST).collect::<String>()).to_string());
    };
    if text.len() <= LONGEST {
        return Some(text.into_owned());
    }
    cut(&mut value, LONGEST / 2);
    let short = value.to_string();
    // Very many short values: SQL gets none of them, since a part would not be JSON.
    (short.len() <= 4 * LONGEST).then_some(short)
}

fn cut(value: &mut Value, longest: usize) {
    match value {
        Value::String(text) => {
            if let Some((at, _)) = text.char_indices().nth(longest) {
                text.truncate(at);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cut(item, longest)),
        Value::Object(members) => members.values_mut().for_each(|member| cut(member, longest)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
