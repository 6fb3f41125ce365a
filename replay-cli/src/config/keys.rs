//! Which keys a configuration file may hold, what they are, and which of them a project may set by itself.

/// What a key holds.
#[derive(Clone, Copy, Debug)]
pub enum ValueKind {
    /// A text.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number, 0 or more.
    Count,
    /// One of some words.
    Word(&'static [&'static str]),
    /// Dollars per million tokens, exactly.
    Price,
    /// Texts; a later file's list takes the place of an earlier one's.
    Texts,
    /// Texts; a later file's come after an earlier one's.
    Added,
    /// Rules `[action, resource, effect]`; a later file's come after an earlier one's.
    Rules,
    /// Texts by any name.
    Named,
    /// Settings in the shape of the AI SDK, by any name.
    Free,
    /// Keys.
    Table(&'static [ConfigKey]),
    /// Tables of the same keys by any name.
    Each(&'static [ConfigKey]),
}

/// What a project's file may do with a key while its folder is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Project {
    /// Set it.
    Free,
    /// Not set it; the text says why.
    Trusted(&'static str),
    /// Set it to paths that stay inside the project.
    Inside,
    /// Set it unless the user did.
    UnlessUser,
    /// Only make it stricter.
    Stricter,
    /// Not switch it off.
    NotOff,
    /// Set those of its settings that only say how a model answers; the text says why no others.
    Tuning(&'static str),
}

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct ConfigKey {
    pub name: &'static str,
    /// What it holds.
    pub kind: ValueKind,
    /// What it is for, in a sentence.
    pub about: &'static str,
    /// What a project may do with it.
    pub project: Project,
    /// The environment variable that says it for one run.
    pub variable: Option<&'static str>,
}

const fn key(name: &'static str, kind: ValueKind, about: &'static str) -> ConfigKey {
    ConfigKey { name, kind, about, project: Project::Free, variable: None }
}

impl ConfigKey {
    const fn for_project(self, project: Project) -> Self {
        Self { project, ..self }
    }

    const fn or_variable(self, variable: &'static str) -> Self {
        Self { variable: Some(variable), ..self }
    }
}

const COMMANDS: &str = "it names a command that would be run";
const REDIRECTS: &str = "it could send keys and code to another place";

/// Settings of requests, in either spelling, that reach nobody but the model: no tools of the provider's own, no servers
/// that it calls, no fields of a body, nothing that it is to keep.
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
    key("titles", ValueKind::Flag, "Whether a model writes titles for untitled sessions."),
    key("catalog", ValueKind::Added, "Files in the form of models.dev that are laid over the built-in list of models.")
        .for_project(Project::Trusted(REDIRECTS)),
    key(
        "permissions",
        ValueKind::Rules,
        "Rules [action, resource, effect] for every agent; the last that matches counts.",
    )
    .for_project(Project::Stricter),
    key("agents", ValueKind::Each(AGENT), "Agents by name; `build`, `plan` and `explore` are built in."),
    key("providers", ValueKind::Each(PROVIDER), "Providers of models by the first part of their models' names.")
        .for_project(Project::Trusted(REDIRECTS)),
    key("models", ValueKind::Each(MODEL), "Models by their name `provider/id`, over what the list of models says."),
    key("compaction", ValueKind::Table(COMPACTION), "When a history that grows too long is compacted."),
    key("output", ValueKind::Table(OUTPUT), "How much of a tool's output a model is shown."),
    key("tools", ValueKind::Table(TOOLS), "How calls of tools are made."),
    key("instructions", ValueKind::Table(INSTRUCTIONS), "Which files instruct the model."),
    key("skills", ValueKind::Table(SKILLS), "Where skills are."),
    key("redaction", ValueKind::Table(REDACTION), "What is kept from models and the log."),
];

const AGENT: &[ConfigKey] = &[
    key("description", ValueKind::Text, "What it is good for, for models that give it tasks."),
    key(
        "mode",
        ValueKind::Word(&["primary", "subagent", "all"]),
        "Whether people work with it, models give it tasks, or both.",
    ),
    key("text", ValueKind::Text, "Its system text, in the place of the one that suits the model's family."),
    key("text_file", ValueKind::Text, "A file with that text, relative to the folder of the configuration.")
        .for_project(Project::Inside),
    key("note", ValueKind::Text, "A text after the one that suits the model's family."),
    key("model", ValueKind::Text, "The model it begins with, as `provider/id`."),
    key("steps", ValueKind::Count, "How many steps one activity may take."),
    key("permissions", ValueKind::Rules, "Rules after those for every agent.").for_project(Project::Stricter),
    key("options", ValueKind::Free, "Settings of its requests, such as temperature or reasoningEffort.")
        .for_project(Project::Tuning(REDIRECTS)),
];

const PROVIDER: &[ConfigKey] = &[
    key("name", ValueKind::Text, "What people call it."),
    key("protocol", ValueKind::Word(&["openai-chat", "openai-responses", "anthropic-messages"]), "What it speaks."),
    key("base_url", ValueKind::Text, "Where it is, without the path of the protocol: https://host/v1."),
    key("key_env", ValueKind::Text, "The environment variable that holds its key."),
    key("key_command", ValueKind::Texts, "A command and its arguments that print its key.")
        .for_project(Project::Trusted(COMMANDS)),
    key("headers", ValueKind::Named, "Further headers of every request."),
    key("options", ValueKind::Free, "Settings of every request to it."),
    key("connect_timeout_ms", ValueKind::Count, "How long connecting may take, in milliseconds."),
    key("idle_timeout_ms", ValueKind::Count, "How long an answer may send nothing, in milliseconds."),
];

const MODEL: &[ConfigKey] = &[
    key("id", ValueKind::Text, "What its provider calls it, unless that is the rest of its name."),
    key("name", ValueKind::Text, "What people call it."),
    key("context", ValueKind::Count, "Its context limit in tokens."),
    key("output", ValueKind::Count, "Its output limit in tokens."),
    key("media", ValueKind::Texts, "What it takes beside text: image, pdf, audio, video, or media types."),
    key(
        "protocol",
        ValueKind::Word(&["openai-chat", "openai-responses", "anthropic-messages"]),
        "What it is spoken to in.",
    ),
    key("base_url", ValueKind::Text, "Where it is, if not where its provider's other models are.")
        .for_project(Project::Trusted(REDIRECTS)),
    key("price", ValueKind::Table(PRICE), "What it costs."),
    key("options", ValueKind::Free, "Settings of every request to it.").for_project(Project::Tuning(REDIRECTS)),
];

const PRICE: &[ConfigKey] = &[
    key("input", ValueKind::Price, "Input that was not cached, in dollars per million tokens."),
    key("output", ValueKind::Price, "Output and reasoning, in dollars per million tokens."),
    key("cache_read", ValueKind::Price, "Input read from a cache, in dollars per million tokens."),
    key("cache_write", ValueKind::Price, "Input written to a cache, in dollars per million tokens."),
];

const COMPACTION: &[ConfigKey] = &[
    key("auto", ValueKind::Flag, "Whether requests that would be too large are compacted first."),
    key("prune", ValueKind::Flag, "Whether old tool outputs are left out before a summary is made."),
    key("buffer", ValueKind::Count, "Tokens of the context that stay free, unless the model's output limit is larger."),
    key("keep_tokens", ValueKind::Count, "Tokens at the end of the conversation that are kept word for word."),
    key("agent", ValueKind::Text, "The agent whose text summary requests carry."),
    key("model", ValueKind::Text, "The model that summarises, as `provider/id`."),
];

const OUTPUT: &[ConfigKey] = &[
    key("lines", ValueKind::Count, "Lines of one tool's output that a model is shown."),
    key("bytes", ValueKind::Count, "Bytes of one tool's output that a model is shown."),
];

const TOOLS: &[ConfigKey] = &[key(
    "repeat_limit",
    ValueKind::Count,
    "Equal failures in a row after which the same call is not made again; 0 is no limit.",
)];

const INSTRUCTIONS: &[ConfigKey] = &[
    key("global", ValueKind::Texts, "Files of which the first that exists is sent to the model in every session.")
        .for_project(Project::Trusted("it could send the content of any file to the model")),
    key("names", ValueKind::Texts, "Names of files looked for from the session's folder upward.")
        .for_project(Project::Inside),
    key("files", ValueKind::Added, "Further files or patterns: absolute, ~/, or relative to every folder upward.")
        .for_project(Project::Inside),
    key("project", ValueKind::Flag, "Whether files of the project count."),
];

const SKILLS: &[ConfigKey] = &[key(
    "folders",
    ValueKind::Added,
    "Folders with SKILL.md folders in them: absolute, ~/, or relative to the configuration's.",
)
.for_project(Project::Inside)];

const REDACTION: &[ConfigKey] = &[
    key("enabled", ValueKind::Flag, "Whether secrets are replaced by placeholders.").for_project(Project::NotOff),
    key("env", ValueKind::Added, "Environment variables whose values are secret, whatever they are called."),
    key(
        "public_env",
        ValueKind::Added,
        "Environment variables whose values are no secrets, though they are called so.",
    )
    .for_project(Project::Trusted("it would keep less secret")),
    key("patterns", ValueKind::Named, "Regular expressions of further secrets, by the name of their kind.")
        .for_project(Project::UnlessUser),
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
