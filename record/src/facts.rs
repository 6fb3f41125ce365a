//! From messages to events: the inverse of lowering a history to a request.

use annals_core::event::{
    AnswerId, Attachment, ChildOutcome, ChildSettled, ContextAdmitted, Delivery, Finish, InputAdmitted, InputPromoted,
    PartUnknown, ReasoningEnded, StepEnded, StepStarted, TextEnded, ToolCalled, ToolOutcome, ToolSettled,
};
use annals_core::{AgentName, CallId, Event, InputId, Json, Key, ModelName, Seq, SessionId, Text};
use annals_providers::recorded::{Unit, WireItem};
use std::collections::HashSet;

/// Events that are about to be appended, and the Seq of each.
#[derive(Debug)]
pub(crate) struct Facts {
    first: Seq,
    pub(crate) events: Vec<Event>,
}

impl Facts {
    pub(crate) fn from(first: Seq) -> Self {
        Self { first, events: Vec::new() }
    }

    /// Adds an event; gives its Seq.
    pub(crate) fn push(&mut self, event: impl Into<Event>) -> Seq {
        let seq = self.next();
        self.events.push(event.into());
        seq
    }

    /// The Seq of the next event.
    pub(crate) fn next(&self) -> Seq {
        self.first.plus(self.events.len() as u64)
    }
}

/// A call that waits for its result.
#[derive(Clone, Debug)]
pub(crate) struct WaitingCall {
    /// The agent's id.
    pub(crate) theirs: String,
    /// The tool, as results of agents without ids name it.
    pub(crate) name: String,
    pub(crate) ours: CallId,
    /// Its input as JSON text.
    pub(crate) input: String,
    /// The subagent that it started.
    pub(crate) child: Option<SessionId>,
}

/// A step that waits for the results of its calls.
#[derive(Clone, Debug)]
pub(crate) struct OpenStep {
    /// The calls that are open.
    pub(crate) calls: Vec<WaitingCall>,
    /// Its end, if the answer did not fail: a step that failed has ended.
    pub(crate) end: Option<StepEnded>,
}

/// Ids in use in a session, and what is open in it.
#[derive(Debug, Default)]
pub(crate) struct Transcriber {
    pub(crate) used_calls: HashSet<String>,
    pub(crate) open: Option<OpenStep>,
    pub(crate) inputs: u64,
    /// Subagents that have not ended.
    pub(crate) children: Vec<SessionId>,
}

impl Transcriber {
    /// Ends the open step: with results, otherwise as interrupted. Of several results of one call, or of one tool where calls have no
    /// ids, each is that of the next call.
    pub(crate) fn close(&mut self, mut results: Vec<&WireItem>, facts: &mut Facts) {
        let Some(open) = self.open.take() else { return };
        for WaitingCall { theirs, name, ours, child, .. } in open.calls {
            let is_of = |item: &&WireItem, of: &str| matches!(item, WireItem::Result { id, .. } if id == of);
            let found = results.iter().position(|item| is_of(item, &theirs));
            let found = found.or_else(|| results.iter().position(|item| is_of(item, &name)));
            let (settled, ended) = match found.map(|at| results.remove(at)) {
                Some(WireItem::Result { text, failed, attachments, .. }) => {
                    let outcome = if *failed { ChildOutcome::Failed } else { ChildOutcome::Completed };
                    (settled(ours, text, *failed, attachments), (outcome, text.as_str()))
                }
                _ => (ToolSettled::bare(ours, ToolOutcome::Interrupted), (ChildOutcome::Cancelled, "")),
            };
            facts.push(settled);
            if let Some(child) = child {
                self.child_ended(child, ended.0, ended.1, facts);
            }
        }
        facts.push_end(open.end);
    }

    /// A subagent gave its result.
    pub(crate) fn child_ended(&mut self, child: SessionId, outcome: ChildOutcome, result: &str, facts: &mut Facts) {
        let Some(at) = self.children.iter().position(|known| *known == child) else { return };
        self.children.remove(at);
        facts.push(ChildSettled { child, outcome, result: result.into() });
    }

    /// What is new of a `message` of the user: an input, and what the agent adds. Results settled their calls before.
    pub(crate) fn user(&mut self, unit: &Unit, message: &Unit, facts: &mut Facts) {
        let (mut texts, mut attachments): (Vec<&str>, Vec<Attachment>) = (Vec::new(), Vec::new());
        // Media that come with results, or with words of the agent alone, are not from the user.
        let has_text = unit.items.iter().any(|item| matches!(item, WireItem::Text(_)));
        let is_attached = !has_text
            && message
                .items
                .iter()
                .any(|item| matches!(item, WireItem::Result { .. } | WireItem::Context { key: "agent/context", .. }));
        for (item, pointer) in unit.items.iter().zip(&unit.pointers) {
            match item {
                WireItem::Media(_) if is_attached => self.beside(item, pointer, facts),
                WireItem::Text(text) => texts.push(text),
                WireItem::Media(media) => attachments.push(media.clone()),
                item => self.beside(item, pointer, facts),
            }
        }
        if texts.is_empty() && attachments.is_empty() {
            return;
        }
        self.inputs += 1;
        let input = InputId(format!("input_{}", self.inputs));
        let text: Text = texts.join("\n\n").into();
        facts.push(InputAdmitted { input: input.clone(), text, attachments, delivery: Delivery::Steer });
        facts.push(InputPromoted { input });
    }

    /// What is new in a message that is known otherwise.
    pub(crate) fn unknown(&self, unit: &Unit, facts: &mut Facts) {
        unit.items.iter().zip(&unit.pointers).for_each(|(item, pointer)| self.beside(item, pointer, facts));
    }

    /// A part of a message other than a prompt or an answer.
    fn beside(&self, item: &WireItem, pointer: &str, facts: &mut Facts) {
        let (key, text) = match item {
            WireItem::Context { key, text } => (Some(*key), text),
            // The result of a call that the log does not have.
            WireItem::Result { id, text, .. } if !self.used_calls.contains(id) => (None, text),
            WireItem::Text(text) | WireItem::Reasoning { text, .. } | WireItem::Unknown { text } => (None, text),
            WireItem::HostedResult { result, .. } => (None, result),
            WireItem::Media(media) => {
                facts.push(PartUnknown { pointer: pointer.to_owned(), text: media.uri.clone() });
                return;
            }
            WireItem::Call { .. } | WireItem::Result { .. } | WireItem::Reference { .. } => return,
        };
        if text.trim().is_empty() {
            return;
        }
        let (text, pointer) = (Text::from(text.as_str()), pointer.to_owned());
        match key.map(str::parse::<Key>) {
            Some(Ok(key)) => facts.push(ContextAdmitted { keys: vec![key], text }),
            Some(Err(_)) | None => facts.push(PartUnknown { pointer, text }),
        };
    }

    /// The content of an answer, with what the provider calls it and the files as it began. The step stays open for the results of its calls; without calls `end` ends it.
    pub(crate) fn assistant(
        &mut self,
        unit: &Unit,
        agent: &AgentName,
        model: &ModelName,
        end: Option<StepEnded>,
        (answer, files): (Option<AnswerId>, Option<String>),
        facts: &mut Facts,
    ) -> Seq {
        let (agent, model) = (agent.clone(), model.clone());
        let started = facts.push(StepStarted { agent, model, files, answer });
        let mut calls: Vec<WaitingCall> = Vec::new();
        let mut hosted: Vec<(String, CallId)> = Vec::new();
        for (index, item) in (0..).zip(&unit.items) {
            let received = |json: &Option<String>| json.clone().map(Json::received);
            match item {
                WireItem::Text(text) => {
                    facts.push(TextEnded { index, text: text.as_str().into(), metadata: None });
                }
                WireItem::Reasoning { text, metadata } => {
                    facts.push(ReasoningEnded { index, text: text.as_str().into(), metadata: received(metadata) });
                }
                WireItem::Call { id, name, input, hosted: is_hosted, metadata } => {
                    let call = self.unused(id);
                    let input = Json::received(annals_providers::CallInput::received(input).text());
                    let (name, metadata) = (name.clone(), received(metadata));
                    let waiting = WaitingCall {
                        theirs: id.clone(),
                        name: name.clone(),
                        ours: call.clone(),
                        input: input.0.inline().unwrap_or_default().to_owned(),
                        child: None,
                    };
                    facts.push(ToolCalled { index, call: call.clone(), name, input, hosted: *is_hosted, metadata });
                    match is_hosted {
                        true => hosted.push((id.clone(), call)),
                        false => calls.push(waiting),
                    }
                }
                WireItem::HostedResult { id, result, error } => {
                    if let Some(at) = hosted.iter().position(|(theirs, _)| theirs == id) {
                        let (_, call) = hosted.remove(at);
                        let outcome = if error.is_some() { ToolOutcome::Failed } else { ToolOutcome::Completed };
                        facts.push(ToolSettled {
                            error: error.as_deref().map(Into::into),
                            hosted_result: Some(Json::received(result.as_str())),
                            ..ToolSettled::bare(call, outcome)
                        });
                    }
                }
                WireItem::Media(_)
                | WireItem::Context { .. }
                | WireItem::Result { .. }
                | WireItem::Reference { .. }
                | WireItem::Unknown { .. } => {
                    let pointer = unit.pointers.get(index as usize).map(String::as_str).unwrap_or_default();
                    self.beside(item, pointer, facts);
                }
            }
        }
        for (_, call) in hosted {
            facts.push(ToolSettled::bare(call, ToolOutcome::Interrupted));
        }
        if calls.is_empty() {
            facts.push_end(end);
        } else {
            self.open = Some(OpenStep { calls, end });
        }
        started
    }

    /// The end of an answer that an earlier recorder, or none, saw.
    pub(crate) fn unseen_end(items: &[WireItem]) -> StepEnded {
        let calls = items.iter().any(|item| matches!(item, WireItem::Call { hosted: false, .. }));
        let finish = if calls { Finish::ToolCalls } else { Finish::Stop };
        StepEnded { finish, usage: None, cost: 0, files: None, changed: Vec::new() }
    }

    /// A call id that is unique in the session.
    fn unused(&mut self, theirs: &str) -> CallId {
        let theirs = if theirs.is_empty() { "call" } else { theirs };
        let numbered = (2_u64..).map(|number| format!("{theirs}~{number}"));
        let mut free = std::iter::once(theirs.to_owned()).chain(numbered).filter(|id| !self.used_calls.contains(id));
        let id = free.next().unwrap_or_default();
        self.used_calls.insert(id.clone());
        CallId(id)
    }
}

impl Facts {
    fn push_end(&mut self, end: Option<StepEnded>) {
        if let Some(end) = end {
            self.push(end);
        }
    }
}

fn settled(call: CallId, text: &str, failed: bool, attachments: &[Attachment]) -> ToolSettled {
    let outcome = if failed { ToolOutcome::Failed } else { ToolOutcome::Completed };
    let settled = ToolSettled { attachments: attachments.to_vec(), ..ToolSettled::bare(call, outcome) };
    match failed {
        true => ToolSettled { error: Some(text.into()), ..settled },
        false => ToolSettled { output: text.into(), ..settled },
    }
}
