use super::*;
use std::cell::RefCell;

fn base(route: &str) -> String {
    format!("http://127.0.0.1:1/t/{route}")
}

fn shown(route: &str) -> String {
    format!("http://127.0.0.1:1/own/{route}")
}

fn none(_: &str) -> Option<String> {
    None
}

/// What a command is started with, and the settings that were kept in a file.
fn kept(kind: AgentKind, command: &[&str]) -> Result<(Launch, String), LaunchError> {
    let command: Vec<OsString> = command.iter().map(Into::into).collect();
    let settings = RefCell::default();
    let keep = |text: &str| {
        settings.replace(text.to_owned());
        Ok("/private/settings.json".into())
    };
    let recorder = RecorderAddresses { base: &base, shown: &shown, keep: &keep };
    let launched = kind.launch(&command, recorder, &none, Path::new("/none"))?;
    Ok((launched, settings.take()))
}

fn launch(kind: AgentKind, command: &[&str]) -> Launch {
    kept(kind, command).unwrap().0
}

#[test]
fn claude_code_is_given_settings_merged_with_the_users() {
    let overlay = |command: &[&str]| {
        let (launched, settings) = kept(AgentKind::Claude, command).unwrap();
        assert_eq!(launched.arguments[..2], ["--settings", "/private/settings.json"]);
        (launched.arguments[2..].to_vec(), serde_json::from_str::<Value>(&settings).unwrap())
    };
    let (arguments, settings) = overlay(&["/bin/claude", "-p", "x"]);
    assert_eq!(arguments, ["-p", "x"]);
    assert_eq!(settings, json!({"env": {"ANTHROPIC_BASE_URL": base("anthropic")}}));
    for given in [
        &["claude", "--settings", r#"{"a":1,"env":{"B":"2"}}"#][..],
        &["claude", r#"--settings={"a":1,"env":{"B":"2"}}"#],
    ] {
        let (arguments, merged) = overlay(given);
        assert!(arguments.is_empty());
        assert_eq!(merged, json!({"a": 1, "env": {"B": "2", "ANTHROPIC_BASE_URL": base("anthropic")}}));
    }
    let refused = kept(AgentKind::Claude, &["claude", "--settings", "{"]);
    assert!(matches!(refused, Err(LaunchError::NotSettings)));
}

#[test]
fn no_argument_holds_the_secret_of_the_recorder() {
    for command in [&["claude", "-p", "x"][..], &["codex", "exec"], &["opencode", "run"], &["gemini"], &["python3"]] {
        for kind in [AgentKind::Claude, AgentKind::Codex, AgentKind::OpenCode, AgentKind::Gemini, AgentKind::Any] {
            let launched = launch(kind, command);
            let is_pointed = launched.arguments.iter().any(|argument| argument.to_string_lossy().contains("/t/"));
            assert!(!is_pointed, "{kind:?}: {:?}", launched.arguments);
        }
    }
}

#[test]
fn arguments_are_added_only_for_the_agents_own_program() {
    let script = launch(AgentKind::Claude, &["python3", "agent.py"]);
    assert_eq!(script.arguments, ["agent.py"]);
    assert_eq!(script.variables[0], ("ANTHROPIC_BASE_URL".to_owned(), base("anthropic")));
    let codex = launch(AgentKind::Codex, &["codex", "exec"]);
    assert_eq!(codex.arguments, ["-c", "openai_base_url=\"http://127.0.0.1:1/own/openai/v1\"", "exec"]);
    assert_eq!(launch(AgentKind::Any, &["claude"]).arguments, Vec::<OsString>::new());
}

#[test]
fn opencode_keeps_the_configuration_that_is_set() {
    let config: Value = serde_json::from_str(&opencode(
        &base,
        Some(r#"{"model":"x","provider":{"openai":{"options":{"apiKey":"k"}}}}"#.into()),
        &[],
    ))
    .unwrap();
    assert_eq!(config["model"], "x");
    assert_eq!(config["provider"]["openai"]["options"]["apiKey"], "k");
    assert_eq!(config["provider"]["openai"]["options"]["baseURL"], "http://127.0.0.1:1/t/openai/v1");
    assert_eq!(config["provider"]["anthropic"]["options"]["baseURL"], "http://127.0.0.1:1/t/anthropic/v1");
}

#[test]
fn requests_go_where_they_went_before() {
    let set = |name: &str| (name == "OPENAI_BASE_URL").then(|| "https://openrouter.ai/api/v1/".to_owned());
    let urls = |upstream: Option<&str>| -> Vec<String> {
        let routes = AgentKind::Any.upstreams(upstream, &set, Path::new("/nowhere"));
        routes.into_iter().map(|route| route.url).collect()
    };
    let usual = ["https://api.anthropic.com", "https://openrouter.ai/api", "https://generativelanguage.googleapis.com"];
    assert_eq!(urls(None), usual);
    assert_eq!(urls(Some("http://127.0.0.1:9/v1")), ["http://127.0.0.1:9"; 3]);
}
