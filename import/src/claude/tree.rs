//! A transcript is a tree, a log is a list. Lines are mapped in the order of the file, so that a longer file only
//! appends. A prompt or answer whose parent is not the last line is a rewind: what followed that parent is reverted, and the
//! abandoned branch continues as a fork, which starts just before the revert. So the history of the session is always the
//! branch of the newest leaf, and a line that continues an older branch continues its fork.

use super::compaction::kept_lines;
use super::mapping::{LineKind, TranscriptBranch, kind_of};
use super::process;
use super::sent::RequestState;
use super::{AGENT, FORM, TranscriptFile, TranscriptHeader};
use crate::foreign::JsonObject;
use crate::identity::IMPORTER;
use crate::sink::{BatchWriter, ForkPoint, ImportSink, ReceiverGone, SourceItem};
use annals_core::event::*;
use annals_core::{AgentName, Digest, Event, ModelName, Seq, SessionId, StoredKey, Time};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A line's uuid, shortened.
pub(super) type LineId = [u8; 16];

pub(super) fn node(uuid: &str) -> LineId {
    let mut node = LineId::default();
    node.iter_mut().zip(Digest::of(uuid.as_bytes()).0).for_each(|(to, from)| *to = from);
    node
}

/// What is known of a line.
#[derive(Clone, Copy)]
pub(super) struct LinePlace {
    pub(super) branch: usize,
    /// The sequence number after its events.
    pub(super) after: Seq,
    /// Whether it is a part of a message.
    pub(super) is_said: bool,
    /// Names what it says.
    pub(super) content: LineId,
}

/// The part of a branch that a rewind abandoned, and the fork that continues it.
struct AbandonedBranch {
    first_removed: Seq,
    cut: Seq,
    fork: usize,
}

/// Fields of every line that no event contains. They are counted as lost where their value changes.
#[derive(Default)]
struct LineSettings([Option<Digest>; SETTINGS.len()]);

const SETTINGS: [&str; 2] = ["permissionMode", "thinkingMetadata"];

impl LineSettings {
    /// Notes the fields whose value differs from that of the line before.
    fn count_changes(&mut self, object: &JsonObject<'_>) {
        for (name, last) in SETTINGS.into_iter().zip(&mut self.0) {
            let value = object.raw(name).map(|raw| Digest::of(raw.get().as_bytes()));
            if value.is_some() && value != *last {
                *last = value;
                object.note(name);
            }
        }
    }
}

/// Names what a line says, without how it was stored.
fn content_of(object: &JsonObject<'_>) -> LineId {
    // What a compaction keeps is written once more without its usage.
    let message = object.peeked("message").map(|raw| {
        let fields: Option<BTreeMap<String, &RawValue>> = serde_json::from_str(raw.get()).ok();
        let lasting = fields.iter().flatten().filter(|(name, _)| *name != "usage");
        lasting.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join("\n")
    });
    let fields = ["type", "attachment", "subtype"].map(|name| object.peeked(name).map_or("", |raw| raw.get()));
    let fields = [&fields[..], &[message.as_deref().unwrap_or_default()]].concat();
    node(&fields.join("\n"))
}

/// All branches of a transcript.
pub struct TranscriptTree {
    header: TranscriptHeader,
    settings: LineSettings,
    pub(super) branches: Vec<TranscriptBranch>,
    left: Vec<Vec<AbandonedBranch>>,
    pub(super) nodes: HashMap<LineId, LinePlace>,
    last: usize,
    /// The branch of the newest line of the conversation.
    newest: usize,
    /// Lines of the session that this one continues, which are copied into the transcript.
    copied: HashSet<LineId>,
}

impl TranscriptTree {
    /// Starts the session.
    pub fn begin(
        sink: &mut ImportSink<'_>,
        file: &TranscriptFile,
        session: SessionId,
        header: &TranscriptHeader,
        model: &str,
        parent: Option<SessionId>,
        origin: Origin,
    ) -> Result<Self, ReceiverGone> {
        let agent = match (&header.kind, header.sidechain) {
            (Some(kind), true) => kind.clone(),
            (None, true) => "subagent".into(),
            (_, false) => AGENT.into(),
        };
        let model = format!("anthropic/{model}");
        let writer = BatchWriter::new(session);
        let mut branch =
            TranscriptBranch::new(writer, header, agent.clone(), model.clone(), header.process.clone(), sink);
        branch.requests = file.requests.is_active().then(|| Box::new(RequestState::default()));
        let created = SessionCreated {
            location: Location { directory: header.cwd.clone(), workspace: None },
            agent: AgentName(agent),
            model: ModelName(model),
            policy: Policy::default(),
            title: None,
            parent: parent.map(|session| Parent { session, call: None }),
            origin: Some(origin),
            process: Some(header.process.clone()),
            key: StoredKey::NONE,
        };
        branch.append(sink, 1, Time(header.created), vec![created.into()])?;
        Ok(Self::of(header, branch, HashMap::new()))
    }

    /// A tree with one branch, and the lines that it inherits.
    pub(super) fn of(header: &TranscriptHeader, branch: TranscriptBranch, nodes: HashMap<LineId, LinePlace>) -> Self {
        Self {
            header: header.clone(),
            settings: LineSettings::default(),
            branches: vec![branch],
            left: vec![Vec::new()],
            copied: nodes.keys().copied().collect(),
            nodes,
            last: 0,
            newest: 0,
        }
    }

    /// The session of the last line.
    pub fn last_session(&self) -> SessionId {
        self.branches.get(self.last).map_or(SessionId([0; 16]), TranscriptBranch::session)
    }

    /// Maps one line.
    pub fn line(
        &mut self,
        sink: &mut ImportSink<'_>,
        file: &mut TranscriptFile,
        line: u64,
        at: Time,
        object: &JsonObject<'_>,
    ) -> Result<(), ReceiverGone> {
        object.skip(&[
            "timestamp",
            "sessionId",
            "cwd",
            "userType",
            "entrypoint",
            "isSidechain",
            "agentId",
            "promptId",
            "promptSource",
            "requestId",
            "slug",
            "attributionAgent",
            "level",
            "sourceToolAssistantUUID",
            "sourceToolUseID",
            "isVisibleInTranscriptOnly",
            "todos",
            "session_id",
            "teamName",
            // Of the newest versions: how the program shows, counts and stores a line.
            "apiBlockIndex",
            "attributionSkill",
            "deliveryId",
            "effort",
            "forkedFrom",
            "madeBy",
            "perTurnEffort",
            "permissionDecision",
            "promptCacheRequested",
            "queueSkipAttachments",
            "requestSessionId",
            "requestedModel",
            "rowSource",
            "runId",
            "sandboxed",
            "sentAtMs",
            "thinkingDisplay",
            "thinkingDurationMs",
            "toolInputStreamMs",
            "turnOrigin",
            "turnPosition",
        ]);
        self.settings.count_changes(object);
        let kind = object.text("type").unwrap_or_default();
        let Some(uuid) = object.text("uuid") else {
            self.last = 0;
            if kind.starts_with("api-request") && file.requests.is_active() {
                let is_read = file.requests.line(&kind, line, at, object);
                if !is_read && kind != "api-request-resumed" {
                    object.note("it does not have the hash that it names");
                }
            }
            let Some(main) = self.branches.first_mut() else { return Ok(()) };
            return main.unlinked(sink, file, line, at, object);
        };
        let (id, content) = (node(&uuid), content_of(object));
        file.requests.learn(&kind, object);
        if let Some(known) = self.nodes.get(&id).copied() {
            object.skip_all();
            if known.content != content {
                return sink.damaged(Some(self.last_session()), line, "a repeated uuid");
            }
            // A copy: what a compaction keeps is written once more behind it, and what follows names it there.
            let (branch, _) = self.living(known);
            if !self.copied.remove(&id)
                && branch == self.newest
                && let Some(after) = self.branches.get(branch).map(TranscriptBranch::next)
            {
                self.nodes.insert(id, LinePlace { branch, after, ..known });
            }
            return Ok(());
        }
        let line_kind = kind_of(object);
        let is_boundary = object.text("subtype").as_deref() == Some("compact_boundary");
        // What follows a request that got no answer begins behind it.
        let ends = line_kind == LineKind::Prompt && !object.flag("isMeta") || is_boundary || kind == "system";
        let unanswered = if ends { file.requests.before(at) } else { Vec::new() };
        if !unanswered.is_empty()
            && let Some(newest) = self.branches.get_mut(self.newest)
        {
            newest.send(sink, &file.requests, unanswered, false)?;
        }
        let is_summary = object.flag("isCompactSummary");
        let parent = object.text("parentUuid");
        // The line before a boundary may be in the file of another session.
        let before = object.text("logicalParentUuid");
        object.skip(&["logicalParentUuid"]);
        let place = match (&parent, before) {
            (Some(parent), _) => match self.nodes.get(&node(parent)) {
                Some(place) => Some(self.living(*place)),
                None => {
                    sink.damaged(Some(self.last_session()), line, "a parent that is missing")?;
                    None
                }
            },
            (None, Some(before)) => self.nodes.get(&node(&before)).map(|place| self.living(*place)),
            (None, None) if object.flag("isSidechain") && !self.header.sidechain => {
                Some((self.sidechain(sink, line, at, &uuid, object)?, Seq::ZERO))
            }
            // A summary without a boundary, as older versions wrote it, continues the session.
            (None, None) if is_summary || is_boundary => None,
            // A second root is a rewind to the start.
            (None, None) => Some((0, Seq::ZERO)),
        };
        let place = place.or_else(|| self.branches.get(self.newest).map(|branch| (self.newest, branch.next())));
        let Some((index, position)) = place else { return Ok(()) };
        let mut reverted = None;
        if self.branches.get(index).is_some_and(|branch| branch.rewinds(&line_kind, position)) {
            reverted = self.rewind(sink, line, at, index, position)?;
        }
        (self.last, self.newest) = (index, index);
        let kept = if is_boundary { self.kept(index, object) } else { Vec::new() };
        let is_said = line_kind != LineKind::Other || kind == "user";
        let Some(branch) = self.branches.get_mut(index) else { return Ok(()) };
        branch.kept = kept;
        branch.linked(sink, file, line, at, &uuid, line_kind, object, reverted)?;
        self.nodes.insert(id, LinePlace { branch: index, after: branch.next(), is_said, content });
        if is_boundary {
            file.requests.compacted();
        }
        Ok(())
    }

    /// The messages of a branch that a boundary keeps.
    fn kept(&self, branch: usize, boundary: &JsonObject<'_>) -> Vec<Seq> {
        let (lines, _) = kept_lines(boundary);
        let places = lines.iter().filter_map(|uuid| self.nodes.get(&node(uuid))).filter(|place| place.is_said);
        let Some(messages) = self.branches.get(branch).map(|branch| &branch.messages) else { return Vec::new() };
        let of = |after: Seq| messages.iter().map(|(seq, _)| *seq).take_while(|seq| *seq < after).last();
        places.filter(|place| self.living(**place).0 == branch).filter_map(|place| of(place.after)).collect()
    }

    /// The branch that contains a line now: the fork, if a rewind abandoned it.
    pub(super) fn living(&self, place: LinePlace) -> (usize, Seq) {
        let (mut branch, position) = (place.branch, place.after);
        loop {
            let left = self
                .left
                .get(branch)
                .and_then(|left| left.iter().find(|left| position > left.first_removed && position <= left.cut));
            match left {
                Some(left) => branch = left.fork,
                None => return (branch, position),
            }
        }
    }

    /// Moves what follows `position` on a branch to a fork; returns the revert with which the branch continues.
    fn rewind(
        &mut self,
        sink: &mut ImportSink<'_>,
        line: u64,
        at: Time,
        index: usize,
        position: Seq,
    ) -> Result<Option<Event>, ReceiverGone> {
        let fork = self.branches.len();
        let Some(branch) = self.branches.get_mut(index) else { return Ok(None) };
        branch.settle(sink)?;
        let Some((first_removed, uuid)) = branch.first_after(position) else { return Ok(None) };
        let foreign = format!("{}#{uuid}", self.header.session);
        let session = sink.editions.session(AGENT, &foreign, self.header.created);
        let origin = Origin {
            agent: AGENT.into(),
            version: self.header.process.version.clone(),
            id: foreign,
            form: FORM.into(),
            importer: IMPORTER,
        };
        let cut = branch.next();
        let from = ForkPoint { parent: branch.session(), cut };
        let mut forked = branch.fork(BatchWriter::forked(session, from));
        let event = SessionForked {
            parent: from.parent,
            cut,
            // The driver sets it from the log.
            parent_digest: Digest([0; 32]),
            title: None,
            origin: Some(origin.clone()),
            key: StoredKey::NONE,
        };
        (sink.send)(SourceItem::Started { session, title: None, origin })?;
        let attached = ProcessAttached { process: forked.process.clone() };
        forked.append(sink, line, at, vec![event.into(), attached.into()])?;
        branch.forget_from(first_removed);
        self.branches.push(forked);
        self.left.push(Vec::new());
        if let Some(left) = self.left.get_mut(index) {
            left.push(AbandonedBranch { first_removed, cut, fork });
        }
        Ok(Some(RevertCommitted { first_removed }.into()))
    }

    /// A subagent whose lines are in its parent's transcript, as older versions wrote them.
    fn sidechain(
        &mut self,
        sink: &mut ImportSink<'_>,
        line: u64,
        at: Time,
        uuid: &str,
        object: &JsonObject<'_>,
    ) -> Result<usize, ReceiverGone> {
        let process = process::of_line(object, &self.header.process);
        let foreign = format!("{}/{uuid}", self.header.session);
        let session = sink.editions.session(AGENT, &foreign, at.millis());
        let origin = Origin {
            agent: AGENT.into(),
            version: process.version.clone(),
            id: foreign,
            form: FORM.into(),
            importer: IMPORTER,
        };
        (sink.send)(SourceItem::Started { session, title: None, origin: origin.clone() })?;
        let model = format!("anthropic/{}", self.header.model.clone().unwrap_or_default());
        let parent = self.branches.first().map(|main| Parent { session: main.session(), call: None });
        let writer = BatchWriter::new(session);
        let agent = "subagent".to_owned();
        let mut branch = TranscriptBranch::new(writer, &self.header, agent, model.clone(), process.clone(), sink);
        let created = SessionCreated {
            location: Location { directory: self.header.cwd.clone(), workspace: None },
            agent: AgentName("subagent".into()),
            model: ModelName(model),
            policy: Policy::default(),
            title: None,
            parent,
            origin: Some(origin),
            process: Some(process),
            key: StoredKey::NONE,
        };
        branch.append(sink, line, at, vec![created.into()])?;
        self.branches.push(branch);
        self.left.push(Vec::new());
        Ok(self.branches.len() - 1)
    }

    /// The end of the source: ends answers that are complete.
    pub fn end(&mut self, sink: &mut ImportSink<'_>) -> Result<(), ReceiverGone> {
        self.branches.iter_mut().try_for_each(|branch| branch.end(sink))
    }
}
