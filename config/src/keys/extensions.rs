//! Keys of what a configuration adds without Rust.

use super::{ConfigKey, ValueKind, key};

const PASS_ENV: &str = "Your environment variables that it sees besides the usual ones.";

pub(super) const LSP: &[ConfigKey] = &[
    key("command", ValueKind::Texts, "The program and its arguments; it speaks LSP over stdin and stdout."),
    key("extensions", ValueKind::Texts, "The extensions of its files, without a dot."),
    key("enabled", ValueKind::Flag, "Whether it is started for files of these extensions, if it is installed."),
];

pub(super) const WEBSEARCH: &[ConfigKey] = &[
    key(
        "command",
        ValueKind::Texts,
        "A program that is given {\"query\", \"count\"} as JSON and prints what it found.",
    ),
    key("provider", ValueKind::Word(&["brave", "tavily", "searxng"]), "A service, in place of a command."),
    key("url", ValueKind::Text, "The address of the service; SearXNG needs it."),
    key(
        "key_env",
        ValueKind::Text,
        "The environment variable with its key: by default BRAVE_API_KEY or TAVILY_API_KEY.",
    ),
    key("pass_env", ValueKind::Texts, PASS_ENV),
    key("timeout_ms", ValueKind::Count, "How long the program may take, in milliseconds; 30000 by default."),
];

pub(super) const CUSTOM_TOOL: &[ConfigKey] = &[
    key(
        "command",
        ValueKind::Texts,
        "The program and its arguments; it is given the input as JSON and prints the result.",
    ),
    key("description", ValueKind::Text, "What it does, for the model."),
    key("parameters", ValueKind::Free, "The fields of its input by name, each as a JSON Schema."),
    key("required", ValueKind::Texts, "The fields that a call must have."),
    key("pass_env", ValueKind::Texts, PASS_ENV),
    key("timeout_ms", ValueKind::Count, "How long a call may take, in milliseconds; 120000 by default."),
];

pub(super) const CONTEXT: &[ConfigKey] = &[
    key("command", ValueKind::Texts, "The program and its arguments; what it prints is the text."),
    key("key", ValueKind::Text, "The key in the log; `config/NAME` by default."),
    key("heading", ValueKind::Text, "What precedes the text."),
    key("changed", ValueKind::Text, "What precedes the text where it has changed; `heading` by default."),
    key(
        "removed",
        ValueKind::Text,
        "What the model reads once the program prints nothing any more, or the source is gone.",
    ),
    key(
        "when",
        ValueKind::Word(&["boundary", "once"]),
        "When it is run: before every request (boundary), or once in a process.",
    ),
    key("every_ms", ValueKind::Count, "With `boundary`: at most once in so many milliseconds."),
    key("pass_env", ValueKind::Texts, PASS_ENV),
    key("timeout_ms", ValueKind::Count, "How long it may take, in milliseconds; 5000 by default."),
];

pub(super) const HOOK: &[ConfigKey] = &[
    key(
        "on",
        ValueKind::Word(&["before_tool", "after_tool", "boundary", "compaction"]),
        "When it is run: before a call (exit status 2 refuses it), after one (its output is added to the result), before a request, before a compaction (its output is added to what is summarised).",
    ),
    key("command", ValueKind::Texts, "The program and its arguments; it is given JSON."),
    key("tools", ValueKind::Texts, "The tools whose calls it is about, as names or patterns with *; by default all."),
    key("pass_env", ValueKind::Texts, PASS_ENV),
    key("timeout_ms", ValueKind::Count, "How long it may take, in milliseconds; 30000 by default."),
];
