//! Requests that cannot be proved, because texts that went into them are withheld.

use annals_core::event::RequestSent;
use annals_core::{Batch, KnownText, Seq, Text};
use annals_projections::{BuildError, Request};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// How views begin the note in the place of a withheld text.
const NOTE: &str = "[withheld: ";

/// The events that have withheld texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct WithheldEvents(BTreeSet<Seq>);

/// How many parts of a request are withheld: texts of the system prompt, messages, its prompt, profiles, tools and options.
///
/// 0 if only its recorded digest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct WithheldParts(pub u64);

impl fmt::Display for WithheldParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("not provable: its digest is withheld"),
            1 => f.write_str("not provable: 1 part withheld"),
            parts => write!(f, "not provable: {parts} parts withheld"),
        }
    }
}

impl WithheldEvents {
    /// Notes the events of a batch.
    pub fn note(&mut self, batch: &Batch) {
        let absent = batch.states.iter().filter(|state| matches!(state.known, KnownText::Absent(_)));
        self.0.extend(absent.map(|state| batch.first.plus(u64::from(state.event))));
    }

    /// What is withheld of a request that was rebuilt, or could not be; `None` when nothing is, so that it can be proved.
    pub fn of(&self, sent: &RequestSent, rebuilt: Result<&Request, &BuildError>) -> Option<WithheldParts> {
        let hashes = [Some(sent.agent_profile), Some(sent.model_profile), sent.tools, Some(sent.options)];
        let hashes = hashes.into_iter().flatten().filter(|hash| hash.is_withheld()).count();
        let prompt = usize::from(matches!(sent.prompt, Some(Text::Absent(_))));
        let parts = hashes + prompt + rebuilt.map_or(0, |request| self.parts(request));
        (parts > 0 || sent.digest.is_withheld()).then_some(WithheldParts(parts as u64))
    }

    fn parts(&self, request: &Request) -> usize {
        let is_withheld = |seq: Option<Seq>| seq.is_some_and(|seq| self.0.contains(&seq));
        let system = request
            .system
            .iter()
            .filter(|system| system.text.contains(NOTE) && system.spans.iter().any(|span| is_withheld(span.seq)));
        let messages = request.messages.iter().filter(|message| {
            let mut withheld = message.blocks.iter().filter(|block| is_withheld(block.seq()));
            withheld.any(|block| serde_json::to_string(block).is_ok_and(|text| text.contains(NOTE)))
        });
        system.count() + messages.count()
    }
}
