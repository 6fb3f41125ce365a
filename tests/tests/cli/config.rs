//! `annals config`, `annals models` and `annals import --redact`, as a person meets them.

use crate::cli::command::Annals;
use annals_config::Variables;
use std::fs;

impl Annals {
    fn with(user: &str, project: &str, variables: &[(&str, &str)]) -> Self {
        let mut annals = Self::new();
        let home = annals.file("home").to_string_lossy().into_owned();
        let all = variables.iter().map(|(name, value)| (*name, (*value).to_owned())).chain([("HOME", home)]);
        annals.environment.variables = Variables::fixed(all.collect::<Vec<_>>());
        annals.write("home/.config/annals/config.toml", user);
        annals.write("work/.annals/config.toml", project);
        annals
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.file(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}

#[test]
fn config_show_says_where_every_value_comes_from() {
    let annals = Annals::with(
        "model = \"openai/gpt-5\"\n[providers.mine]\nbase_url = \"http://user:hunter22@host/v1\"\nheaders = { X-Key = \"abc\" }",
        "titles = false\npermissions = [[\"bash\", \"rm *\", \"deny\"]]",
        &[("ANNALS_AGENT", "plan")],
    );
    let shown = annals.show(&["config", "show"]);
    for line in [
        "agent = \"plan\"  # $ANNALS_AGENT\n",
        "compaction.buffer = 20000  # built in\n",
        "model = \"openai/gpt-5\"  # ~/.config/annals/config.toml:1\n",
        "permissions = [\"read\",\"*\",\"allow\"]  # built in\n",
        "permissions = [\"bash\",\"rm *\",\"deny\"]  # .annals/config.toml:2 (project)\n",
        "titles = false  # .annals/config.toml:1 (project)\n",
        "agents.plan.note = \"You are planning: read and search as you need, change\n    nothing, and end",
        "providers.mine.base_url = \"http://user:[redacted:url-password]@host/v1\"",
        "providers.mine.headers.X-Key = \"[hidden]\"",
    ] {
        assert!(shown.contains(line), "{line}\nin\n{shown}");
    }
    assert!(!shown.contains("hunter22") && !shown.contains("abc"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&annals.run(&["config", "show", "--json"]).out).expect("JSON");
    let values = json["values"].as_array().expect("a list");
    let titles = values.iter().find(|value| value["key"][0] == "titles").expect("it is there");
    assert_eq!(
        (&titles["value"], &titles["origin"]["line"], &titles["origin"]["of"]),
        (&false.into(), &1.into(), &"project".into())
    );
}

#[test]
fn a_dangerous_project_is_refused_until_it_is_trusted_and_again_when_it_changes() {
    let annals = Annals::with("", "permissions = [[\"*\", \"*\", \"allow\"]]", &[]);
    insta::assert_snapshot!(annals.show(&["models", "gpt-5.5"]), @r"
    [stderr]
    annals: TMP/work/.annals/config.toml:1: `permissions`: [*, *, allow] allows more than the rules without it
    A project's configuration may not do this by itself. Read TMP/work/.annals/config.toml, then say `annals config trust TMP/work`, or take these lines out.
    [exit status 2]
    ");
    assert_eq!(annals.run(&["config", "show"]).status, 1);
    insta::assert_snapshot!(annals.show(&["config", "path"]), @r"
    user     TMP/home/.config/annals/config.toml
    project  TMP/work/.annals/config.toml  (not trusted)
    ");
    insta::assert_snapshot!(annals.show(&["config", "trust"]), @r"
    allowed  TMP/work/.annals/config.toml:1: `permissions`: [*, *, allow] allows more than the rules without it
    TMP/work/.annals/config.toml is trusted until it changes.
    ");
    assert_eq!(annals.run(&["models"]).status, 0);
    annals.write("work/.annals/config.toml", "permissions = [[\"*\", \"*\", \"allow\"], [\"x\", \"y\", \"allow\"]]");
    assert_eq!(annals.run(&["models"]).status, 2);
    assert_eq!(annals.run(&["config", "trust"]).status, 0);
    insta::assert_snapshot!(annals.show(&["config", "untrust"]), @"TMP/work/.annals/config.toml is no longer trusted.");
    insta::assert_snapshot!(annals.show(&["config", "untrust"]), @"TMP/work/.annals/config.toml was not trusted.");
    assert_eq!(annals.run(&["models"]).status, 2);
}

#[test]
fn what_is_signed_with_the_users_key_is_said_by_the_user_alone() {
    let annals = Annals::with("[sign]\nkey = \"keys/mine\"", "[sign]\nautomatically = true\nkey = \"k\"", &[]);
    insta::assert_snapshot!(annals.show(&["models", "gpt-5.5"]), @r"
    [stderr]
    annals: TMP/work/.annals/config.toml:2: `sign.automatically`: only your own configuration may say what is signed with your key
    TMP/work/.annals/config.toml:3: `sign.key`: only your own configuration may say what is signed with your key
    [exit status 2]
    ");
    // Trust does not change that.
    annals.run(&["config", "trust"]);
    assert_eq!(annals.run(&["models", "gpt-5.5"]).status, 2);
    annals.write("work/.annals/config.toml", "[sign]\n");
    let shown = annals.run(&["config", "show"]).out;
    for line in ["sign.automatically = false", "sign.key = \"keys/mine\""] {
        assert!(shown.contains(line), "{line}\nin\n{shown}");
    }
}

#[test]
fn trusting_where_there_is_no_project_says_where_it_was_looked_for() {
    let annals = Annals::new();
    insta::assert_snapshot!(annals.show(&["config", "trust", "."]), @r"
    [stderr]
    annals: TMP/work/.: there is no .annals/config.toml here or above, up to the folder with .git
    [exit status 2]
    ");
}

#[test]
fn models_lists_what_can_be_used_and_which_key_is_missing() {
    let annals = Annals::with(
        "model = \"openai/gpt-5.5\"\n[models.\"openai/next\"]\n[providers.odd]\nprotocol = \"openai-chat\"\n[models.\"odd/x\"]",
        "",
        &[("OPENAI_API_KEY", "planted-key-4711")],
    );
    let shown = annals.show(&["models"]);
    for line in [
        "OpenAI\n",
        "* openai/gpt-5.5 ",
        "context 1,050,000, $5.00 in, $30.00 out\n",
        "Prices are in dollars per million tokens, as of 2026-07.\n",
        "  openai/next                context unknown, price unknown\n",
        "  ollama/NAME  any model of the server at http://localhost:11434/v1\n",
        "cannot be used: provider odd: unknown",
        "No key set (--all lists their models)\n",
        "set ANTHROPIC_API_KEY\n",
        "set GEMINI_API_KEY\n",
    ] {
        assert!(shown.contains(line), "{line}\nin\n{shown}");
    }
    assert!(!shown.contains("claude") && !shown.contains("planted"), "{shown}");
    let all = annals.show(&["models", "--all"]);
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
    assert!(all.contains("\n  openrouter/deepseek/deepseek-v4-flash\n      context 1,048,575, "), "{all}");
    let all = annals.show(&["models", "opus", "--all"]);
    assert!(all.contains("Anthropic  set ANTHROPIC_API_KEY\n") && all.contains("anthropic/claude-opus-4-8"), "{all}");
    let json: Vec<serde_json::Value> =
        serde_json::from_str(&annals.run(&["models", "--json", "gpt-5.5"]).out).expect("JSON");
    let gpt = json.iter().find(|model| model["model"] == "openai/gpt-5.5").expect("listed");
    assert_eq!(
        (&gpt["usable"], &gpt["protocol"], &gpt["nano_dollars_per_million"]["input"]),
        (&true.into(), &"openai-responses".into(), &5_000_000_000_u64.into())
    );
}

/// A transcript of Claude Code with a key in what the user and the model wrote.
fn transcript(annals: &Annals, key: &str) -> String {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/claude-code/one-turn.jsonl"))
        .expect("a fixture");
    let planted = text.replace("hello there", &format!("hello there, my key is {key}."));
    assert_ne!(planted, text, "the key is planted");
    let path = annals.file("transcript.jsonl");
    fs::write(&path, planted).expect("a file");
    path.to_string_lossy().into_owned()
}

#[test]
fn an_import_can_be_redacted_and_is_the_same_when_it_is_done_again() {
    let annals = Annals::new();
    let key = format!("{}{}", "ghp_", "a1B2".repeat(9));
    let file = transcript(&annals, &key);
    let report = annals.file("report.json").to_string_lossy().into_owned();
    let answer = annals.run(&["import", "--redact", "--report", &report, &file]);
    assert_eq!(answer.status, 0, "{}", answer.remarks);
    let report = fs::read_to_string(report).expect("a report");
    for shown in [&answer.out, &answer.remarks, &report] {
        assert!(!shown.contains(&key), "{shown}");
    }
    assert!(answer.out.contains("[redacted:") && report.contains("[redacted:github-token]"), "{}", answer.out);
    assert!(answer.remarks.contains("secrets were replaced: github-token ("), "{}", answer.remarks);
    let shown = annals.run(&["transcript", "@last"]).out;
    assert!(shown.contains("[redacted:github-token]") && !shown.contains(&key), "{shown}");
    assert_eq!(annals.run(&["verify"]).status, 0);
    let again = annals.run(&["import", "--redact", &file, "--json"]);
    let report: serde_json::Value = serde_json::from_str(&again.out).expect("JSON");
    assert_eq!(report["sessions"][0]["new"], 0);
    // Without it, it is another session than the one that was imported.
    assert_eq!(annals.run(&["import", &file]).status, 1);
}
