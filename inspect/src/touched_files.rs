//! Which files an event names: the files that a tool was called on, and those that a step changed.

use annals_core::event::{StepEvent, ToolCalled, ToolEvent};
use annals_core::{Blobs, Event};
use serde::Serialize;
use serde_json::Value;

/// What was done with a file, as far as the log knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FileAction {
    /// A tool was called to read it.
    Read,
    /// A tool was called to write it whole.
    Write,
    /// A tool was called to change it.
    Edit,
    /// Another tool was called on it.
    Use,
    /// It was different after a step.
    Change,
}

impl FileAction {
    /// The name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Use => "use",
            Self::Change => "change",
        }
    }
}

/// A file that an event names, and what was done with it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TouchedFile {
    /// The path as it was recorded.
    pub path: String,
    /// What was done.
    pub action: FileAction,
}

/// The files that an event names, each once, by path.
pub fn touched_files(event: &Event, blobs: &dyn Blobs) -> Vec<TouchedFile> {
    let mut found = match event {
        Event::Tool(ToolEvent::Called(called)) => of_call(called, blobs),
        Event::Step(StepEvent::Ended(ended)) => {
            let changed = ended.changed.iter();
            changed.map(|path| TouchedFile { path: path.clone(), action: FileAction::Change }).collect()
        }
        _ => Vec::new(),
    };
    found.sort();
    found.dedup();
    found
}

/// Members of a tool's input that name a file, in the tools of several agents.
const MEMBERS: [&str; 6] = ["file_path", "filePath", "path", "notebook_path", "file", "filename"];

/// Tools whose path is a folder to look through.
const LOOKS: [&str; 5] = ["grep", "glob", "ls", "list", "search"];

fn of_call(called: &ToolCalled, blobs: &dyn Blobs) -> Vec<TouchedFile> {
    let name = called.name.to_lowercase();
    if LOOKS.contains(&name.as_str()) || called.input.0.is_empty() {
        return Vec::new();
    }
    let Some(input) = called.input.read(blobs) else { return Vec::new() };
    if let Some(patch) = patch_of(&name, &input) {
        return of_patch(patch);
    }
    if let Some(changes) = input.get("changes").and_then(Value::as_object) {
        return of_changes(changes);
    }
    let action = action(&name);
    let named = MEMBERS.iter().filter_map(|member| input.get(member)?.as_str());
    named.filter(|path| !path.is_empty()).map(|path| TouchedFile { path: path.to_owned(), action }).collect()
}

/// The files of a change as Codex records it: `{PATH: {"type": "add", ...}}`.
fn of_changes(changes: &serde_json::Map<String, Value>) -> Vec<TouchedFile> {
    let mut found = Vec::new();
    for (path, change) in changes {
        let Some(kind) = change.get("type").and_then(Value::as_str) else { continue };
        let action = if kind == "add" { FileAction::Write } else { FileAction::Edit };
        let moved = change.get("move_path").and_then(Value::as_str);
        found
            .extend(moved.into_iter().chain([path.as_str()]).map(|path| TouchedFile { path: path.to_owned(), action }));
    }
    found
}

fn action(tool: &str) -> FileAction {
    let is = |words: &[&str]| words.iter().any(|word| tool.contains(word));
    if is(&["edit", "patch", "replace", "update"]) {
        FileAction::Edit
    } else if is(&["write", "create"]) {
        FileAction::Write
    } else if is(&["read", "view", "open"]) {
        FileAction::Read
    } else {
        FileAction::Use
    }
}

/// The patch that a call applies, in the format of `apply_patch`.
fn patch_of<'a>(name: &str, input: &'a Value) -> Option<&'a str> {
    if !name.contains("patch") {
        return None;
    }
    let members = ["patchText", "patch", "input"].iter().filter_map(|member| input.get(member)?.as_str());
    members.chain(input.as_str()).find(|text| text.contains("*** "))
}

fn of_patch(patch: &str) -> Vec<TouchedFile> {
    let headers = [
        ("*** Add File: ", FileAction::Write),
        ("*** Update File: ", FileAction::Edit),
        ("*** Delete File: ", FileAction::Edit),
        ("*** Move to: ", FileAction::Write),
    ];
    let lines = patch.lines().filter_map(|line| {
        let (path, action) = headers.iter().find_map(|(header, action)| Some((line.strip_prefix(header)?, *action)))?;
        Some(TouchedFile { path: path.trim().to_owned(), action })
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::{Json, NoBlobs};

    fn touched(name: &str, input: &Value) -> Vec<(String, &'static str)> {
        let called = ToolCalled {
            index: 0,
            call: "c1".into(),
            name: name.to_owned(),
            input: Json::received(input.to_string()),
            hosted: false,
            metadata: None,
        };
        let found = touched_files(&Event::from(called), &NoBlobs);
        found.into_iter().map(|file| (file.path, file.action.name())).collect()
    }

    #[test]
    fn a_call_names_its_file() {
        assert_eq!(touched("Read", &serde_json::json!({"file_path": "/a/b.rs"})), [("/a/b.rs".to_owned(), "read")]);
        assert_eq!(touched("MultiEdit", &serde_json::json!({"filePath": "b.rs"})), [("b.rs".to_owned(), "edit")]);
        assert_eq!(touched("grep", &serde_json::json!({"path": "src"})), []);
        assert_eq!(touched("bash", &serde_json::json!({"command": "ls"})), []);
    }

    #[test]
    fn a_patch_names_each_of_its_files() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** Add File: b.rs\n+z\n*** End Patch";
        let expected = [("a.rs".to_owned(), "edit"), ("b.rs".to_owned(), "write")];
        assert_eq!(touched("apply_patch", &serde_json::json!({"input": patch})), expected);
    }
}
