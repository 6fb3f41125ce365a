//! The table: for each key a value, and where it shows.

use super::table::*;
use annals_providers::http::KeySource;

/// One row for each key, in the order of `docs/configuration.md`.
pub fn table() -> Vec<Row> {
    [general(), models(), limits(), extensions(), guards()].into_iter().flatten().collect()
}

/// The date in a zone in which it is another day than in the machine's. One of these is such a zone at any time: they are 26 hours
/// apart.
fn another_day() -> Row {
    let now = jiff::Timestamp::now();
    let day = |zone: jiff::tz::TimeZone| now.to_zoned(zone).strftime("%a %b %d %Y").to_string();
    let here = day(jiff::tz::TimeZone::system());
    let days = [("Pacific/Kiritimati", 14), ("Etc/GMT+12", -12)]
        .map(|(name, hours)| (name, day(jiff::tz::offset(hours).to_time_zone())));
    let (zone, day) = days.into_iter().find(|(_, day)| *day != here).expect("another day");
    sent("time_zone", &format!("time_zone = \"{zone}\"\n"), Box::leak(day.into_boxed_str()))
}

fn general() -> Vec<Row> {
    vec![
        sent("agent", "agent = \"plan\"\n", "You are planning"),
        sent("model", "model = \"openai/gpt-5\"\n", "openai/gpt-5"),
        part(
            "small_model",
            "small_model = \"anthropic/claude-haiku-4-5\"\n",
            |it| format!("{:?}", it.small_model()),
            "haiku",
        ),
        another_day(),
        part("max_steps", "max_steps = 7\n", |it| format!("{:?}", it.max_steps()), "Some(7)"),
        part("titles", "titles = true\n", |it| it.titles().to_string(), "true"),
        part(
            "catalog",
            "catalog = [\"~/models.json\"]\n",
            |it| format!("{}", it.catalog.provider("lists").is_some()),
            "true",
        ),
        not_sent("permissions", "permissions = [[\"bash\", \"*\", \"deny\"]]\n", "\"bash\""),
        part(
            "projects.NAME.permissions",
            "[projects.\"/\"]\npermissions = [[\"bash\", \"*\", \"deny\"]]\n",
            bash,
            "Deny",
        ),
        sent(
            "agents.NAME.description",
            "[agents.helper]\ndescription = \"Helps with helping.\"\n",
            "Helps with helping.",
        ),
        not_sent("agents.NAME.mode", "mode = \"primary\"", "Helps with helping.").below(HELPER),
        sent("agents.NAME.text", "[agents.build]\ntext = \"You are mine.\"\n", "You are mine."),
        sent("agents.NAME.text_file", "[agents.build]\ntext_file = \"~/own.md\"\n", "Text of a file."),
        sent("agents.NAME.note", "[agents.build]\nnote = \"A note.\"\n", "A note."),
        part(
            "agents.NAME.model",
            "[agents.build]\nmodel = \"openai/gpt-5\"\n",
            |it| format!("{:?}", it.agents.get(&"build".into()).and_then(|agent| agent.model.clone())),
            "gpt-5",
        ),
        sent("agents.NAME.steps", "[agents.build]\nsteps = 1\n", "MAXIMUM STEPS REACHED"),
        not_sent(
            "agents.NAME.permissions",
            "[agents.build]\npermissions = [[\"bash\", \"*\", \"deny\"]]\n",
            "\"bash\"",
        ),
        sent("agents.NAME.options", "[agents.build.options]\ntemperature = 0.25\n", "0.25"),
        sent("switch.agent", "[switch]\nagent = \"replace\"\n", "agent_switch: Replace"),
        sent("switch.model", "[switch]\nmodel = \"replace\"\n", "model_switch: Replace"),
        not_sent("tasks.depth", "[tasks]\ndepth = 0\n", "\"task\""),
        not_sent("builtins.environment", "[builtins]\nenvironment = false\n", "Working directory"),
        not_sent("builtins.date", "[builtins]\ndate = false\n", "Today's date"),
        not_sent("builtins.instructions", "[builtins]\ninstructions = false\n", "The rule of the project."),
        not_sent("builtins.skills", "[builtins]\nskills = false\n", "Dives.")
            .with("[skills]\nfolders = [\"~/more\"]\n"),
        sent("instructions.global", "[instructions]\nglobal = [\"~/global.md\"]\n", "A global rule."),
        sent("instructions.names", "[instructions]\nnames = [\"RULES.md\"]\n", "A rule by another name."),
        sent("instructions.files", "[instructions]\nfiles = [\"~/rules.md\"]\n", "A further rule."),
        not_sent("instructions.project", "[instructions]\nproject = false\n", "The rule of the project."),
        sent("skills.folders", "[skills]\nfolders = [\"~/more\"]\n", "Dives."),
    ]
}

fn models() -> Vec<Row> {
    vec![
        part("providers.NAME.name", "[providers.anthropic]\nname = \"Ours\"\n", known, "Ours"),
        sent("providers.NAME.protocol", "protocol = \"openai-responses\"", "openai-responses").below(OWN),
        part(
            "providers.NAME.base_url",
            "[providers.anthropic]\nbase_url = \"https://elsewhere/v1\"\n",
            endpoint,
            "https://elsewhere/v1",
        ),
        part("providers.NAME.key_env", "[providers.anthropic]\nkey_env = \"OWN_PASSED\"\n", endpoint, "OWN_PASSED"),
        part(
            "providers.NAME.key_command",
            "[providers.anthropic]\nkey_command = [\"pass\", \"show\"]\n",
            |it| matches!(it.key("anthropic"), Some(KeySource::Command(_))).to_string(),
            "true",
        ),
        part("providers.NAME.headers", "[providers.anthropic]\nheaders = { X-Own = \"one\" }\n", endpoint, "X-Own"),
        sent("providers.NAME.options", "[providers.anthropic.options]\ntopP = 0.75\n", "0.75"),
        differs("providers.NAME.connect_timeout_ms", "[providers.anthropic]\nconnect_timeout_ms = 4321\n", endpoint),
        differs("providers.NAME.idle_timeout_ms", "[providers.anthropic]\nidle_timeout_ms = 54321\n", endpoint),
        sent("models.NAME.id", "id = \"sonnet-by-another-name\"", "sonnet-by-another-name").below(MODEL),
        part("models.NAME.name", "name = \"Ours\"", known, "Ours").below(MODEL),
        sent("models.NAME.context", "context = 123_456", "context: 123456").below(MODEL),
        sent("models.NAME.output", "output = 4_321", "output: 4321").below(MODEL),
        sent("models.NAME.media", "media = [\"audio/x-own\"]", "audio/x-own").below(MODEL),
        sent("models.NAME.protocol", "protocol = \"openai-chat\"", "openai-chat").below(MODEL),
        part("models.NAME.base_url", "base_url = \"https://elsewhere/v1\"", endpoint, "https://elsewhere/v1")
            .below(MODEL),
        sent("models.NAME.system_messages", "system_messages = \"native\"", "system_messages: Native").below(MODEL),
        sent("models.NAME.price.input", "price.input = 1.25", "input: 1250000000").below(MODEL),
        sent("models.NAME.price.output", "price.output = 1.25", "output: 1250000000").below(MODEL),
        sent("models.NAME.price.cache_read", "price.cache_read = 1.25", "cache_read: 1250000000").below(MODEL),
        sent("models.NAME.price.cache_write", "price.cache_write = 1.25", "cache_write: 1250000000").below(MODEL),
        sent("models.NAME.options", "options = { topP = 0.75 }", "0.75").below(MODEL),
    ]
}

fn limits() -> Vec<Row> {
    vec![
        part("compaction.auto", "[compaction]\nauto = false\n", compaction, "auto: false"),
        part("compaction.prune", "[compaction]\nprune = false\n", compaction, "prune: false"),
        part("compaction.buffer", "[compaction]\nbuffer = 4_321\n", compaction, "buffer: 4321"),
        part("compaction.keep_tokens", "[compaction]\nkeep_tokens = 4_321\n", compaction, "keep_tokens: 4321"),
        part("compaction.agent", "[compaction]\nagent = \"explore\"\n", compaction, "explore"),
        part("compaction.instructions", "[compaction]\ninstructions = \"Three lines.\"\n", compaction, "Three lines."),
        part("compaction.model", "[compaction]\nmodel = \"anthropic/claude-haiku-4-5\"\n", compaction, "haiku"),
        sent("output.lines", "[output]\nlines = 2\n", "output truncated")
            .answered(called("glob", r#"{"pattern":"*"}"#)),
        sent("output.bytes", "[output]\nbytes = 200\n", "output truncated")
            .answered(called("read", r#"{"path":"long.md"}"#)),
        part("tools.repeat_limit", "[tools]\nrepeat_limit = 4321\n", |it| it.repeat_limit().to_string(), "4321"),
        part("tools.env", "[tools]\nenv = [\"OWN_P*\"]\n", |it| format!("{:?}", it.shown_variables()), "OWN_P*"),
        part(
            "tools.terminal_env",
            "[tools.terminal_env]\nEDITOR = \"own\"\n",
            |it| format!("{:?}", it.terminal_variables()),
            "own",
        ),
        part(
            "tools.time_limits",
            "[tools.time_limits]\ngrep = 4321\n",
            |it| format!("{:?}", it.tool_limits()),
            "4.321s",
        ),
        part("tools.diagnostics_ms", "[tools]\ndiagnostics_ms = 4321\n", lsp, "4.321s"),
        part("approval", "approval = \"all\"\n", bash, "Allow"),
    ]
}

fn extensions() -> Vec<Row> {
    vec![
        part("mcp.NAME.command", "[mcp.NAME]\ncommand = [\"own-server\"]\n", mcp, "own-server"),
        part("mcp.NAME.url", "[mcp.NAME]\nurl = \"https://mcp.example\"\n", mcp, "mcp.example"),
        differs("mcp.NAME.headers", "headers = { X-Own = \"one\" }", endpoints).below(REMOTE),
        differs("mcp.NAME.bearer_env", "bearer_env = \"OWN_PASSED\"", endpoints).below(REMOTE),
        differs("mcp.NAME.oauth_client_id", "oauth_client_id = \"me\"", endpoints).below(REMOTE),
        differs("mcp.NAME.oauth_client_document", "oauth_client_document = \"https://me.example/c\"", endpoints)
            .below(REMOTE),
        differs("mcp.NAME.oauth_secret_env", "oauth_secret_env = \"OWN_SECRET\"", endpoints).below(REMOTE),
        differs("mcp.NAME.env", "env = { OWN = \"one\" }", mcp).below(SERVER),
        differs("mcp.NAME.pass_env", "pass_env = [\"OWN_PASSED\"]", mcp).below(SERVER),
        part("mcp.NAME.enabled", "enabled = false", |it| format!("{} servers", it.mcp().len()), "0 servers")
            .below(SERVER),
        part("mcp.NAME.tools", "tools = [\"only\"]", mcp, "only").below(SERVER),
        part("mcp.NAME.deny_tools", "deny_tools = [\"never\"]", mcp, "never").below(SERVER),
        part("mcp.NAME.start_timeout_ms", "start_timeout_ms = 4321", mcp, "4.321s").below(SERVER),
        part("mcp.NAME.timeout_ms", "timeout_ms = 54321", mcp, "54.321s").below(SERVER),
        part(
            "lsp.NAME.command",
            "[lsp.NAME]\ncommand = [\"sh\", \"own-argument\"]\nextensions = [\"own\"]\n",
            lsp,
            "own-argument",
        ),
        part("lsp.NAME.extensions", "[lsp.NAME]\ncommand = [\"sh\"]\nextensions = [\"ownext\"]\n", lsp, "ownext"),
        differs("lsp.NAME.enabled", "enabled = false", lsp).below(LANGUAGE),
        sent("websearch.command", "[websearch]\ncommand = [\"true\"]\n", "\"websearch\""),
        part("websearch.provider", "[websearch]\nprovider = \"brave\"\n", search, "Brave"),
        part("websearch.url", "url = \"https://search.example\"", search, "search.example").below(BRAVE),
        part("websearch.key_env", "key_env = \"OWN_PASSED\"", search, "OWN_PASSED").below(BRAVE),
        differs("websearch.pass_env", "pass_env = [\"OWN_PASSED\"]", search).below(SEARCH),
        part("websearch.timeout_ms", "timeout_ms = 4321", search, "4.321s").below(SEARCH),
        sent(
            "custom_tools.NAME.command",
            "[custom_tools.NAME]\ncommand = [\"echo\", \"custom said\"]\n",
            "custom said",
        )
        .with(ALLOWED)
        .answered(called("NAME", "{}")),
        sent("custom_tools.NAME.description", "description = \"Does it.\"", "Does it.").below(CUSTOM),
        sent("custom_tools.NAME.parameters", "parameters = { ownplace = { type = \"string\" } }", "ownplace")
            .below(CUSTOM),
        sent("custom_tools.NAME.required", "required = [\"somewhere\"]", "somewhere").below(CUSTOM),
        differs("custom_tools.NAME.pass_env", "pass_env = [\"OWN_PASSED\"]", tools).below(CUSTOM),
        part("custom_tools.NAME.timeout_ms", "timeout_ms = 4321", tools, "4.321s").below(CUSTOM),
        sent("context.NAME.command", "[context.NAME]\ncommand = [\"echo\", \"context said\"]\n", "context said"),
        part("context.NAME.key", "key = \"own/key\"", context, "own/key").below(CONTEXT),
        sent("context.NAME.heading", "heading = \"What is said:\"", "What is said:").below(CONTEXT),
        part("context.NAME.changed", "changed = \"Now:\"", context, "Now:").below(CONTEXT),
        part("context.NAME.removed", "removed = \"Gone.\"", context, "Gone.").below(CONTEXT),
        part("context.NAME.when", "when = \"once\"", context, "Once").below(CONTEXT),
        part("context.NAME.every_ms", "every_ms = 4321", context, "4.321s").below(CONTEXT),
        sent("context.NAME.pass_env", "pass_env = [\"OWN_PASSED\"]", "said passed").below(CONTEXT),
        part("context.NAME.timeout_ms", "timeout_ms = 4321", context, "4.321s").below(CONTEXT),
        part("hooks.NAME.on", "[hooks.NAME]\non = \"boundary\"\ncommand = [\"true\"]\n", hooks, "Boundary"),
        sent(
            "hooks.NAME.command",
            "[hooks.NAME]\non = \"after_tool\"\ncommand = [\"echo\", \"hook said\"]\n",
            "hook said",
        )
        .answered(called("read", r#"{"path":"AGENTS.md"}"#)),
        not_sent("hooks.NAME.tools", "tools = [\"bash\"]", "hooked none")
            .below(HOOK)
            .answered(called("read", r#"{"path":"AGENTS.md"}"#)),
        sent("hooks.NAME.pass_env", "pass_env = [\"OWN_PASSED\"]", "hooked passed")
            .below(HOOK)
            .answered(called("read", r#"{"path":"AGENTS.md"}"#)),
        part("hooks.NAME.timeout_ms", "timeout_ms = 4321", hooks, "4.321s").below(HOOK),
    ]
}

fn guards() -> Vec<Row> {
    vec![
        part("sandbox.mode", "[sandbox]\nmode = \"read-only\"\n", sandbox, "Some"),
        differs("sandbox.network", "network = true", sandbox).below(CONFINED),
        part("sandbox.allow", "allow = false", bash, "Ask").below(CONFINED),
        part("sandbox.write", "write = [\"/own-place\"]", sandbox, "/own-place")
            .below("[sandbox]\nmode = \"workspace-write\"\n"),
        part("sandbox.hide", "hide = [\"/own-place\"]", sandbox, "/own-place").below(CONFINED),
        sent("redaction.enabled", "[redaction]\nenabled = false\n", "pa55word-of-the-house")
            .asked("we say pa55word-of-the-house"),
        not_sent("redaction.env", "[redaction]\nenv = [\"OWN_PLAIN\"]\n", "plain-looking-words")
            .asked("we say plain-looking-words"),
        sent("redaction.public_env", "[redaction]\npublic_env = [\"API_TOKEN\"]\n", "pa55word-of-the-house")
            .asked("we say pa55word-of-the-house"),
        not_sent("redaction.patterns", "[redaction.patterns]\nown = \"own-[0-9]{6}\"\n", "own-123456")
            .asked("see own-123456"),
        part("refresh", "refresh = false\n", |it| it.refresh().to_string(), "false"),
        part("retention", "[retention]\n\"tool:bash\" = \"90d\"\n", |it| format!("{:?}", it.retention()), "bash"),
        part(
            "sign.automatically",
            "[sign]\nautomatically = true\n",
            |it| format!("{:?}", it.signing()),
            "automatically: true",
        ),
        part("sign.key", "[sign]\nkey = \"own-key\"\n", |it| format!("{:?}", it.signing()), "own-key"),
    ]
}
