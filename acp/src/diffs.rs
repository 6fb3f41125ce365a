//! What edits change, as an editor shows it: the text before and the text after.

use serde_json::{Value, json};
use std::path::Path;

/// What a call would change, as its input says: nothing of it has happened yet.
pub(super) fn planned(tool: &str, input: &Value, directory: &Path) -> Vec<Value> {
    let text =
        |value: &Value, names: [&str; 2]| names.iter().find_map(|name| value.get(*name)?.as_str()).map(str::to_owned);
    let Some(path) = path_of(input) else { return Vec::new() };
    let path = absolute(&path, directory);
    let edit = |value: &Value| {
        let (old, new) = (text(value, ["old_string", "oldString"])?, text(value, ["new_string", "newString"])?);
        Some(diff(&path, Some(&old), &new))
    };
    match tool {
        "write" => text(input, ["content", "content"]).map(|content| diff(&path, None, &content)).into_iter().collect(),
        "edit" => edit(input).into_iter().collect(),
        "multiedit" => input.get("edits").and_then(Value::as_array).into_iter().flatten().filter_map(edit).collect(),
        _ => Vec::new(),
    }
}

/// The path that a call is about.
pub(super) fn path_of(input: &Value) -> Option<String> {
    ["path", "filePath", "file_path"].iter().find_map(|name| input.get(*name)?.as_str()).map(str::to_owned)
}

/// A path as editors want it.
pub(super) fn absolute(path: &str, directory: &Path) -> String {
    directory.join(path).to_string_lossy().into_owned()
}

/// What a call changed: a part for each hunk of its unified diff.
pub(super) fn made(unified: &str, directory: &Path) -> Vec<Value> {
    let (mut parts, mut old_path, mut path) = (Vec::new(), None, String::new());
    let mut lines = unified.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        if let Some(named) = line.strip_prefix("--- ") {
            old_path = named_path(named);
        } else if let Some(named) = line.strip_prefix("+++ ") {
            path = named_path(named).or_else(|| old_path.clone()).unwrap_or_default();
        } else if let Some((mut before, mut after)) = counts(line) {
            let (mut old, mut new) = (String::new(), String::new());
            while before + after > 0
                && let Some(line) = lines.next()
            {
                let (mark, text) = line.split_at_checked(1).unwrap_or((line, ""));
                let open = lines.next_if(|next| next.starts_with('\\')).is_some();
                let text = if open { text.trim_end_matches('\n') } else { text };
                if mark != "+" {
                    old.push_str(text);
                    before = before.saturating_sub(1);
                }
                if mark != "-" {
                    new.push_str(text);
                    after = after.saturating_sub(1);
                }
            }
            let old = Some(old.as_str()).filter(|_| old_path.is_some());
            parts.push(diff(&absolute(&path, directory), old, &new));
        }
    }
    parts
}

/// How many lines a hunk has of the old and of the new text: `@@ -1,2 +1,3 @@`.
fn counts(line: &str) -> Option<(u64, u64)> {
    let mut ranges = line.strip_prefix("@@ ")?.split(' ');
    let mut count = |sign: char| {
        let range = ranges.next()?.strip_prefix(sign)?;
        range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok())
    };
    Some((count('-')?, count('+')?))
}

/// The path in the head of a diff; `None` for a file that was not there.
fn named_path(named: &str) -> Option<String> {
    let named = named.trim_end();
    let plain = named.strip_prefix("a/").or_else(|| named.strip_prefix("b/")).unwrap_or(named);
    (plain != "/dev/null").then(|| plain.to_owned())
}

fn diff(path: &str, old: Option<&str>, new: &str) -> Value {
    json!({"type": "diff", "path": path, "oldText": old, "newText": new})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unified_diff_becomes_a_part_for_each_hunk() {
        let unified = "--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -9 +9 @@\n--- old\n+++ new\n\\ No newline at end of file\n--- /dev/null\n+++ b/y.rs\n@@ -0,0 +1 @@\n+new\n";
        let parts = made(unified, Path::new("/p"));
        let expected = [
            diff("/p/x.rs", Some("one\ntwo\n"), "one\n2\n"),
            diff("/p/x.rs", Some("-- old\n"), "++ new"),
            diff("/p/y.rs", None, "new\n"),
        ];
        assert_eq!(parts, expected);
    }

    #[test]
    fn what_a_call_would_change_is_read_from_its_input() {
        let edits = json!({"file_path": "a.rs", "edits": [{"old_string": "a", "new_string": "b"}]});
        assert_eq!(planned("multiedit", &edits, Path::new("/p")), [diff("/p/a.rs", Some("a"), "b")]);
        let write = json!({"path": "/x/a.rs", "content": "c"});
        assert_eq!(planned("write", &write, Path::new("/p")), [diff("/x/a.rs", None, "c")]);
        assert!(planned("bash", &json!({"command": "ls"}), Path::new("/p")).is_empty());
    }
}
