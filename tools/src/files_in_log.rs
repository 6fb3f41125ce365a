//! What a session read and wrote before this process, from its log: results of `read`, `write` and `edit` name the hash of
//! the content, keyed with the key of the session.

use super::seen_files::Stamp;
use annals_core::event::{FilesEvent, ToolEvent, ToolOutcome};
use annals_core::{Batch, Blobs, CallId, Digest, Event, Record, Seq, SessionId, SessionKey};
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
    seen: Vec<(Seq, String, Option<Stamp>)>,
    /// The key of each session of the lineage, as far as the log was read.
    keys: BTreeMap<SessionId, SessionKey>,
}

impl FilesInLog {
    /// Takes in a batch; the results in it are hashed with the key that its session has there.
    fn begin(&mut self, batch: &Batch) {
        self.keys.extend(batch.session_key().map(|key| (batch.session, key)));
    }

    fn apply(&mut self, record: &Record<'_>, blobs: &dyn Blobs) {
        let (seq, event, key) = (record.seq, record.event, self.keys.get(&record.session).copied());
        match event {
            Event::Tool(ToolEvent::Called(called)) if TOOLS.contains(&called.name.as_str()) && !called.hosted => {
                self.open.insert(called.call.clone());
            }
            Event::Tool(ToolEvent::Settled(settled)) if self.open.remove(&settled.call) => {
                let value = settled.structured.as_ref().and_then(|value| value.0.read(blobs));
                let files = value.and_then(|value| serde_json::from_str::<ResultFiles>(&value).ok());
                let files = files.filter(|_| settled.outcome == ToolOutcome::Completed);
                for ResultContent { path, content } in files.map(ResultFiles::contents).unwrap_or_default() {
                    self.seen.push((seq, path, key.map(|key| Stamp::Recorded(key, content))));
                }
            }
            // What the model is not shown any more it has not read.
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                self.seen.retain(|(seq, ..)| *seq < committed.first_removed);
            }
            _ => {}
        }
    }

    /// What each file held when it was last read or written; not those of which the log cannot say it any more.
    pub(super) fn last(self) -> BTreeMap<String, Stamp> {
        let last: BTreeMap<_, _> = self.seen.into_iter().map(|(_, path, stamp)| (path, stamp)).collect();
        last.into_iter().filter_map(|(path, stamp)| Some((path, stamp?))).collect()
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
        for slice in &page {
            files.begin(&slice.batch);
            for record in slice.records() {
                files.apply(&record, &*blobs);
                from = Seq(record.seq.0 + 1);
            }
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
    use annals_core::{Json, NoBlobs, Time};
    use serde_json::json;

    const KEY: SessionKey = SessionKey([7; 32]);

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
        let content = KEY.file_hash(&Digest::of(content.as_bytes()));
        let value = json!({"path": path, "content": content, "lines": 1});
        let settled = ToolSettled { structured: Some(Json::canonical(&value)), ..ToolSettled::bare(call, outcome) };
        apply(files, at, called.into());
        apply(files, at + 1, settled.into());
    }

    fn apply(files: &mut FilesInLog, at: u64, event: Event) {
        let (session, seq) = (SessionId::from_parts(0, 1), Seq(at));
        files.apply(&Record { session, seq, at: Time::default(), event: &event }, &NoBlobs);
    }

    #[test]
    fn the_newest_content_of_each_file_counts_and_a_revert_takes_it_back() {
        let mut files = FilesInLog::default();
        files.keys.insert(SessionId::from_parts(0, 1), KEY);
        let done = ToolOutcome::Completed;
        seen(&mut files, 2, "read", "a", "one", done);
        seen(&mut files, 4, "write", "b", "one", done);
        seen(&mut files, 6, "edit", "a", "two", done);
        seen(&mut files, 8, "write", "c", "never written", ToolOutcome::Failed);
        seen(&mut files, 10, "other", "d", "of another tool", done);
        let last = |files: FilesInLog| files.last().into_iter().collect::<Vec<_>>();
        let of = |path: &str, content: &str| {
            (path.to_owned(), Stamp::Recorded(KEY, KEY.file_hash(&Digest::of(content.as_bytes()))))
        };
        let mut reverted = FilesInLog { open: files.open.clone(), seen: files.seen.clone(), keys: files.keys.clone() };
        assert_eq!(last(files), [of("a", "two"), of("b", "one")]);
        let first_removed = Seq(5);
        apply(&mut reverted, 12, RevertCommitted { first_removed }.into());
        assert_eq!(last(reverted), [of("a", "one")]);
    }

    #[test]
    fn a_hash_in_the_log_says_nothing_without_the_key() {
        let content = Digest::of(b"4711");
        assert_ne!(KEY.file_hash(&content), content);
        let mut files = FilesInLog::default();
        seen(&mut files, 2, "read", "a", "one", ToolOutcome::Completed);
        assert!(files.last().is_empty());
    }
}
