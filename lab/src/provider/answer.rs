//! Answers of three protocols, as events of a stream.

use serde_json::{Value, json};

/// A protocol, by the path that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServedProtocol {
    Chat,
    Responses,
    Messages,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AskedCalls {
    /// How many results of calls follow the last prompt.
    pub(super) results: usize,
    /// How many results there are.
    pub(super) all: usize,
}

/// The events of a stream, each of them whole.
pub(super) fn pieces(stream: &str) -> Vec<String> {
    stream.split_inclusive("\n\n").map(str::to_owned).collect()
}

impl ServedProtocol {
    pub(super) fn of_path(path: &str) -> Option<Self> {
        let ends = |end: &str| path.ends_with(end);
        match () {
            () if ends("/chat/completions") => Some(Self::Chat),
            () if ends("/responses") => Some(Self::Responses),
            () if ends("/messages") => Some(Self::Messages),
            () => None,
        }
    }

    /// Counts the results of calls in a request.
    pub(super) fn asked(self, body: &Value) -> AskedCalls {
        let list = if self == Self::Responses { &body["input"] } else { &body["messages"] };
        let mut asked = AskedCalls::default();
        for item in list.as_array().into_iter().flatten() {
            let blocks = item["content"].as_array();
            let results = match self {
                Self::Chat => usize::from(item["role"] == "tool"),
                Self::Responses => usize::from(item["type"] == "function_call_output"),
                Self::Messages => {
                    blocks.map_or(0, |blocks| blocks.iter().filter(|one| one["type"] == "tool_result").count())
                }
            };
            // A context update comes in the role of the user as well; it follows the results.
            if item["role"] == "user" && results == 0 {
                asked.results = 0;
            }
            asked.results += results;
            asked.all += results;
        }
        asked
    }

    /// A whole answer of one text, a word in each piece.
    pub(super) fn text(self, text: &str) -> String {
        let words: Vec<&str> = text.split_inclusive(' ').collect();
        match self {
            Self::Chat => {
                let words: String = words
                    .iter()
                    .map(|word| data(&json!({"choices": [{"index": 0, "delta": {"content": word}}]})))
                    .collect();
                words + &chat_end("stop")
            }
            Self::Messages => {
                let block = json!({"type": "text", "text": ""});
                let words = words.iter().map(|word| json!({"type": "text_delta", "text": word}));
                messages(&block, words, "end_turn")
            }
            Self::Responses => {
                let item = json!({"type": "message", "id": "item_1", "role": "assistant", "status": "in_progress", "content": []});
                let delta = |word: &&str| {
                    named(
                        "response.output_text.delta",
                        &json!({"type": "response.output_text.delta", "item_id": "item_1", "output_index": 0, "content_index": 0, "delta": word}),
                    )
                };
                let done = json!({"type": "message", "id": "item_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]});
                responses(&item, words.iter().map(delta).collect(), &done)
            }
        }
    }

    /// A whole answer of one call.
    pub(super) fn call(self, id: &str, tool: &str, input: &str) -> String {
        let half = input.len() / 2;
        let half = (half..=input.len()).find(|at| input.is_char_boundary(*at)).unwrap_or(0);
        let halves = input.split_at_checked(half).map_or_else(|| vec![input], |(one, other)| vec![one, other]);
        match self {
            Self::Chat => {
                let begun =
                    json!({"index": 0, "id": id, "type": "function", "function": {"name": tool, "arguments": ""}});
                let mut stream = data(&json!({"choices": [{"index": 0, "delta": {"tool_calls": [begun]}}]}));
                for half in halves {
                    let more = json!({"index": 0, "function": {"arguments": half}});
                    stream += &data(&json!({"choices": [{"index": 0, "delta": {"tool_calls": [more]}}]}));
                }
                stream + &chat_end("tool_calls")
            }
            Self::Messages => {
                let block = json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
                let halves = halves.into_iter().map(|half| json!({"type": "input_json_delta", "partial_json": half}));
                messages(&block, halves, "tool_use")
            }
            Self::Responses => {
                let item = json!({"type": "function_call", "id": "item_1", "call_id": id, "name": tool, "arguments": "", "status": "in_progress"});
                let delta = |half: &str| {
                    named(
                        "response.function_call_arguments.delta",
                        &json!({"type": "response.function_call_arguments.delta", "item_id": "item_1", "output_index": 0, "delta": half}),
                    )
                };
                let done = json!({"type": "function_call", "id": "item_1", "call_id": id, "name": tool, "arguments": input, "status": "completed"});
                responses(&item, halves.into_iter().map(delta).collect(), &done)
            }
        }
    }
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn named(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

fn chat_end(reason: &str) -> String {
    let finish = data(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    let usage =
        data(&json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}}));
    finish + &usage + "data: [DONE]\n\n"
}

fn messages(block: &Value, deltas: impl Iterator<Item = Value>, reason: &str) -> String {
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "lab", "content": [], "stop_reason": null, "usage": {"input_tokens": 12, "output_tokens": 1}});
    let mut stream = named("message_start", &json!({"type": "message_start", "message": message}));
    stream +=
        &named("content_block_start", &json!({"type": "content_block_start", "index": 0, "content_block": block}));
    for delta in deltas {
        stream += &named("content_block_delta", &json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    }
    stream += &named("content_block_stop", &json!({"type": "content_block_stop", "index": 0}));
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    stream += &named("message_delta", &json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}}));
    stream + &named("message_stop", &json!({"type": "message_stop"}))
}

fn responses(item: &Value, deltas: Vec<String>, done: &Value) -> String {
    let created = json!({"id": "resp_1", "object": "response", "status": "in_progress", "output": []});
    let mut stream = named("response.created", &json!({"type": "response.created", "response": created}));
    stream += &named(
        "response.output_item.added",
        &json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
    );
    stream += &deltas.concat();
    stream += &named(
        "response.output_item.done",
        &json!({"type": "response.output_item.done", "output_index": 0, "item": done}),
    );
    let usage = json!({"input_tokens": 12, "output_tokens": 3, "total_tokens": 15});
    let whole = json!({"id": "resp_1", "object": "response", "status": "completed", "output": [done], "usage": usage});
    stream + &named("response.completed", &json!({"type": "response.completed", "response": whole}))
}
