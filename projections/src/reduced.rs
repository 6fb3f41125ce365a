//! Tool outputs that were made smaller in what the model reads (`docs/reference/compaction.md#outputs-made-smaller`).

use crate::message::{Body, Content, Message};
use crate::shared::SharedMap;
use annals_core::event::CompactionEvent;
use annals_core::{CallId, Seq};
use serde::{Deserialize, Serialize};

/// Calls of which something was cleared or shortened, with the event that did so first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReducedOutputs {
    cleared: SharedMap<CallId, Seq>,
    shortened: SharedMap<CallId, Seq>,
    inputs: SharedMap<CallId, Seq>,
    hosted: SharedMap<CallId, Seq>,
}

impl ReducedOutputs {
    /// Takes in an event; returns whether it made outputs smaller.
    pub(crate) fn apply(&mut self, seq: Seq, event: &CompactionEvent) -> bool {
        let lists: [&[CallId]; 4] = match event {
            CompactionEvent::ToolOutputsPruned(pruned) => [&pruned.calls, &[], &[], &[]],
            CompactionEvent::ToolOutputsReduced(reduced) => [&reduced.calls, &reduced.shortened, &[], &[]],
            CompactionEvent::CallsReduced(reduced) => {
                [&reduced.calls, &reduced.shortened, &reduced.inputs, &reduced.hosted]
            }
            CompactionEvent::Started(_)
            | CompactionEvent::Ended(_)
            | CompactionEvent::Completed(_)
            | CompactionEvent::Failed(_)
            | CompactionEvent::Undone(_) => return false,
        };
        let maps = [&mut self.cleared, &mut self.shortened, &mut self.inputs, &mut self.hosted];
        for (calls, known) in lists.into_iter().zip(maps) {
            for call in calls {
                if !known.contains_key(call) {
                    known.insert(call.clone(), seq);
                }
            }
        }
        true
    }

    /// Forgets what was done from a Seq on; returns whether anything was.
    pub(crate) fn remove_from(&mut self, first_removed: Seq) -> bool {
        let mut removed = false;
        for known in [&mut self.cleared, &mut self.shortened, &mut self.inputs, &mut self.hosted] {
            let before = known.len();
            known.retain(|_, at| *at < first_removed);
            removed |= known.len() != before;
        }
        removed
    }

    /// The marks of a call: whether its output is cleared, its output, its input and its hosted result shortened.
    fn marks(&self, call: &CallId) -> [Option<Seq>; 4] {
        [&self.cleared, &self.shortened, &self.inputs, &self.hosted].map(|known| known.get(call).copied())
    }

    /// Whether a message contains an output that was made smaller.
    pub(crate) fn concerns(&self, message: &Message) -> bool {
        let Body::Assistant(assistant) = &message.body else { return false };
        assistant.content.iter().any(|content| match content {
            Content::Tool(tool) => self.marks(&tool.call).iter().any(Option::is_some),
            Content::Text { .. } | Content::Reasoning { .. } => false,
        })
    }

    /// Whether [`ReducedOutputs::mark`] changes a message.
    pub(crate) fn changes(&self, message: &Message) -> bool {
        let Body::Assistant(assistant) = &message.body else { return false };
        assistant.content.iter().any(|content| match content {
            Content::Tool(tool) => {
                self.marks(&tool.call) != [tool.pruned, tool.shortened, tool.short_input, tool.short_hosted_result]
            }
            Content::Text { .. } | Content::Reasoning { .. } => false,
        })
    }

    /// Marks the calls of a message.
    pub(crate) fn mark(&self, message: &mut Message) {
        let Body::Assistant(assistant) = &mut message.body else { return };
        for content in &mut assistant.content {
            if let Content::Tool(tool) = content {
                [tool.pruned, tool.shortened, tool.short_input, tool.short_hosted_result] = self.marks(&tool.call);
            }
        }
    }
}
