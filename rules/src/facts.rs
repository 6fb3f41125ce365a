//! From events to facts: what a call is about, what its result says, which calls a prune names. A fold in bounded memory.

mod call;
mod said;

use crate::fact::{AuditFact, FactField, FactKind, FactPlace, FactValue};
use crate::plan::FactFields;
use annals_core::event::{Event, FilesEvent, InputEvent, SessionEvent, StepEvent};
use annals_core::{Blobs, CallId, InputId, Record, Seq, Text};
use annals_inspect::safety::CallFold;
use call::CallSubject;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// How many prompts are numbered; an undo beyond them is not.
const PROMPTS: usize = 65_536;
/// How many inputs wait for their promotion, and how many bytes of each are kept.
const PENDING: usize = 256;
const PENDING_BYTES: usize = 64 * 1024;
/// How many calls are known after they ended.
const CALLS: usize = 16_384;
/// How many characters of a text a finding shows.
const SHOWN: usize = 160;

/// The beginning of a text on one line, as findings show it.
pub(crate) fn beginning(text: &str) -> String {
    let mut characters = text.trim().chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let shown: String = characters.by_ref().take(SHOWN).collect();
    if characters.next().is_some() { format!("{shown}\u{2026}") } else { shown }
}

/// What events are read with.
pub(crate) struct FactReading<'r> {
    pub(crate) blobs: &'r dyn Blobs,
    /// The folder of the project that a directory belongs to.
    pub(crate) root: &'r dyn Fn(&str) -> PathBuf,
    /// The fields that rules name: texts of others are not read.
    pub(crate) needs: &'r BTreeSet<FactField>,
}

impl FactReading<'_> {
    /// A text, if a rule names the field or it is short.
    fn text(&self, field: FactField, text: &Text) -> Option<String> {
        match text.inline() {
            Some(text) => Some(text.to_owned()),
            None if self.needs.contains(&field) => text.read(self.blobs).map(|text| text.into_owned()),
            None => None,
        }
    }
}

/// What is known of a session, to make facts of its events.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FactFold {
    calls: CallFold,
    /// The events of the prompts.
    prompts: Vec<Seq>,
    pending: BTreeMap<InputId, (Seq, String, bool)>,
    subjects: BTreeMap<Seq, CallSubject>,
    /// The events of calls, by their ids.
    ids: BTreeMap<CallId, Seq>,
    /// The calls of open questions.
    questions: BTreeMap<annals_core::PermissionId, (CallId, FactFields)>,
    order: u64,
    /// Agent, model, directory, origin.
    common: FactFields,
}

fn text(value: impl Into<String>) -> FactValue {
    FactValue::Text(value.into())
}

fn number(value: impl TryInto<i64>) -> FactValue {
    FactValue::Number(value.try_into().unwrap_or(i64::MAX))
}

/// A fact before it has a place.
struct NewFact {
    kind: FactKind,
    fields: FactFields,
    excerpt: String,
}

impl NewFact {
    fn new(kind: FactKind) -> Self {
        Self { kind, fields: FactFields::new(), excerpt: String::new() }
    }

    fn with(mut self, field: FactField, value: FactValue) -> Self {
        self.fields.insert(field, value);
        self
    }

    fn maybe(self, field: FactField, value: Option<FactValue>) -> Self {
        match value {
            Some(value) => self.with(field, value),
            None => self,
        }
    }

    /// The text that it is about.
    fn about(mut self, field: FactField, text: &Text, reading: &FactReading<'_>) -> Self {
        match reading.text(field, text) {
            Some(found) => {
                self.excerpt = beginning(&found);
                self.with(field, FactValue::Text(found))
            }
            None => {
                self.excerpt = format!("({} characters)", text.chars());
                self
            }
        }
    }

    fn shown(mut self, text: &str) -> Self {
        self.excerpt = beginning(text);
        self
    }
}

impl FactFold {
    /// The facts of an event; at least one.
    pub(crate) fn facts(&mut self, record: &Record<'_>, reading: &FactReading<'_>) -> Vec<AuditFact> {
        let ended = self.calls.apply(record, reading.blobs, reading.root);
        let mut found = match record.event {
            Event::Session(event) => self.of_session(event),
            Event::Input(event) => self.of_input(record.seq, event, reading),
            Event::Step(event) => self.of_step(event, reading),
            Event::Tool(event) => self.of_tool(record, event, ended, reading),
            Event::Permission(event) => self.of_permission(event, reading),
            Event::Compaction(event) => self.of_compaction(event, reading),
            Event::Context(event) => said::of_context(event, reading),
            Event::Message(event) => said::of_message(event, reading),
            Event::Child(event) => said::of_child(event, reading),
            Event::Files(event) => self.of_files(event),
            Event::Profile(_) | Event::Erasure(_) => Vec::new(),
        };
        if found.is_empty() {
            found.push(NewFact::new(FactKind::Event));
        }
        let turn = self.prompts.len() as u64;
        let mut first = true;
        let placed = found.into_iter().map(|fact| {
            let order = self.order;
            self.order += 1;
            let mut fields = fact.fields;
            let at = i64::try_from(record.at.0).unwrap_or(i64::MAX);
            fields.insert(FactField::Seq, number(record.seq.0));
            fields.insert(FactField::At, FactValue::Time(at));
            fields.insert(FactField::Turn, number(turn));
            fields.insert(FactField::Type, text(record.event.kind().name()));
            for (field, value) in &self.common {
                fields.entry(*field).or_insert_with(|| value.clone());
            }
            let place = FactPlace { session: record.session, seq: record.seq, at: record.at, turn, order };
            let first = std::mem::take(&mut first);
            AuditFact { kind: fact.kind, first, place, fields, excerpt: fact.excerpt }
        });
        placed.collect()
    }

    fn of_session(&mut self, event: &SessionEvent) -> Vec<NewFact> {
        let common = &mut self.common;
        let fact = match event {
            SessionEvent::Created(created) => {
                common.insert(FactField::Agent, text(created.agent.to_string()));
                common.insert(FactField::Model, text(created.model.to_string()));
                common.insert(FactField::Directory, text(created.location.directory.clone()));
                match &created.origin {
                    Some(origin) => common.insert(FactField::Origin, text(origin.agent.clone())),
                    None => common.remove(&FactField::Origin),
                };
                let title = created.title.as_deref();
                NewFact::new(FactKind::Session)
                    .maybe(FactField::Title, title.map(text))
                    .maybe(FactField::Parent, created.parent.as_ref().map(|parent| text(parent.session.to_string())))
                    .shown(title.unwrap_or(&created.location.directory))
            }
            SessionEvent::Forked(forked) => {
                let fact = NewFact::new(FactKind::Session).maybe(FactField::Title, forked.title.clone().map(text));
                fact.with(FactField::Parent, text(forked.parent.to_string())).shown("forked")
            }
            SessionEvent::Moved(moved) => {
                let directory = &moved.location.directory;
                common.insert(FactField::Directory, text(directory.clone()));
                NewFact::new(FactKind::Move).shown(directory)
            }
            SessionEvent::AgentSwitched(switched) => {
                common.insert(FactField::Agent, text(switched.agent.to_string()));
                NewFact::new(FactKind::Switch).shown(&switched.agent.to_string())
            }
            SessionEvent::ModelSwitched(switched) => {
                common.insert(FactField::Model, text(switched.model.to_string()));
                NewFact::new(FactKind::Switch).shown(&switched.model.to_string())
            }
            SessionEvent::Titled(_) | SessionEvent::TitleFailed(_) | SessionEvent::ProcessAttached(_) => {
                return Vec::new();
            }
        };
        vec![fact]
    }

    fn of_input(&mut self, seq: Seq, event: &InputEvent, reading: &FactReading<'_>) -> Vec<NewFact> {
        match event {
            InputEvent::Admitted(admitted) => {
                if self.pending.len() >= PENDING {
                    let oldest = self.pending.iter().min_by_key(|(_, (seq, ..))| *seq).map(|(id, _)| id.clone());
                    oldest.and_then(|id| self.pending.remove(&id));
                }
                let queued = admitted.delivery == annals_core::event::Delivery::Queue;
                let kept = reading.text(FactField::Text, &admitted.text).map(|text| {
                    let end = (0..=PENDING_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
                    text.get(..end.unwrap_or_default()).unwrap_or_default().to_owned()
                });
                self.pending.insert(admitted.input.clone(), (seq, kept.unwrap_or_default(), queued));
                Vec::new()
            }
            InputEvent::Promoted(promoted) => {
                if self.prompts.len() < PROMPTS {
                    self.prompts.push(seq);
                }
                let mut fact = NewFact::new(FactKind::Prompt);
                if let Some((_, text, queued)) = self.pending.remove(&promoted.input) {
                    fact = fact.shown(&text).with(FactField::Queued, FactValue::Bool(queued));
                    fact = fact.with(FactField::Text, FactValue::Text(text));
                }
                vec![fact]
            }
            InputEvent::Withdrawn(withdrawn) => {
                self.pending.remove(&withdrawn.input);
                Vec::new()
            }
            InputEvent::DeliveryChanged(_) | InputEvent::Configured(_) => Vec::new(),
        }
    }

    fn of_step(&mut self, event: &StepEvent, reading: &FactReading<'_>) -> Vec<NewFact> {
        if let StepEvent::Started(started) = event {
            self.common.insert(FactField::Agent, text(started.agent.to_string()));
            self.common.insert(FactField::Model, text(started.model.to_string()));
        }
        said::of_step(event, reading)
    }

    fn of_files(&mut self, event: &FilesEvent) -> Vec<NewFact> {
        let FilesEvent::RevertCommitted(committed) = event else { return Vec::new() };
        // Prompts that are gone have no number.
        self.prompts.retain(|seq| *seq < committed.first_removed);
        let first = committed.first_removed.0;
        vec![
            NewFact::new(FactKind::Undo)
                .with(FactField::First, number(first))
                .shown(&format!("event {first} and later")),
        ]
    }
}
