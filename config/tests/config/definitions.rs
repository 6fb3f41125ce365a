//! What the values make: models, agents, endpoints, the redactor.

use super::*;

#[test]
fn models_and_providers_are_laid_over_the_list() {
    let world = World::with(
        "catalog = [\"models.json\"]\n[providers.mine]\nbase_url = \"http://host:1/v1/\"\nkey_command = [\"pass\", \"mine\"]\n\
         headers = { X-Team = \"a\" }\noptions = { temperature = 0.5, body = { a = 1, b = 1 } }\nidle_timeout_ms = 9\n\
         [models.\"mine/m\"]\ncontext = 1000\nprice = { input = 0.25, output = \"1.5\" }\nmedia = [\"image\"]\n\
         options = { topP = 1, body = { b = 2 } }\n[models.\"openai/gpt-5\"]\nprice.input = 1\n\
         [agents.build.options]\ntemperature = 1\n[providers.openai]\nkey_env = \"MY_KEY\"",
        "",
    );
    world.write("home/.config/annals/models.json", r#"{"openai": {"models": {"gpt-6": {"limit": {"context": 5}}}}}"#);
    let config = world.config();
    let profile = Definitions::model(&config, &"mine/m".into()).expect("it is spoken to");
    assert_eq!((profile.context, profile.prices.input, profile.prices.output), (1_000, 250_000_000, 1_500_000_000));
    assert_eq!((profile.protocol.as_str(), profile.media.len()), ("openai-chat", 4));
    let endpoint = config.endpoint(&"mine/m".into()).expect("it is reached");
    assert_eq!(endpoint.base_url, "http://host:1/v1");
    assert_eq!(endpoint.key, Some(KeySource::Command(vec!["pass".into(), "mine".into()])));
    assert_eq!((endpoint.headers["X-Team"].as_str(), endpoint.limits.idle.as_millis()), ("a", 9));
    assert_eq!(config.endpoint(&"nobody/m".into()), Err(EndpointError::UnknownProvider("nobody/m".into())));
    assert_eq!(config.key("openai"), Some(KeySource::Env("MY_KEY".into())));
    assert!(!config.has_key("openai") && config.has_key("ollama") && config.has_key("mine"));
    assert_eq!(Definitions::model(&config, &"openai/gpt-6".into()).map(|profile| profile.context), Some(5));
    let gpt = Definitions::model(&config, &"openai/gpt-5".into()).expect("built in");
    assert_eq!((gpt.prices.input, gpt.prices.output), (1_000_000_000, 10_000_000_000));
    // The provider's settings, the model's over them, the agent's over both.
    let options = config.options(&"build".into(), &"mine/m".into());
    let shown = |part: &BTreeMap<String, annals_core::Json>| {
        part.iter().map(|(name, value)| format!("{name}={}", value.0.resolve(&NoBlobs))).collect::<Vec<_>>().join(" ")
    };
    assert_eq!((shown(&options.controls), shown(&options.body)), ("temperature=1 top_p=1".into(), "a=1 b=2".into()));
}

#[test]
fn an_agents_text_suits_the_model_it_speaks_to() {
    let config = World::with("[agents.own]\ntext = \"Mine.\"", "").config();
    let text = |agent: &str, model: &str| {
        let profile = config.agent_on(&agent.into(), &model.into()).expect("an agent");
        profile.system.map(|text| text.resolve(&NoBlobs).into_owned()).unwrap_or_default()
    };
    assert_ne!(text("build", "anthropic/claude-sonnet-5"), text("build", "openai/gpt-5.5"));
    assert_eq!(text("own", "openai/gpt-5.5"), "Mine.");
    let plan = text("plan", "openai/gpt-5.5");
    assert!(plan.starts_with(&text("build", "openai/gpt-5.5")) && plan.contains("You are planning"));
}

#[test]
fn the_redactor_knows_the_environment_and_what_the_files_add() {
    let world = World::with(
        "[redaction]\nenv = [\"MINE\"]\npublic_env = [\"MY_PUBLIC_KEY\"]\npatterns = { employee = \"EMP-[0-9]{6}\" }\n\
         [providers.own]\nkey_env = \"OWN\"",
        "",
    );
    let named = ["MINE", "MY_PUBLIC_KEY", "OWN", "OPENAI_API_KEY", "EDITOR"];
    let world = named.into_iter().fold(world, |world, name| world.variable(name, &format!("value-of-{name}")));
    let redactor = world.config().redactor().expect("it is on");
    let text = named.map(|name| format!("value-of-{name}")).join(" ") + " EMP-123456";
    assert_eq!(
        redactor.redact(&text).text,
        "[redacted:env:MINE] value-of-MY_PUBLIC_KEY [redacted:env:OWN] [redacted:env:OPENAI_API_KEY] value-of-EDITOR \
         [redacted:employee]"
    );
    assert!(World::with("redaction.enabled = false", "").config().redactor().is_none());
}

#[test]
fn the_redactor_knows_the_values_of_env_files() {
    let world = World::with("", "");
    world.write("project/.env.local", "SHOP_PASSWORD=tr0ub4dor3\nPORT=8080\n");
    let redactor = world.config().redactor().expect("it is on");
    assert_eq!(
        redactor.redact("3rod4bu0rt, tr0ub4dor3 on 8080").text,
        "[redacted:env:SHOP_PASSWORD], [redacted:env:SHOP_PASSWORD] on 8080"
    );
}
