//! A golden per protocol, and what is refused.

use super::rich::*;
use crate::wire::{Body, EncodeError, Protocol, SCRIPTED, encode};
use annals_core::{Digest, Json};
use annals_projections::{LAST_STEP, Request, Role};

fn golden(protocol: Protocol) -> Result<String, EncodeError> {
    let body = body(&rich(protocol))?;
    assert!(serde_json::from_str::<serde::de::IgnoredAny>(&body).is_ok(), "{body}");
    Ok(drawn(&body))
}

#[test]
fn everything_as_chat_completions() -> Result<(), EncodeError> {
    insta::assert_snapshot!(golden(Protocol::OpenAiChat)?);
    Ok(())
}

#[test]
fn everything_as_responses() -> Result<(), EncodeError> {
    insta::assert_snapshot!(golden(Protocol::OpenAiResponses)?);
    Ok(())
}

#[test]
fn everything_as_messages() -> Result<(), EncodeError> {
    insta::assert_snapshot!(golden(Protocol::AnthropicMessages)?);
    Ok(())
}

#[test]
fn a_body_is_known_by_the_hash_of_its_bytes() -> Result<(), EncodeError> {
    for protocol in Protocol::ALL {
        let one = encode(&rich(protocol), session())?;
        assert_eq!(one, encode(&rich(protocol), session())?, "{protocol}");
        let bytes = one.as_ref().map(|Body { bytes, .. }| Digest::of(bytes));
        assert_eq!(one.map(|body| body.digest), bytes, "{protocol}");
    }
    Ok(())
}

#[test]
fn nothing_is_encoded_for_a_scripted_model() -> Result<(), EncodeError> {
    let mut request = rich(Protocol::OpenAiChat);
    request.model.protocol = SCRIPTED.into();
    assert_eq!(encode(&request, session())?, None);
    Ok(())
}

fn refused(protocol: Protocol, spoil: impl FnOnce(&mut Request)) -> String {
    let mut request = rich(protocol);
    spoil(&mut request);
    encode(&request, session()).map_or_else(|error| error.to_string(), |_| "accepted".into())
}

#[test]
fn what_a_protocol_cannot_say_is_refused_with_what_it_can() {
    use Protocol::{AnthropicMessages, OpenAiChat, OpenAiResponses};
    let set = |list: fn(&mut Request) -> &mut std::collections::BTreeMap<String, Json>,
               name: &'static str,
               value: &'static str| {
        move |request: &mut Request| {
            list(request).insert(name.into(), Json::received(value));
        }
    };
    let (controls, options, body): (
        fn(&mut Request) -> &mut _,
        fn(&mut Request) -> &mut _,
        fn(&mut Request) -> &mut _,
    ) = (|r| &mut r.options.controls, |r| &mut r.options.options, |r| &mut r.options.body);
    let told = [
        refused(OpenAiResponses, set(controls, "top_k", "5")),
        refused(OpenAiChat, set(controls, "max_tokens", "0")),
        refused(OpenAiChat, set(options, "openai.reasoningEfort", "\"low\"")),
        refused(OpenAiResponses, set(options, "openai.reasoningEffort", "\"extreme\"")),
        refused(AnthropicMessages, set(options, "openai.whatever", "1")),
        refused(AnthropicMessages, set(body, "messages", "[]")),
        refused(OpenAiChat, set(body, "extra", "[missing blob")),
        refused(OpenAiChat, |request| request.model.id.clear()),
        refused(OpenAiChat, |request| request.model.encoding = 2),
        refused(OpenAiChat, |request| request.model.protocol = "gemini".into()),
        refused(OpenAiChat, |request| request.tools.iter_mut().for_each(|tool| tool.schema = Json::received("{"))),
    ];
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn the_runtimes_last_word_is_told_to_a_model_that_takes_no_beginning_of_its_answer() -> Result<(), EncodeError> {
    let messages = || vec![message(Role::User, vec![text("Go.")]), message(Role::Assistant, vec![text(LAST_STEP)])];
    let anthropic = body(&plain(Protocol::AnthropicMessages, messages()))?;
    assert!(anthropic.contains(r#"{"type":"text","text":"<system-update>\nCRITICAL"#), "{anthropic}");
    assert!(!anthropic.contains(r#""role":"assistant""#), "{anthropic}");
    let chat = body(&plain(Protocol::OpenAiChat, messages()))?;
    assert!(chat.contains(r#"{"role":"assistant","content":"CRITICAL"#), "{chat}");
    Ok(())
}

#[test]
fn a_context_message_stands_natively_only_where_messages_allows_it() -> Result<(), EncodeError> {
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
