//! MCP servers written into a configuration file, and taken out of it.

use crate::problem::ConfigError;
use crate::user_file;
use std::path::Path;
use toml_edit::{Array, DocumentMut, Item, Table, Value};

/// A server to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenServer {
    /// The program and its arguments; empty for an address.
    pub command: Vec<String>,
    /// The address, in the place of a program.
    pub url: Option<String>,
    /// Environment variables that are set for the program.
    pub env: Vec<(String, String)>,
    /// Environment variables of the user that the program sees.
    pub pass_env: Vec<String>,
    /// Headers of requests to the address.
    pub headers: Vec<(String, String)>,
    /// The environment variable with the token for the address.
    pub bearer_env: Option<String>,
}

/// Writes a server into a file, which is created if it is missing. Everything else in it stays as it is. Returns whether the file
/// had none of that name; one that it has is replaced only with `replaces`.
///
/// # Errors
/// If the file is not a valid configuration, or cannot be written.
pub fn write_server(file: &Path, name: &str, server: &WrittenServer, replaces: bool) -> Result<bool, ConfigError> {
    edit(file, |servers| {
        if servers.contains_key(name) && !replaces {
            return (false, false);
        }
        servers.insert(name, Item::Table(table(server)));
        (true, true)
    })
}

/// Takes a server out of a file; whether it was there.
///
/// # Errors
/// If the file is not a valid configuration, or cannot be written.
pub fn remove_server(file: &Path, name: &str) -> Result<bool, ConfigError> {
    edit(file, |servers| {
        let was_there = servers.remove(name).is_some();
        (was_there, was_there)
    })
}

fn table(server: &WrittenServer) -> Table {
    let mut table = Table::new();
    let list = |texts: &[String]| toml_edit::value(Array::from_iter(texts.iter().map(String::as_str)));
    let pairs = |pairs: &[(String, String)]| {
        let inline = pairs.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
        toml_edit::value::<toml_edit::InlineTable>(inline)
    };
    if !server.command.is_empty() {
        table.insert("command", list(&server.command));
    }
    for (key, text) in [("url", &server.url), ("bearer_env", &server.bearer_env)] {
        if let Some(text) = text {
            table.insert(key, toml_edit::value(text.as_str()));
        }
    }
    if !server.headers.is_empty() {
        table.insert("headers", pairs(&server.headers));
    }
    if !server.env.is_empty() {
        table.insert("env", pairs(&server.env));
    }
    if !server.pass_env.is_empty() {
        table.insert("pass_env", list(&server.pass_env));
    }
    table
}

/// Changes the table of servers; the change says what it gives, and whether the file is written.
fn edit<T>(file: &Path, change: impl FnOnce(&mut dyn toml_edit::TableLike) -> (T, bool)) -> Result<T, ConfigError> {
    let (_, given) = user_file::edit(file, |document| {
        let implicit = || {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        };
        let servers = document.entry("mcp").or_insert_with(implicit).as_table_like_mut();
        Ok(change(servers.ok_or("`mcp` is not a table; correct the file by hand")?))
    })?;
    Ok(given)
}

/// The values of a TOML text as JSON; dates are texts.
///
/// # Errors
/// What is wrong with the text.
pub fn toml_value(text: &str) -> Result<serde_json::Value, String> {
    fn plain(of: &Value) -> serde_json::Value {
        match of {
            Value::String(text) => text.value().as_str().into(),
            Value::Integer(number) => (*number.value()).into(),
            Value::Float(number) => (*number.value()).into(),
            Value::Boolean(flag) => (*flag.value()).into(),
            Value::Datetime(date) => date.value().to_string().into(),
            Value::Array(list) => list.iter().map(plain).collect(),
            Value::InlineTable(table) => table.iter().map(|(key, one)| (key.to_owned(), plain(one))).collect(),
        }
    }
    fn item(of: &Item) -> serde_json::Value {
        match of {
            Item::None => serde_json::Value::Null,
            Item::Value(one) => plain(one),
            Item::Table(table) => table.iter().map(|(key, one)| (key.to_owned(), item(one))).collect(),
            Item::ArrayOfTables(tables) => tables
                .iter()
                .map(|table| table.iter().map(|(key, one)| (key.to_owned(), item(one))).collect::<serde_json::Value>())
                .collect(),
        }
    }
    let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    Ok(item(document.as_item()))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn servers_are_written_beside_what_a_file_has_and_taken_out_again() -> Tested {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("new/config.toml");
        let server = WrittenServer {
            command: vec!["npx".into(), "-y".into()],
            env: vec![("A".into(), "1".into())],
            ..WrittenServer::default()
        };
        assert!(write_server(&file, "files", &server, false)?);
        std::fs::write(&file, format!("model = \"a/b\" # mine\n\n{}", std::fs::read_to_string(&file)?))?;
        let other = WrittenServer { url: Some("https://x".into()), ..WrittenServer::default() };
        assert!(write_server(&file, "web", &other, false)?);
        assert!(!write_server(&file, "web", &server, false)?, "it is there");
        let text = std::fs::read_to_string(&file)?;
        let expected = "model = \"a/b\" # mine\n\n[mcp.files]\ncommand = [\"npx\", \"-y\"]\nenv = { A = \"1\" }\n\n[mcp.web]\nurl = \"https://x\"\n";
        assert_eq!(text, expected);
        assert!(remove_server(&file, "files")?);
        assert!(!remove_server(&file, "files")?);
        assert_eq!(std::fs::read_to_string(&file)?, "model = \"a/b\" # mine\n\n[mcp.web]\nurl = \"https://x\"\n");
        Ok(())
    }

    #[test]
    fn a_file_that_cannot_be_read_is_left_alone() -> Tested {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("config.toml");
        std::fs::write(&file, "mcp = 3\n")?;
        assert!(write_server(&file, "a", &WrittenServer::default(), false).is_err());
        assert_eq!(std::fs::read_to_string(&file)?, "mcp = 3\n");
        Ok(())
    }
}
