//! What a call does to files, in the tools of several agents.

use super::patch::{self, PatchHunk};
use super::path::resolved;
use super::read;
use annals_core::Blobs;
use annals_core::event::{ToolCalled, ToolSettled};
use serde_json::Value;

/// Members of an input that name a file.
const PATHS: [&str; 6] = ["file_path", "filePath", "path", "notebook_path", "file", "filename"];
/// Members of an input that hold a command.
const COMMANDS: [&str; 3] = ["command", "cmd", "script"];
/// Programs that change no file, where they are not redirected.
const READERS: [&str; 18] = [
    "cat", "ls", "pwd", "grep", "rg", "head", "tail", "wc", "find", "which", "echo", "stat", "file", "tree", "du",
    "diff", "env", "date",
];

/// One replacement of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EditedText {
    pub(super) old: String,
    pub(super) new: String,
    pub(super) all: bool,
}

/// What happened to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileChange {
    /// A result showed it whole.
    Read { path: String, text: String },
    /// It was written whole; `command_line` says that a command line contains it.
    Write { path: String, text: String, command_line: bool },
    /// Texts in it were replaced; `before` is the whole content as the result names it.
    Replace { path: String, before: Option<String>, edits: Vec<EditedText> },
    /// Lines in it were replaced.
    Patch { path: String, moved_to: Option<String>, hunks: Vec<PatchHunk> },
    /// It was deleted.
    Delete { path: String },
}

/// A call that may concern files.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileToolCall {
    pub(super) tool: String,
    input: Value,
}

impl FileToolCall {
    /// The call, if its tool may concern files.
    pub(super) fn of(called: &ToolCalled, blobs: &dyn Blobs) -> Option<Self> {
        let input = called.input.value(blobs);
        let call = Self { tool: called.name.clone(), input };
        let has_changes = call.input.get("changes").is_some_and(Value::is_object);
        let concerns = has_changes || call.path().is_some() || call.patch().is_some() || call.is_command();
        concerns.then_some(call)
    }

    fn text(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.input.get(name)?.as_str())
    }

    fn path(&self) -> Option<&str> {
        self.text(&PATHS).filter(|path| !path.is_empty())
    }

    fn patch(&self) -> Option<&str> {
        let patch = self.text(&["patchText", "patch_text", "patch", "input"]).or(self.input.as_str());
        patch
            .or_else(|| self.command().filter(|line| line.trim_start().starts_with("apply_patch")))
            .filter(|text| text.contains("*** Begin Patch"))
    }

    fn command(&self) -> Option<&str> {
        self.text(&COMMANDS).or_else(|| {
            // Codex gave a list of words: `["bash", "-lc", LINE]`.
            COMMANDS.iter().find_map(|name| self.input.get(name)?.as_array()?.last()?.as_str())
        })
    }

    /// Whether it ran something whose effect on files is not recorded, or began other work that may change files.
    pub(super) fn is_command(&self) -> bool {
        let tool = self.tool.to_lowercase();
        self.command().is_some() || matches!(tool.as_str(), "task" | "agent")
    }

    /// Whether its tool only looks at the file that it names, as far as the name of the tool says.
    pub(super) fn only_looks(&self) -> bool {
        let tool = self.tool.to_lowercase();
        ["read", "view", "open", "grep", "glob", "ls", "list", "search", "find", "lsp"]
            .iter()
            .any(|word| tool.contains(word))
    }

    /// Whether its command only reads, as far as its words say.
    pub(super) fn only_reads(&self) -> bool {
        let Some(command) = self.command() else { return false };
        !command.contains(['>', '`', '\n']) && !command.contains("$(") && {
            let parts = command.split(['|', ';', '&']).map(str::trim).filter(|part| !part.is_empty());
            parts.into_iter().all(|part| {
                let mut words = part.split_whitespace().skip_while(|word| word.contains('='));
                let program = words.next().unwrap_or_default();
                let rest: Vec<&str> = words.collect();
                match program {
                    "git" => matches!(rest.first(), Some(&("status" | "log" | "diff" | "show" | "blame"))),
                    "find" => !rest.iter().any(|word| matches!(*word, "-delete" | "-exec" | "-execdir" | "-ok")),
                    program => READERS.contains(&program),
                }
            })
        }
    }

    /// What it did to files, once it is settled.
    pub(super) fn changes(&self, settled: &ToolSettled, directory: &str, blobs: &dyn Blobs) -> Vec<FileChange> {
        let structured = settled.structured.as_ref().map(|value| value.value(blobs)).unwrap_or_default();
        if let Some(changes) = file_change(&structured, directory).or_else(|| file_change(&self.input, directory)) {
            return changes;
        }
        if let Some(patch) = self.patch() {
            return patch::changes(patch, directory);
        }
        if let Some(command) = self.command() {
            return self.of_command(command, settled, &structured, directory);
        }
        let Some(path) = self.path().map(|path| resolved(path, directory)) else { return Vec::new() };
        let before = || structured.get("originalFile").and_then(Value::as_str).map(str::to_owned);
        let edits = self.edits();
        if !edits.is_empty() {
            return vec![FileChange::Replace { path, before: before(), edits }];
        }
        if let Some(text) = self.text(&["content", "file_text", "contents"]) {
            let mut changes = Vec::new();
            // The former content says which lines are new.
            changes.extend(before().map(|text| FileChange::Read { path: path.clone(), text }));
            changes.push(FileChange::Write { path, text: text.to_owned(), command_line: false });
            return changes;
        }
        let read = read::whole(&self.input, settled, blobs);
        read.map(|text| FileChange::Read { path, text }).into_iter().collect()
    }

    fn edits(&self) -> Vec<EditedText> {
        let one = |value: &Value| {
            let text = |names: [&str; 3]| names.iter().find_map(|name| value.get(name)?.as_str());
            let flag = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or_default();
            Some(EditedText {
                old: text(["old_string", "oldString", "old_str"])?.to_owned(),
                new: text(["new_string", "newString", "new_str"])?.to_owned(),
                all: flag("replace_all") || flag("replaceAll"),
            })
        };
        match self.input.get("edits").and_then(Value::as_array) {
            Some(edits) => edits.iter().filter_map(one).collect(),
            None => one(&self.input).into_iter().collect(),
        }
    }

    fn of_command(&self, command: &str, settled: &ToolSettled, structured: &Value, directory: &str) -> Vec<FileChange> {
        if let Some((path, text)) = here_document(command) {
            let path = resolved(path, directory);
            return vec![FileChange::Write { path, text, command_line: true }];
        }
        // A command that prints one file, as Codex understood it.
        let Some([parsed]) = structured.get("parsed_cmd").and_then(Value::as_array).map(Vec::as_slice) else {
            return Vec::new();
        };
        let field = |name: &str| parsed.get(name).and_then(Value::as_str).unwrap_or_default();
        let printed = structured.get("aggregated_output").and_then(Value::as_str);
        match printed {
            Some(text) if field("type") == "read" && field("cmd").starts_with("cat ") && !settled.truncated => {
                vec![FileChange::Read { path: resolved(field("path"), directory), text: text.to_owned() }]
            }
            _ => Vec::new(),
        }
    }
}

/// The file changes that Codex recorded.
fn file_change(structured: &Value, directory: &str) -> Option<Vec<FileChange>> {
    let changes = structured.get("changes")?.as_object()?;
    let changes = changes.iter().filter_map(|(path, change)| {
        let path = resolved(path, directory);
        let text = |name: &str| change.get(name).and_then(Value::as_str);
        match text("type")? {
            "add" => Some(FileChange::Write { path, text: text("content")?.to_owned(), command_line: false }),
            "delete" => Some(FileChange::Delete { path }),
            "update" => Some(FileChange::Patch {
                path,
                moved_to: text("move_path").map(|path| resolved(path, directory)),
                hunks: patch::unified(text("unified_diff")?),
            }),
            _ => None,
        }
    });
    Some(changes.collect())
}

/// The file that a command writes from a here-document: `cat > FILE <<'END'`.
fn here_document(command: &str) -> Option<(&str, String)> {
    let (head, body) = command.split_once('\n')?;
    let rest = head.trim().strip_prefix("cat")?.trim_start().strip_prefix('>')?;
    let (path, mark) = rest.split_once("<<")?;
    let quoted = mark.trim().strip_prefix('\'')?.strip_suffix('\'')?;
    let path = path.trim();
    if path.is_empty() || path.starts_with('>') || path.contains(['$', '"', '\'', ' ', '*', '~']) {
        return None;
    }
    let mut text = String::new();
    for line in body.lines() {
        if line == quoted {
            // What follows might change the file again.
            let rest = body.get(text.len() + line.len()..).unwrap_or_default();
            return rest.trim().is_empty().then_some((path, text));
        }
        text.push_str(line);
        text.push('\n');
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_here_document_is_the_content_of_its_file() {
        let found = here_document("cat > a.md <<'EOF'\n# A\n\nb\nEOF\n");
        assert_eq!(found, Some(("a.md", "# A\n\nb\n".to_owned())));
        assert_eq!(here_document("cat > a.md <<EOF\n$X\nEOF\n"), None, "the shell expands it");
        assert_eq!(here_document("cat > a.md <<'EOF'\nb\nEOF\nrm a.md"), None);
        assert_eq!(here_document("cat >> a.md <<'EOF'\nb\nEOF\n"), None);
    }

    #[test]
    fn commands_that_only_read_change_nothing() {
        let reads = |command: &str| {
            FileToolCall { tool: "bash".into(), input: serde_json::json!({ "command": command }) }.only_reads()
        };
        assert!(reads("cat a | grep b && git diff"));
        assert!(!reads("cat a > b") && !reads("sed -i s/a/b/ c") && !reads("find . -delete") && !reads("git commit"));
    }
}
