//! A golden per protocol, and what is refused.

use super::rich::*;
use crate::wire::{BodyError, Protocol, RequestBody, SCRIPTED, encode};
use annals_core::{Digest, Json};
use annals_projections::{Block, LAST_STEP, Request, Role};
use std::collections::BTreeMap;

fn golden(protocol: Protocol) -> Result<String, BodyError> {
    let body = body(&rich(protocol))?;
    assert!(serde_json::from_str::<serde::de::IgnoredAny>(&body).is_ok(), "{body}");
    Ok(drawn(&body))
}

#[test]
fn everything_as_chat_completions() -> Result<(), BodyError> {
    insta::assert_snapshot!(golden(Protocol::OpenAiChat)?);
    Ok(())
}

#[test]
fn everything_as_responses() -> Result<(), BodyError> {
    insta::assert_snapshot!(golden(Protocol::OpenAiResponses)?);
    Ok(())
}

#[test]
fn everything_as_messages() -> Result<(), BodyError> {
    insta::assert_snapshot!(golden(Protocol::AnthropicMessages)?);
    Ok(())
}

#[test]
fn a_body_is_known_by_the_hash_of_its_bytes() -> Result<(), BodyError> {
    for protocol in Protocol::ALL {
        let one = encode(&rich(protocol), session())?;
        assert_eq!(one, encode(&rich(protocol), session())?, "{protocol}");
        let bytes = one.as_ref().map(|RequestBody { bytes, .. }| Digest::of(bytes));
        assert_eq!(one.map(|body| body.digest), bytes, "{protocol}");
    }
    Ok(())
}

#[test]
fn nothing_is_encoded_for_a_test_model() -> Result<(), BodyError> {
    let mut request = rich(Protocol::OpenAiChat);
    request.model.protocol = SCRIPTED.into();
    assert_eq!(encode(&request, session())?, None);
    Ok(())
}

/// One of the three lists of a request's options.
type Listed = fn(&mut Request) -> &mut BTreeMap<String, Json>;

fn refused(protocol: Protocol, spoil: impl FnOnce(&mut Request)) -> String {
    let mut request = rich(protocol);
    spoil(&mut request);
    encode(&request, session()).map_or_else(|error| error.to_string(), |_| "accepted".into())
}

#[test]
fn what_a_protocol_cannot_say_is_refused_with_what_it_can() {
    use Protocol::{AnthropicMessages, OpenAiChat, OpenAiResponses};
    fn set(name: &'static str, value: &'static str, list: Listed) -> impl FnOnce(&mut Request) {
        move |request| {
            list(request).insert(name.into(), Json::received(value));
        }
    }
    let controls: Listed = |request| &mut request.options.controls;
    let options: Listed = |request| &mut request.options.options;
    let body: Listed = |request| &mut request.options.body;
    let shown = [
        refused(OpenAiResponses, set("top_k", "5", controls)),
        refused(OpenAiChat, set("max_tokens", "0", controls)),
        refused(OpenAiChat, set("openai.reasoningEfort", "\"low\"", options)),
        refused(OpenAiResponses, set("openai.reasoningEffort", "\"extreme\"", options)),
        refused(AnthropicMessages, set("openai.whatever", "1", options)),
        refused(AnthropicMessages, set("messages", "[]", body)),
        refused(OpenAiChat, set("extra", "[missing blob", body)),
        refused(OpenAiChat, |request| request.model.id.clear()),
        refused(OpenAiChat, |request| request.model.encoding = 2),
        refused(OpenAiChat, |request| request.model.protocol = "gemini".into()),
        refused(OpenAiChat, |request| request.tools.iter_mut().for_each(|tool| tool.schema = Json::received("{"))),
    ];
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn the_runtimes_last_word_is_told_to_a_model_that_takes_no_beginning_of_its_answer() -> Result<(), BodyError> {
    let messages = || vec![message(Role::User, vec![text("Go.")]), message(Role::Assistant, vec![text(LAST_STEP)])];
    let anthropic = body(&plain(Protocol::AnthropicMessages, messages()))?;
    assert!(anthropic.contains(r#"{"type":"text","text":"<system-update>\nCRITICAL"#), "{anthropic}");
    assert!(!anthropic.contains(r#""role":"assistant""#), "{anthropic}");
    let chat = body(&plain(Protocol::OpenAiChat, messages()))?;
    assert!(chat.contains(r#"{"role":"assistant","content":"CRITICAL"#), "{chat}");
    Ok(())
}

#[test]
fn a_context_message_stands_natively_only_where_messages_allows_it() -> Result<(), BodyError> {
    let system = || message(Role::System, vec![text("Now <this> holds.")]);
    let native =
        |messages| body(&plain(Protocol::AnthropicMessages, messages)).map(|body| body.contains(r#""role":"system""#));
    let user = || message(Role::User, vec![text("Go.")]);
    let answer = || message(Role::Assistant, vec![text("Done.")]);
    assert!(native(vec![user(), system()])?);
    assert!(native(vec![user(), system(), answer(), user()])?);
    assert!(!native(vec![system(), user()])?);
    assert!(!native(vec![user(), system(), system()])?);
    assert!(!native(vec![user(), answer(), system(), user()])?);
    assert!(!native(vec![user(), system(), message(Role::Assistant, vec![text(LAST_STEP)])])?);
    let wrapped = body(&plain(Protocol::AnthropicMessages, vec![user(), answer(), system(), user()]))?;
    assert!(wrapped.contains(r#""<system-update>\nNow &lt;this&gt; holds.\n</system-update>"#), "{wrapped}");
    Ok(())
}

#[test]
fn media_are_sent_where_they_may_be_and_told_in_words_where_not() -> Result<(), BodyError> {
    let shown = |mime: &str, name: Option<&str>, uri: &str| -> Result<String, BodyError> {
        let attachment = attachment(mime, name, uri);
        let media = annals_projections::Block::Media { attachment, seq: None };
        let body = body(&plain(Protocol::OpenAiChat, vec![message(Role::User, vec![text(""), media])]))?;
        let start = body.find("[{\"type\"").unwrap_or_default();
        let part: String = body.chars().skip(start).take_while(|c| *c != ']').take(160).collect();
        Ok(part)
    };
    let large = format!("data:image/png;base64,{}", "AAAA".repeat(7 * 1024 * 1024));
    let shown = [
        shown("image/png", Some("a.png"), PNG)?,
        shown("IMAGE/PNG", Some("a.png"), PNG)?,
        shown("image/jpeg", Some("a.jpg"), PNG)?,
        shown("image/png", Some("a.png"), "data:image/png;base64,iVBORw0KGgp=")?,
        shown("image/png", Some("a.png"), "data:image/png,raw")?,
        shown("image/png", Some("a.png"), "https://example.org/a.png")?,
        shown("image/svg+xml", None, "data:image/svg+xml;base64,PHN2Zz4=")?,
        shown("image/png", Some("large.png"), &large)?,
        shown("text/plain", None, "data:text/plain;charset=utf-8;base64,aGk=")?,
        shown("text/plain", Some("bin"), "data:text/plain;base64,/w==")?,
        shown("audio/wav", Some("a.wav"), "data:audio/wav;base64,AAAA")?,
        shown("text/plain", Some("notes.txt"), "/srv/notes.txt")?,
    ];
    insta::assert_snapshot!(shown.join("\n"));
    Ok(())
}

#[test]
fn what_a_model_reasons_is_asked_for_where_it_must_come_back() -> Result<(), BodyError> {
    let asks = |id: &str, option: Option<(&str, &str)>| -> Result<bool, BodyError> {
        let mut request = plain(Protocol::OpenAiResponses, vec![message(Role::User, vec![text("Go.")])]);
        request.model.id = id.into();
        request.options.options.extend(option.map(|(name, value)| (name.to_owned(), Json::received(value))));
        Ok(body(&request)?.contains("reasoning.encrypted_content"))
    };
    for id in ["o3", "o4-mini", "gpt-5", "gpt-5.2-codex", "openai/gpt-5-mini", "codex-mini"] {
        assert!(asks(id, None)?, "{id}");
        assert!(!asks(id, Some(("openai.store", "true")))?, "{id}");
        assert!(!asks(id, Some(("openai.include", "[]")))?, "{id}");
    }
    for id in ["gpt-4.1", "gpt-5-chat-latest", "gpt-50", "o30", "codexless"] {
        assert!(!asks(id, None)?, "{id}");
        assert!(asks(id, Some(("openai.reasoningSummary", "\"auto\"")))?, "{id}");
    }
    Ok(())
}

#[test]
fn an_answer_of_reasoning_alone_leaves_no_message_that_providers_refuse() -> Result<(), BodyError> {
    let thought = |metadata: &str| Block::Reasoning { text: "Hm.".into(), metadata: Some(metadata.into()), seq: None };
    let user = || message(Role::User, vec![text("Go.")]);
    let messages = |blocks| vec![user(), message(Role::Assistant, blocks), user()];

    let field = r#"{"field":"reasoning","reasoning_details":[]}"#;
    let chat = body(&plain(Protocol::OpenAiChat, messages(vec![thought(field)])))?;
    assert!(chat.contains(r#"{"role":"assistant","content":"","reasoning":"Hm."}"#), "{chat}");
    let calls = body(&plain(Protocol::OpenAiChat, messages(vec![call("a", "read", "{}")])))?;
    assert!(calls.contains(r#"{"role":"assistant","content":null,"tool_calls":"#), "{calls}");

    let (signed, redacted) = (r#"{"signature":"c2ln"}"#, r#"{"type":"redacted_thinking","data":"x+/"}"#);
    let alone = body(&plain(Protocol::AnthropicMessages, messages(vec![thought(signed), thought(redacted)])))?;
    assert!(!alone.contains(r#""role":"assistant""#) && !alone.contains("thinking"), "{alone}");
    let said = vec![thought(signed), text("Done."), thought(signed)];
    let last = body(&plain(Protocol::AnthropicMessages, messages(said)))?;
    let kept = r#"[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"Done."}]"#;
    assert!(last.contains(kept), "{last}");

    let context = message(Role::System, vec![text("Now this holds.")]);
    let between = vec![user(), context, message(Role::Assistant, vec![thought(signed)]), user()];
    let wrapped = body(&plain(Protocol::AnthropicMessages, between))?;
    assert!(!wrapped.contains(r#""role":"system""#), "{wrapped}");
    Ok(())
}

#[test]
fn what_a_provider_wants_back_with_reasoning_and_calls_goes_back_whole() -> Result<(), BodyError> {
    let details = r#"{"field":"reasoning","reasoning_details":[{"type":"reasoning.text","signature":"s+/"},{"type":"reasoning.encrypted","data":"e"}]}"#;
    let mut called = call("c", "read", "{}");
    if let Block::Call { metadata, .. } = &mut called {
        *metadata = Some(r#"{"extra_content":{"google": {"thought_signature":"g+"}}}"#.into());
    }
    let thought = Block::Reasoning { text: "Let \"me\".".into(), metadata: Some(details.into()), seq: None };
    let messages = vec![message(Role::User, vec![text("Hi")]), message(Role::Assistant, vec![thought, called])];
    let body = body(&plain(Protocol::OpenAiChat, messages))?;
    let expected = r#""reasoning":"Let \"me\".","reasoning_details":[{"type":"reasoning.text","signature":"s+/","text":"Let \"me\"."},{"type":"reasoning.encrypted","data":"e"}]"#;
    assert!(body.contains(expected), "{body}");
    assert!(body.contains(r#""arguments":"{}"},"extra_content":{"google": {"thought_signature":"g+"}}}]"#), "{body}");
    Ok(())
}

#[test]
fn an_answer_of_reasoning_alone_has_words_where_an_empty_text_is_refused() -> Result<(), BodyError> {
    let content = |id: &str| {
        let thought = Block::Reasoning { text: "Hm.".into(), metadata: None, seq: None };
        let mut request = plain(Protocol::OpenAiChat, vec![message(Role::Assistant, vec![thought])]);
        request.model.id = id.into();
        let body: serde_json::Value = serde_json::from_str(&body(&request)?).unwrap_or_default();
        Ok::<_, BodyError>(body.pointer("/messages/0/content").cloned())
    };
    assert_eq!(content("mistralai/Magistral-Small-2509")?, Some("(empty)".into()));
    assert_eq!(content("qwen3:8b")?, Some("".into()));
    Ok(())
}

#[test]
fn a_model_of_mistral_answers_its_results_before_it_is_told_anything_and_never_has_the_last_word()
-> Result<(), BodyError> {
    let roles = |id: &str| {
        let messages = vec![
            message(Role::Assistant, vec![call("c", "read", "{}")]),
            message(Role::Tool, vec![result("c", Ok("seen"), Vec::new())]),
            message(Role::User, vec![text("And now?")]),
            message(Role::Assistant, vec![text(LAST_STEP)]),
        ];
        let mut request = plain(Protocol::OpenAiChat, messages);
        request.model.id = id.into();
        let body: serde_json::Value = serde_json::from_str(&body(&request)?).unwrap_or_default();
        let roles = body["messages"].as_array().into_iter().flatten();
        Ok::<_, BodyError>(roles.filter_map(|message| message["role"].as_str()).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(roles("devstral-medium-latest")?, "assistant tool assistant user user");
    assert_eq!(roles("qwen3:8b")?, "assistant tool user assistant");
    Ok(())
}

#[test]
fn an_answer_of_calls_alone_has_null_for_its_text_or_an_empty_one_where_that_is_refused() -> Result<(), BodyError> {
    let mut request = plain(Protocol::OpenAiChat, vec![message(Role::Assistant, vec![call("c", "read", "{}")])]);
    assert!(body(&request)?.contains(r#"{"role":"assistant","content":null,"tool_calls""#));
    request.options.options.insert("openai.emptyContent".into(), Json::received(r#""text""#));
    assert!(body(&request)?.contains(r#"{"role":"assistant","content":"","tool_calls""#));
    Ok(())
}

#[test]
fn two_tools_never_have_one_name() -> Result<(), BodyError> {
    for protocol in Protocol::ALL {
        let mut request = rich(protocol);
        request.tools[0].name = "acme.read".into();
        assert!(body(&request)?.contains(r#""name":"acme_read","description""#), "{protocol}");
        request.tools[1].name = "acme_read".into();
        let message = "the tools acme.read and acme_read would both be called acme_read: rename one of them";
        assert_eq!(body(&request).map_err(|error| error.to_string()), Err(message.into()), "{protocol}");
    }
    Ok(())
}
