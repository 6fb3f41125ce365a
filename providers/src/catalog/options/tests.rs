use super::{OptionsError, partition};
use crate::wire::Protocol;
use annals_core::NoBlobs;
use serde_json::{Map, Value, json};

/// `controls / options / body`, each as canonical JSON.
fn partitioned(protocol: Protocol, settings: &Value) -> Result<[Value; 3], OptionsError> {
    let options = partition(protocol, settings.as_object().unwrap_or(&Map::new()))?;
    let values = |part: std::collections::BTreeMap<String, annals_core::Json>| -> Value {
        part.into_iter().map(|(name, value)| (name, value.value(&NoBlobs))).collect::<Map<_, _>>().into()
    };
    Ok([values(options.controls), values(options.options), values(options.body)])
}

#[test]
fn settings_are_taken_apart_into_controls_options_and_body_fields() {
    let chat = Protocol::OpenAiChat;
    for (protocol, settings, parts) in [
        (chat, json!({}), [json!({}), json!({}), json!({})]),
        (
            chat,
            json!({"maxOutputTokens": 8, "topP": 0.5, "topK": 3, "presencePenalty": 1, "frequencyPenalty": 2, "seed": 7,
                   "stopSequences": ["x"], "temperature": 0}),
            [
                json!({"max_tokens": 8, "top_p": 0.5, "top_k": 3, "presence_penalty": 1, "frequency_penalty": 2,
                       "seed": 7, "stop": ["x"], "temperature": 0}),
                json!({}),
                json!({}),
            ],
        ),
        (
            Protocol::OpenAiResponses,
            json!({"reasoningEffort": "high", "reasoning_summary": "auto", "store": false, "textVerbosity": "low",
                   "serviceTier": "flex", "include": ["reasoning.encrypted_content"]}),
            [
                json!({}),
                json!({"openai.reasoningEffort": "high", "openai.reasoningSummary": "auto", "openai.store": false,
                       "openai.textVerbosity": "low", "openai.serviceTier": "flex",
                       "openai.include": ["reasoning.encrypted_content"]}),
                json!({}),
            ],
        ),
        (
            Protocol::AnthropicMessages,
            json!({"thinking": {"type": "enabled", "budgetTokens": 4096}, "effort": "low", "speed": "fast"}),
            [
                json!({}),
                json!({"anthropic.thinking": {"type": "enabled", "budgetTokens": 4096}, "anthropic.effort": "low"}),
                json!({"speed": "fast"}),
            ],
        ),
        // What is an option of one protocol is a mere body field of another.
        (
            chat,
            json!({"thinking": {"type": "disabled"}}),
            [json!({}), json!({}), json!({"thinking": {"type": "disabled"}})],
        ),
        // What another protocol alone knows says nothing, or is kept for its provider.
        (
            chat,
            json!({"reasoningSummary": "auto", "serviceTier": "flex"}),
            [json!({}), json!({"openai.serviceTier": "flex"}), json!({})],
        ),
        (
            Protocol::AnthropicMessages,
            json!({"reasoningEffort": "high", "effort": "max", "openai": {"store": false, "x": 1}}),
            [
                json!({}),
                json!({"openai.reasoningEffort": "high", "anthropic.effort": "max", "openai.store": false, "openai.x": 1}),
                json!({}),
            ],
        ),
        // Namespaces; what one's own does not know goes over the body, what another's has is kept for it.
        (
            chat,
            json!({"providerOptions": {"openai": {"reasoning_effort": "low", "logprobs": true},
                                       "gemini": {"thinkingConfig": {"thinkingBudget": 0}}, "groq": {"x": 1}}}),
            [
                json!({}),
                json!({"openai.reasoningEffort": "low", "gemini.thinkingConfig": {"thinkingBudget": 0}, "groq.x": 1}),
                json!({"logprobs": true}),
            ],
        ),
        // Later places win, and null says nothing.
        (
            chat,
            json!({"reasoningEffort": "low", "openai": {"reasoningEffort": "high"}, "a": 1, "extraBody": {"a": 2, "b": 1},
                   "body": {"a": 3}, "topP": null, "c": null}),
            [json!({}), json!({"openai.reasoningEffort": "high"}), json!({"a": 3, "b": 1})],
        ),
        // Keys and addresses belong to no request, wherever they stand.
        (
            chat,
            json!({"apiKey": "k", "baseURL": "u", "headers": {}, "openai": {"apiKey": "k"}, "body": {"apiKey": "k"}}),
            [json!({}), json!({}), json!({})],
        ),
    ] {
        assert_eq!(partitioned(protocol, &settings), Ok(parts), "{protocol} {settings}");
    }
}

#[test]
fn a_body_field_of_the_protocol_is_refused_by_name() {
    for (protocol, settings, fields) in [
        (Protocol::OpenAiChat, json!({"body": {"messages": [], "model": "x"}}), vec!["messages", "model"]),
        (Protocol::OpenAiResponses, json!({"extraBody": {"input": []}}), vec!["input"]),
        (Protocol::AnthropicMessages, json!({"system": "x"}), vec!["system"]),
    ] {
        let fields = fields.into_iter().map(str::to_owned).collect();
        assert_eq!(partitioned(protocol, &settings), Err(OptionsError::ProtocolOwned(fields)), "{settings}");
    }
}

#[test]
fn an_effort_that_no_model_knows_is_an_error() {
    for settings in [json!({"reasoningEffort": "enormous"}), json!({"openai": {"reasoning_effort": 3}})] {
        let error = partitioned(Protocol::OpenAiChat, &settings).err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("there is no reasoning effort")), "{settings}");
    }
    let refused = partitioned(Protocol::OpenAiChat, &json!({"providerOptions": 1}));
    assert_eq!(refused, Err(OptionsError::NotATable("providerOptions".into())));
}
