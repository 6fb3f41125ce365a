//! The mapping of OpenCode's V1 messages and parts. V1 stores states: each record contains a complete new value, and the
//! event is the change.
//!
//! | OpenCode | Annals |
//! |---|---|
//! | copies of another session's messages in a fork | `session.forked`; without that session, messages whose usage counts there |
//! | `info` | `session.created`; a changed title, agent, model or directory is a separate event; `revert` as `revert.*` |
//! | user message and its parts | `input.admitted` with `input.promoted`, once the next record shows that it is complete |
//! | a `synthetic` text part | `synthetic.added` |
//! | a `compaction` part, the `summary` answer | `compaction.started`, `compaction.ended` |
//! | `step-start`, `step-finish` with `patch` | `step.started`, `step.ended` |
//! | `text`, `reasoning`, complete | `text.ended`, `reasoning.ended` |
//! | `tool`: running, completed, error | `tool.called`, `tool.settled`; `todowrite` as `todo.updated`; `task` as `child.*` |
//! | `retry`, `snapshot`, a compacted output | `retry.scheduled`, `files.captured`, `tool_outputs.pruned` |
//! | `error` of an answer | `step.failed` |

use super::super::foreign::JsonObject;
use super::super::identity::{Editions, UniqueIds};
use super::super::sink::{ForkPoint, MappedBatch, RecordedStart};
use super::content::{files, finish, usage};
use super::fork_source::{ForkSource, MessageSpan};
use super::info::{OpenCodeSession, model};
use super::v1_answer::V1Answer;
use super::v1_user::OpenUserMessage;
use annals_core::event::*;
use annals_core::{AgentName, CallId, Event, InputId, ModelName, Seq, Text, Time};
use std::collections::{HashMap, HashSet};

/// Maps one session.
pub struct V1Mapper {
    /// The current description of the session.
    pub info: OpenCodeSession,
    /// Batches that are ready to be appended.
    pub out: Vec<MappedBatch>,
    pub(super) editions: Editions,
    pub(super) next: Seq,
    pub(super) unique: UniqueIds,
    /// Settled calls by part id, for outputs that are pruned later.
    pub(super) settled: HashMap<String, CallId>,
    pub(super) children: HashSet<String>,
    pub(super) reason: CompactionReason,
    /// The line of the record that created it.
    pub created_at_line: u64,
    /// How an earlier import recorded it.
    pub start: Option<RecordedStart>,
    /// The session that it is a fork of, if that is known: its copies of messages are left out.
    pub(super) source: Option<ForkSource>,
    /// The parent and the cut of a fork, once it has begun.
    pub fork: Option<ForkPoint>,
    /// Messages that are left out.
    pub(super) copies: HashSet<String>,
    /// Where in the source its own events begin.
    pub(super) cut: Option<Seq>,
    pub(super) form: &'static str,
    pub(super) begun: bool,
    user: Option<OpenUserMessage>,
    answer: Option<V1Answer>,
    pub(super) messages: Vec<(String, MessageSpan)>,
    pruned: HashSet<String>,
    staged: Option<Seq>,
}

impl V1Mapper {
    /// A session with its first description.
    pub fn new(info: OpenCodeSession, form: &'static str, editions: &Editions) -> Self {
        Self {
            info,
            out: Vec::new(),
            editions: editions.clone(),
            next: Seq::ZERO,
            unique: UniqueIds::default(),
            settled: HashMap::new(),
            children: HashSet::new(),
            reason: CompactionReason::Unknown,
            created_at_line: 1,
            start: None,
            source: None,
            fork: None,
            copies: HashSet::new(),
            cut: None,
            form,
            begun: false,
            user: None,
            answer: None,
            messages: Vec::new(),
            pruned: HashSet::new(),
            staged: None,
        }
    }

    /// Adds a batch; returns the sequence number of its first event.
    pub(super) fn push(&mut self, line: u64, at: Time, events: Vec<Event>) -> Seq {
        let first = self.next;
        if !events.is_empty() {
            self.next = first.plus(events.len() as u64);
            self.out.push((line, at, events));
        }
        first
    }

    /// Whether its first event is known.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Creates the session, with the agent and model of its first message if its own record has none.
    fn begin(&mut self, agent: Option<&String>, model: Option<&String>) {
        if self.begun {
            return;
        }
        self.begun = true;
        if self.begins_as_fork() {
            return;
        }
        self.info.agent = agent.cloned().or(self.info.agent.take());
        self.info.model = model.cloned().or(self.info.model.take());
        let created = self.info.creation(&self.editions, self.form);
        self.push(self.created_at_line, Time(self.info.created), vec![created.into()]);
    }

    /// Maps a new value of the session's record.
    pub fn session(&mut self, line: u64, object: &JsonObject<'_>, at: Time) {
        self.flush_user();
        object.skip(&["permission"]);
        let revert = object.object("revert");
        let info = OpenCodeSession::read(object);
        if !self.begun {
            let created = self.info.created;
            self.info = OpenCodeSession { created, ..info };
            if self.info.agent.is_some() && self.info.model.is_some() {
                self.begin(None, None);
            }
            return;
        }
        self.settle_answer();
        let mut events: Vec<Event> = Vec::new();
        if info.directory != self.info.directory || info.workspace != self.info.workspace {
            self.info.directory = info.directory;
            self.info.workspace = info.workspace;
            events.push(SessionMoved { location: self.info.location() }.into());
        }
        if let Some(title) = info.title.filter(|title| self.info.title.as_ref() != Some(title)) {
            self.info.title = Some(title.clone());
            events.push(SessionTitled::given(title).into());
        }
        events.extend(self.switches(info.agent, info.model));
        self.push(line, at, events);
        self.revert(line, revert.as_ref(), at);
    }

    /// Maps the staged revert of the session's record. V1 removes the boundary message as well.
    pub fn revert(&mut self, line: u64, revert: Option<&JsonObject<'_>>, at: Time) {
        let Some(revert) = revert else {
            if self.staged.take().is_some() {
                self.push(line, at, vec![RevertCleared {}.into()]);
            }
            return;
        };
        let boundary = revert.text("messageID").unwrap_or_default();
        let first = self.messages.iter().rfind(|(id, _)| *id == boundary).map(|(_, span)| span.first);
        let staged = RevertStaged {
            first_removed: first.unwrap_or(self.next),
            original: revert.text("snapshot"),
            diff: revert.text("diff").map(Text::from),
            files: files(revert),
        };
        match first {
            Some(first) if self.staged != Some(first) => {
                self.staged = Some(first);
                self.push(line, at, vec![staged.into()]);
            }
            Some(_) => {}
            None => revert.note("a boundary message that is unknown"),
        }
    }

    /// Maps the removal of a message: the first one commits a staged revert.
    pub fn removed(&mut self, line: u64, at: Time, data: &JsonObject<'_>) {
        self.flush_user();
        self.settle_answer();
        let Some(id) = data.text("messageID") else { return };
        let Some(at_message) = self.messages.iter().rposition(|(message, _)| *message == id) else { return };
        match self.staged.take() {
            Some(first_removed) => {
                self.push(line, at, vec![RevertCommitted { first_removed }.into()]);
            }
            None if self.messages.iter().skip(at_message).all(|(_, span)| span.first >= self.removed_from()) => {}
            None => data.note("a message removed without a revert"),
        }
        self.messages.remove(at_message);
    }

    /// The first sequence number that the last committed revert removed.
    fn removed_from(&self) -> Seq {
        let committed = |(_, _, events): &MappedBatch| {
            events.iter().find_map(|event| match event {
                Event::Files(FilesEvent::RevertCommitted(committed)) => Some(committed.first_removed),
                _ => None,
            })
        };
        self.out.iter().rev().find_map(committed).unwrap_or(Seq::ZERO)
    }

    fn switches(&mut self, agent: Option<String>, model: Option<String>) -> Vec<Event> {
        let mut events = Vec::new();
        if let Some(agent) = agent.filter(|agent| self.info.agent.as_ref() != Some(agent)) {
            self.info.agent = Some(agent.clone());
            events.push(AgentSwitched { agent: AgentName(agent) }.into());
        }
        if let Some(model) = model.filter(|model| self.info.model.as_ref() != Some(model)) {
            self.info.model = Some(model.clone());
            events.push(ModelSwitched { model: ModelName(model) }.into());
        }
        events
    }

    /// Maps a new value of a message.
    pub fn message(&mut self, line: u64, id: &str, info: &JsonObject<'_>) {
        info.skip(&["id", "sessionID", "parentID", "summary", "path", "mode", "system", "tools", "format"]);
        let user = info.text("role").as_deref() == Some("user");
        let time = info.object("time");
        let created = time.as_ref().and_then(|time| time.number("created")).map(Time).unwrap_or_default();
        let completed = time.as_ref().and_then(|time| time.number("completed")).map(Time);
        let agent = info.text("agent").or_else(|| info.text("mode"));
        let named = info.object("model").and_then(|object| model(&object)).or_else(|| model(info));
        if self.leaves_out(id, created, agent.as_ref(), named.as_ref()) {
            info.skip_all();
            return;
        }
        if user {
            let again = self.user.as_ref().is_some_and(|pending| pending.id == id);
            self.flush_user();
            if again || self.messages.iter().any(|(message, _)| message == id) {
                return;
            }
            self.settle_answer();
            self.answer = None;
            self.user = Some(OpenUserMessage {
                id: id.to_owned(),
                line,
                at: created,
                agent,
                model: named,
                texts: Vec::new(),
                synthetic: Vec::new(),
                attachments: Vec::new(),
                compaction: None,
            });
            return;
        }
        self.flush_user();
        let current = self.answer.as_ref().is_some_and(|answer| answer.id == id);
        if !current {
            if self.messages.iter().any(|(message, _)| message == id) {
                info.skip_all();
                return;
            }
            self.settle_answer();
            self.begin(agent.as_ref(), named.as_ref());
            let summary = info.raw("summary").is_some_and(|raw| raw.get() == "true");
            let is_copy = self.is_copy(created.millis());
            let (agent, model) = (agent.unwrap_or_default(), named.unwrap_or_default());
            self.answer = Some(V1Answer::new(id, created, agent, model, summary, is_copy));
        }
        let (error, tokens) = (info.object("error"), info.object("tokens"));
        let spent = tokens.map(|tokens| usage(&tokens));
        let cost = info.money("cost").unwrap_or(0);
        let word = info.text("finish").map(|word| finish(&word, info));
        if completed.is_none() && error.is_none() {
            return;
        }
        if let Some(mut answer) = self.answer.take() {
            answer.complete(self, line, completed.unwrap_or(created), error.as_ref(), spent, cost, word);
            self.extend(&answer.id);
            self.answer = Some(answer);
        }
    }

    /// Maps a new value of a part. `whole`: no later record changes it.
    pub fn part(&mut self, line: u64, id: &str, message: &str, part: &JsonObject<'_>, at: Option<Time>, whole: bool) {
        part.skip(&["id", "messageID", "sessionID"]);
        if self.copies.contains(message) {
            part.skip_all();
            return;
        }
        if let Some(user) = self.user.as_mut().filter(|user| user.id == message) {
            user.part(part);
            return;
        }
        self.flush_user();
        match self.answer.take() {
            Some(mut answer) if answer.id == message => {
                answer.part(self, line, id, part, at, whole);
                self.extend(&answer.id);
                self.answer = Some(answer);
            }
            other => {
                self.answer = other;
                self.late(line, id, part, at);
            }
        }
    }

    /// Maps a changed part of an earlier message: only a pruned output is an event.
    fn late(&mut self, line: u64, id: &str, part: &JsonObject<'_>, at: Option<Time>) {
        let compacted = part.object("state").and_then(|state| {
            let time = state.object("time").and_then(|time| time.number("compacted"));
            state.skip_all();
            time
        });
        part.skip_all();
        let Some(call) = self.settled.get(id).cloned() else {
            part.note("a part of an earlier message");
            return;
        };
        if let Some(time) = compacted
            && self.pruned.insert(id.to_owned())
        {
            self.push(line, at.unwrap_or(Time(time)), vec![ToolOutputsPruned { calls: vec![call] }.into()]);
        }
    }

    /// Appends the open user message, whose parts are complete.
    pub fn flush_user(&mut self) {
        let Some(user) = self.user.take() else { return };
        self.begin(user.agent.as_ref(), user.model.as_ref());
        let mut events = self.switches(user.agent, user.model);
        let mut seq = None;
        if let Some(reason) = user.compaction {
            self.reason = reason;
            seq = Some(self.next.plus(events.len() as u64));
            events.push(CompactionStarted { reason, model: None, estimate: 0 }.into());
        }
        if !user.texts.is_empty() || !user.attachments.is_empty() {
            let input = InputId(self.unique.next(&user.id));
            let text = user.texts.join("\n\n").into();
            let attachments = user.attachments;
            let delivery = Delivery::Steer;
            events.push(InputAdmitted { input: input.clone(), text, attachments, delivery }.into());
            seq = Some(self.next.plus(events.len() as u64));
            events.push(InputPromoted { input }.into());
        }
        for text in user.synthetic {
            seq = seq.or(Some(self.next.plus(events.len() as u64)));
            events.push(SyntheticAdded { text: text.into() }.into());
        }
        let (id, first) = (user.id, seq.unwrap_or(self.next));
        self.push(user.line, user.at, events);
        self.remember(&id, user.at, first);
    }

    /// Appends the rest of the open answer.
    pub fn settle_answer(&mut self) {
        if let Some(mut answer) = self.answer.take() {
            answer.settle(self);
            self.extend(&answer.id);
            self.answer = Some(answer);
        }
    }

    /// Stops the open answer, which is incomplete: a later import continues it.
    pub fn hold_answer(&mut self) {
        if let Some(answer) = &mut self.answer {
            answer.hold();
        }
    }

    /// The end of the source: appends everything that is complete.
    pub fn end(&mut self) {
        self.flush_user();
        self.settle_answer();
        self.begin(None, None);
    }
}
