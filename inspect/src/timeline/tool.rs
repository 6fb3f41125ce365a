//! Tool calls in brief.

use crate::format::counted;
use crate::recorded_path;
use annals_core::{Blobs, Json};
use serde_json::Value;

/// Fields of an input that say best what a call is about, the best first.
const SUBJECTS: &[&str] = &[
    "command",
    "cmd",
    "filePath",
    "file_path",
    "notebook_path",
    "pattern",
    "path",
    "query",
    "url",
    "description",
    "name",
    "skill",
    "prompt",
    "question",
];

/// What a call is about, in one line; paths below `directory` are shown from there.
pub fn input_in_brief(input: &Json, directory: &str, blobs: &dyn Blobs) -> String {
    match input.value(blobs) {
        Value::Object(fields) => {
            if let Some(files) = fields.get("patch").and_then(Value::as_str).and_then(patched) {
                return one_line(&files);
            }
            // A change of files as Codex records it: by path.
            if let Some(changes) = fields.get("changes").and_then(Value::as_object) {
                let files: Vec<String> = changes.keys().map(|path| below(path, directory)).collect();
                return one_line(&files.join(", "));
            }
            let field = SUBJECTS.iter().find_map(|name| Some((*name, fields.get(*name)?)));
            match field {
                Some((name, value)) => {
                    let mut line = below(&word(value), directory);
                    // A pattern is looked for somewhere.
                    if let ("pattern", Some(Value::String(path))) = (name, fields.get("path").or(fields.get("include")))
                    {
                        line = format!("{line} in {}", below(path, directory));
                    }
                    one_line(&line)
                }
                None if fields.is_empty() => String::new(),
                None => match fields.iter().next() {
                    Some((name, Value::Array(items))) if fields.len() == 1 => format!("{} {name}", items.len()),
                    _ => one_line(&Value::Object(fields).to_string()),
                },
            }
        }
        other => one_line(&word(&other)),
    }
}

/// The files that a patch names.
fn patched(patch: &str) -> Option<String> {
    let named = |line: &str| line.strip_prefix("*** ")?.split_once(" File: ").map(|(_, path)| path.trim().to_owned());
    let files: Vec<String> = patch.lines().filter_map(named).collect();
    (!files.is_empty()).then(|| files.join(", "))
}

/// Fields of a structured output that are worth showing, the best first.
const CONTENT: &[&str] = &["content", "output", "text", "stdout", "result"];

/// What a tool gave, for telling in brief: of a JSON object the text that it carries, of a list how long it is.
pub fn output_in_brief(output: &str) -> String {
    if let Some(brief) = codex(output) {
        return brief;
    }
    if !output.starts_with(['{', '[']) {
        return output.to_owned();
    }
    match serde_json::from_str::<Value>(output) {
        Ok(Value::Object(fields)) => {
            let text = CONTENT.iter().find_map(|name| fields.get(*name)?.as_str());
            text.unwrap_or(output).to_owned()
        }
        Ok(Value::Array(items)) if output.contains('\n') => counted(items.len() as u64, "item"),
        _ => output.to_owned(),
    }
}

/// What Codex gives behind the head that it puts before every output.
fn codex(output: &str) -> Option<String> {
    let head = output.starts_with("Chunk ID:") || output.starts_with("Wall time:") || output.starts_with("Exit code:");
    let (_, rest) = output.split_once("\nOutput:\n").filter(|_| head)?;
    Some(rest.to_owned())
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(word).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

fn below(text: &str, directory: &str) -> String {
    recorded_path::below(text, directory).unwrap_or(text).to_owned()
}

/// The first line that says something, and a mark if there are more.
pub fn one_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::NoBlobs;

    #[test]
    fn a_call_is_told_by_what_it_is_about() {
        let brief = |input: &str| input_in_brief(&Json::received(input), "/srv/demo", &NoBlobs);
        assert_eq!(brief(r#"{"filePath":"/srv/demo/a.csv","limit":3}"#), "a.csv");
        assert_eq!(brief(r#"{"command":"ls\npwd"}"#), "ls …");
        assert_eq!(brief(r#"{"pattern":"x.*","path":"/srv/demo/src"}"#), "x.* in src");
        assert_eq!(brief(r#"{"todos":[1,2,3]}"#), "3 todos");
        assert_eq!(brief("not json"), "not json");
        let input = Json::received(r#"{"file_path":"C:\\Users\\x\\shop\\src\\a.rs"}"#);
        assert_eq!(input_in_brief(&input, r"C:\Users\x\shop", &NoBlobs), r"src\a.rs");
    }
}
