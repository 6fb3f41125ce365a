//! Requests that cannot be proved, because texts that went into them are withheld.

use annals_core::event::RequestSent;
use annals_core::{Batch, KnownText, Text};
use annals_projections::{BuildError, Request};
use serde::Serialize;
use std::fmt;

/// How views begin the note in the place of a withheld text.
const NOTE: &str = "[withheld: ";

/// Whether texts are withheld among the events so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WithheldBefore(bool);

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

impl WithheldBefore {
    /// Takes in a batch.
    pub fn note(&mut self, batch: &Batch) {
        self.0 |= batch.states.iter().any(|state| matches!(state.known, KnownText::Absent(_)));
    }

    /// What is withheld of a request that was rebuilt, or could not be; `None` when nothing is, so that it can be proved.
    pub fn of(self, sent: &RequestSent, rebuilt: Result<&Request, &BuildError>) -> Option<WithheldParts> {
        let hashes = [Some(sent.agent_profile), Some(sent.model_profile), sent.tools, Some(sent.options)];
        let hashes = hashes.into_iter().flatten().filter(|hash| hash.is_withheld()).count();
        let prompt = usize::from(matches!(sent.prompt, Some(Text::Absent(_))));
        // The prompt is the only message of a request that has one.
        let parts = hashes + rebuilt.map_or(prompt, |request| self.parts(request));
        (parts > 0 || sent.digest.is_withheld()).then_some(WithheldParts(parts as u64))
    }

    /// How many system texts and messages have the note of a withheld text. Without withheld texts, one that quotes such a note is
    /// like any other.
    fn parts(self, request: &Request) -> usize {
        if !self.0 {
            return 0;
        }
        let system = request.system.iter().filter(|system| system.text.contains(NOTE));
        let messages = request.messages.iter();
        let messages =
            messages.filter(|message| serde_json::to_string(&message.message).is_ok_and(|text| text.contains(NOTE)));
        system.count() + messages.count()
    }
}
