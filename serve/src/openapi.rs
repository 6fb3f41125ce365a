//! The OpenAPI document: made of the operations that are served and of the schemas of what is written.

use crate::operation::{AnswerShape, Operation};
use crate::problem::ApiProblem;
use crate::routes::{operations, writing};
use annals_core::schema::of;
use annals_core::{BlobHash, SessionId};
use annals_inspect::schema::named;
use annals_inspect::views;
use serde_json::{Map, Value, json};

/// The document (OpenAPI 3.1), as `/openapi.json` gives it: of a server that only reads, or of one that `writes` as well.
pub fn document(writes: bool) -> Value {
    let mut schemas = Schemas::default();
    let problem = schemas.add("Problem", of::<ApiProblem>());
    let mut paths = Map::new();
    let served = operations().into_iter().chain(writes.then(writing).into_iter().flatten());
    for operation in served {
        let entry = schemas.operation(&operation, &problem);
        let method = if operation.has_body { "post" } else { "get" };
        paths.entry(operation.path).or_insert_with(|| json!({}))[method] = entry;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "annals serve",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Sessions of coding agents: what happened, what the model saw, and why.",
            "license": {"name": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

/// The schemas of the document, each under its own name.
#[derive(Default)]
struct Schemas {
    components: Map<String, Value>,
}

impl Schemas {
    /// Adds a schema and those that it defines; gives a reference to it.
    fn add(&mut self, name: &str, schema: Value) -> Value {
        let mut schema = schema;
        if let Value::Object(members) = &mut schema {
            members.remove("$schema");
            if let Some(Value::Object(definitions)) = members.remove("$defs") {
                for (part, mut definition) in definitions {
                    moved(&mut definition, name);
                    self.components.insert(format!("{name}.{part}"), definition);
                }
            }
        }
        moved(&mut schema, name);
        self.components.insert(name.to_owned(), schema);
        json!({"$ref": format!("#/components/schemas/{name}")})
    }

    fn operation(&mut self, operation: &Operation, problem: &Value) -> Value {
        let mut responses = Map::new();
        responses
            .insert("200".to_owned(), json!({"description": operation.summary, "content": self.content(operation)}));
        let failed = json!({"description": "Why there is no answer.", "content": {"application/problem+json": {"schema": problem}}});
        responses.insert("default".to_owned(), failed);
        let mut entry = json!({"operationId": operation.name, "summary": operation.summary, "responses": responses});
        let mut parameters = in_path(operation.path);
        if operation.has_body {
            let given = self.add(&format!("{}.given", operation.name), operation.given.clone());
            entry["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": given}}});
        } else {
            parameters.extend(self.in_query(operation));
        }
        if operation.is_streamed {
            parameters.push(json!({
                "name": "Last-Event-ID", "in": "header", "schema": {"type": "string"},
                "description": "The id of the last message that was received: the stream begins after it.",
            }));
        }
        entry["parameters"] = Value::Array(parameters);
        entry
    }

    fn content(&mut self, operation: &Operation) -> Value {
        let json = |schema: Value| json!({"application/json": {"schema": schema}});
        let mut content = match &operation.answer {
            AnswerShape::Named(name) => json(self.add(name, named(name).unwrap_or_default())),
            AnswerShape::Json(schema) => json(self.add(&format!("{}.answer", operation.name), schema())),
            AnswerShape::Page { items, schema } => {
                let list = self.add(schema, named(schema).unwrap_or_default());
                let next = json!({"type": ["integer", "null"], "description": "What the next page begins at."});
                json(json!({"type": "object", "properties": {*items: list, "next": next}, "required": [items, "next"]}))
            }
            AnswerShape::Bytes(kind) => json!({*kind: {}}),
        };
        if operation.is_streamed {
            content["text/event-stream"] = json!({"schema": {"type": "string"}});
        }
        content
    }

    /// What may be given in the query.
    fn in_query(&mut self, operation: &Operation) -> Vec<Value> {
        let given = &operation.given;
        let required = |name: &str| {
            given["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
        };
        let Some(members) = given["properties"].as_object() else { return Vec::new() };
        let parameter = |(name, schema): (&String, &Value)| {
            let mut schema = schema.clone();
            let description = schema.as_object_mut().and_then(|members| members.remove("description"));
            // A query has no null: what is not given is left out.
            if let Some(kinds) = schema["type"].as_array() {
                let kinds: Vec<&Value> = kinds.iter().filter(|kind| *kind != "null").collect();
                if let [kind] = kinds.as_slice() {
                    schema["type"] = (*kind).clone();
                }
            }
            let reference = schema["anyOf"].as_array().and_then(|kinds| kinds.first().cloned());
            let mut schema = reference.unwrap_or(schema);
            moved(&mut schema, &format!("{}.given", operation.name));
            json!({"name": name, "in": "query", "required": required(name), "description": description, "schema": schema})
        };
        let parameters: Vec<Value> = members.iter().map(parameter).collect();
        if given.get("$defs").is_some() {
            self.add(&format!("{}.given", operation.name), given.clone());
        }
        parameters
    }
}

/// The arguments in a path.
fn in_path(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names.map(|name| json!({"name": name, "in": "path", "required": true, "schema": of_argument(name)})).collect()
}

/// What an argument in a path looks like.
fn of_argument(name: &str) -> Value {
    match name {
        "session" => of::<SessionId>(),
        "hash" => of::<BlobHash>(),
        "view" => json!({"enum": views::NAMES}),
        "number" => json!({"type": "integer", "minimum": 1}),
        _ => json!({"type": "string"}),
    }
}

/// Points references at where definitions are in the document.
fn moved(schema: &mut Value, name: &str) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(target)) = members.get_mut("$ref")
                && let Some(part) = target.strip_prefix("#/$defs/")
            {
                *target = format!("#/components/schemas/{name}.{part}");
            }
            members.values_mut().for_each(|value| moved(value, name));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| moved(item, name)),
        _ => {}
    }
}
