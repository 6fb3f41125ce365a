//! What the log has of a conversation, compared with what a request says.

use super::Thread;
use annals_core::Seq;
use annals_projections::{Body, Content, Message};
use annals_providers::recorded::{
    Alignment, ConversationPart, KnownPart, PartKind, Speaker, Unit, WireConversation, WireItem, align, is_ordered,
    known_parts, parts,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The parts of the messages of a history, read once.
#[derive(Debug, Default)]
pub(super) struct PartsOfMessages(HashMap<Seq, (Arc<Message>, Arc<[KnownPart]>)>);

/// What is known of the conversation of a request.
pub(super) struct KnownConversation {
    /// The parts of the history, in order.
    pub(super) known: Vec<KnownPart>,
    pub(super) alignment: Alignment,
}

impl KnownConversation {
    /// How many parts only one of both has.
    pub(super) fn differences(&self, new: &[ConversationPart]) -> u64 {
        let known: Vec<ConversationPart> = self.known.iter().map(|known| known.part.clone()).collect();
        let (unexplained, not_sent) = self.alignment.differences(&known, new);
        unexplained + not_sent
    }

    /// What was said, oldest first, and whether the request has it. Calls and results may have changed; a text in the place of another
    /// one is not the same.
    pub(super) fn said_parts(&self) -> Vec<(&KnownPart, bool)> {
        let pairings = self.alignment.of_new.iter().flatten();
        let same: HashSet<usize> = pairings.filter(|pairing| pairing.is_same).map(|pairing| pairing.at).collect();
        let has_id = |part: &ConversationPart| matches!(part.kind, PartKind::Call | PartKind::Result);
        let parts = self.known.iter().zip(&self.alignment.kept).enumerate();
        let said = parts.filter(|(_, (known, _))| is_said(&known.part));
        said.map(|(at, (known, kept))| (known, *kept && (same.contains(&at) || has_id(&known.part)))).collect()
    }
}

/// What a request has in common with a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommonBeginning {
    /// How many parts it begins with.
    pub(crate) same: usize,
    /// Whether these are all there are, or the others are in the request with another text.
    pub(crate) is_all: bool,
    /// Whether an answer is among them.
    pub(crate) has_answer: bool,
    /// Whether the newest answer is in the request, behind the rest of what it has in common.
    pub(crate) has_newest: bool,
}

impl Thread {
    /// The parts of the history as the next request would have it.
    fn known(&mut self) -> Vec<KnownPart> {
        let blobs = self.log.blobs();
        let mut known = Vec::new();
        let list = self.view.history.messages();
        for message in self.view.history.selected() {
            let Some(shared) = list.find_by_key(&message.seq, |message| message.seq).and_then(|at| list.get(at)) else {
                continue;
            };
            let parts = match self.parts.0.get(&message.seq) {
                Some((read, parts)) if Arc::ptr_eq(read, shared) => parts.clone(),
                _ => {
                    let parts: Arc<[KnownPart]> = known_parts(message, &*blobs).into();
                    self.parts.0.insert(message.seq, (shared.clone(), parts.clone()));
                    parts
                }
            };
            known.extend(parts.iter().cloned());
        }
        known
    }

    /// The parts of a request, each with its message and the items that it is made of.
    pub(super) fn parts_of(&mut self, conversation: &WireConversation) -> Vec<(ConversationPart, usize, Vec<usize>)> {
        parts(&conversation.units, || {
            let known = if conversation.previous.is_some() { Vec::new() } else { self.known() };
            known.into_iter().map(|known| known.part).collect()
        })
    }

    /// Compares parts of a request with the history.
    pub(super) fn compare(&mut self, new: &[ConversationPart], conversation: &WireConversation) -> KnownConversation {
        // The provider has what a linked request does not repeat.
        let known = if conversation.previous.is_some() { Vec::new() } else { self.known() };
        let old: Vec<ConversationPart> = known.iter().map(|known| known.part.clone()).collect();
        let mut alignment = align(&old, new);
        if conversation.is_with_provider() {
            alignment.keep_answers(&old);
        }
        KnownConversation { alignment, known }
    }

    /// What a request has in common with the conversation.
    pub(crate) fn shared(&mut self, conversation: &WireConversation) -> CommonBeginning {
        let new: Vec<ConversationPart> = self.parts_of(conversation).into_iter().map(|(part, ..)| part).collect();
        let KnownConversation { known, alignment } = self.compare(&new, conversation);
        let newest = self.newest_answer();
        // Agents ask again where an answer broke off, and do not send its beginning back.
        let failed = newest.filter(|seq| self.has_failed(*seq));
        let is_needed = |known: &KnownPart| is_said(&known.part) && Some(known.message) != failed;
        let main: Vec<&KnownPart> = known.iter().filter(|known| is_needed(known) && is_ordered(&known.part)).collect();
        let is_newest = |known: &KnownPart| Some(known.message) == newest && known.part.is_answer();
        let same = alignment.of_new.iter().flatten().filter(|pairing| pairing.is_same);
        let same: HashSet<usize> = same.map(|pairing| pairing.at).collect();
        let of_newest = known.iter().enumerate().filter(|(_, known)| is_newest(known) && is_said(&known.part));
        let of_newest: Vec<(usize, PartKind)> = of_newest.map(|(at, known)| (at, known.part.kind)).collect();
        // Of several choices an agent sends one back.
        let is_there = of_newest.iter().any(|(at, _)| same.contains(at))
            && of_newest.iter().all(|(at, kind)| same.contains(at) || *kind == PartKind::Text);
        let has_same_system = self.system.as_ref() == Some(&conversation.system());
        let is_kept = known.iter().zip(&alignment.kept).all(|(known, kept)| *kept || !is_needed(known));
        CommonBeginning {
            same: alignment.same,
            is_all: alignment.same == main.len() || is_kept,
            has_answer: main.iter().take(alignment.same).any(|known| known.part.is_answer()),
            has_newest: has_same_system && (is_there || self.is_joined(newest, conversation)),
        }
    }

    /// Whether the texts of an answer are in the request as one text.
    fn is_joined(&self, answer: Option<Seq>, conversation: &WireConversation) -> bool {
        let message = answer.and_then(|seq| self.view.history.message(seq));
        let Some(Body::Assistant(assistant)) = message.map(|message| &message.body) else { return false };
        let blobs = self.log.blobs();
        let said = assistant.content.iter().filter_map(|content| match content {
            Content::Text { text, .. } => Some(text.resolve(&*blobs).into_owned()),
            Content::Reasoning { .. } | Content::Tool(_) => None,
        });
        let bare = |texts: &[String]| texts.concat().split_whitespace().collect::<String>();
        let said = bare(&said.collect::<Vec<_>>());
        let answers = conversation.units.iter().filter(|unit| unit.speaker == Speaker::Assistant);
        !said.is_empty()
            && answers.map(|unit| &unit.items).any(|items| {
                let texts = items.iter().filter_map(|item| match item {
                    WireItem::Text(text) => Some(text.clone()),
                    _ => None,
                });
                bare(&texts.collect::<Vec<_>>()) == said
            })
    }

    /// Whether an answer, or an item of one, had an id, which the request names.
    pub(crate) fn answered_as(&self, id: &str) -> bool {
        self.answers.iter().any(|(answer, _)| answer == id)
    }

    /// The messages behind the answer that a request continues: that may be an earlier one.
    pub(super) fn behind(&self, conversation: &WireConversation) -> Vec<Seq> {
        let Some(previous) = &conversation.previous else { return Vec::new() };
        let answer = self.answers.iter().find(|(answer, _)| answer == previous).map(|(_, seq)| *seq);
        let messages = self.view.history.selected().map(|message| message.seq);
        messages.filter(|seq| answer.is_some_and(|answer| *seq > answer)).collect()
    }

    fn has_failed(&self, answer: Seq) -> bool {
        let body = self.view.history.message(answer).map(|message| &message.body);
        matches!(body, Some(Body::Assistant(assistant)) if assistant.error.is_some())
    }

    fn newest_answer(&self) -> Option<Seq> {
        let messages = self.view.history.messages();
        let answers = messages.iter().filter(|message| matches!(message.body, Body::Assistant(_)));
        answers.map(|message| message.seq).max()
    }
}

/// Whether a part was said in the conversation: not added to it.
pub(super) fn is_said(part: &ConversationPart) -> bool {
    use PartKind::{Call, Media, Prompt, Result, Summary, Text};
    matches!(part.kind, Prompt | Summary | Media | Text | Call | Result)
}

/// The items of a message at some places.
pub(super) fn picked(unit: &Unit, items: &[usize]) -> Unit {
    let mut picked = Unit::new(unit.speaker);
    for at in items {
        picked.items.extend(unit.items.get(*at).cloned());
        picked.pointers.push(unit.pointers.get(*at).cloned().unwrap_or_default());
    }
    picked
}
