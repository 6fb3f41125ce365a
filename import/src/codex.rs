//! Codex CLI: rollouts, one JSON object a line: `{timestamp, type, payload}`.

mod context;
mod header;
mod mapping;
mod message;
mod step;

use super::foreign::{JsonObject, Notes, moment};
use super::identity::{IMPORTER, uuid_created};
use super::lines::{LineReader, SourceLine};
use super::sink::{BatchWriter, ImportSink, ReadSourceError, SourceItem};
use annals_core::Time;
use annals_core::event::Origin;
use header::RolloutHeader;
use mapping::RolloutMapper;
use std::path::Path;

/// The name of the agent in every `origin`.
pub const AGENT: &str = "codex";

/// The form in `origin`.
const FORM: &str = "rollout";

/// Reads up to the first turn: the header of the rollout and the model.
fn survey<R: std::io::BufRead>(lines: &mut LineReader<R>) -> std::io::Result<(Option<RolloutHeader>, Option<String>)> {
    let quiet = Notes::default();
    let mut meta: Option<RolloutHeader> = None;
    while let Some(line) = lines.next()? {
        let SourceLine::Text { text, .. } = line else { continue };
        let Ok(object) = JsonObject::parse(&text, "", &quiet) else { continue };
        let Some(payload) = object.object("payload") else { continue };
        match object.text("type").as_deref() {
            Some("session_meta") if meta.is_none() => {
                let at = object.text("timestamp").as_deref().and_then(moment).unwrap_or_default();
                meta = Some(RolloutHeader::read(&payload, at));
            }
            Some("turn_context") => {
                if let Some(model) = payload.text("model") {
                    return Ok((meta, Some(model)));
                }
            }
            // A turn without a `turn_context`: older versions did not record it.
            Some("response_item") if payload.text("role").as_deref() == Some("assistant") => {
                return Ok((meta, Some("unknown".into())));
            }
            _ => {}
        }
        quiet.take();
    }
    Ok((meta, None))
}

/// The header of a rollout and its first prompt, for lists.
pub fn header(path: &Path) -> std::io::Result<Option<(RolloutHeader, Option<String>)>> {
    let mut lines = LineReader::open(path)?;
    let quiet = Notes::default();
    let mut found = None;
    for _ in 0..64 {
        let Some(line) = lines.next()? else { break };
        let SourceLine::Text { text, .. } = line else { continue };
        let Ok(object) = JsonObject::parse(&text, "", &quiet) else { continue };
        let Some(payload) = object.object("payload") else { continue };
        if object.text("type").as_deref() == Some("session_meta") && found.is_none() {
            let at = object.text("timestamp").as_deref().and_then(moment).unwrap_or_default();
            found = Some((RolloutHeader::read(&payload, at), None));
        }
        let prompt = message::items(&payload).into_iter().find(|item| item.kind == message::PieceKind::Input);
        if let (Some(prompt), Some(found)) = (prompt, &mut found)
            && payload.text("role").as_deref() == Some("user")
        {
            found.1 = prompt.text.lines().next().map(|line| line.chars().take(100).collect());
            break;
        }
    }
    Ok(found)
}

/// Reads a rollout. One whose first turn has not started is empty.
///
/// # Errors
/// When the file cannot be read.
pub fn read(path: &Path, sink: &mut ImportSink<'_>) -> Result<(), ReadSourceError> {
    let io = |source| ReadSourceError::Io { path: path.to_owned(), source };
    let mut lines = LineReader::open(path).map_err(io)?;
    let total = lines.bytes();
    let (meta, model) = survey(&mut lines).map_err(io)?;
    lines.rewind().map_err(io)?;
    let Some(model) = model else { return Ok(()) };
    let Some(meta) = meta else {
        sink.damaged(None, 0, "a rollout without session_meta")?;
        return Ok(());
    };
    let session = sink.editions.session(AGENT, &meta.id, meta.created);
    let origin = Origin {
        agent: AGENT.into(),
        version: meta.process.version.clone(),
        id: meta.id.clone(),
        form: FORM.into(),
        importer: IMPORTER,
    };
    let title = header(path).map_err(io)?.and_then(|(_, prompt)| prompt);
    (sink.send)(SourceItem::Started { session, title, origin: origin.clone() })?;
    let mut writer = BatchWriter::new(session);
    let mut state = RolloutMapper::new(meta, &model, sink.editions, origin);
    let notes = Notes::default();
    let mut at = Time::default();
    let mut done = 0;
    while let Some((number, text)) = sink.next_line(&mut lines, session, path)? {
        done += text.len() as u64 + 1;
        let Ok(object) = JsonObject::parse(&text, "line", &notes) else {
            sink.damaged(Some(session), number, "a line that is not a JSON object")?;
            continue;
        };
        object.skip(&["ordinal", "metadata"]);
        let kind = object.text("type").unwrap_or_default();
        at = object.text("timestamp").as_deref().and_then(moment).map_or(at, Time);
        match object.object("payload") {
            Some(mut payload) => {
                payload.rename(kind.clone());
                state.line(writer.next(), number, at, &kind, &payload);
            }
            None => sink.damaged(Some(session), number, "a line without a payload")?,
        }
        for (line, at, events) in state.out.drain(..) {
            writer.batch(sink, line, at, events)?;
        }
        drop(object);
        sink.lost(session, number, &notes, &text)?;
        if number % 256 == 0 {
            (sink.send)(SourceItem::Progress { done, total })?;
        }
    }
    state.end(writer.next());
    for (line, at, events) in state.out.drain(..) {
        writer.batch(sink, line, at, events)?;
    }
    Ok(())
}

/// The creation time of a thread (ms): contained in its id if that is a UUID of version 7.
fn created(id: &str, recorded: u64) -> u64 {
    uuid_created(id).unwrap_or(recorded)
}
