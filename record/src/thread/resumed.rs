//! A conversation that an earlier recording began: what the log has of it.

use super::{Thread, ThreadError};
use crate::answer::answer;
use crate::capture::{CaptureQueue, CapturedAnswer};
use crate::facts::{OpenStep, Transcriber, WaitingCall};
use annals_core::event::{
    AnswerRecorded, ChildEvent, InputEvent, ProcessAttached, ProcessInfo, Purpose, RequestRecorded, SessionForked,
    StepEnded, StepEvent, ToolEvent,
};
use annals_core::{Blobs, Event, Record, Seq, SessionId, Text, Time};
use annals_projections::{Projection, Recipe, estimate};
use annals_providers::recorded::{RecordedProtocol, WireConversation, WireItem, their_id};
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
    transcriber: Transcriber,
    requests: u64,
    /// What the provider calls each answer.
    answers: Vec<(String, Seq)>,
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
                    (self.turn, self.answer) = (self.recorded.clone(), None);
                }
            }
            Event::Step(StepEvent::AnswerRecorded(received)) => self.received = Some((**received).clone()),
            Event::Step(StepEvent::Started(started)) => {
                self.answer = Some((seq, Vec::new()));
                self.answers.extend(started.answer.as_ref().map(|answer| (answer.message.clone(), seq)));
            }
            Event::Step(StepEvent::TextEnded(text)) => {
                self.add_item(WireItem::Text(text.text.resolve(blobs).into_owned()));
            }
            Event::Tool(ToolEvent::Called(called)) => {
                self.transcriber.used_calls.insert(called.call.0.clone());
                let call = WireItem::Call {
                    id: their_id(&called.call.0).to_owned(),
                    name: called.name.clone(),
                    input: called.input.0.resolve(blobs).into_owned(),
                    hosted: called.hosted,
                    metadata: None,
                };
                self.add_item(call);
            }
            Event::Input(InputEvent::Admitted(_)) => self.transcriber.inputs += 1,
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
        let body = String::from_utf8(recipe.assemble(*seq, piece).ok()?).ok()?;
        Some((body, recorded.target.split_once(' ')?.1))
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
                    thread.newest = record.at;
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
            let Some(conversation) = serde_json::from_str(body.strip_prefix('\u{feff}').unwrap_or(&body))
                .ok()
                .and_then(|body| read(target, &body))
            else {
                return Ok(None);
            };
            thread.system = Some(conversation.system());
            thread.estimate = estimate(body.chars().count() as u64);
        }
        thread.requests = collected.requests;
        thread.answers = std::mem::take(&mut collected.answers);
        thread.before = (thread.requests, thread.usage);
        thread.transcriber = std::mem::take(&mut collected.transcriber);
        thread.reopen(collected, &*blobs);
        Ok(Some(thread))
    }

    /// The place of its next event.
    pub(crate) fn next(&self) -> Seq {
        self.next
    }

    /// Whether an answer, a call or a summary is not complete.
    pub(crate) fn is_open(&self) -> bool {
        self.view.calls.step_open || self.summary.is_some() || self.transcriber.open.is_some()
    }

    /// Continues it as another session, which begins here.
    pub(crate) async fn fork(
        &mut self,
        at: Time,
        session: SessionId,
        forked: SessionForked,
        process: Option<ProcessInfo>,
    ) -> Result<(), ThreadError> {
        self.session = session;
        self.transcriber.children.clear();
        let attached = process.map(|process| ProcessAttached { process }.into());
        self.append(at, [forked.into()].into_iter().chain(attached).collect()).await?;
        self.before = (self.requests, self.usage);
        Ok(())
    }

    /// What a recorder that was killed left open: calls may still get their results.
    fn reopen(&mut self, collected: Collected, blobs: &dyn Blobs) {
        let target = collected.turn.as_ref().and_then(|(_, recorded)| recorded.target.split_once(' '));
        let protocol = target.and_then(|(_, path)| RecordedProtocol::of(path)).map(|(protocol, _)| protocol);
        if let Some(reason) = self.view.calls.compaction_open {
            self.summary_open(reason);
        }
        if !self.view.calls.step_open {
            return;
        }
        let items = collected.answer.map(|(_, items)| items).unwrap_or_default();
        let input = |ours: &str| {
            items.iter().find_map(|item| match item {
                WireItem::Call { id, input, .. } if *id == their_id(ours) => Some(input.clone()),
                _ => None,
            })
        };
        let calls = self.view.calls.open.iter().map(|open| WaitingCall {
            theirs: their_id(&open.call.0).to_owned(),
            name: open.name.clone(),
            ours: open.call.clone(),
            input: input(&open.call.0).unwrap_or_default(),
            child: None,
        });
        let calls = calls.collect();
        let end = collected.received.and_then(|received| ended(&received, protocol?, blobs));
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
