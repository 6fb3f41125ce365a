//! A conversation that an earlier recording began: what the log has of it.

use super::Thread;
use crate::answer::answer;
use crate::capture::{CaptureQueue, CapturedAnswer};
use crate::conversation::{Speaker, Unit, WireConversation, WireItem};
use crate::facts::{OpenStep, Transcriber, WaitingCall};
use crate::protocol::RecordedProtocol;
use annals_core::event::{
    AnswerRecorded, ChildEvent, ContextEvent, InputEvent, Purpose, RequestRecorded, StepEnded, StepEvent, ToolEvent,
};
use annals_core::{Blobs, Digest, Event, Record, Seq, SessionId, Text};
use annals_projections::{Body, Projection, Recipe};
use annals_store::{EventLog, ReadError};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is collected while the log is read.
#[derive(Default)]
struct Collected {
    pieces: BTreeMap<Seq, Vec<Text>>,
    recorded: Option<(Seq, RequestRecorded)>,
    /// The newest request of a turn.
    turn: Option<(Seq, RequestRecorded)>,
    /// The newest answer: its first event, and what it says.
    answer: Option<(Seq, Vec<WireItem>)>,
    received: Option<AnswerRecorded>,
    compacted: Option<Seq>,
    transcriber: Transcriber,
    requests: u64,
}

impl Collected {
    fn take(&mut self, record: &Record<'_>, blobs: &dyn Blobs) {
        let seq = record.seq;
        match record.event {
            Event::Step(StepEvent::RequestRecorded(recorded)) => {
                self.pieces.insert(seq, recorded.pieces.clone());
                self.recorded = Some((seq, (**recorded).clone()));
            }
            Event::Step(StepEvent::RequestSent(sent)) => {
                self.requests += 1;
                if sent.purpose == Purpose::Turn {
                    (self.turn, self.answer, self.compacted) = (self.recorded.clone(), None, None);
                }
            }
            Event::Step(StepEvent::AnswerRecorded(received)) => self.received = Some((**received).clone()),
            Event::Step(StepEvent::Started(_)) => self.answer = Some((seq, Vec::new())),
            Event::Step(StepEvent::TextEnded(text)) => {
                self.add_item(WireItem::Text(text.text.resolve(blobs).into_owned()));
            }
            Event::Tool(ToolEvent::Called(called)) => {
                self.transcriber.used_calls.insert(called.call.0.clone());
                let call = WireItem::Call {
                    id: theirs(&called.call.0),
                    name: called.name.clone(),
                    input: called.input.0.resolve(blobs).into_owned(),
                    hosted: called.hosted,
                    metadata: None,
                };
                self.add_item(call);
            }
            Event::Input(InputEvent::Admitted(_)) => self.transcriber.inputs += 1,
            Event::Context(ContextEvent::EpochStarted(_)) => self.transcriber.forget_contexts(),
            Event::Context(ContextEvent::Admitted(admitted)) => {
                let name = Digest::of(admitted.text.resolve(blobs).as_bytes());
                *self.transcriber.contexts.entry(name).or_default() += 1;
            }
            Event::Compaction(annals_core::event::CompactionEvent::Completed(_)) => self.compacted = Some(seq),
            Event::Child(ChildEvent::Started(started)) => self.transcriber.children.push(started.child),
            Event::Child(ChildEvent::Settled(settled)) => {
                self.transcriber.children.retain(|child| *child != settled.child);
            }
            _ => {}
        }
    }

    fn add_item(&mut self, item: WireItem) {
        if let Some((_, items)) = &mut self.answer {
            items.push(item);
        }
    }

    /// The body of the newest request of a turn, and its target.
    fn body(&self, blobs: &dyn Blobs) -> Option<(String, &str)> {
        let (seq, recorded) = self.turn.as_ref()?;
        let recipe = Recipe::parse(&serde_json::to_string(&recorded.recipe.read(blobs)?).ok()?).ok()?;
        let piece = |seq: Seq, index: usize| Some(self.pieces.get(&seq)?.get(index)?.read(blobs)?.into_owned());
        Some((recipe.assemble(*seq, piece).ok()?, recorded.target.split_once(' ')?.1))
    }
}

impl Thread {
    /// Reads what the log has of a session; `read` reads a body with its target. `None` if that is not what this recorder wrote.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(crate) async fn resume(
        log: Arc<dyn EventLog>,
        session: SessionId,
        protocol: RecordedProtocol,
        read: &(dyn Fn(&str, &Value) -> Option<WireConversation> + Sync),
    ) -> Result<Option<Self>, ReadError> {
        let blobs = log.blobs();
        let Some(head) = log.head(session).await? else { return Ok(None) };
        let (mut thread, mut collected) = (None, Collected::default());
        let mut pages = log.pages(session, Seq::ZERO..head.next);
        while let Some(page) = pages.next_page().await? {
            for slice in &page {
                for record in slice.records() {
                    let thread = thread.get_or_insert_with(|| Self::empty(log.clone(), session));
                    thread.builder.apply(&mut thread.view, &record);
                    thread.view.session.apply(&record);
                    thread.view.calls.apply(&record);
                    thread.usage.apply(&record);
                    thread.next = record.seq.plus(1);
                    collected.take(&record, &*blobs);
                }
            }
        }
        let Some(mut thread) = thread else { return Ok(None) };
        let Some(location) = thread.view.session.location.clone() else { return Ok(None) };
        (thread.agent, thread.location) = (thread.view.session.agent.clone(), location);
        thread.model = thread.view.session.model.clone();
        for (seq, pieces) in &collected.pieces {
            thread.pieces.known(*seq, pieces.iter().map(|piece| piece.resolve(&*blobs)));
        }
        if let Some((body, target)) = collected.body(&*blobs) {
            let Some(conversation) = serde_json::from_str(&body).ok().and_then(|body| read(target, &body)) else {
                return Ok(None);
            };
            thread.recall(&conversation, &collected);
        }
        thread.requests = collected.requests;
        thread.before = (thread.requests, thread.usage);
        thread.transcriber = std::mem::take(&mut collected.transcriber);
        thread.reopen(collected, protocol, &*blobs);
        Ok(Some(thread))
    }

    /// The messages of the newest request and its answer.
    fn recall(&mut self, conversation: &WireConversation, collected: &Collected) {
        self.system = Some(conversation.system.clone());
        self.tools = conversation.tools.len();
        if let Some(compacted) = collected.compacted {
            self.compacted = Some(compacted);
            return;
        }
        let turn = collected.turn.as_ref().map_or(Seq::ZERO, |(seq, _)| *seq);
        let marks = self.view.history.selected().filter(|message| message.seq < turn);
        let mut marks = marks.filter_map(|message| match &message.body {
            Body::Assistant(_) => Some((Speaker::Assistant, message.seq)),
            Body::User { .. } | Body::Compaction { .. } => Some((Speaker::User, message.seq)),
            _ => None,
        });
        let mut pending = marks.next();
        for unit in &conversation.units {
            let Some(name) = unit.name() else { continue };
            let only_results = unit.speaker == Speaker::User
                && !unit.items.iter().any(|item| matches!(item, WireItem::Text(_) | WireItem::Media(_)));
            let at = pending.map_or(turn, |(_, seq)| seq);
            if !only_results && pending.is_some_and(|(speaker, _)| speaker == unit.speaker) {
                pending = marks.next();
            }
            self.units.push((name, at));
        }
        if let Some((seq, items)) = &collected.answer {
            let unit = Unit { speaker: Speaker::Assistant, items: items.clone() };
            self.units.extend(unit.name().map(|name| (name, *seq)));
        }
    }

    /// What a recorder that was killed left open: calls may still get their results.
    fn reopen(&mut self, collected: Collected, protocol: RecordedProtocol, blobs: &dyn Blobs) {
        if self.view.calls.compaction_open.is_some() {
            self.summary_open();
        }
        if !self.view.calls.step_open {
            return;
        }
        let items = collected.answer.map(|(_, items)| items).unwrap_or_default();
        let input = |ours: &str| {
            items.iter().find_map(|item| match item {
                WireItem::Call { id, input, .. } if *id == theirs(ours) => Some(input.clone()),
                _ => None,
            })
        };
        let calls = self.view.calls.open.iter().map(|open| WaitingCall {
            theirs: theirs(&open.call.0),
            name: open.name.clone(),
            ours: open.call.clone(),
            input: input(&open.call.0).unwrap_or_default(),
            child: None,
        });
        let calls = calls.collect();
        let end = collected.received.and_then(|received| ended(&received, protocol, blobs));
        let end = Some(end.unwrap_or_else(|| Transcriber::unseen_end(&items)));
        self.transcriber.open = Some(OpenStep { calls, end });
    }
}

/// How a step ended whose answer was kept.
fn ended(received: &AnswerRecorded, protocol: RecordedProtocol, blobs: &dyn Blobs) -> Option<StepEnded> {
    let body = received.body.as_ref()?.read(blobs)?;
    let (queue, _) = CaptureQueue::new();
    let captured = CapturedAnswer {
        id: 0,
        at: annals_core::Time(0),
        status: received.status,
        media: received.media.clone(),
        request_id: None,
        coding: None,
        body: queue.body(),
        complete: received.complete,
        fault: None,
        first_byte_ms: None,
        duration_ms: 0,
    };
    let said = answer(protocol, &captured, &body, received.complete);
    Some(StepEnded { finish: said.finish?, usage: said.usage, cost: 0, files: None, changed: Vec::new() })
}

/// The agent's id of a call; see `Transcriber::unused`.
fn theirs(ours: &str) -> String {
    match ours.rsplit_once('~') {
        Some((theirs, number)) if !theirs.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            theirs.to_owned()
        }
        _ => ours.to_owned(),
    }
}
