use super::{Catalog, ModelFamily, UnsupportedApi, system_text};
use annals_core::event::SystemMessages;

fn laid(over: &str) -> Catalog {
    Catalog::built_in().under(Catalog::parse(over).expect("a list"))
}

#[test]
fn the_built_in_list_is_read_whole_and_every_model_in_it_can_be_spoken_to() {
    let catalog = Catalog::parse(super::BUILT_IN).expect("the built-in list is one");
    assert!(catalog.models().count() >= 40);
    for model in catalog.models() {
        let profile = model.profile().unwrap_or_else(|error| panic!("{}: {error}", model.model));
        assert_eq!(profile.model, model.model);
        assert!(model.context > 0, "{} has no limit", model.model);
        assert!(model.output < model.context, "{} would leave no room", model.model);
        assert!(model.prices.is_some(), "{} has no prices", model.model);
    }
    for provider in catalog.providers() {
        assert_eq!(provider.open, provider.env.is_empty(), "{}: a server of one's own, or one with a key", provider.id);
    }
}

#[test]
fn one_model_alone_takes_system_messages_natively() {
    let catalog = Catalog::built_in();
    let native: Vec<String> = catalog
        .models()
        .filter(|model| model.profile().is_ok_and(|profile| profile.system_messages == SystemMessages::Native))
        .map(|model| model.model.0)
        .collect();
    assert_eq!(native, ["anthropic/claude-opus-4-8"]);
}

#[test]
fn a_users_list_is_laid_over_field_by_field() {
    let catalog = laid(
        r#"{"openai": {"models": {"gpt-5": {"cost": {"input": 0.5}}, "next": {"limit": {"context": 9}, "unknown": [1]}}},
            "mine": {"npm": "@ai-sdk/openai-compatible", "api": "http://host/v1/", "models": {"a/b": {"id": "B"}}}}"#,
    );
    let gpt = catalog.model(&"openai/gpt-5".into()).expect("still there");
    assert_eq!(gpt.prices.map(|prices| (prices.input, prices.output)), Some((500_000_000, 10_000_000_000)));
    assert_eq!((gpt.context, gpt.name.as_str()), (400_000, "GPT-5"));
    let next = catalog.model(&"openai/next".into()).expect("added");
    assert_eq!((next.context, next.output, next.prices, next.name.as_str()), (9, 0, None, "next"));
    let mine = catalog.model(&"mine/a/b".into()).expect("added");
    let route = mine.route.clone().expect("it is spoken to");
    assert_eq!(
        (mine.id.as_str(), route.protocol.as_str(), route.base_url.as_str()),
        ("B", "openai-chat", "http://host/v1")
    );
}

#[test]
fn a_server_whose_models_nobody_listed_takes_any_name() {
    let catalog = Catalog::built_in();
    let local = catalog.model(&"ollama/hf.co/someone/model:q4".into()).expect("any name does");
    assert_eq!((local.id.as_str(), local.context, local.prices), ("hf.co/someone/model:q4", 0, None));
    assert_eq!(local.route.map(|route| route.base_url), Ok("http://localhost:11434/v1".to_owned()));
    for unknown in ["openai/gpt-9", "nobody/x", "ollama", "ollama/", ""] {
        assert_eq!(catalog.model(&unknown.into()), None, "{unknown}");
    }
}

#[test]
fn the_protocol_follows_the_package_unless_it_is_said() {
    let catalog = laid(
        r#"{"p": {"npm": "@ai-sdk/anthropic", "models": {
              "plain": {}, "chat": {"provider": {"npm": "@ai-sdk/openai-compatible", "api": "http://c"}},
              "said": {"provider": {"protocol": "openai-responses"}}}},
            "bedrock": {"npm": "@ai-sdk/amazon-bedrock", "api": "http://b", "models": {"x": {}}},
            "silent": {"api": "http://s", "models": {"x": {}}},
            "nowhere": {"npm": "@ai-sdk/openai-compatible", "models": {"x": {}}},
            "wrong": {"protocol": "smoke", "api": "http://w", "models": {"x": {}}}}"#,
    );
    let route = |name: &str| catalog.model(&name.into()).expect("listed").route;
    let spoken = |name: &str| route(name).map(|route| (route.protocol.as_str(), route.base_url));
    assert_eq!(spoken("p/plain"), Ok(("anthropic-messages", "https://api.anthropic.com/v1".into())));
    assert_eq!(spoken("p/chat"), Ok(("openai-chat", "http://c".into())));
    assert_eq!(spoken("p/said"), Ok(("openai-responses", "https://api.anthropic.com/v1".into())));
    assert_eq!(
        spoken("bedrock/x"),
        Err(UnsupportedApi::Package { provider: "bedrock".into(), npm: "@ai-sdk/amazon-bedrock".into() })
    );
    assert_eq!(spoken("silent/x"), Err(UnsupportedApi::Silent { provider: "silent".into() }));
    assert_eq!(spoken("nowhere/x"), Err(UnsupportedApi::Nowhere { provider: "nowhere".into() }));
    assert_eq!(spoken("wrong/x"), Err(UnsupportedApi::Protocol { provider: "wrong".into(), protocol: "smoke".into() }));
}

#[test]
fn media_types_come_from_modalities() {
    let catalog = laid(
        r#"{"m": {"npm": "@ai-sdk/openai", "models": {
            "all": {"modalities": {"input": ["text", "image", "pdf", "audio", "video", "smell", "model/stl"]}},
            "attach": {"attachment": true}, "none": {"attachment": true, "modalities": {"input": ["text"]}}}}}"#,
    );
    let media = |name: &str| catalog.model(&name.into()).expect("listed").media.join(" ");
    let images = "image/png image/jpeg image/gif image/webp";
    assert_eq!(media("m/all"), format!("{images} application/pdf audio/* video/* model/stl"));
    assert_eq!((media("m/attach"), media("m/none")), (images.to_owned(), String::new()));
}

#[test]
fn an_output_limit_as_large_as_the_context_is_none() {
    let catalog =
        laid(r#"{"o": {"npm": "@ai-sdk/openai", "models": {"x": {"limit": {"context": 10, "output": 10}}}}}"#);
    assert_eq!(catalog.model(&"o/x".into()).map(|model| model.output), Some(0));
}

#[test]
fn what_is_no_list_is_refused_with_its_place() {
    for (json, place) in [
        ("[]", "line 1"),
        (r#"{"p": {"models": {"m": {"cost": {"input": "dear"}}}}}"#, "not an amount of dollars"),
        ("{\"p\":\n {\"models\": 3}}", "line 2"),
    ] {
        let error = Catalog::parse(json).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(place), "{json}: {error}");
    }
}

#[test]
fn the_agents_text_follows_the_family_of_the_model() {
    for (id, family) in [
        ("claude-opus-4-8", ModelFamily::Anthropic),
        ("anthropic/claude-haiku-4.5", ModelFamily::Anthropic),
        ("gpt-5.5", ModelFamily::Codex),
        ("codex-mini-latest", ModelFamily::Codex),
        ("openai/gpt-4.1", ModelFamily::Gpt),
        ("o3", ModelFamily::Gpt),
        ("openai/o4-mini", ModelFamily::Gpt),
        ("openai/gpt-oss-120b", ModelFamily::Other),
        ("olmo-3", ModelFamily::Other),
        ("models/gemini-3.5-flash", ModelFamily::Gemini),
        ("qwen3-coder:30b", ModelFamily::Other),
    ] {
        assert_eq!(ModelFamily::of(id), family, "{id}");
    }
    let families =
        [ModelFamily::Anthropic, ModelFamily::Codex, ModelFamily::Gpt, ModelFamily::Gemini, ModelFamily::Other];
    for family in families {
        let text = family.system_text();
        assert!(text.len() > 500 && text == text.trim() && text.lines().count() > 5, "{family:?}");
        assert_eq!(families.iter().filter(|other| other.system_text() == text).count(), 1);
    }
    assert_eq!(system_text("o3"), ModelFamily::Gpt.system_text());
}

#[test]
fn a_server_that_is_known_to_refuse_what_others_take_is_asked_without_it() {
    let catalog = Catalog::built_in();
    let server_defaults =
        |name: &str| catalog.model(&name.into()).map(|model| serde_json::Value::from(model.server_defaults()));
    let mistral = serde_json::json!({"reasoningField": "none", "streamUsage": false});
    assert_eq!(server_defaults("mistral/mistral-large-latest"), Some(mistral));
    assert_eq!(server_defaults("ollama/mistral"), Some(serde_json::json!({})));
    assert_eq!(server_defaults("lmstudio/any"), Some(serde_json::json!({"emptyContent": "text"})));
    let own = Catalog::parse(r#"{"mine": {"protocol": "openai-chat", "api": "https://api.openai.com/v1"}}"#);
    let own = own.ok().and_then(|catalog| catalog.model(&"mine/gpt-5.4".into())).map(|model| model.server_defaults());
    assert_eq!(own.map(serde_json::Value::from), Some(serde_json::json!({"maxTokensField": "max_completion_tokens"})));
}
