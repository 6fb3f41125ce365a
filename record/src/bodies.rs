//! Raw bodies that Claude Code writes to a folder (`OTEL_LOG_RAW_API_BODIES=file:DIR`), recorded without a proxy.
//!
//! A request is in `UUID.request.json`, an answer in `REQUEST-ID.response.json`; nothing names which belong together. In a request
//! the file has one member more than what was sent: `betas`, which is a header there.

mod pairs;

use crate::body::PieceRedactor;
use crate::capture::{Captured, CapturedAnswer, CapturedBody, CapturedRequest};
use crate::headers::AgentIds;
use crate::recorder::{RecordedThreads, RecorderSettings, RecordingReport};
use annals_core::event::{Event, StepEvent};
use annals_core::{Digest, Seq, SessionId, Time};
use annals_store::{EventLog, ReadError};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use tokio::sync::mpsc;

const REQUEST: &str = ".request.json";
const RESPONSE: &str = ".response.json";
/// What precedes the directory in the system prompt.
const DIRECTORY: [&str; 2] = ["Primary working directory: ", "Working directory: "];

/// Bodies cannot be read, or not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum BodiesError {
    /// The folder, or a file in it, cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system reported.
        #[source]
        source: std::io::Error,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// A file with a body.
#[derive(Clone, Debug)]
struct BodyFile {
    /// Its name without the ending.
    name: String,
    /// When it was written, in nanoseconds.
    at: u128,
    bytes: Vec<u8>,
    json: Value,
}

/// The bodies in a folder.
#[derive(Clone, Debug)]
pub struct RawBodies {
    requests: Vec<BodyFile>,
    responses: Vec<BodyFile>,
    /// Files that are not JSON: the agent was ended while it wrote them.
    broken: u64,
}

impl RawBodies {
    /// Whether a path is a folder with such files.
    pub fn are_in(path: &Path) -> bool {
        let Ok(entries) = fs::read_dir(path) else { return false };
        entries.flatten().any(|entry| entry.file_name().to_string_lossy().ends_with(REQUEST))
    }

    /// Reads a folder.
    pub fn read(folder: &Path) -> Result<Self, BodiesError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| BodiesError::File { path, source }
        };
        let mut bodies = Self { requests: Vec::new(), responses: Vec::new(), broken: 0 };
        for entry in fs::read_dir(folder).map_err(failed(folder))? {
            let path = entry.map_err(failed(folder))?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let (list, name) = match (name.strip_suffix(REQUEST), name.strip_suffix(RESPONSE)) {
                (Some(name), _) => (&mut bodies.requests, name.to_owned()),
                (_, Some(name)) => (&mut bodies.responses, name.to_owned()),
                (None, None) => continue,
            };
            let written = fs::metadata(&path).and_then(|metadata| metadata.modified()).map_err(failed(&path))?;
            let at = written.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
            let bytes = fs::read(&path).map_err(failed(&path))?;
            match serde_json::from_slice(&bytes) {
                Ok(json) => list.push(BodyFile { name, at, bytes, json }),
                Err(_) => bodies.broken += 1,
            }
        }
        for list in [&mut bodies.requests, &mut bodies.responses] {
            list.sort_by(|one, other| (one.at, &one.name).cmp(&(other.at, &other.name)));
        }
        Ok(bodies)
    }

    /// How many requests there are.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Where the agent worked, as the system prompt of the first request says.
    pub fn directory(&self) -> Option<String> {
        let text = |request: &BodyFile| serde_json::to_string(request.json.get("system")?).ok();
        self.requests.iter().filter_map(text).find_map(|text| {
            let (_, rest) = DIRECTORY.iter().find_map(|words| text.split_once(words))?;
            Some(rest.split(['\\', '"']).next()?.to_owned()).filter(|directory| directory.starts_with('/'))
        })
    }

    /// Records what the log does not have yet.
    ///
    /// # Errors
    /// When the log cannot be read. What it refuses is counted in the report.
    pub async fn record(
        self,
        log: Arc<dyn EventLog>,
        settings: RecorderSettings,
    ) -> Result<RecordingReport, BodiesError> {
        let known = self.known(&*log, &settings).await?;
        let (sender, receiver) = mpsc::unbounded_channel();
        let broken = self.broken;
        let mut redactor = PieceRedactor::new((*settings.redactor).clone());
        for captured in self.captured(&known, &mut redactor) {
            // The receiver is below.
            drop(sender.send(captured));
        }
        drop(sender.send(Captured::End));
        let mut report = RecordedThreads::new(log, settings).run(receiver).await;
        report.missed += broken;
        if broken > 0 {
            report.why.get_or_insert_with(|| "a file with a body is not complete".to_owned());
        }
        Ok(report)
    }

    /// The requests that the sessions in question have already.
    async fn known(&self, log: &dyn EventLog, settings: &RecorderSettings) -> Result<BTreeSet<Digest>, BodiesError> {
        let sessions: BTreeSet<String> = self.requests.iter().filter_map(|request| session(&request.json)).collect();
        let catalogue = settings.views.catalogue().await?.sessions;
        let is_one = |id: &SessionId| {
            let id = catalogue.get(id).and_then(|entry| entry.origin_id.as_deref()).unwrap_or_default();
            sessions.contains(id.split('/').next().unwrap_or_default())
        };
        let mut known = BTreeSet::new();
        for session in catalogue.keys().filter(|id| is_one(id)) {
            let mut pages = log.pages(*session, Seq::ZERO..Seq(u64::MAX));
            while let Some(slices) = pages.next_page().await? {
                known.extend(slices.iter().flat_map(|slice| slice.records()).filter_map(|record| match record.event {
                    Event::Step(StepEvent::RequestSent(sent)) => sent.wire,
                    Event::Step(StepEvent::RequestRecorded(recorded)) => recorded.redacted,
                    _ => None,
                }));
            }
        }
        Ok(known)
    }

    /// What a proxy would have seen, in order: an answer follows its request, and precedes what followed from it.
    fn captured(self, known: &BTreeSet<Digest>, redactor: &mut PieceRedactor) -> Vec<Captured> {
        let pairs = pairs::answers(&self.requests, &self.responses);
        let mut responses: Vec<Option<BodyFile>> = self.responses.into_iter().map(Some).collect();
        let mut all = Vec::new();
        for (number, request) in self.requests.into_iter().enumerate() {
            let body = without_betas(&request.bytes);
            // A body with secrets is known by what was recorded of it.
            let recorded = redactor.cut_text(&String::from_utf8_lossy(&body)).recorded.into_owned();
            if known.contains(&Digest::of(&body)) || known.contains(&Digest::of(recorded.as_bytes())) {
                continue;
            }
            let (id, began) = (number as u64, request.at);
            let answer = pairs.get(number).copied().flatten().and_then(|at| responses.get_mut(at)?.take());
            let answer = answer.map(|response| response_of(id, began, response));
            all.push((began, 1, number, Captured::Request(Box::new(request_of(id, &request, body)))));
            all.extend(answer.map(|(at, answer)| (at, 0, number, Captured::Answer(Box::new(answer)))));
        }
        // In the tick of a clock that they share, an answer precedes requests but its own.
        all.sort_by_key(|(at, kind, number, _)| (*at, *kind, *number));
        let (mut ordered, mut sent, mut early) = (Vec::with_capacity(all.len()), BTreeSet::new(), Vec::new());
        for (_, kind, number, captured) in all {
            match kind {
                0 if !sent.contains(&number) => early.push((number, captured)),
                0 => ordered.push(captured),
                _ => {
                    sent.insert(number);
                    ordered.push(captured);
                    let (own, others): (Vec<_>, Vec<_>) = early.into_iter().partition(|(of, _)| *of == number);
                    ordered.extend(own.into_iter().map(|(_, captured)| captured));
                    early = others;
                }
            }
        }
        ordered
    }
}

fn millis(nanos: u128) -> u64 {
    u64::try_from(nanos / 1_000_000).unwrap_or(u64::MAX)
}

fn request_of(id: u64, file: &BodyFile, body: Vec<u8>) -> CapturedRequest {
    CapturedRequest {
        id,
        at: Time(millis(file.at)),
        method: "POST".to_owned(),
        target: "/v1/messages".to_owned(),
        host: "api.anthropic.com".to_owned(),
        ids: AgentIds { session: session(&file.json), ..AgentIds::default() },
        agent: Some("claude-code"),
        compaction: None,
        secrets: Vec::new(),
        coding: None,
        body: CapturedBody::of(body),
        files: None,
        answered: None,
    }
}

/// An answer, and when it is recorded.
fn response_of(id: u64, began: u128, file: BodyFile) -> (u128, CapturedAnswer) {
    let at = file.at.max(began);
    let answer = CapturedAnswer {
        id,
        at: Time(millis(at)),
        status: Some(200),
        media: Some("application/json".to_owned()),
        request_id: Some(file.name),
        coding: None,
        body: CapturedBody::of(file.bytes),
        complete: true,
        fault: None,
        first_byte_ms: None,
        duration_ms: millis(at - began),
    };
    (at, answer)
}

/// The session that a request names in its metadata.
fn session(body: &Value) -> Option<String> {
    let user = body.pointer("/metadata/user_id")?.as_str()?;
    let named = serde_json::from_str::<Value>(user).ok();
    let named = named.as_ref().and_then(|user| user.get("session_id")?.as_str());
    let session = named.or_else(|| user.split_once("_session_").map(|(_, session)| session))?;
    (!session.is_empty()).then(|| session.to_owned())
}

/// A body as it was sent.
fn without_betas(body: &[u8]) -> Vec<u8> {
    let cut = |text: &str| {
        let start = text.find("\"betas\":[")?;
        let end = start + text.get(start..)?.find("],")? + 2;
        // A member of the body itself, not a text in it.
        let without = format!("{}{}", text.get(..start)?, text.get(end..)?);
        let mut expected: Value = serde_json::from_str(text).ok()?;
        expected.as_object_mut()?.remove("betas")?;
        (serde_json::from_str::<Value>(&without).ok()? == expected).then_some(without.into_bytes())
    };
    std::str::from_utf8(body).ok().and_then(cut).unwrap_or_else(|| body.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_body_is_as_it_was_sent() {
        let without = |text: &str| String::from_utf8(without_betas(text.as_bytes())).unwrap();
        assert_eq!(without(r#"{"model":"m","betas":["a","b"],"stream":true}"#), r#"{"model":"m","stream":true}"#);
        let quoted = r#"{"messages":[{"x":{"betas":["a"],"b":1}}],"stream":true}"#;
        assert_eq!(without(quoted), quoted);
        assert_eq!(without("no JSON"), "no JSON");
    }

    #[test]
    fn a_request_names_its_session() {
        let named = |user: &str| session(&json!({"metadata": {"user_id": user}}));
        assert_eq!(named(r#"{"device_id":"d","session_id":"s-1"}"#).as_deref(), Some("s-1"));
        assert_eq!(named("user_d_account__session_s-1").as_deref(), Some("s-1"));
        assert_eq!(session(&json!({})), None);
    }
}
