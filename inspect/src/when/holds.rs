//! Which events hold a text, and where each shows it to the model.

use super::occurrence::{Holder, Missed, Occurrence, Reason, Through};
use crate::Fact;
use annals_core::event::{
    CompactionEvent, ContextEvent, InputEvent, MessageEvent, PartEdit, ProfileEvent, SessionEvent, StepEvent, ToolEvent,
};
use annals_core::{Blobs, CallId, Event, InputId, Record, Seq, Text, kinds};
use annals_projections::{SHORTENED_ENDS, without_middle};
use std::collections::BTreeMap;

/// Finds the text in events as they come.
pub(super) struct Holds<'a> {
    text: &'a str,
    blobs: &'a dyn Blobs,
    /// Waiting inputs that hold it.
    waiting: BTreeMap<InputId, Fact>,
    step: Option<Seq>,
    /// Open calls: the message of each, its tool, and where it showed the text while it ran.
    calls: BTreeMap<CallId, (Option<Seq>, String, Option<Fact>)>,
    missed: Vec<Missed>,
}

impl<'a> Holds<'a> {
    pub(super) fn new(text: &'a str, blobs: &'a dyn Blobs) -> Self {
        let (waiting, calls) = (BTreeMap::new(), BTreeMap::new());
        Self { text, blobs, waiting, step: None, calls, missed: Vec::new() }
    }

    /// What never reached the model, by Seq.
    pub(super) fn missed(mut self) -> Vec<Missed> {
        let waits = self.waiting.values().map(|fact| Missed { fact: *fact, reason: Reason::Waits });
        self.missed.extend(waits);
        self.missed.sort_by_key(|missed| missed.fact.seq);
        self.missed
    }

    pub(super) fn miss(&mut self, fact: Fact, reason: Reason) {
        self.missed.push(Missed { fact, reason });
    }

    fn has(&self, text: &Text) -> bool {
        text.bytes() >= self.text.len() as u64 && text.resolve(self.blobs).contains(self.text)
    }

    /// Whether a text has it where only `ends` characters of each end are sent.
    fn has_of(&self, text: &Text, ends: Option<u64>) -> bool {
        let whole = text.resolve(self.blobs);
        match ends.and_then(|ends| without_middle(&whole, ends)) {
            Some(short) => short.contains(self.text),
            None => whole.contains(self.text),
        }
    }

    fn has_any<'t>(&self, texts: impl IntoIterator<Item = &'t Text>) -> bool {
        texts.into_iter().any(|text| self.has(text))
    }

    /// Takes in one record; gives where it shows the text to the model from now on.
    pub(super) fn take(&mut self, record: &Record<'_>, fact: Fact) -> Vec<Occurrence> {
        match record.event {
            Event::Input(event) => self.input(record.seq, event, fact),
            Event::Session(SessionEvent::Forked(_)) => {
                let waiting = std::mem::take(&mut self.waiting);
                waiting.into_values().for_each(|fact| self.miss(fact, Reason::NotInherited));
                Vec::new()
            }
            Event::Context(event) => self.context(record.seq, event, fact),
            Event::Profile(event) => self.profile(event, fact),
            Event::Step(event) => self.step(record.seq, event, fact),
            Event::Tool(event) => self.tool(event, fact),
            Event::Message(event) => self.message(record.seq, event, fact),
            Event::Compaction(CompactionEvent::Ended(ended)) => {
                let (summary, recent) = (self.has(&ended.summary), self.has(&ended.recent));
                let through = [(summary, Through::Summary), (recent, Through::Recent)];
                let held = through.into_iter().filter(|(held, _)| *held);
                held.map(|(_, through)| Occurrence { holder: Holder::Message(record.seq), fact, through }).collect()
            }
            Event::Compaction(CompactionEvent::Completed(completed)) => {
                let ends = Some(completed.ends).filter(|_| completed.truncated);
                if !self.has_of(&completed.summary, ends) {
                    return Vec::new();
                }
                vec![Occurrence { holder: Holder::Message(record.seq), fact, through: Through::Summary }]
            }
            kinds!(
                Session(Created, Titled, Moved, AgentSwitched, ProcessAttached, ModelSwitched, TitleFailed),
                Compaction(Started, Failed, Undone, ToolOutputsPruned, ToolOutputsReduced, CallsReduced),
                Permission,
                Files,
                Child,
                Erasure
            ) => Vec::new(),
        }
    }

    fn input(&mut self, seq: Seq, event: &InputEvent, fact: Fact) -> Vec<Occurrence> {
        match event {
            InputEvent::Admitted(admitted) => {
                if self.has(&admitted.text) {
                    self.waiting.insert(admitted.input.clone(), fact);
                }
            }
            InputEvent::Promoted(promoted) => {
                // The text is in the admission; the message is that of the promotion.
                if let Some(fact) = self.waiting.remove(&promoted.input) {
                    return vec![Occurrence { holder: Holder::Message(seq), fact, through: Through::User }];
                }
            }
            InputEvent::Withdrawn(withdrawn) => {
                if let Some(fact) = self.waiting.remove(&withdrawn.input) {
                    self.miss(fact, Reason::Withdrawn);
                }
            }
            InputEvent::DeliveryChanged(_) | InputEvent::Configured(_) => {}
        }
        Vec::new()
    }

    fn context(&self, seq: Seq, event: &ContextEvent, fact: Fact) -> Vec<Occurrence> {
        match event {
            ContextEvent::Admitted(update) if self.has(&update.text) => {
                let sources = update.keys.iter().map(|key| key.as_str().to_owned()).collect();
                vec![Occurrence { holder: Holder::Message(seq), fact, through: Through::System { sources } }]
            }
            ContextEvent::EpochStarted(started) => {
                let held = started.parts.iter().filter(|part| self.has(&part.text));
                held.map(|part| Occurrence {
                    holder: Holder::Baseline(seq),
                    fact,
                    through: Through::Baseline { source: part.key.as_str().to_owned() },
                })
                .collect()
            }
            ContextEvent::Admitted(_)
            | ContextEvent::EpochReplacementBlocked(_)
            | ContextEvent::SnapshotAdvanced(_)
            | ContextEvent::InstructionDiscovered(_) => Vec::new(),
        }
    }

    fn profile(&self, event: &ProfileEvent, fact: Fact) -> Vec<Occurrence> {
        match event {
            ProfileEvent::AgentRecorded(recorded) => {
                let profile = &recorded.profile;
                match (profile.system.as_ref().filter(|text| self.has(text)), profile.digest()) {
                    (Some(_), Ok(digest)) => {
                        let through = Through::AgentText { agent: profile.agent.to_string() };
                        vec![Occurrence { holder: Holder::Agent(digest), fact, through }]
                    }
                    (None, _) | (_, Err(_)) => Vec::new(),
                }
            }
            ProfileEvent::ToolsRecorded(recorded) => {
                let Ok(digest) = recorded.digest() else { return Vec::new() };
                let held = recorded
                    .tools
                    .iter()
                    .filter(|tool| tool.name.contains(self.text) || self.has_any([&tool.description, &tool.schema.0]));
                held.map(|tool| Occurrence {
                    holder: Holder::Tools(digest),
                    fact,
                    through: Through::Tool { tool: tool.name.clone() },
                })
                .collect()
            }
            ProfileEvent::ModelRecorded(_) | ProfileEvent::OptionsRecorded(_) => Vec::new(),
        }
    }

    fn message(&self, seq: Seq, event: &MessageEvent, fact: Fact) -> Vec<Occurrence> {
        let through = match event {
            MessageEvent::Edited(edited) => {
                let held = edited.edits.iter().filter(|edit| edit.text.as_ref().is_some_and(|text| self.has(text)));
                let replaced = |edit: &PartEdit| Holder::Edit { message: edit.message, place: edit.place, edit: seq };
                return held.map(|edit| Occurrence { holder: replaced(edit), fact, through: Through::Edit }).collect();
            }
            MessageEvent::UnknownPart(part) if self.has(&part.text) => Through::Unknown,
            MessageEvent::SyntheticAdded(added) if self.has(&added.text) => Through::Synthetic,
            MessageEvent::ShellRan(ran) if self.has_any([&ran.command, &ran.output]) => Through::Shell,
            MessageEvent::SyntheticAdded(_)
            | MessageEvent::ShellRan(_)
            | MessageEvent::Pinned(_)
            | MessageEvent::Unpinned(_)
            | MessageEvent::TodoUpdated(_)
            | MessageEvent::RedactionApplied(_)
            | MessageEvent::UnknownPart(_) => return Vec::new(),
        };
        vec![Occurrence { holder: Holder::Message(seq), fact, through }]
    }

    /// What the current answer contains, in its message.
    fn in_answer(&self, fact: Fact, through: Through) -> Vec<Occurrence> {
        let place = fact.seq;
        let holder = self.step.map(|message| Holder::Fragment { message, place });
        holder.map(|holder| Occurrence { holder, fact, through }).into_iter().collect()
    }

    fn step(&mut self, seq: Seq, event: &StepEvent, fact: Fact) -> Vec<Occurrence> {
        match event {
            StepEvent::Started(_) => {
                self.step = Some(seq);
                Vec::new()
            }
            StepEvent::TextEnded(ended) if self.has(&ended.text) => self.in_answer(fact, Through::Text),
            StepEvent::ReasoningEnded(ended) if self.has(&ended.text) => self.in_answer(fact, Through::Reasoning),
            StepEvent::TextEnded(_)
            | StepEvent::ReasoningEnded(_)
            | StepEvent::RequestSent(_)
            | StepEvent::RequestRecorded(_)
            | StepEvent::AnswerRecorded(_)
            | StepEvent::Ended(_)
            | StepEvent::Failed(_)
            | StepEvent::RetryScheduled(_) => Vec::new(),
        }
    }

    fn tool(&mut self, event: &ToolEvent, fact: Fact) -> Vec<Occurrence> {
        match event {
            ToolEvent::Called(called) => {
                self.calls.insert(called.call.clone(), (self.step, called.name.clone(), None));
                if self.has(&called.input.0) {
                    return self.in_answer(fact, Through::Call { tool: called.name.clone() });
                }
            }
            ToolEvent::Progressed(progressed) => {
                let held = progressed.output.as_ref().is_some_and(|output| self.has(output));
                if let (true, Some((.., shown))) = (held, self.calls.get_mut(&progressed.call)) {
                    *shown = Some(fact);
                }
            }
            ToolEvent::Settled(settled) => {
                let Some((Some(message), tool, shown)) = self.calls.remove(&settled.call) else { return Vec::new() };
                let result = settled.error.as_ref().unwrap_or(&settled.output);
                let hosted = settled.hosted_result.as_ref().is_some_and(|result| self.has(&result.0));
                if self.has(result) || hosted {
                    let in_ends = hosted || settled.error.is_some() || self.has_of(result, Some(SHORTENED_ENDS));
                    let holder = Holder::Result { message, place: fact.seq, call: settled.call.clone(), in_ends };
                    return vec![Occurrence { holder, fact, through: Through::Result { tool } }];
                }
                if let Some(shown) = shown {
                    self.miss(shown, if settled.truncated { Reason::Truncated } else { Reason::Replaced });
                }
                if settled.structured.as_ref().is_some_and(|structured| self.has(&structured.0)) {
                    self.miss(fact, if settled.truncated { Reason::Truncated } else { Reason::Structured });
                }
            }
        }
        Vec::new()
    }
}
