//! What a Session read and wrote before this process, from its log: results of `read`, `write` and `edit` name the hash of
//! the content.

use super::seen::Stamp;
use annals_core::event::ToolOutcome;
use annals_core::{Blobs, CallId, Digest, Event, Seq, SessionId};
use annals_runtime::tools::Past;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// How many events are read at once.
const PAGE: usize = 1_000;

/// Tools whose results name the content of a file.
const TOOLS: [&str; 3] = ["read", "write", "edit"];

/// Of a result, what says which content a file had.
#[derive(Deserialize)]
struct Content {
    path: String,
    content: Digest,
}

/// The fold: each file by the path that results name it by, in the order in which they were last seen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Files {
    open: BTreeSet<CallId>,
    seen: Vec<(Seq, String, Digest)>,
}

impl Files {
    fn apply(&mut self, seq: Seq, event: &Event, blobs: &dyn Blobs) {
        match event {
            Event::ToolCalled(called) if TOOLS.contains(&called.name.as_str()) && !called.hosted => {
                self.open.insert(called.call.clone());
            }
            Event::ToolSettled(settled) if self.open.remove(&settled.call) => {
                let value = settled.structured.as_ref().and_then(|value| value.0.read(blobs));
                let content = value.and_then(|value| serde_json::from_str::<Content>(&value).ok());
                if let Some(Content { path, content }) = content.filter(|_| settled.outcome == ToolOutcome::Completed) {
                    self.seen.push((seq, path, content));
                }
            }
            // What the model is not shown any more it has not read.
            Event::RevertCommitted(committed) => self.seen.retain(|(seq, ..)| *seq < committed.first_removed),
            _ => {}
        }
    }

    /// What each file held when it was last read or written.
    pub(super) fn last(self) -> BTreeMap<String, Stamp> {
        self.seen.into_iter().map(|(_, path, content)| (path, Stamp::Content(content))).collect()
    }
}

/// What a Session has read and written, by its log; nothing if the log cannot be read.
pub(super) async fn files(past: &Past, session: SessionId) -> Files {
    let mut files = Files::default();
    let Some(log) = past.log() else { return files };
    let (blobs, mut from) = (log.blobs(), Seq::ZERO);
    loop {
        let page = match log.read(session, from, PAGE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%session, %error, "what the session has read could not be looked up");
                return Files::default();
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
