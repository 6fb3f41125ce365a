//! A configuration file as settings: each value with its path and line, checked against the keys there are.

use crate::keys::{ConfigKey, KEYS, ValueKind};
use crate::origin::{ConfigLayer, ValueOrigin};
use crate::problem::Problem;
use annals_providers::catalog::Dollars;
use serde_json::{Map, Value as Json};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use toml_edit::{Document, Item, TableLike, Value};

/// How far a key may be from a known one and still pass for a slip.
const NEAR: f64 = 0.7;

/// How long something wrong may be to be shown as it is written, in bytes.
const WRITTEN: usize = 60;

/// Names under which people would write down a key.
const SECRETS: [&str; 5] = ["key", "api_key", "apikey", "apiKey", "token"];

/// A value that a file gives to a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Where in the tree of keys.
    pub path: Vec<String>,
    /// What; a price as its text.
    pub value: Json,
    /// Its place in the file.
    pub origin: ValueOrigin,
}

/// What a file says, and what is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct FileSettings {
    /// In the order of the file.
    pub settings: Vec<Setting>,
    /// What could not be understood.
    pub problems: Vec<Problem>,
}

/// Reads the text of a file.
pub fn read(layer: ConfigLayer, path: PathBuf, text: &str) -> FileSettings {
    let mut reader = FileReader { layer, path: Arc::new(path), text, reading: FileSettings::default() };
    match Document::parse(text) {
        Ok(document) => reader.table(&[], KEYS, document.as_table()),
        Err(error) => reader.problem(error.span(), error.message().to_owned()),
    }
    reader.reading
}

struct FileReader<'t> {
    layer: ConfigLayer,
    path: Arc<PathBuf>,
    text: &'t str,
    reading: FileSettings,
}

impl FileReader<'_> {
    fn origin(&self, span: Option<Range<usize>>) -> ValueOrigin {
        let until = span.map_or(0, |span| span.start).min(self.text.len());
        let line = self.text.as_bytes().iter().take(until).filter(|byte| **byte == b'\n').count() + 1;
        ValueOrigin::File { layer: self.layer, path: self.path.clone(), line }
    }

    fn problem(&mut self, span: Option<Range<usize>>, message: String) {
        let origin = self.origin(span);
        self.reading.problems.push(Problem { origin, message });
    }

    fn setting(&mut self, path: &[String], value: Json, span: Option<Range<usize>>) {
        let origin = self.origin(span);
        self.reading.settings.push(Setting { path: path.to_vec(), value, origin });
    }

    /// The entries of a table whose keys are known.
    fn table(&mut self, path: &[String], keys: &'static [ConfigKey], table: &dyn TableLike) {
        for (name, item) in table.iter() {
            let path = joined(path, name);
            match keys.iter().find(|key| key.name == name) {
                Some(key) => self.entry(&path, key, item),
                None => {
                    let span = table.key(name).and_then(|key| key.span()).or(item.span());
                    self.problem(span, unknown(&path, keys));
                }
            }
        }
    }

    fn entry(&mut self, path: &[String], key: &'static ConfigKey, item: &Item) {
        match key.kind {
            ValueKind::Table(keys) => {
                if let Some(table) = self.as_table(path, key.kind, item) {
                    self.table(path, keys, table);
                }
            }
            ValueKind::Each(keys) => {
                let Some(named) = self.as_table(path, key.kind, item) else { return };
                for (name, item) in named.iter() {
                    let path = joined(path, name);
                    if let Some(table) = self.as_table(&path, ValueKind::Table(keys), item) {
                        // An empty table counts as set.
                        self.setting(&path, Json::Object(Map::new()), item.span());
                        self.table(&path, keys, table);
                    }
                }
            }
            ValueKind::Named | ValueKind::Counts | ValueKind::Free => {
                let Some(named) = self.as_table(path, key.kind, item) else { return };
                for (name, item) in named.iter() {
                    let path = joined(path, name);
                    match (key.kind, self.json(&path, item)) {
                        (_, None) => {}
                        (ValueKind::Named, Some(value)) if !value.is_string() => {
                            self.expected(&path, ValueKind::Text, "a text", item);
                        }
                        (ValueKind::Counts, Some(value)) if value.as_u64().is_none_or(|count| count >= 1 << 53) => {
                            self.expected(&path, ValueKind::Count, "a whole number, 0 or more", item);
                        }
                        (_, Some(value)) => self.setting(&path, value, item.span()),
                    }
                }
            }
            ValueKind::Added | ValueKind::Rules => {
                let Some(list) = item.as_array() else { return self.expected(path, key.kind, "a list", item) };
                for element in list {
                    self.element(path, key, element);
                }
            }
            ValueKind::Text
            | ValueKind::Flag
            | ValueKind::Count
            | ValueKind::Word(_)
            | ValueKind::Price
            | ValueKind::Texts => match self.scalar(key.kind, item) {
                Ok(value) => self.setting(path, value, item.span()),
                Err(expected) => self.expected(path, key.kind, &expected, item),
            },
        }
    }

    fn element(&mut self, path: &[String], key: &ConfigKey, element: &Value) {
        let text = |value: &Value| value.as_str().map(|text| Json::String(text.to_owned()));
        let read = match key.kind {
            ValueKind::Rules => element.as_array().and_then(|parts| {
                let parts: Vec<Json> = parts.iter().map(text).collect::<Option<_>>()?;
                let [_, _, effect] = parts.as_slice() else { return None };
                matches!(effect.as_str(), Some("allow" | "deny" | "ask")).then_some(Json::Array(parts))
            }),
            _ => text(element),
        };
        match read {
            Some(value) => self.setting(path, value, element.span()),
            None => {
                let expected = match key.kind {
                    ValueKind::Rules => "rules such as [\"bash\", \"git *\", \"allow\"] (allow, ask or deny)",
                    _ => "a list of texts",
                };
                let found = self.found(element.span(), element.type_name());
                self.problem(element.span(), format!("`{}`: expected {expected}, found {found}", shown(path)));
            }
        }
    }

    fn scalar(&self, kind: ValueKind, item: &Item) -> Result<Json, String> {
        let expected = |what: &str| Err(what.to_owned());
        match kind {
            ValueKind::Flag => item.as_bool().map_or_else(|| expected("true or false"), |flag| Ok(flag.into())),
            ValueKind::Count => match item.as_integer().and_then(|count| u64::try_from(count).ok()) {
                Some(count) if count < 1 << 53 => Ok(count.into()),
                _ => expected("a whole number, 0 or more"),
            },
            ValueKind::Word(words) => match item.as_str() {
                Some(word) if words.contains(&word) => Ok(word.into()),
                _ => Err(format!("one of {}", words.join(", "))),
            },
            ValueKind::Price => {
                let written = match item.as_value() {
                    Some(Value::String(text)) => text.value().as_str(),
                    // As it is written: a float would be another number.
                    Some(Value::Integer(_) | Value::Float(_)) => {
                        item.span().and_then(|span| self.text.get(span)).unwrap_or_default()
                    }
                    _ => "",
                };
                let written = written.replace('_', "");
                match written.parse::<Dollars>() {
                    Ok(_) => Ok(written.into()),
                    Err(error) => Err(format!("an amount of dollars: {error}")),
                }
            }
            ValueKind::Texts => item
                .as_array()
                .and_then(|list| list.iter().map(|text| text.as_str().map(Json::from)).collect::<Option<Vec<_>>>())
                .map_or_else(|| expected("a list of texts"), |list| Ok(Json::Array(list))),
            _ => item.as_str().map_or_else(|| expected("a text"), |text| Ok(text.into())),
        }
    }

    fn as_table<'i>(&mut self, path: &[String], kind: ValueKind, item: &'i Item) -> Option<&'i dyn TableLike> {
        let table = item.as_table_like();
        if table.is_none() {
            self.expected(path, kind, "a table", item);
        }
        table
    }

    fn expected(&mut self, path: &[String], kind: ValueKind, expected: &str, item: &Item) {
        let found = match item {
            Item::Value(_) => self.found(item.span(), item.type_name()),
            Item::None | Item::Table(_) | Item::ArrayOfTables(_) => kind_of(item.type_name()).to_owned(),
        };
        let (path, example) = (shown(path), example(path, kind));
        self.problem(item.span(), format!("`{path}`: expected {expected}, found {found}; write {example}"));
    }

    /// What was found where something else was expected: as it is written, if that is short.
    fn found(&self, span: Option<Range<usize>>, type_name: &str) -> String {
        let written = span.and_then(|span| self.text.get(span)).map(str::trim).unwrap_or_default();
        let short = !written.is_empty() && written.len() <= WRITTEN && !written.contains('\n');
        if short { written.to_owned() } else { kind_of(type_name).to_owned() }
    }

    /// A free value as JSON.
    fn json(&mut self, path: &[String], item: &Item) -> Option<Json> {
        let converted = match item {
            Item::Value(value) => json(value),
            Item::Table(table) => table_json(table),
            Item::ArrayOfTables(list) => {
                list.iter().map(|table| table_json(table)).collect::<Option<_>>().map(Json::Array)
            }
            Item::None => None,
        };
        if converted.is_none() {
            self.problem(item.span(), format!("`{}`: dates and non-finite numbers are not supported", shown(path)));
        }
        converted
    }
}

fn kind_of(type_name: &str) -> &'static str {
    match type_name {
        "string" => "a text",
        "integer" => "a whole number",
        "float" => "a number",
        "boolean" => "true or false",
        "datetime" => "a date",
        "array" => "a list",
        "inline table" | "table" => "a table",
        "array of tables" => "tables in double brackets",
        _ => "nothing",
    }
}

/// How a key of a kind is written.
fn example(path: &[String], kind: ValueKind) -> String {
    let name = path.last().map(std::slice::from_ref).map(shown).unwrap_or_default();
    match kind {
        ValueKind::Text => format!("`{name} = \"...\"`"),
        ValueKind::Flag => format!("`{name} = true` or `{name} = false`"),
        ValueKind::Count => format!("`{name} = 1000`"),
        ValueKind::Word(words) => format!("`{name} = {:?}`", words.first().copied().unwrap_or_default()),
        ValueKind::Price => format!("`{name} = \"2.50\"`"),
        ValueKind::Texts | ValueKind::Added => format!("`{name} = [\"...\", \"...\"]`"),
        ValueKind::Rules => format!("`{name} = [[\"bash\", \"git *\", \"allow\"]]`"),
        ValueKind::Table(_) | ValueKind::Named | ValueKind::Counts | ValueKind::Free => {
            format!("`[{}]` with its keys below", shown(path))
        }
        ValueKind::Each(_) => format!("`[{}.NAME]` with its keys below", shown(path)),
    }
}

fn table_json(table: &dyn TableLike) -> Option<Json> {
    let mut object = Map::new();
    for (name, item) in table.iter() {
        let value = match item {
            Item::Value(value) => json(value)?,
            Item::Table(table) => table_json(table)?,
            Item::ArrayOfTables(list) => {
                Json::Array(list.iter().map(|table| table_json(table)).collect::<Option<_>>()?)
            }
            Item::None => return None,
        };
        object.insert(name.to_owned(), value);
    }
    Some(Json::Object(object))
}

fn json(value: &Value) -> Option<Json> {
    Some(match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Float(number) => Json::Number(serde_json::Number::from_f64(*number.value())?),
        Value::Boolean(flag) => (*flag.value()).into(),
        Value::Datetime(_) => return None,
        Value::Array(list) => Json::Array(list.iter().map(json).collect::<Option<_>>()?),
        Value::InlineTable(table) => table_json(table)?,
    })
}

fn joined(path: &[String], name: &str) -> Vec<String> {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

/// A path as one would write it in the file.
pub fn shown(path: &[String]) -> String {
    let bare =
        |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) && !name.is_empty();
    let part = |name: &String| if bare(name) { name.clone() } else { format!("{name:?}") };
    path.iter().map(part).collect::<Vec<_>>().join(".")
}

fn unknown(path: &[String], keys: &[ConfigKey]) -> String {
    let name = path.last().map_or("", String::as_str);
    let message = format!("unknown key `{}`", shown(path));
    if SECRETS.contains(&name) {
        return format!(
            "{message}: keys are never stored in files; name a variable with `key_env` or a command with `key_command`"
        );
    }
    let near = keys
        .iter()
        .map(|key| (strsim::jaro_winkler(name, key.name), key.name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(likeness, _)| *likeness >= NEAR);
    match near {
        Some((_, near)) => format!("{message}; did you mean `{near}`?"),
        None => format!("{message}; known keys: {}", keys.iter().map(|key| key.name).collect::<Vec<_>>().join(", ")),
    }
}
