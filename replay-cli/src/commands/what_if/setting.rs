//! Changed decisions as they are named on the command line.

use crate::error::WhatIfError;
use annals_config::{Config, config_key};
use annals_core::bound::Limits;
use annals_core::event::ModelProfile;
use annals_core::{Key, ModelName};
use annals_inspect::what_if::{CompactionRules, TextRedaction, WhatIfChange};
use annals_runtime::settings::Definitions;
use std::path::Path;
use std::sync::Arc;

/// How long a provider keeps an unused prefix, in milliseconds.
pub(super) const TTL_MS: u64 = 300_000;

/// What larger limits of outputs cannot show.
const LARGER: &str = "outputs that were shortened when they were recorded stay so: what was cut is not in the log, so larger limits show less than they \
     would have sent";

/// What is known of a model beyond the log.
pub(super) fn known_model(config: &Config, name: &ModelName) -> Option<ModelProfile> {
    let prices =
        || config.catalog.prices(name).map(|prices| ModelProfile { prices, ..ModelProfile::of_name(name.clone()) });
    config.model(name).or_else(prices)
}

/// The settings of compactions that are configured.
pub(super) fn rules(config: &Config) -> CompactionRules {
    let settings = config.compaction();
    CompactionRules {
        auto: settings.auto,
        prune: settings.prune,
        buffer: settings.buffer,
        keep_tokens: settings.keep_tokens,
    }
}

/// The changes, and what is said of those that shape no request.
pub(super) fn changes(
    settings: &[String],
    config: &Config,
    directory: &Path,
) -> Result<(Vec<WhatIfChange>, Vec<String>), WhatIfError> {
    let (mut changes, mut notes) = (Vec::new(), Vec::new());
    let mut compaction: Option<CompactionRules> = None;
    let mut output: Option<Limits> = None;
    for setting in settings {
        let (name, value) = setting.split_once('=').ok_or_else(|| WhatIfError::NoValue { setting: setting.clone() })?;
        if let Some(key) = name.strip_prefix("compaction.") {
            let mut rules = compaction.unwrap_or_else(|| rules(config));
            match (key, value) {
                ("auto", value) => rules.auto = flag(name, value)?,
                ("prune", value) => rules.prune = flag(name, value)?,
                ("buffer", value) => rules.buffer = number(name, value)?,
                ("keep_tokens", value) => rules.keep_tokens = number(name, value)?,
                _ => other(name, &mut notes)?,
            }
            compaction = Some(rules);
            continue;
        }
        if let Some(key) = name.strip_prefix("output.") {
            let mut limits = output.unwrap_or_else(|| config.output());
            let many = |value: &str| Ok(usize::try_from(number(name, value)?).unwrap_or(usize::MAX));
            match key {
                "lines" => limits.lines = many(value)?,
                "bytes" => limits.bytes = many(value)?,
                _ => other(name, &mut notes)?,
            }
            output = Some(limits);
            continue;
        }
        match one(name, value, config, directory)? {
            Some(change) => changes.push(change),
            None => other(name, &mut notes)?,
        }
    }
    changes.extend(compaction.map(WhatIfChange::Compaction));
    if output.is_some_and(|limits| limits.lines > config.output().lines || limits.bytes > config.output().bytes) {
        notes.push(LARGER.to_owned());
    }
    changes.extend(output.map(WhatIfChange::Output));
    Ok((changes, notes))
}

fn one(name: &str, value: &str, config: &Config, directory: &Path) -> Result<Option<WhatIfChange>, WhatIfError> {
    if let Some(path) = name.strip_prefix("file:") {
        return Ok(Some(WhatIfChange::File { path: path.to_owned(), content: text(value, directory)? }));
    }
    if let Some(key) = name.strip_prefix("source:") {
        let parsed: Key = key.parse().map_err(|_| WhatIfError::NoKey { key: key.to_owned() })?;
        return Ok(Some(WhatIfChange::Source { key: parsed, text: text(value, directory)? }));
    }
    if let Some(tool) = name.strip_prefix("tool:") {
        return match value {
            "none" | "false" | "off" => Ok(Some(WhatIfChange::WithoutTool { name: tool.to_owned() })),
            _ => Err(WhatIfError::OnlyNone { name: name.to_owned() }),
        };
    }
    let system = |agent: Option<&str>| {
        Ok(Some(WhatIfChange::AgentSystem { agent: agent.map(str::to_owned), text: text(value, directory)? }))
    };
    match name.split('.').collect::<Vec<_>>().as_slice() {
        ["agent", "system"] => system(None),
        ["agents", agent, "system" | "prompt"] => system(Some(agent)),
        ["model"] => {
            let model = ModelName::from(value);
            let profile = config.model(&model).ok_or_else(|| WhatIfError::NoModel { model: value.to_owned() })?;
            Ok(Some(WhatIfChange::Model { profile: Box::new(profile) }))
        }
        ["redaction"] | ["redaction", "enabled"] => match flag(name, value)? {
            true => Ok(config.redactor().map(|redactor| {
                let redact: TextRedaction = Arc::new(move |text: &str| redactor.redact(text).text.into_owned());
                WhatIfChange::Redaction { redact }
            })),
            // What was replaced is in no log.
            false => Ok(None),
        },
        _ => Ok(None),
    }
}

/// A key of the configuration that shapes no request of a session that is recorded.
fn other(name: &str, notes: &mut Vec<String>) -> Result<(), WhatIfError> {
    let path: Vec<String> = name.split('.').map(str::to_owned).collect();
    if config_key(&path).is_none() {
        return Err(WhatIfError::NoSetting { name: name.to_owned() });
    }
    notes.push(format!("{name} changes no request of a session that is recorded"));
    Ok(())
}

/// A text: `@FILE`, `none`, or the text itself.
fn text(value: &str, directory: &Path) -> Result<Option<String>, WhatIfError> {
    if value == "none" {
        return Ok(None);
    }
    let Some(file) = value.strip_prefix('@') else { return Ok(Some(value.to_owned())) };
    let path = directory.join(file);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(source) => Err(WhatIfError::File { path, source }),
    }
}

fn flag(name: &str, value: &str) -> Result<bool, WhatIfError> {
    match value {
        "true" | "on" => Ok(true),
        "false" | "off" => Ok(false),
        _ => Err(WhatIfError::BadValue { name: name.to_owned(), expected: "true or false" }),
    }
}

fn number(name: &str, value: &str) -> Result<u64, WhatIfError> {
    let digits = value.replace('_', "");
    digits.parse().map_err(|_| WhatIfError::BadValue { name: name.to_owned(), expected: "a whole number" })
}
