//! Claude Code: transcripts, one JSON object per line. Lines name their parents and form a tree.

mod answer;
mod background;
mod blocks;
mod body;
mod compaction;
mod context;
mod file;
mod fork;
mod mapping;
mod process;
mod queue;
mod related;
mod requests;
mod results;
mod sent;
mod system;
mod tree;
mod user;

use super::foreign::{JsonObject, Notes, moment};
use super::identity::IMPORTER;
use super::lines::{LineReader, SourceLine};
use super::sink::{ImportSink, ReadSourceError, RecordedStart, SourceItem};
use annals_core::Time;
use annals_core::event::{Origin, ProcessInfo};
use file::{TranscriptFile, TranscriptLines};
use queue::PromptQueue;
use std::path::{Path, PathBuf};
use tree::TranscriptTree;

/// The name of the agent in every `origin`.
pub const AGENT: &str = "claude-code";

/// The model of a session that was created before its first answer.
const UNKNOWN: &str = "unknown";

/// The form in `origin`.
const FORM: &str = "transcript";

/// The first lines of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptHeader {
    /// The foreign id of the session; for a subagent, that of its parent.
    pub session: String,
    /// The id of the subagent, if it is one.
    pub agent: Option<String>,
    /// The kind of the subagent.
    pub kind: Option<String>,
    /// Its creation time (ms).
    pub created: u64,
    /// The model of the first answer.
    pub model: Option<String>,
    /// The start of the first prompt.
    pub prompt: Option<String>,
    /// The directory that it works in.
    pub cwd: String,
    process: ProcessInfo,
    sidechain: bool,
    /// The id of the first line of the conversation.
    first: String,
    /// The session that its first lines were copied from, if they say so.
    forked_from: Option<String>,
    /// Whether its first lines were copied from another transcript.
    is_copied: bool,
}

impl TranscriptHeader {
    /// The foreign id as in `origin`: `SESSION/AGENT` for a subagent.
    pub fn foreign(&self) -> String {
        match &self.agent {
            Some(agent) if self.sidechain => format!("{}/{agent}", self.session),
            _ => self.session.clone(),
        }
    }
}

/// Reads up to the first answer, at most `lines_max` lines.
fn survey<R: std::io::BufRead>(lines: &mut LineReader<R>, lines_max: usize) -> std::io::Result<TranscriptHeader> {
    let quiet = Notes::default();
    let mut header = TranscriptHeader::default();
    let (mut seen, mut requests) = (false, Vec::new());
    for _ in 0..lines_max {
        let Some(line) = lines.next()? else { break };
        let SourceLine::Text { text, .. } = line else { continue };
        let Ok(object) = JsonObject::parse(&text, "", &quiet) else { continue };
        quiet.take();
        if header.created == 0 {
            header.created = object.text("timestamp").as_deref().and_then(moment).unwrap_or_default();
        }
        if header.session.is_empty() {
            header.session = object.text("sessionId").unwrap_or_default();
        }
        if !object.has("uuid") {
            if object.text("type").as_deref() == Some("api-request") {
                requests.extend(object.text("id"));
            }
            continue;
        }
        if !seen {
            seen = true;
            header.cwd = object.text("cwd").unwrap_or_default();
            header.process = process::of_line(&object, &ProcessInfo::default());
            header.sidechain = object.flag("isSidechain");
            header.agent = object.text("agentId");
            header.first = object.text("uuid").unwrap_or_default();
            header.forked_from = object.object("forkedFrom").and_then(|from| from.text("sessionId"));
            let written = object.text("timestamp").as_deref().and_then(moment).unwrap_or(header.created);
            // What the program notes first of a session of its own precedes the first prompt.
            header.is_copied = header.forked_from.is_some() || written < header.created;
        }
        header.kind = header.kind.or_else(|| object.text("attributionAgent"));
        if header.prompt.is_none() && object.text("type").as_deref() == Some("user") && !object.flag("isMeta") {
            let content = object.object("message").and_then(|message| {
                let block = || message.objects("content").iter().find_map(|block| block.text("text"));
                message.text("content").or_else(block)
            });
            let first = content.as_deref().and_then(|text| text.lines().next()).filter(|line| !line.starts_with('<'));
            header.prompt = first.map(|line| line.chars().take(100).collect());
        }
        if object.text("type").as_deref() == Some("assistant") {
            let model = object.object("message").and_then(|message| message.text("model"));
            header.model = model.filter(|model| !model.starts_with('<'));
            header.is_copied |= object.text("requestRef").is_some_and(|request| !requests.contains(&request));
            if header.model.is_some() {
                break;
            }
        }
    }
    Ok(header)
}

/// Reads the first lines of a transcript, for lists and to find related ones.
pub fn header(path: &Path) -> std::io::Result<TranscriptHeader> {
    survey(&mut LineReader::open(path)?, 64)
}

/// Reads a transcript. One without an answer is skipped, unless [`ImportSink::prompts`] is set.
pub fn read(path: &Path, sink: &mut ImportSink<'_>) -> Result<(), ReadSourceError> {
    let io = |source| ReadSourceError::Io { path: path.to_owned(), source };
    let header = survey(&mut LineReader::open(path).map_err(io)?, usize::MAX).map_err(io)?;
    let parts = related::parts(path, header);
    let paths: Vec<PathBuf> = parts.iter().map(|(path, _)| path.clone()).collect();
    let answered = parts.iter().find(|(_, header)| header.model.is_some()).map(|(_, header)| header.model.clone());
    let Some((path, oldest)) = parts.into_iter().next() else { return Ok(()) };
    let header = TranscriptHeader { model: oldest.model.clone().or(answered.flatten()), ..oldest };
    let mut lines = TranscriptLines::open(&paths)?;
    let total = lines.bytes();
    let session = sink.editions.session(AGENT, &header.foreign(), header.created);
    // The kind of a subagent is in its first answer.
    let unanswered = || sink.prompts && header.prompt.is_some() && !header.sidechain;
    // A session that was created before its first answer keeps the model that it was created with.
    let recorded = match (sink.start)(session) {
        Some(RecordedStart::Created(created)) => Some(created),
        Some(RecordedStart::Forked(_)) | None => None,
    };
    let created_with = recorded.as_ref().map(|created| created.model.as_str());
    let model = match &header.model {
        Some(_) if created_with.is_some_and(|model| model == format!("anthropic/{UNKNOWN}")) => UNKNOWN,
        Some(model) => model,
        None if unanswered() => UNKNOWN,
        None => return Ok(()),
    };
    let mut file = TranscriptFile::of(paths);
    let origin = Origin {
        agent: AGENT.into(),
        version: header.process.version.clone(),
        id: header.foreign(),
        form: FORM.into(),
        importer: IMPORTER,
    };
    let mut continued = None;
    if header.is_copied && !header.sidechain {
        continued = fork::continued(&path, &header, session, &file, sink, 0)?;
    }
    (sink.send)(SourceItem::Started { session, title: header.prompt.clone(), origin: origin.clone() })?;
    let parent = match recorded {
        // The transcript of the parent may have come since, or be gone: a parent that comes later names its child.
        Some(created) => created.parent.map(|parent| parent.session),
        None if header.sidechain => {
            let created = file.related.parent(&header.session);
            if created.is_none() {
                let what = "agentId: the transcript of the parent is missing".to_owned();
                (sink.send)(SourceItem::Lost { session, line: 0, what, original: None })?;
            }
            created.map(|created| sink.editions.session(AGENT, &header.session, created))
        }
        None => None,
    };
    let mut queue = PromptQueue::default();
    let mut tree = match continued {
        Some(parent) => parent.fork(sink, session, &header, origin)?,
        None => TranscriptTree::begin(sink, &file, session, &header, model, parent, origin)?,
    };
    let notes = Notes::default();
    let mut at = Time(header.created);
    let mut done = 0;
    while let Some((number, text)) = lines.next(sink, session)? {
        done += text.len() as u64 + 1;
        let Ok(mut object) = JsonObject::parse(&text, "line", &notes) else {
            sink.damaged(Some(session), number, "a line that is not a JSON object")?;
            continue;
        };
        object.rename(object.text("type").unwrap_or_default());
        at = object.text("timestamp").as_deref().and_then(moment).map_or(at, Time);
        queue.line(number, &object);
        tree.line(sink, &mut file, number, at, &object)?;
        drop(object);
        sink.lost(tree.last_session(), number, &notes, &text)?;
        if number % 256 == 0 {
            (sink.send)(SourceItem::Progress { done, total })?;
        }
    }
    for line in queue.never_sent() {
        let what = "queue-operation: a prompt that was never sent".to_owned();
        (sink.send)(SourceItem::Lost { session, line, what, original: None })?;
    }
    Ok(tree.end(sink)?)
}
