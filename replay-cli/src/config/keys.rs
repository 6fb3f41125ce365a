//! Which keys a configuration file may hold, what they are, and which of them a project may set by itself.

/// What a key holds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
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
    Table(&'static [Key]),
    /// Tables of the same keys by any name.
    Each(&'static [Key]),
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
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What it is for, in a sentence.
    pub about: &'static str,
    /// What a project may do with it.
    pub project: Project,
    /// The environment variable that says it for one run.
    pub variable: Option<&'static str>,
}

const fn key(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, about, project: Project::Free, variable: None }
}

impl Key {
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
pub const KEYS: &[Key] = &[
    key("agent", Kind::Text, "The agent that a new Session begins with.")
        .for_project(Project::UnlessUser)
        .or_variable("ANNALS_AGENT"),
    key("model", Kind::Text, "The model that a new Session begins with, as `provider/id`.").or_variable("ANNALS_MODEL"),
    key("small_model", Kind::Text, "The model for titles and other small work, as `provider/id`.")
        .or_variable("ANNALS_SMALL_MODEL"),
    key("titles", Kind::Flag, "Whether untitled Sessions are given a title by a model."),
    key("catalog", Kind::Added, "Files in the form of models.dev that are laid over the built-in list of models.")
        .for_project(Project::Trusted(REDIRECTS)),
    key("permissions", Kind::Rules, "Rules [action, resource, effect] for every agent; the last that matches counts.")
        .for_project(Project::Stricter),
    key("agents", Kind::Each(AGENT), "Agents by name; `build`, `plan` and `explore` are built in."),
    key("providers", Kind::Each(PROVIDER), "Providers of models by the first part of their models' names.")
        .for_project(Project::Trusted(REDIRECTS)),
    key("models", Kind::Each(MODEL), "Models by their name `provider/id`, over what the list of models says."),
    key("compaction", Kind::Table(COMPACTION), "When a history that grows too long is compacted."),
    key("output", Kind::Table(OUTPUT), "How much of a tool's output a model is shown."),
    key("tools", Kind::Table(TOOLS), "How calls of tools are made."),
    key("instructions", Kind::Table(INSTRUCTIONS), "Which files instruct the model."),
    key("skills", Kind::Table(SKILLS), "Where skills are."),
    key("redaction", Kind::Table(REDACTION), "What is kept from models and the log."),
];

const AGENT: &[Key] = &[
    key("description", Kind::Text, "What it is good for, for models that give it tasks."),
    key(
        "mode",
        Kind::Word(&["primary", "subagent", "all"]),
        "Whether people work with it, models give it tasks, or both.",
    ),
    key("text", Kind::Text, "Its system text, in the place of the one that suits the model's family."),
    key("text_file", Kind::Text, "A file with that text, relative to the folder of the configuration.")
        .for_project(Project::Inside),
    key("note", Kind::Text, "A text after the one that suits the model's family."),
    key("model", Kind::Text, "The model it begins with, as `provider/id`."),
    key("steps", Kind::Count, "How many steps one activity may take."),
    key("permissions", Kind::Rules, "Rules after those for every agent.").for_project(Project::Stricter),
    key("options", Kind::Free, "Settings of its requests, such as temperature or reasoningEffort.")
        .for_project(Project::Tuning(REDIRECTS)),
];

const PROVIDER: &[Key] = &[
    key("name", Kind::Text, "What people call it."),
    key("protocol", Kind::Word(&["openai-chat", "openai-responses", "anthropic-messages"]), "What it speaks."),
    key("base_url", Kind::Text, "Where it is, without the path of the protocol: https://host/v1."),
    key("key_env", Kind::Text, "The environment variable that holds its key."),
    key("key_command", Kind::Texts, "A command and its arguments that print its key.")
        .for_project(Project::Trusted(COMMANDS)),
    key("headers", Kind::Named, "Further headers of every request."),
    key("options", Kind::Free, "Settings of every request to it."),
    key("connect_timeout_ms", Kind::Count, "How long connecting may take, in milliseconds."),
    key("idle_timeout_ms", Kind::Count, "How long an answer may stand still, in milliseconds."),
];

const MODEL: &[Key] = &[
    key("id", Kind::Text, "What its provider calls it, unless that is the rest of its name."),
    key("name", Kind::Text, "What people call it."),
    key("context", Kind::Count, "Its context limit in tokens."),
    key("output", Kind::Count, "Its output limit in tokens."),
    key("media", Kind::Texts, "What it takes beside text: image, pdf, audio, video, or media types."),
    key("protocol", Kind::Word(&["openai-chat", "openai-responses", "anthropic-messages"]), "What it is spoken to in."),
    key("base_url", Kind::Text, "Where it is, if not where its provider's other models are.")
        .for_project(Project::Trusted(REDIRECTS)),
    key("price", Kind::Table(PRICE), "What it costs."),
    key("options", Kind::Free, "Settings of every request to it.").for_project(Project::Tuning(REDIRECTS)),
];

const PRICE: &[Key] = &[
    key("input", Kind::Price, "Input that was not cached, in dollars per million tokens."),
    key("output", Kind::Price, "Output and reasoning, in dollars per million tokens."),
    key("cache_read", Kind::Price, "Input read from a cache, in dollars per million tokens."),
    key("cache_write", Kind::Price, "Input written to a cache, in dollars per million tokens."),
];

const COMPACTION: &[Key] = &[
    key("auto", Kind::Flag, "Whether requests that would be too large are compacted first."),
    key("prune", Kind::Flag, "Whether old tool outputs are left out before a summary is made."),
    key("buffer", Kind::Count, "Tokens of the context that stay free, unless the model's output limit is larger."),
    key("keep_tokens", Kind::Count, "Tokens at the end of the conversation that are kept word for word."),
    key("agent", Kind::Text, "The agent whose text summary requests carry."),
    key("model", Kind::Text, "The model that summarises, as `provider/id`."),
];

const OUTPUT: &[Key] = &[
    key("lines", Kind::Count, "Lines of one tool's output that a model is shown."),
    key("bytes", Kind::Count, "Bytes of one tool's output that a model is shown."),
];

const TOOLS: &[Key] = &[key(
    "repeat_limit",
    Kind::Count,
    "Equal failures in a row after which the same call is not made again; 0 is no limit.",
)];

const INSTRUCTIONS: &[Key] = &[
    key("global", Kind::Texts, "Files of which the first that exists is told everywhere.")
        .for_project(Project::Trusted("it could tell the model what stands in any file")),
    key("names", Kind::Texts, "Names of files looked for from the Session's folder upward.")
        .for_project(Project::Inside),
    key("files", Kind::Added, "Further files or patterns: absolute, ~/, or relative to every folder upward.")
        .for_project(Project::Inside),
    key("project", Kind::Flag, "Whether files of the project count."),
];

const SKILLS: &[Key] = &[key(
    "folders",
    Kind::Added,
    "Folders with SKILL.md folders in them: absolute, ~/, or relative to the configuration's.",
)
.for_project(Project::Inside)];

const REDACTION: &[Key] = &[
    key("enabled", Kind::Flag, "Whether secrets are replaced by placeholders.").for_project(Project::NotOff),
    key("env", Kind::Added, "Environment variables whose values are secret, whatever they are called."),
    key("public_env", Kind::Added, "Environment variables whose values are no secrets, though they are called so.")
        .for_project(Project::Trusted("it would keep less secret")),
    key("patterns", Kind::Named, "Regular expressions of further secrets, by the name of their kind.")
        .for_project(Project::UnlessUser),
];

/// The key at a path such as `agents.build.steps`, names of tables included.
pub fn at(path: &[String]) -> Option<&'static Key> {
    let mut keys = KEYS;
    let mut path = path.iter();
    loop {
        let name = path.next()?;
        let key = keys.iter().find(|key| key.name == name)?;
        keys = match key.kind {
            Kind::Table(inner) => inner,
            Kind::Each(inner) => {
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
