//! Forks of a session: `/branch` and `--fork-session` copy the lines of a session into a new transcript, with their ids. The fork refers
//! to the session in its place; the copies are not imported again.

use super::file::{TranscriptFile, has_line};
use super::mapping::TranscriptBranch;
use super::tree::{LineId, LinePlace, TranscriptTree, node};
use super::{AGENT, FORM, TranscriptHeader, header};
use crate::foreign::{JsonObject, Notes, moment};
use crate::identity::IMPORTER;
use crate::lines::{LineReader, SourceLine};
use crate::sink::{BatchWriter, ForkPoint, ImportSink, ReadSourceError, ReceiverGone, RecordedStart, SourceItem};
use annals_core::event::{Origin, ProcessAttached, SessionForked};
use annals_core::{Digest, SessionId, StoredKey, Time};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// How deep forks of forks are followed.
const DEPTH: usize = 8;

/// The session that a transcript continues, up to the last line that both have.
pub(super) struct ContinuedSession {
    branch: TranscriptBranch,
    nodes: HashMap<LineId, LinePlace>,
    at: ForkPoint,
}

/// The session whose lines a transcript begins with; `None` where its transcript is not there.
pub(super) fn continued(
    path: &Path,
    own: &TranscriptHeader,
    session: SessionId,
    file: &TranscriptFile,
    sink: &mut ImportSink<'_>,
    depth: usize,
) -> Result<Option<ContinuedSession>, ReadSourceError> {
    let io = |source| ReadSourceError::Io { path: path.to_owned(), source };
    let known = match (sink.start)(session) {
        Some(RecordedStart::Forked(at)) => Some(at),
        // An earlier import had not the other transcript.
        Some(RecordedStart::Created(_)) => return Ok(None),
        None => None,
    };
    let requests = file.requests.is_active();
    let quiet = &mut |_: SourceItem| Ok(());
    let Some((other, of_other)) = original(path, own).filter(|_| depth < DEPTH) else {
        // The agent deleted it: the copies say where the fork, which is in the log, begins.
        let Some(at) = known else { return Ok(None) };
        let copies = ids(path, own.created).map_err(io)?.into_iter().rfind(|(_, is_copy)| *is_copy);
        let alone = TranscriptHeader { is_copied: false, ..own.clone() };
        let Some((last, _)) = copies else { return Ok(None) };
        let Some(mut found) = replay(path, &alone, last, requests, sink, quiet, depth)? else { return Ok(None) };
        found.branch.messages.clear();
        found.at = at;
        return Ok(Some(found));
    };
    let theirs: HashSet<LineId> = ids(&other, 0).map_err(io)?.into_iter().map(|(id, _)| id).collect();
    let shared = ids(path, 0).map_err(io)?.into_iter().take_while(|(id, _)| theirs.contains(id)).last();
    let Some((last, _)) = shared else { return Ok(None) };
    let Some(mut found) = replay(&other, &of_other, last, requests, sink, quiet, depth)? else { return Ok(None) };
    // What is in the log already stays as it is.
    found.at = known.unwrap_or(found.at);
    if known.is_none() && (sink.recall)(found.at.parent).head < found.at.cut {
        let (start, recall, editions) = (sink.start, sink.recall, sink.editions);
        let (prompts, without_requests) = (sink.prompts, sink.without_requests);
        let send = &mut *sink.send;
        let aloud = &mut |item: SourceItem| match item {
            SourceItem::Started { .. } | SourceItem::Batch { .. } => send(item),
            _ => Ok(()),
        };
        let mut nothing = |_: SourceItem| Ok(());
        let keep_originals = false;
        let mut around =
            ImportSink { send: &mut nothing, start, recall, editions, keep_originals, prompts, without_requests };
        replay(&other, &of_other, last, requests, &mut around, aloud, depth)?;
    }
    Ok(Some(found))
}

/// Reads a transcript up to a line, and sends what it gives.
fn replay(
    path: &Path,
    header: &TranscriptHeader,
    last: LineId,
    requests: bool,
    sink: &mut ImportSink<'_>,
    send: &mut dyn FnMut(SourceItem) -> Result<(), ReceiverGone>,
    depth: usize,
) -> Result<Option<ContinuedSession>, ReadSourceError> {
    let Some(model) = header.model.as_deref() else { return Ok(None) };
    let io = |source| ReadSourceError::Io { path: path.to_owned(), source };
    let mut file = TranscriptFile::of(vec![path.to_owned()]);
    if requests {
        file.requests.activate();
    }
    let session = sink.editions.session(AGENT, &header.foreign(), header.created);
    let created_with = match (sink.start)(session) {
        Some(RecordedStart::Created(created)) => Some(created.model),
        Some(RecordedStart::Forked(_)) | None => None,
    };
    let mut sink = ImportSink {
        send,
        start: sink.start,
        recall: sink.recall,
        editions: sink.editions,
        keep_originals: false,
        prompts: sink.prompts,
        without_requests: sink.without_requests,
    };
    let origin = Origin {
        agent: AGENT.into(),
        version: header.process.version.clone(),
        id: header.foreign(),
        form: FORM.into(),
        importer: IMPORTER,
    };
    let mut parent = None;
    if header.is_copied {
        parent = continued(path, header, session, &file, &mut sink, depth + 1)?;
    }
    let is_unknown = created_with.is_some_and(|model| model.as_str() == format!("anthropic/{}", super::UNKNOWN));
    let model = if is_unknown { super::UNKNOWN } else { model };
    (sink.send)(SourceItem::Started { session, title: header.prompt.clone(), origin: origin.clone() })?;
    let mut tree = match parent {
        Some(parent) => parent.fork(&mut sink, session, header, origin)?,
        None => TranscriptTree::begin(&mut sink, &file, session, header, model, None, origin)?,
    };
    let (notes, mut at) = (Notes::default(), Time(header.created));
    let mut lines = LineReader::open(path).map_err(io)?;
    while let Some((number, text)) = sink.next_line(&mut lines, session, path)? {
        let Ok(mut object) = JsonObject::parse(&text, "line", &notes) else { continue };
        object.rename(object.text("type").unwrap_or_default());
        at = object.text("timestamp").as_deref().and_then(moment).map_or(at, Time);
        tree.line(&mut sink, &mut file, number, at, &object)?;
        if object.text("uuid").is_some_and(|uuid| node(&uuid) == last) {
            return Ok(tree.continued_at(&mut sink, last)?);
        }
    }
    Ok(None)
}

impl TranscriptTree {
    /// What a fork behind a line, the newest one, continues.
    fn continued_at(
        mut self,
        sink: &mut ImportSink<'_>,
        last: LineId,
    ) -> Result<Option<ContinuedSession>, ReceiverGone> {
        let Some(place) = self.nodes.get(&last).copied() else { return Ok(None) };
        let (index, _) = self.living(place);
        let nodes = self.nodes.iter().filter(|(_, place)| self.living(**place).0 == index);
        let nodes = nodes.map(|(id, place)| (*id, LinePlace { branch: 0, ..*place })).collect();
        if index >= self.branches.len() {
            return Ok(None);
        }
        let mut branch = self.branches.swap_remove(index);
        // A complete answer ends where its transcript does, too.
        branch.end(sink)?;
        let at = ForkPoint { parent: branch.session(), cut: branch.next() };
        Ok(Some(ContinuedSession { branch, nodes, at }))
    }
}

impl ContinuedSession {
    /// Begins the fork.
    pub(super) fn fork(
        self,
        sink: &mut ImportSink<'_>,
        session: SessionId,
        header: &TranscriptHeader,
        origin: Origin,
    ) -> Result<TranscriptTree, ReceiverGone> {
        let mut forked = self.branch.fork(BatchWriter::forked(session, self.at));
        forked.foreign.clone_from(&header.session);
        forked.process = header.process.clone();
        let event = SessionForked {
            parent: self.at.parent,
            cut: self.at.cut,
            // The driver sets it from the log.
            parent_digest: Digest([0; 32]),
            title: None,
            origin: Some(origin),
            key: StoredKey::NONE,
        };
        let attached = ProcessAttached { process: forked.process.clone() };
        forked.append(sink, 1, Time(header.created), vec![event.into(), attached.into()])?;
        Ok(TranscriptTree::of(header, forked, self.nodes))
    }
}

/// The transcript that the first lines of another one were copied from: the one that they name, else the oldest that has the first
/// line; of a session that was compacted, a fork has only what is behind the compaction.
fn original(path: &Path, own: &TranscriptHeader) -> Option<(PathBuf, TranscriptHeader)> {
    let folder = path.parent()?;
    let read = |path: PathBuf| Some((path.clone(), header(&path).ok().filter(|it| !it.sidechain)?));
    if let Some(named) = &own.forked_from {
        let is_name = named.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let found = is_name.then(|| read(folder.join(format!("{named}.jsonl")))).flatten();
        if found.is_some() {
            return found.filter(|(_, it)| it.session != own.session);
        }
    }
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let others = entries.filter(|other| other != path && other.extension().is_some_and(|it| it == "jsonl"));
    let named = |it: &TranscriptHeader| own.forked_from.as_ref() == Some(&it.session);
    let mut older: Vec<_> = others
        .filter_map(read)
        .filter(|(_, it)| it.session != own.session && (named(it) || it.created < own.created))
        .collect();
    older.sort_by_key(|(path, it)| (!named(it), it.created, path.clone()));
    let begins = older.iter().position(|(_, it)| it.first == own.first);
    let at = begins.or_else(|| older.iter().position(|(path, _)| has_line(path, &own.first)))?;
    Some(older.swap_remove(at))
}

/// The ids of the lines of the conversation, in order, and whether each is a copy: it says so, or is older than its transcript.
fn ids(path: &Path, created: u64) -> std::io::Result<Vec<(LineId, bool)>> {
    let (mut lines, mut ids, notes) = (LineReader::open(path)?, Vec::new(), Notes::default());
    while let Some(line) = lines.next()? {
        let SourceLine::Text { text, .. } = line else { continue };
        let Ok(object) = JsonObject::parse(&text, "", &notes) else { continue };
        let is_older = || object.text("timestamp").as_deref().and_then(moment).is_some_and(|at| at < created);
        ids.extend(object.text("uuid").map(|uuid| (node(&uuid), object.has("forkedFrom") || is_older())));
        object.skip_all();
    }
    Ok(ids)
}
