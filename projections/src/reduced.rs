//! Tool outputs that were made smaller in what the model reads (`docs/reference/compaction.md#outputs-made-smaller`).

use crate::message::{Body, Content, Message};
use crate::shared::SharedMap;
use annals_core::event::CompactionEvent;
use annals_core::{CallId, Seq};
use serde::{Deserialize, Serialize};

/// Calls whose outputs were cleared or shortened, with the event that did so first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReducedOutputs {
    cleared: SharedMap<CallId, Seq>,
    shortened: SharedMap<CallId, Seq>,
}

impl ReducedOutputs {
    /// Takes in an event; returns whether it made outputs smaller.
    pub(crate) fn apply(&mut self, seq: Seq, event: &CompactionEvent) -> bool {
        let (cleared, shortened) = match event {
            CompactionEvent::ToolOutputsPruned(pruned) => (pruned.calls.as_slice(), [].as_slice()),
            CompactionEvent::ToolOutputsReduced(reduced) => (reduced.calls.as_slice(), reduced.shortened.as_slice()),
            CompactionEvent::Started(_)
            | CompactionEvent::Ended(_)
            | CompactionEvent::Completed(_)
            | CompactionEvent::Failed(_)
            | CompactionEvent::Undone(_) => return false,
        };
        for (calls, known) in [(cleared, &mut self.cleared), (shortened, &mut self.shortened)] {
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
        let before = self.cleared.len() + self.shortened.len();
        self.cleared.retain(|_, at| *at < first_removed);
        self.shortened.retain(|_, at| *at < first_removed);
        before != self.cleared.len() + self.shortened.len()
    }

    /// Whether a message contains an output that was made smaller.
    pub(crate) fn concerns(&self, message: &Message) -> bool {
        let Body::Assistant(assistant) = &message.body else { return false };
        assistant.content.iter().any(|content| match content {
            Content::Tool(tool) => self.cleared.contains_key(&tool.call) || self.shortened.contains_key(&tool.call),
            Content::Text { .. } | Content::Reasoning { .. } => false,
        })
    }

    /// Whether [`ReducedOutputs::mark`] changes a message.
    pub(crate) fn changes(&self, message: &Message) -> bool {
        let Body::Assistant(assistant) = &message.body else { return false };
        assistant.content.iter().any(|content| match content {
            Content::Tool(tool) => {
                tool.pruned.as_ref() != self.cleared.get(&tool.call)
                    || tool.shortened.as_ref() != self.shortened.get(&tool.call)
            }
            Content::Text { .. } | Content::Reasoning { .. } => false,
        })
    }

    /// Marks the calls of a message.
    pub(crate) fn mark(&self, message: &mut Message) {
        let Body::Assistant(assistant) = &mut message.body else { return };
        for content in &mut assistant.content {
            if let Content::Tool(tool) = content {
                tool.pruned = self.cleared.get(&tool.call).copied();
                tool.shortened = self.shortened.get(&tool.call).copied();
            }
        }
    }
}
