//! The keys that a configuration file may hold, their meaning, and which of them a project may set by itself.

mod extensions;
mod key;

pub use key::{ConfigKey, Project, ValueKind};

use extensions::{CONTEXT, CUSTOM_TOOL, HOOK, LSP, WEBSEARCH};
use key::key;

const COMMANDS: &str = "it would run a command";
const OWN_RULES: &str = "a project cannot say what is erased; put it into your own configuration";
const OWN_PROJECTS: &str = "only your own configuration has rules by project";
const OWN_IMPORTS: &str = "only your own configuration may say when sessions are imported";
const OWN_KEY: &str = "only your own configuration may say what is signed with your key";
const LIMITS: &str = "it could lift the limits of calls";
const CONFINES: &str = "it could let commands do or see more";
const REDIRECTS: &str = "it could send keys and code to another server";

/// Settings of requests, in either spelling, that affect only the model: no tools of the provider, no servers
/// that it calls, no fields of a body, nothing that it stores.
const TUNING: [&str; 14] = [
    "disableparalleltooluse",
    "effort",
    "frequencypenalty",
    "maxoutputtokens",
    "maxtokens",
    "paralleltoolcalls",
    "presencepenalty",
    "reasoningeffort",
    "reasoningsummary",
    "seed",
    "temperature",
    "textverbosity",
    "topk",
    "topp",
];

/// Whether a setting of requests only says how a model answers.
pub fn is_tuning(name: &str) -> bool {
    TUNING.contains(&name.replace('_', "").to_lowercase().as_str())
}

/// Every key there is.
pub const KEYS: &[ConfigKey] = &[
    key("agent", ValueKind::Text, "The agent of a new session.")
        .for_project(Project::UnlessUser)
        .or_variable("ANNALS_AGENT"),
    key("model", ValueKind::Text, "The model of a new session, as `provider/id`.").or_variable("ANNALS_MODEL"),
    key("small_model", ValueKind::Text, "The model for titles and other small work, as `provider/id`.")
        .or_variable("ANNALS_SMALL_MODEL"),
    key(
        "time_zone",
        ValueKind::Text,
        "The time zone of the date that models see, such as Europe/Lisbon; by default the machine's.",
    ),
    key("titles", ValueKind::Flag, "Whether a model writes titles for untitled sessions."),
    key(
        "refresh",
        ValueKind::Flag,
        "Whether questions on a terminal first import what agents wrote since the last import; true by default. Your own file only.",
    )
    .for_project(Project::Never(OWN_IMPORTS)),
    key("catalog", ValueKind::Added, "Files in the format of models.dev, merged over the built-in list of models.")
        .for_project(Project::Trusted(REDIRECTS)),
    key("permissions", ValueKind::Rules, "Rules [action, resource, effect] for every agent; the last match wins.")
        .for_project(Project::Stricter),
    key("projects", ValueKind::Each(PROJECT), "Projects by their folder: absolute or ~/. Your own file only.")
        .for_project(Project::Never(OWN_PROJECTS)),
    key("agents", ValueKind::Each(AGENT), "Agents by name; `build`, `plan` and `explore` are built in."),
    key("providers", ValueKind::Each(PROVIDER), "Providers of models by the first part of their models' names.")
        .for_project(Project::Trusted(REDIRECTS)),
    key(
        "models",
        ValueKind::Each(MODEL),
        "Models by their name `provider/id`; these values override the list of models.",
    ),
    key("compaction", ValueKind::Table(COMPACTION), "When a long history is compacted."),
    key("output", ValueKind::Table(OUTPUT), "How much of a tool's output the model sees."),
    key("tools", ValueKind::Table(TOOLS), "How tools are called."),
    key(
        "max_steps",
        ValueKind::Count,
        "Steps of one prompt after which a run ends that is not done (200); 0 means no limit.",
    )
    .for_project(Project::Trusted(LIMITS)),
    key(
        "approval",
        ValueKind::Word(&["ask", "edits", "all"]),
        "What is allowed without asking, where no rule says otherwise: what the rules allow (ask), also changing files (edits), everything (all).",
    )
    .for_project(Project::Trusted(CONFINES)),
    key("sandbox", ValueKind::Table(SANDBOX), "The sandbox in which commands run.")
        .for_project(Project::Trusted(CONFINES)),
    key("switch", ValueKind::Table(SWITCH), "What selecting another agent or model does in new sessions."),
    key("tasks", ValueKind::Table(TASKS), "Tasks that models delegate to subagents."),
    key("builtins", ValueKind::Table(BUILTINS), "The built-in context sources."),
    key("instructions", ValueKind::Table(INSTRUCTIONS), "Instruction files for the model."),
    key("skills", ValueKind::Table(SKILLS), "Folders with skills."),
    key("mcp", ValueKind::Each(MCP), "MCP servers by name: programs and addresses that offer tools.")
        .for_project(Project::Trusted(COMMANDS)),
    key("lsp", ValueKind::Each(LSP), "Language servers by name; `pyright`, `typescript`, `clangd`, `rust-analyzer` and `gopls` are built in.")
        .for_project(Project::Trusted(COMMANDS)),
    key("websearch", ValueKind::Table(WEBSEARCH), "Who searches the web for models.")
        .for_project(Project::Trusted(COMMANDS)),
    key("custom_tools", ValueKind::Each(CUSTOM_TOOL), "Tools by command: JSON in, text out.")
        .for_project(Project::Trusted(COMMANDS)),
    key("context", ValueKind::Each(CONTEXT), "Context sources by command, by name.")
        .for_project(Project::Trusted(COMMANDS)),
    key("hooks", ValueKind::Each(HOOK), "Programs that run around calls, at boundaries and at compactions, by name.")
        .for_project(Project::Trusted(COMMANDS)),
    key("redaction", ValueKind::Table(REDACTION), "Secrets that are kept out of requests and the log."),
    key(
        "retention",
        ValueKind::Named,
        "Texts that `annals retention` erases: rules of `annals export --withhold`, each with an age such as 90d. Your own file only.",
    )
    .for_project(Project::Never(OWN_RULES)),
    key("sign", ValueKind::Table(SIGN), "Signed heads of sessions.").for_project(Project::Never(OWN_KEY)),
];

const PROJECT: &[ConfigKey] = &[key(
    "permissions",
    ValueKind::Rules,
    "Rules for every agent in that folder, after those for every project; the answer `w` to a question adds to them.",
)];

const AGENT: &[ConfigKey] = &[
    key("description", ValueKind::Text, "Its purpose, for models that delegate tasks to it."),
    key(
        "mode",
        ValueKind::Word(&["primary", "subagent", "all", "hidden"]),
        "Whether users select it (primary), models delegate tasks to it (subagent), both (all), or neither (hidden: for summaries).",
    ),
    key("text", ValueKind::Text, "Its system text, instead of the default for the model's family."),
    key("text_file", ValueKind::Text, "A file with that text, relative to the folder of the configuration.")
        .for_project(Project::Inside),
    key("note", ValueKind::Text, "A text after the default for the model's family."),
    key("model", ValueKind::Text, "The model of its new sessions, as `provider/id`."),
    key("steps", ValueKind::Count, "The maximum number of steps of one activity."),
    key("permissions", ValueKind::Rules, "Rules after those for every agent.").for_project(Project::Stricter),
    key("options", ValueKind::Free, "Settings of its requests, such as temperature or reasoningEffort.")
        .for_project(Project::Tuning(REDIRECTS)),
];

const PROVIDER: &[ConfigKey] = &[
    key("name", ValueKind::Text, "Its display name."),
    key(
        "protocol",
        ValueKind::Word(&["openai-chat", "openai-responses", "anthropic-messages"]),
        "The protocol of its API.",
    ),
    key("base_url", ValueKind::Text, "Its address, without the path of the protocol: https://host/v1."),
    key("key_env", ValueKind::Text, "The environment variable with its key."),
    key("key_command", ValueKind::Texts, "A command and its arguments that print its key.")
        .for_project(Project::Trusted(COMMANDS)),
    key("headers", ValueKind::Named, "Further headers of every request."),
    key("options", ValueKind::Free, "Settings of every request to it."),
    key("connect_timeout_ms", ValueKind::Count, "Timeout for connecting, in milliseconds."),
    key("idle_timeout_ms", ValueKind::Count, "Timeout between two parts of an answer, in milliseconds."),
];

const MODEL: &[ConfigKey] = &[
    key("id", ValueKind::Text, "Its provider's name for it, if that is not the rest of its name."),
    key("name", ValueKind::Text, "Its display name."),
    key("context", ValueKind::Count, "Its context limit in tokens."),
    key("output", ValueKind::Count, "Its output limit in tokens."),
    key("media", ValueKind::Texts, "Media that it takes besides text: image, pdf, audio, video, or media types."),
    key(
        "protocol",
        ValueKind::Word(&["openai-chat", "openai-responses", "anthropic-messages"]),
        "The protocol of its API.",
    ),
    key("base_url", ValueKind::Text, "Its address, if it differs from that of its provider's other models.")
        .for_project(Project::Trusted(REDIRECTS)),
    key(
        "system_messages",
        ValueKind::Word(&["native", "wrapped"]),
        "Whether context updates are sent in a system role inside the conversation (native: `developer` for Responses, `system` for the others) or within a message of the user (wrapped).",
    ),
    key("price", ValueKind::Table(PRICE), "Its prices."),
    key("options", ValueKind::Free, "Settings of every request to it.").for_project(Project::Tuning(REDIRECTS)),
];

const PRICE: &[ConfigKey] = &[
    key("input", ValueKind::Price, "Input that was not cached, in dollars per million tokens."),
    key("output", ValueKind::Price, "Output and reasoning, in dollars per million tokens."),
    key("cache_read", ValueKind::Price, "Input read from a cache, in dollars per million tokens."),
    key("cache_write", ValueKind::Price, "Input written to a cache, in dollars per million tokens."),
];

const COMPACTION: &[ConfigKey] = &[
    key("auto", ValueKind::Flag, "Whether to compact before a request that would be too large."),
    key("prune", ValueKind::Flag, "Whether to clear old tool outputs before a summary is made."),
    key(
        "buffer",
        ValueKind::Count,
        "Tokens of the context to keep free, at most a quarter of it, unless the model's output limit is larger.",
    ),
    key(
        "keep_tokens",
        ValueKind::Count,
        "Tokens at the end of the conversation that a compaction keeps verbatim, at most a quarter of the limit.",
    ),
    key("agent", ValueKind::Text, "The agent whose system text and options summary requests have."),
    key("instructions", ValueKind::Text, "What a summary request asks for, instead of the usual sections."),
    key("model", ValueKind::Text, "The model that summarises, as `provider/id`."),
];

const OUTPUT: &[ConfigKey] = &[
    key("lines", ValueKind::Count, "Lines of one tool output that the model sees."),
    key("bytes", ValueKind::Count, "Bytes of one tool output that the model sees."),
];

const TOOLS: &[ConfigKey] = &[
    key(
        "repeat_limit",
        ValueKind::Count,
        "Equal failures in a row after which a call is not repeated, and five times as many equal successes; 0 means no limit.",
    )
    .for_project(Project::Trusted(LIMITS)),
    key(
        "env",
        ValueKind::Added,
        "Environment variables that commands see in addition to the usual ones: names, and patterns with *.",
    )
    .for_project(Project::Trusted(CONFINES)),
    key(
        "terminal_env",
        ValueKind::Named,
        "Environment variables that are set for commands on a terminal (`pty`), in the place of those they would see.",
    )
    .for_project(Project::Trusted(CONFINES)),
    key(
        "time_limits",
        ValueKind::Counts,
        "Time limits of calls in milliseconds, by the name of the tool; of `bash` the limit of a command without another.",
    )
    .for_project(Project::Trusted(LIMITS)),
    key(
        "diagnostics_ms",
        ValueKind::Count,
        "How long errors of language servers are waited for after an edit, in milliseconds; 0 means that none are.",
    )
    .for_project(Project::Trusted(LIMITS)),
];

const SANDBOX: &[ConfigKey] = &[
    key(
        "mode",
        ValueKind::Word(&["off", "read-only", "workspace-write"]),
        "What commands may change: everything (off), only /tmp (read-only), also the project (workspace-write).",
    ),
    key("network", ValueKind::Flag, "Whether commands in the sandbox have a network."),
    key(
        "allow",
        ValueKind::Flag,
        "Whether commands in the sandbox are allowed without asking, where no rule says otherwise.",
    ),
    key("write", ValueKind::Added, "Further folders that commands may change: absolute or ~/."),
    key("hide", ValueKind::Added, "Further files and folders that commands cannot read: absolute or ~/."),
];

const SWITCHES: ValueKind = ValueKind::Word(&["keep", "replace"]);

const SWITCH: &[ConfigKey] = &[
    key("agent", SWITCHES, "Another agent: keep the System Context and send what differs, or replace it."),
    key("model", SWITCHES, "Another model: likewise."),
];

const TASKS: &[ConfigKey] = &[key(
    "depth",
    ValueKind::Count,
    "How deep tasks nest: 1 means that subagents delegate none; 0 means no tasks at all.",
)
.for_project(Project::Trusted(LIMITS))];

const BUILTINS: &[ConfigKey] = &[
    key("environment", ValueKind::Flag, "Whether models are sent the directory, the project and the platform.")
        .for_project(Project::NotOff),
    key("date", ValueKind::Flag, "Whether models are sent the date.").for_project(Project::NotOff),
    key("instructions", ValueKind::Flag, "Whether models are sent instruction files at all.")
        .for_project(Project::NotOff),
    key("skills", ValueKind::Flag, "Whether models are sent the list of skills.").for_project(Project::NotOff),
];

const INSTRUCTIONS: &[ConfigKey] = &[
    key(
        "global",
        ValueKind::Texts,
        "Global instruction files; the first that exists is sent to the model in every session.",
    )
    .for_project(Project::Trusted("it could send the content of any file to the model")),
    key("names", ValueKind::Texts, "Names of instruction files, searched from the session's folder upward.")
        .for_project(Project::Inside),
    key("files", ValueKind::Added, "Further files or patterns: absolute, ~/, or relative to every folder upward.")
        .for_project(Project::Inside),
    key("project", ValueKind::Flag, "Whether instruction files of the project are used."),
];

const SKILLS: &[ConfigKey] = &[key(
    "folders",
    ValueKind::Added,
    "Folders that contain skills (NAME/SKILL.md): absolute, ~/, or relative to the folder of the configuration.",
)
.for_project(Project::Inside)];

const MCP: &[ConfigKey] = &[
    key("command", ValueKind::Texts, "The program and its arguments; it speaks MCP over stdin and stdout."),
    key("url", ValueKind::Text, "The address of a server that is reached by HTTP, in the place of `command`."),
    key("headers", ValueKind::Named, "HTTP headers of every request to `url`; tokens belong into `bearer_env`."),
    key(
        "bearer_env",
        ValueKind::Text,
        "The environment variable with the token for `url`; with one, there is no login.",
    ),
    key("oauth_client_id", ValueKind::Text, "Your client id at the server, if it registers clients by hand."),
    key(
        "oauth_client_document",
        ValueKind::Text,
        "The https address of your document that describes the client (CIMD), for servers that take one as the client id.",
    ),
    key("oauth_secret_env", ValueKind::Text, "The environment variable with the secret of that client, if it has one."),
    key("env", ValueKind::Named, "Environment variables that are set for it; keys belong into `pass_env`."),
    key(
        "pass_env",
        ValueKind::Texts,
        "Your environment variables that it sees, such as GITHUB_TOKEN, besides PATH, HOME and similar ones.",
    ),
    key("enabled", ValueKind::Flag, "Whether it is started; true by default."),
    key("tools", ValueKind::Texts, "Its tools that are offered, by the server's names; by default all."),
    key("deny_tools", ValueKind::Texts, "Its tools that are not offered."),
    key("start_timeout_ms", ValueKind::Count, "Timeout for its start, in milliseconds; 30000 by default."),
    key("timeout_ms", ValueKind::Count, "Timeout for a call, in milliseconds; 120000 by default."),
];

const REDACTION: &[ConfigKey] = &[
    key("enabled", ValueKind::Flag, "Whether secrets are replaced by placeholders.").for_project(Project::NotOff),
    key(
        "env",
        ValueKind::Added,
        "Environment variables whose values are secret, in addition to those with such a name.",
    ),
    key("public_env", ValueKind::Added, "Environment variables whose values are not secret, in spite of their names.")
        .for_project(Project::Trusted("it would weaken the redaction")),
    key("patterns", ValueKind::Named, "Regular expressions of further secrets, by the name of their kind.")
        .for_project(Project::UnlessUser),
];

const SIGN: &[ConfigKey] = &[
    key(
        "automatically",
        ValueKind::Flag,
        "Whether `run` and `chat` sign the sessions that they changed once these are idle.",
    ),
    key(
        "key",
        ValueKind::Text,
        "The key that signs (see annals sign --key), relative to the folder of the configuration; ~/.ssh/id_ed25519 by default.",
    ),
];

/// The key at a path such as `agents.build.steps`, names of tables included.
pub fn at(path: &[String]) -> Option<&'static ConfigKey> {
    let mut keys = KEYS;
    let mut path = path.iter();
    loop {
        let name = path.next()?;
        let key = keys.iter().find(|key| key.name == name)?;
        keys = match key.kind {
            ValueKind::Table(inner) => inner,
            ValueKind::Each(inner) => {
                if path.next().is_none() {
                    return Some(key);
                }
                inner
            }
            _ => return Some(key),
        };
        if path.as_slice().is_empty() {
            return Some(key);
        }
    }
}
