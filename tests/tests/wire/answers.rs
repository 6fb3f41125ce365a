//! Recorded answers: the data of their events, one a line.

use annals_providers::wire::Protocol;

/// Two calls; a text; a text; a summary.
pub fn of(protocol: Protocol) -> Vec<Vec<String>> {
    let answers = match protocol {
        Protocol::OpenAiChat => [CHAT_CALLS, CHAT_TEXT, CHAT_TEXT, CHAT_TEXT],
        Protocol::OpenAiResponses => [RESPONSES_CALLS, RESPONSES_TEXT, RESPONSES_TEXT, RESPONSES_TEXT],
        Protocol::AnthropicMessages => [MESSAGES_CALLS, MESSAGES_TEXT, MESSAGES_TEXT, MESSAGES_TEXT],
    };
    answers.map(|answer| answer.lines().map(|line| line.trim().to_owned()).collect()).into()
}

const CHAT_CALLS: &str = r#"{"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"I need "}}]}
{"choices":[{"index":0,"delta":{"reasoning_content":"both files."}}]}
{"choices":[{"index":0,"delta":{"content":"Reading."}}]}
{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read","arguments":""}}]}}]}
{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"read","arguments":"{\"pa"}}]}}]}
{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\": \"a.csv\", \"n\": 12345678901234567890123}"}}]}}]}
{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"th\":\"b.csv\"}"}}]}}]}
{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":64}}}
[DONE]"#;

const CHAT_TEXT: &str = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"a.csv holds "}}]}
{"choices":[{"index":0,"delta":{"content":"bolts."},"finish_reason":"stop"}]}
[DONE]"#;

const RESPONSES_CALLS: &str = r#"{"type":"response.created","response":{"id":"resp_1"}}
{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}
{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"I need both files."}
{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"I need both files."}],"encrypted_content":"gAAAA=="}}
{"type":"response.output_item.added","output_index":1,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"read","arguments":""}}
{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"path\": \"a.csv\","}
{"type":"response.output_item.done","output_index":1,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"read","arguments":"{\"path\": \"a.csv\", \"n\": 12345678901234567890123}"}}
{"type":"response.output_item.added","output_index":2,"item":{"id":"fc_2","type":"function_call","call_id":"call_2","name":"read","arguments":""}}
{"type":"response.output_item.done","output_index":2,"item":{"id":"fc_2","type":"function_call","call_id":"call_2","name":"read","arguments":"{\"path\":\"b.csv\"}"}}
{"type":"response.completed","response":{"usage":{"input_tokens":100,"output_tokens":20,"input_tokens_details":{"cached_tokens":64}}}}"#;

const RESPONSES_TEXT: &str = r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","content":[]}}
{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"a.csv holds bolts."}
{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","phase":"final_answer","content":[{"type":"output_text","text":"a.csv holds bolts."}]}}
{"type":"response.completed","response":{"usage":{"input_tokens":100,"output_tokens":20}}}"#;

const MESSAGES_CALLS: &str = r#"{"type":"message_start","message":{"usage":{"input_tokens":36,"cache_read_input_tokens":64,"output_tokens":1}}}
{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I need both files."}}
{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB+/=="}}
{"type":"content_block_stop","index":0}
{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}
{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a.csv\", "}}
{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"n\": 12345678901234567890123}"}}
{"type":"content_block_stop","index":1}
{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_2","name":"read","input":{}}}
{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"b.csv\"}"}}
{"type":"content_block_stop","index":2}
{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":20}}
{"type":"message_stop"}"#;

const MESSAGES_TEXT: &str = r#"{"type":"message_start","message":{"usage":{"input_tokens":100,"output_tokens":1}}}
{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
{"type":"ping"}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a.csv holds bolts."}}
{"type":"content_block_stop","index":0}
{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20}}
{"type":"message_stop"}"#;
