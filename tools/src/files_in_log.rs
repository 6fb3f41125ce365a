//! What a session read and wrote before this process, from its log: results of `read`, `write` and `edit` name the hash of
//! the content.

use super::seen_files::Stamp;
use annals_core::event::{FilesEvent, ToolEvent, ToolOutcome};
use annals_core::{Blobs, CallId, Digest, Event, Seq, SessionId};
use annals_runtime::tools::Past;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// How many events are read at once.
const PAGE: usize = 1_000;

/// Tools whose results name the content of a file.
const TOOLS: [&str; 5] = ["read", "write", "edit", "multiedit", "apply_patch"];

/// Of a result, what says which content a file had.
#[derive(Deserialize)]
struct ResultContent {
    path: String,
    content: Digest,
}

/// What a result says of files: one, or those of a patch.
#[derive(Deserialize)]
#[serde(untagged)]
enum ResultFiles {
    One(ResultContent),
    Several { files: Vec<serde_json::Value> },
}

impl ResultFiles {
    fn contents(self) -> Vec<ResultContent> {
        match self {
            Self::One(one) => vec![one],
            // A file that was deleted has no content.
            Self::Several { files } => files.into_iter().filter_map(|one| serde_json::from_value(one).ok()).collect(),
        }
    }
}

/// The fold: each file by the path that results name it by, in the order in which they were last seen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FilesInLog {
    open: BTreeSet<CallId>,
    seen: Vec<(Seq, String, Digest)>,
}

impl FilesInLog {
    fn apply(&mut self, seq: Seq, event: &Event, blobs: &dyn Blobs) {
        match event {
            Event::Tool(ToolEvent::Called(called)) if TOOLS.contains(&called.name.as_str()) && !called.hosted => {
                self.open.insert(called.call.clone());
            }
            Event::Tool(ToolEvent::Settled(settled)) if self.open.remove(&settled.call) => {
                let value = settled.structured.as_ref().and_then(|value| value.0.read(blobs));
                let files = value.and_then(|value| serde_json::from_str::<ResultFiles>(&value).ok());
                let files = files.filter(|_| settled.outcome == ToolOutcome::Completed);
                for ResultContent { path, content } in files.map(ResultFiles::contents).unwrap_or_default() {
                    self.seen.push((seq, path, content));
                }
            }
            // What the model is not shown any more it has not read.
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                self.seen.retain(|(seq, ..)| *seq < committed.first_removed);
            }
            _ => {}
        }
    }

    /// What each file held when it was last read or written.
    pub(super) fn last(self) -> BTreeMap<String, Stamp> {
        self.seen.into_iter().map(|(_, path, content)| (path, Stamp::Content(content))).collect()
    }
}

/// What a session has read and written, by its log; nothing if the log cannot be read.
pub(super) async fn files(past: &Past, session: SessionId) -> FilesInLog {
    let mut files = FilesInLog::default();
    let Some(log) = past.log() else { return files };
    let (blobs, mut from) = (log.blobs(), Seq::ZERO);
    loop {
        let page = match log.read(session, from, PAGE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%session, %error, "what the session has read could not be looked up");
                return FilesInLog::default();
            }
        };
        let before = from;
        for record in page.iter().flat_map(|slice| slice.records()) {
            files.apply(record.seq, record.event, &*blobs);
            from = Seq(record.seq.0 + 1);
        }
        if from == before {
            return files;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::event::{RevertCommitted, ToolCalled, ToolSettled};
    use annals_core::{Json, NoBlobs};
    use serde_json::json;

    fn seen(files: &mut FilesInLog, at: u64, tool: &str, path: &str, content: &str, outcome: ToolOutcome) {
        let call = CallId(format!("c{at}"));
        let called = ToolCalled {
            index: 0,
            call: call.clone(),
            name: tool.into(),
            input: Json::received("{}"),
            hosted: false,
            metadata: None,
        };
        let value = json!({"path": path, "content": blake3::hash(content.as_bytes()).to_hex().as_str(), "lines": 1});
        let settled = ToolSettled { structured: Some(Json::canonical(&value)), ..ToolSettled::bare(call, outcome) };
        files.apply(Seq(at), &called.into(), &NoBlobs);
        files.apply(Seq(at + 1), &settled.into(), &NoBlobs);
    }

    #[test]
    fn the_newest_content_of_each_file_counts_and_a_revert_takes_it_back() {
        let mut files = FilesInLog::default();
        let done = ToolOutcome::Completed;
        seen(&mut files, 2, "read", "a", "one", done);
        seen(&mut files, 4, "write", "b", "one", done);
        seen(&mut files, 6, "edit", "a", "two", done);
        seen(&mut files, 8, "write", "c", "never written", ToolOutcome::Failed);
        seen(&mut files, 10, "other", "d", "of another tool", done);
        let last = |files: FilesInLog| files.last().into_iter().collect::<Vec<_>>();
        let of = |path: &str, content: &str| (path.to_owned(), Stamp::bytes(content.as_bytes()));
        let mut reverted = FilesInLog { open: files.open.clone(), seen: files.seen.clone() };
        assert_eq!(last(files), [of("a", "two"), of("b", "one")]);
        let first_removed = Seq(5);
        reverted.apply(Seq(12), &RevertCommitted { first_removed }.into(), &NoBlobs);
        assert_eq!(last(reverted), [of("a", "one")]);
    }
}
