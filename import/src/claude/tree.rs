//! A transcript is a tree, a log is a list. Lines are mapped in the order of the file, so that a longer file only
//! appends. A prompt or answer whose parent is not the last line is a rewind: what followed that parent is reverted, and the
//! abandoned branch continues as a fork, which starts just before the revert. So the history of the session is always the
//! branch of the newest leaf, and a line that continues an older branch continues its fork.

use super::mapping::{TranscriptBranch, kind_of};
use super::process;
use super::related::RelatedTranscripts;
use super::{AGENT, FORM, TranscriptHeader};
use crate::foreign::JsonObject;
use crate::identity::IMPORTER;
use crate::sink::{BatchWriter, ForkPoint, ImportSink, ReceiverGone, SourceItem};
use annals_core::event::*;
use annals_core::{AgentName, Digest, Event, ModelName, Seq, SessionId, StoredKey, Time};
use std::collections::HashMap;

/// A line's uuid, shortened.
type LineId = [u8; 16];

fn node(uuid: &str) -> LineId {
    let mut node = LineId::default();
    node.iter_mut().zip(Digest::of(uuid.as_bytes()).0).for_each(|(to, from)| *to = from);
    node
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

/// All branches of a transcript.
pub struct TranscriptTree {
    header: TranscriptHeader,
    settings: LineSettings,
    branches: Vec<TranscriptBranch>,
    left: Vec<Vec<AbandonedBranch>>,
    /// The branch of each line, and the sequence number after its events.
    nodes: HashMap<LineId, (usize, Seq)>,
    last: usize,
}

impl TranscriptTree {
    /// Starts the session.
    pub fn begin(
        sink: &mut ImportSink<'_>,
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
        let mut branch = TranscriptBranch::new(
            BatchWriter::new(session),
            header.session.clone(),
            agent.clone(),
            model.clone(),
            header.process.clone(),
            sink.editions,
        );
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
        Ok(Self {
            header: header.clone(),
            settings: LineSettings::default(),
            branches: vec![branch],
            left: vec![Vec::new()],
            nodes: HashMap::new(),
            last: 0,
        })
    }

    /// The session of the last line.
    pub fn last_session(&self) -> SessionId {
        self.branches.get(self.last).map_or(SessionId([0; 16]), TranscriptBranch::session)
    }

    /// Maps one line.
    pub fn line(
        &mut self,
        sink: &mut ImportSink<'_>,
        related: &mut RelatedTranscripts,
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
        ]);
        self.settings.count_changes(object);
        let Some(uuid) = object.text("uuid") else {
            self.last = 0;
            let Some(main) = self.branches.first_mut() else { return Ok(()) };
            return main.unlinked(sink, line, at, object);
        };
        let id = node(&uuid);
        if self.nodes.contains_key(&id) {
            object.skip_all();
            return sink.damaged(Some(self.last_session()), line, "a repeated uuid");
        }
        let kind = kind_of(object);
        let parent = object.text("parentUuid").or_else(|| object.text("logicalParentUuid"));
        object.skip(&["logicalParentUuid"]);
        let place = match &parent {
            Some(parent) => match self.nodes.get(&node(parent)) {
                Some(place) => Some(self.living(*place)),
                None => {
                    sink.damaged(Some(self.last_session()), line, "a parent that is missing")?;
                    None
                }
            },
            None if object.flag("isSidechain") && !self.header.sidechain => {
                Some((self.sidechain(sink, line, at, &uuid, object)?, Seq::ZERO))
            }
            // A second root is a rewind to the start.
            None => Some((0, Seq::ZERO)),
        };
        let place = place.or_else(|| self.branches.get(self.last).map(|branch| (self.last, branch.next())));
        let Some((index, position)) = place else { return Ok(()) };
        let mut reverted = None;
        if self.branches.get(index).is_some_and(|branch| branch.rewinds(&kind, position)) {
            reverted = self.rewind(sink, line, at, index, position)?;
        }
        self.last = index;
        let Some(branch) = self.branches.get_mut(index) else { return Ok(()) };
        branch.linked(sink, related, line, at, &uuid, kind, object, reverted)?;
        self.nodes.insert(id, (index, branch.next()));
        Ok(())
    }

    /// The branch that contains a line now: the fork, if a rewind abandoned it.
    fn living(&self, place: (usize, Seq)) -> (usize, Seq) {
        let (mut branch, position) = place;
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
        let mut branch = TranscriptBranch::new(
            BatchWriter::new(session),
            self.header.session.clone(),
            "subagent".into(),
            model.clone(),
            process.clone(),
            sink.editions,
        );
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
