//! The tools of a recorded session: when they were offered, their permission actions, and their results.

use super::super::RecordedEvent;
use annals_core::Event;
use annals_core::event::{PermissionEvent, ToolEvent};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(super) struct RecordedTools {
    /// The permission action of each tool with a question.
    actions: BTreeMap<String, String>,
    /// The current declaration of each tool.
    offered: BTreeMap<String, usize>,
    /// The results of each declaration, in order.
    gave: Vec<Vec<Value>>,
}

impl RecordedTools {
    pub fn of(facts: &[RecordedEvent]) -> Self {
        let mut names = BTreeMap::new();
        let mut tools = Self::default();
        for fact in facts {
            match &fact.event {
                Event::Tool(ToolEvent::Called(called)) => drop(names.insert(called.call.clone(), called.name.clone())),
                Event::Permission(PermissionEvent::Asked(asked)) => {
                    let name = asked.call.as_ref().and_then(|call| names.get(call));
                    tools.actions.extend(name.map(|name| (name.clone(), asked.action.clone())));
                }
                _ => {}
            }
        }
        tools
    }

    /// Permission actions with a question.
    pub fn asked(&self) -> Vec<String> {
        self.actions.values().collect::<BTreeSet<_>>().into_iter().cloned().collect()
    }

    /// Whether a call of this tool asks for permission.
    pub fn is_asked(&self, tool: &str) -> bool {
        self.actions.contains_key(tool)
    }

    /// The actions after which exactly these tools are offered.
    pub fn offer(&mut self, names: &BTreeSet<String>) -> Vec<Value> {
        let gone: Vec<String> = self.offered.keys().filter(|name| !names.contains(*name)).cloned().collect();
        let mut actions: Vec<Value> = gone.iter().map(|name| json!({ "untool": name })).collect();
        self.offered.retain(|name, _| names.contains(name));
        for name in names.iter().filter(|name| !self.offered.contains_key(*name)).cloned().collect::<Vec<_>>() {
            let mut tool = Map::new();
            tool.insert("name".to_owned(), json!(name));
            tool.insert("results".to_owned(), json!(self.gave.len()));
            tool.extend(self.actions.get(&name).map(|action| ("permission".to_owned(), json!(action))));
            actions.push(json!({ "tool": tool }));
            self.offered.insert(name, self.gave.len());
            self.gave.push(Vec::new());
        }
        actions
    }

    /// The current declaration of a tool.
    pub fn declared(&self, tool: &str) -> Option<usize> {
        self.offered.get(tool).copied()
    }

    /// Adds the result of a call.
    pub fn gave(&mut self, declaration: usize, result: Value) {
        self.gave.get_mut(declaration).into_iter().for_each(|results| results.push(result.clone()));
    }

    /// An action with the results of its declarations filled in.
    pub fn resolve(&self, action: Value) -> Value {
        match action {
            Value::Array(items) => items.into_iter().map(|item| self.resolve(item)).collect(),
            Value::Object(mut fields) => {
                let declared = fields.get("tool").and_then(|tool| tool.get("results")).and_then(Value::as_u64);
                let results = declared.and_then(|at| self.gave.get(usize::try_from(at).ok()?));
                if let (Some(results), Some(Value::Object(tool))) = (results, fields.get_mut("tool")) {
                    let results: Vec<Value> = results.iter().cloned().map(|result| self.resolve(result)).collect();
                    match results.is_empty() {
                        true => drop(tool.remove("results")),
                        false => drop(tool.insert("results".to_owned(), json!(results))),
                    }
                    return Value::Object(fields);
                }
                // Only lists of actions: inputs and values are not ours to change.
                for name in ["during", "on_load", "provider"] {
                    if let Some(inner) = fields.remove(name) {
                        fields.insert(name.to_owned(), self.resolve(inner));
                    }
                }
                Value::Object(fields)
            }
            other => other,
        }
    }
}
