//! The tools of one turn.

use super::CallError;
use super::registry::{Registered, ToolRegistry};
use annals_core::Json;
use annals_core::event::{ToolDefinition, ToolsRecorded};
use annals_core::permission::wildcard;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many names a model reads after it named a tool that is not offered.
const NAMED: usize = 100;

/// What one request offers, by name, with the registrations that were meant. The default offers nothing: a last step.
#[derive(Clone, Default)]
pub struct Offered {
    tools: Vec<Arc<Registered>>,
    /// Whether definitions have few words.
    brief: bool,
}

impl Offered {
    /// Sorted by name already.
    pub(super) fn new(tools: Vec<Arc<Registered>>) -> Self {
        Self { tools, brief: false }.usable()
    }

    /// All but those that need one that is not offered.
    fn usable(mut self) -> Self {
        let names: Vec<String> = self.tools.iter().map(|tool| tool.definition().name.clone()).collect();
        self.tools.retain(|tool| tool.needs().is_none_or(|needed| names.iter().any(|name| name == needed)));
        self
    }

    /// All but those of some permission actions.
    #[must_use]
    pub fn without(mut self, hidden: impl Fn(&str) -> bool) -> Self {
        self.tools.retain(|tool| !hidden(tool.action()));
        self.usable()
    }

    /// Those that a choice by names and patterns does not leave out: the exact name counts, then the longest pattern.
    #[must_use]
    pub fn chosen(mut self, choice: &BTreeMap<String, bool>) -> Self {
        self.tools.retain(|tool| is_offered(choice, &tool.definition().name));
        self.usable()
    }

    /// All but those of some names.
    #[must_use]
    pub fn without_named(mut self, names: &[String]) -> Self {
        self.tools.retain(|tool| !names.contains(&tool.definition().name));
        self
    }

    /// Those of some names, with one sentence as description and schemas without any.
    #[must_use]
    pub fn brief(mut self, names: &[String]) -> Self {
        self.tools.retain(|tool| names.contains(&tool.definition().name));
        Self { brief: true, ..self }
    }

    /// Whether nothing is offered.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The tools, by name.
    pub fn tools(&self) -> &[Arc<Registered>] {
        &self.tools
    }

    /// The definitions as a request sends them, and as the log records them.
    pub fn definitions(&self) -> ToolsRecorded {
        let definitions = self.tools.iter().map(|tool| match self.brief {
            true => brief(tool.definition()),
            false => tool.definition().clone(),
        });
        ToolsRecorded { tools: definitions.collect() }
    }

    /// The names of its tools, for a model that named another one: at most a hundred.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.tools.iter().map(|tool| &*tool.definition().name).collect();
        match names.len().checked_sub(NAMED) {
            Some(more @ 1..) => format!("{} and {more} more", names[..NAMED].join(", ")),
            _ => names.join(", "),
        }
    }

    /// The tool that a call of this turn means, if it is still the one that was offered. What runs afterwards runs on
    /// this registration to its end.
    ///
    /// # Errors
    /// [`CallError::Unknown`] for a name that was not offered, [`CallError::Stale`] for one that now names another
    /// registration by now, or for none.
    pub fn resolve(&self, registry: &ToolRegistry, name: &str) -> Result<Arc<Registered>, CallError> {
        let offered = self.tools.iter().find(|tool| tool.definition().name == name);
        let offered = offered.ok_or_else(|| CallError::Unknown(name.into()))?;
        match registry.current(name) {
            Some(current) if Arc::ptr_eq(&current, offered) => Ok(current),
            _ => Err(CallError::Stale(name.into())),
        }
    }
}

fn is_offered(choice: &BTreeMap<String, bool>, name: &str) -> bool {
    let patterns = choice.iter().filter(|(pattern, _)| wildcard(pattern, name));
    let longest = patterns.max_by_key(|(pattern, _)| pattern.len());
    choice.get(name).or(longest.map(|(_, offered)| offered)).copied().unwrap_or(true)
}

/// A definition in few words: the first sentence of its description, and a schema without descriptions.
fn brief(definition: &ToolDefinition) -> ToolDefinition {
    let description = definition.description.inline().unwrap_or_default();
    let line = description.lines().next().unwrap_or_default();
    let sentence = line.split_inclusive(". ").next().unwrap_or_default().trim_end();
    let schema = definition.schema.0.inline().and_then(|schema| serde_json::from_str::<Value>(schema).ok());
    let schema = schema.map(|mut schema| {
        bare(&mut schema);
        Json::received(annals_core::canonical::value(&schema))
    });
    ToolDefinition {
        name: definition.name.clone(),
        description: sentence.into(),
        schema: schema.unwrap_or_else(|| definition.schema.clone()),
    }
}

/// Removes the words of a JSON Schema. A property may have one of these names: then its value is a schema, no text.
fn bare(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                !(value.is_string() && matches!(name.as_str(), "description" | "title" | "$schema"))
            });
            fields.values_mut().for_each(bare);
        }
        Value::Array(items) => items.iter_mut().for_each(bare),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{brief, is_offered};
    use annals_core::Json;
    use annals_core::event::ToolDefinition;
    use std::collections::BTreeMap;

    #[test]
    fn of_a_choice_of_tools_the_exact_name_counts_and_then_the_longest_pattern() {
        let choice = |all: &[(&str, bool)]| -> BTreeMap<String, bool> {
            all.iter().map(|(name, offered)| ((*name).to_owned(), *offered)).collect()
        };
        let reading = choice(&[("*", false), ("read", true), ("mcp__*", true), ("mcp__web__*", false)]);
        let offered = |name| is_offered(&reading, name);
        assert!(offered("read") && offered("mcp__docs__find") && !offered("mcp__web__get") && !offered("bash"));
        assert!(is_offered(&choice(&[("bash", false)]), "read") && is_offered(&choice(&[]), "read"));
    }

    #[test]
    fn a_brief_definition_keeps_the_first_sentence_and_the_shape() {
        let schema = r#"{"$schema":"x","type":"object","title":"Input","properties":{"path":{"type":"string","description":"Which."},
            "description":{"type":"string","description":"Why."}},"required":["path"]}"#;
        let definition = ToolDefinition {
            name: "read".into(),
            description: "Reads a file. With line numbers.\nMore.".into(),
            schema: Json::received(schema),
        };
        let brief = brief(&definition);
        assert_eq!(brief.name, "read");
        assert_eq!(brief.description.inline(), Some("Reads a file."));
        assert_eq!(
            brief.schema.0.inline(),
            Some(
                r#"{"properties":{"description":{"type":"string"},"path":{"type":"string"}},"required":["path"],"type":"object"}"#
            )
        );
    }
}
