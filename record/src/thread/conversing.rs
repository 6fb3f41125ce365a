//! What is new in a conversation since the request before: messages, an undo, a summary, another system prompt or model.

use super::{Thread, ThreadError};
use crate::conversation::{Speaker, Unit, WireConversation};
use crate::facts::{Facts, Transcriber};
use annals_core::event::{EpochCause, EpochStarted, FilesCaptured, ModelSwitched, Part, RevertCommitted, RevertStaged};
use annals_core::{Digest, ModelName, Time};
use std::collections::{BTreeMap, HashMap};

impl Thread {
    /// What is new in the conversation since the request before.
    pub(super) async fn converse(
        &mut self,
        at: Time,
        conversation: &WireConversation,
        model: &ModelName,
    ) -> Result<(), ThreadError> {
        let named: Vec<(&Unit, Option<Digest>)> = conversation.units.iter().map(|unit| (unit, unit.name())).collect();
        let same = self.shared(conversation).0;
        // The place of the first message that is new.
        let mut left = same;
        let known = named.iter().take_while(|(_, name)| {
            let before = left > 0 || name.is_none();
            left -= usize::from(left > 0 && name.is_some());
            before
        });
        let known = known.count();
        let known = if same == 0 { 0 } else { known };
        let (old, new) = conversation.units.split_at(known);
        let mut facts = Facts::from(self.next);
        let continues = same == self.units.len();
        let following = new.iter().take_while(|unit| unit.speaker == Speaker::User);
        self.transcriber.close(following.take(if continues { usize::MAX } else { 0 }), &mut facts);
        if let Some(tree) = self.unrecorded_files.take() {
            facts.push(FilesCaptured { tree: tree.to_string() });
        }
        let mut cause = EpochCause::Incompatible;
        let gone = self.units.get(same).map(|(_, first)| *first);
        let summarised = self.summary_in(&conversation.units).filter(|_| gone.is_some() || same == 0);
        let (mut old, mut new) = (old, new);
        match gone {
            // The first message has the summary with which the recording before this one ended.
            None if same == 0 && self.compacted.is_some() => {
                let at = conversation.units.iter().position(|unit| unit.name().is_some()).unwrap_or(0);
                let (first, rest) = conversation.units.split_at((at + 1).min(conversation.units.len()));
                let names = first.iter().filter_map(Unit::name);
                self.units.extend(names.zip(self.compacted.take()));
                (old, new) = (&[], rest);
            }
            // The agent replaced its history by a summary.
            _ if summarised.is_some() || gone.is_some() && same == 0 => {
                new = self.compaction(&conversation.units, summarised, &mut facts);
                old = &[];
                cause = EpochCause::Compaction;
                self.system = None;
            }
            None => {}
            Some(first_removed) => {
                facts.push(RevertStaged { first_removed, original: None, diff: None, files: Vec::new() });
                facts.push(RevertCommitted { first_removed });
                cause = EpochCause::Reverted;
                self.system = None;
                self.units.truncate(same);
            }
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
        let mut seen = HashMap::new();
        self.transcriber.contexts(old, &mut seen, &mut facts);
        self.messages(new, model, &mut seen, &mut facts);
        self.append(at, facts.events).await
    }

    /// Starts an epoch if the system prompt is another one.
    fn epoch(&mut self, conversation: &WireConversation, cause: EpochCause, facts: &mut Facts) {
        if self.system.as_ref() == Some(&conversation.system) {
            return;
        }
        let cause =
            if self.units.is_empty() && cause != EpochCause::Compaction { EpochCause::FirstTurn } else { cause };
        let parts = conversation.system.iter().enumerate().filter_map(|(number, text)| {
            Some(Part { key: format!("system/{number}").parse().ok()?, text: text.as_str().into() })
        });
        facts.push(EpochStarted {
            cause,
            agent: self.agent.clone(),
            location: self.location.clone(),
            parts: parts.collect(),
            entries: BTreeMap::new(),
            known: true,
        });
        self.system = Some(conversation.system.clone());
        self.transcriber.forget_contexts();
    }

    /// Messages that the log does not have. Answers among them are of requests that were not recorded.
    fn messages(&mut self, units: &[Unit], model: &ModelName, seen: &mut HashMap<Digest, u64>, facts: &mut Facts) {
        for (at, unit) in units.iter().enumerate() {
            let first = facts.next();
            match unit.speaker {
                Speaker::User => self.transcriber.user(unit, seen, facts),
                Speaker::Assistant => {
                    let end = Transcriber::unseen_end(&unit.items);
                    self.transcriber.assistant(&unit.items, &self.agent, model, Some(end), (None, None), facts);
                    let rest = units.get(at + 1..).unwrap_or_default();
                    let following = rest.iter().take_while(|unit| unit.speaker == Speaker::User);
                    self.transcriber.close(following, facts);
                }
            }
            self.units.extend(unit.name().map(|name| (name, first)));
        }
    }
}
