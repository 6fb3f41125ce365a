//! Names of threads: `session_index.jsonl`, to which Codex appends a line when a thread gets a name.

use super::library::ThreadName;
use crate::foreign::{JsonObject, Notes};
use crate::lines::{LineReader, SourceLine};
use std::collections::HashMap;
use std::path::Path;

/// The names in a file, by thread. A file that cannot be read has none.
pub fn read(path: &Path) -> HashMap<String, Vec<ThreadName>> {
    let mut found: HashMap<String, Vec<ThreadName>> = HashMap::new();
    let Ok(mut lines) = LineReader::open(path) else { return found };
    let notes = Notes::default();
    while let Ok(Some(line)) = lines.next() {
        let SourceLine::Text { text, .. } = line else { continue };
        let Ok(object) = JsonObject::parse(&text, "", &notes) else { continue };
        if let (Some(thread), Some(name), Some(at)) =
            (object.text("id"), object.text("thread_name"), object.moment("updated_at"))
        {
            let names = found.entry(thread).or_default();
            if names.last().is_none_or(|last| last.name != name) {
                names.push(ThreadName { at, name });
            }
        }
        object.skip_all();
        notes.take();
    }
    found
}
