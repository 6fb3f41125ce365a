//! What is new in a conversation since the request before: messages, an undo, a summary, another system prompt or model; and what
//! the agent changed of what it sent before.

use super::known::{KnownConversation, is_said, picked};
use super::{RequestFacts, Thread, ThreadError};
use crate::facts::{Facts, Transcriber};
use annals_core::event::{
    EpochCause, EpochStarted, FilesCaptured, MessagesEdited, ModelSwitched, Part as ContextPart, PartEdit,
    RevertCommitted, RevertStaged,
};
use annals_core::{ModelName, Seq};
use annals_providers::recorded::{ConversationPart, PartKind, Speaker, Unit, WireConversation, WireItem};
use std::collections::{BTreeMap, BTreeSet};

/// The most changes of one event.
const EDITS_MAX: usize = 256;

/// The parts of a request, each with its message and the items that it is made of.
pub(super) type NewParts = Vec<(ConversationPart, usize, Vec<usize>)>;

impl Thread {
    /// What is new in the conversation since the request before. After it, the history has what the request says.
    pub(super) async fn converse(&mut self, request: &RequestFacts) -> Result<(), ThreadError> {
        let RequestFacts { at, conversation, model, .. } = request;
        let at = *at;
        let new = self.parts_of(conversation);
        let names: Vec<ConversationPart> = new.iter().map(|(part, ..)| part.clone()).collect();
        let mut before = self.compare(&names, conversation);
        let kept = self.kept_by_summary(conversation, &names, &before);
        if !kept.is_empty() {
            self.append(at, kept).await?;
            before = self.compare(&names, conversation);
        }
        let mut facts = Facts::from(self.next);
        self.rename_calls(&new, conversation, &before);
        self.transcriber.close(results(&new, conversation, &before), &mut facts);
        if let Some(tree) = self.unrecorded_files.take() {
            facts.push(FilesCaptured { tree: tree.to_string() });
        }
        let mut cause = EpochCause::Incompatible;
        if let Some(summary) = self.replaces(conversation, &new, &before) {
            self.compaction(request, summary, &before, &mut facts);
            cause = EpochCause::Compaction;
            self.system = None;
        } else if let Some(undone) = before.alignment.undone.and_then(|undone| before.known.get(undone)) {
            let first_removed = undone.message;
            facts.push(RevertStaged { first_removed, original: None, diff: None, files: Vec::new() });
            facts.push(RevertCommitted { first_removed });
            cause = EpochCause::Reverted;
            self.system = None;
        }
        self.unused_summary(&mut facts);
        if self.model != *model {
            if cause == EpochCause::Incompatible {
                cause = EpochCause::ModelSwitched;
            }
            facts.push(ModelSwitched { model: model.clone() });
            self.model.clone_from(model);
        }
        self.epoch(conversation, cause, &mut facts);
        self.estimate = request.estimate;
        self.append(at, facts.events).await?;
        let now = self.compare(&names, conversation);
        let mut facts = Facts::from(self.next);
        self.edit(&new, conversation, &now, &mut facts);
        self.messages(&new, conversation, &now, model, &mut facts);
        let is_changed = !facts.events.is_empty();
        self.append(at, facts.events).await?;
        let now = if is_changed { self.compare(&names, conversation) } else { now };
        self.differing += now.differences(&names);
        Ok(())
    }

    /// An agent may give a call another id before it sends the result.
    fn rename_calls(&mut self, new: &NewParts, conversation: &WireConversation, before: &KnownConversation) {
        let Some(open) = self.transcriber.open.as_mut() else { return };
        for ((part, unit, items), pairing) in new.iter().zip(&before.alignment.of_new) {
            let known = pairing.and_then(|pairing| before.known.get(pairing.at));
            let (PartKind::Call, Some(known)) = (part.kind, known) else { continue };
            let item = conversation.units.get(*unit).and_then(|unit| unit.items.get(*items.first()?));
            if let (Some(WireItem::Call { id, .. }), true) = (item, known.part.id != part.id) {
                let is_it = |theirs: &str| known.part.id.as_deref() == Some(theirs);
                open.calls.iter_mut().filter(|call| is_it(&call.theirs)).for_each(|call| call.theirs.clone_from(id));
            }
        }
    }

    /// Starts an epoch if the system prompt is another one.
    fn epoch(&mut self, conversation: &WireConversation, cause: EpochCause, facts: &mut Facts) {
        let system = conversation.system();
        if self.system.as_ref() == Some(&system) {
            return;
        }
        let is_first = self.view.epochs.current.is_none() && cause != EpochCause::Compaction;
        let parts = system.iter().enumerate().filter_map(|(number, text)| {
            Some(ContextPart { key: format!("system/{number}").parse().ok()?, text: text.as_str().into() })
        });
        facts.push(EpochStarted {
            cause: if is_first { EpochCause::FirstTurn } else { cause },
            agent: self.agent.clone(),
            location: self.location.clone(),
            parts: parts.collect(),
            entries: BTreeMap::new(),
            known: true,
        });
        self.system = Some(system);
    }

    /// What the agent sends otherwise than before, or not at all.
    fn edit(&self, new: &NewParts, conversation: &WireConversation, now: &KnownConversation, facts: &mut Facts) {
        let mut edits: Vec<PartEdit> = Vec::new();
        for ((part, unit, items), pairing) in new.iter().zip(&now.alignment.of_new) {
            let Some(pairing) = pairing.filter(|pairing| !pairing.is_same) else { continue };
            let (Some(known), Some(unit)) = (now.known.get(pairing.at), conversation.units.get(*unit)) else {
                continue;
            };
            let (text, has_media) = sent(part, unit, items);
            let (message, place) = (known.message, known.place);
            let without_media = part.kind == PartKind::Result && !has_media;
            edits.push(PartEdit { message, place, text: Some(text.into()), without_media });
        }
        edits.extend(left_out(now));
        let left_out = |seq| PartEdit { message: seq, place: seq, text: None, without_media: false };
        edits.extend(self.behind(conversation).into_iter().map(left_out));
        edits.sort_by_key(|edit| edit.place);
        for edits in edits.chunks(EDITS_MAX) {
            facts.push(MessagesEdited { edits: edits.to_vec() });
        }
    }

    /// Messages that the log does not have. Answers among them are of requests that were not recorded.
    fn messages(
        &mut self,
        new: &NewParts,
        conversation: &WireConversation,
        now: &KnownConversation,
        model: &ModelName,
        facts: &mut Facts,
    ) {
        let open = |at: &usize| now.alignment.of_new.get(*at).is_some_and(Option::is_none);
        let places: Vec<usize> = (0..new.len()).filter(open).collect();
        for group in places.chunk_by(|one, other| unit_of(new, *one) == unit_of(new, *other)) {
            let Some(number) = group.first().and_then(|at| unit_of(new, *at)) else { continue };
            let Some(unit) = conversation.units.get(number) else { continue };
            let mut items: Vec<usize> =
                group.iter().filter_map(|at| new.get(*at)).flat_map(|(.., items)| items.clone()).collect();
            items.sort_unstable();
            let unknown = picked(unit, &items);
            match unit.speaker {
                Speaker::User => self.transcriber.user(&unknown, unit, facts),
                Speaker::Assistant => {
                    let is_whole =
                        new.iter().enumerate().all(|(at, (part, of, _))| *of != number || !is_said(part) || open(&at));
                    let has_call = unknown.items.iter().any(|item| matches!(item, WireItem::Call { .. }));
                    if !is_whole && !has_call {
                        self.transcriber.unknown(&unknown, facts);
                        continue;
                    }
                    let end = Transcriber::unseen_end(&unknown.items);
                    self.transcriber.assistant(&unknown, &self.agent, model, Some(end), (None, None), facts);
                    let behind = places.iter().filter(|at| unit_of(new, **at).is_some_and(|of| of > number));
                    let following = behind.filter_map(|at| result_at(new, conversation, *at));
                    self.transcriber.close(following.collect(), facts);
                }
            }
        }
    }
}

fn unit_of(new: &NewParts, at: usize) -> Option<usize> {
    new.get(at).map(|(_, unit, _)| *unit)
}

fn result_at<'c>(new: &NewParts, conversation: &'c WireConversation, at: usize) -> Option<&'c WireItem> {
    let (part, unit, items) = new.get(at)?;
    let item = conversation.units.get(*unit)?.items.get(*items.first()?)?;
    (part.kind == PartKind::Result).then_some(item)
}

/// The results that no known result is.
fn results<'c>(new: &NewParts, conversation: &'c WireConversation, before: &KnownConversation) -> Vec<&'c WireItem> {
    let open = before.alignment.of_new.iter().enumerate().filter(|(_, pairing)| pairing.is_none());
    open.filter_map(|(at, _)| result_at(new, conversation, at)).collect()
}

/// The text of a part as it is sent, and whether media come with it.
fn sent(part: &ConversationPart, unit: &Unit, items: &[usize]) -> (String, bool) {
    let mut texts: Vec<&str> = Vec::new();
    let mut has_media = false;
    for item in items.iter().filter_map(|at| unit.items.get(*at)) {
        match item {
            WireItem::Text(text)
            | WireItem::Context { text, .. }
            | WireItem::Reference { text }
            | WireItem::Unknown { text }
            | WireItem::Reasoning { text, .. } => texts.push(text),
            WireItem::Result { text, attachments, .. } => {
                texts.push(text);
                has_media = !attachments.is_empty();
            }
            WireItem::Call { input, .. } => texts.push(input),
            WireItem::HostedResult { result, .. } => texts.push(result),
            WireItem::Media(_) => has_media = true,
        }
    }
    let joined = texts.join("\n\n");
    let is_json = part.kind == PartKind::Call && joined.trim().is_empty();
    (if is_json { "{}".to_owned() } else { joined }, has_media)
}

/// The known parts that the request does not have. One edit for a message of which nothing is left.
fn left_out(now: &KnownConversation) -> Vec<PartEdit> {
    let parts = || now.known.iter().zip(&now.alignment.kept);
    let kept: BTreeSet<Seq> = parts().filter(|(_, kept)| **kept).map(|(known, _)| known.message).collect();
    let kept_calls: BTreeSet<(Seq, &str)> = parts()
        .filter(|(known, kept)| **kept && known.part.kind != PartKind::Call)
        .filter_map(|(known, _)| Some((known.message, known.part.id.as_deref()?)))
        .collect();
    let mut left: BTreeMap<Seq, PartEdit> = BTreeMap::new();
    for (known, _) in parts().filter(|(_, kept)| !**kept) {
        let (message, part) = (known.message, &known.part);
        let place = if kept.contains(&message) { known.place } else { message };
        // A call goes with its result.
        let stays =
            part.kind == PartKind::Call && part.id.as_deref().is_some_and(|id| kept_calls.contains(&(message, id)));
        if !stays {
            let is_media = part.kind == PartKind::Media && place == known.place && kept.contains(&message);
            left.entry(place).or_insert(PartEdit { message, place, text: None, without_media: is_media });
        }
    }
    left.into_values().collect()
}
