//! What the transcript that an agent keeps of a session left out, compared with a recording of the same session.

use crate::SessionAt;
use crate::recordings::name_of;
use annals_core::event::{
    CompactionEvent, ContextEvent, InputEvent, ProfileEvent, Purpose, RequestSent, StepEvent, ToolEvent,
};
use annals_core::{Blobs, Digest, Event, Record, Seq, SessionId, Text};
use annals_store::ReadError;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How many characters of a text are shown.
const SHOWN: usize = 80;

/// What a transcript left out of a session, and what it has in addition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TranscriptDiff {
    /// The recording.
    pub recording: SessionId,
    /// The transcript.
    pub transcript: SessionId,
    /// What was compared, kind by kind.
    pub kinds: Vec<TranscriptKind>,
}

/// One kind of what a session contains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TranscriptKind {
    /// `system`, `tools`, `options`, `context`, `input`, `answer`, `reasoning`, `call`, `result`, `summary` or `request`.
    pub kind: &'static str,
    /// How many different ones the recording has.
    pub recorded: u64,
    /// How many characters these have.
    pub characters: u64,
    /// What the transcript does not have.
    pub left_out: Vec<TranscriptPart>,
    /// What only the transcript has.
    pub added: Vec<TranscriptPart>,
}

/// Something that only one of the two has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TranscriptPart {
    /// The event that has it first, in its session.
    pub seq: Seq,
    /// How many characters it has; 0 for a request, whose content the other kinds have.
    pub characters: u64,
    /// Its name, or how it begins.
    pub text: String,
}

impl TranscriptDiff {
    /// Whether the transcript has everything, and nothing else.
    pub fn is_same(&self) -> bool {
        self.kinds.iter().all(|kind| kind.left_out.is_empty() && kind.added.is_empty())
    }

    /// How many characters of the recording are in the transcript too, and how many there are.
    pub fn kept(&self) -> (u64, u64) {
        let all: u64 = self.kinds.iter().map(|kind| kind.characters).sum();
        let left_out = self.kinds.iter().flat_map(|kind| &kind.left_out).map(|part| part.characters).sum();
        (all.saturating_sub(left_out), all)
    }
}

/// Compares a recording with the transcript of the same session.
pub async fn transcript(recording: &SessionAt, transcript: &SessionAt) -> Result<TranscriptDiff, ReadError> {
    let (recorded, kept) = (contents(recording).await?, contents(transcript).await?);
    let names = |all: &[RecordedContent]| all.iter().map(|part| part.name).collect::<BTreeSet<_>>();
    let (in_recording, in_transcript) = (names(&recorded), names(&kept));
    let of = |all: &[RecordedContent], kind: &str, others: &[RecordedContent], names: &BTreeSet<Digest>| {
        let only = all.iter().filter(|part| part.kind == kind && !names.contains(&part.name));
        only.filter_map(|part| part.only_in(others)).collect::<Vec<_>>()
    };
    let kinds = KINDS.into_iter().map(|kind| {
        let own = || recorded.iter().filter(|part| part.kind == kind);
        TranscriptKind {
            kind,
            recorded: own().count() as u64,
            characters: own().map(|part| part.shown.characters).sum(),
            left_out: of(&recorded, kind, &kept, &in_transcript),
            added: of(&kept, kind, &recorded, &in_recording),
        }
    });
    let kinds = kinds.filter(|kind| kind.recorded > 0 || !kind.added.is_empty()).collect();
    Ok(TranscriptDiff { recording: recording.session, transcript: transcript.session, kinds })
}

const KINDS: [&str; 11] =
    ["system", "tools", "options", "context", "input", "answer", "reasoning", "call", "result", "summary", "request"];

/// Something that a session contains, named by its content.
struct RecordedContent {
    kind: &'static str,
    name: Digest,
    shown: TranscriptPart,
    /// Its words, of kinds that agents send in other pieces than they keep them.
    words: Option<String>,
}

/// Words in which another text is not looked for.
const SHORT: usize = 12;

impl RecordedContent {
    /// What of it the other session does not have in any text: agents join reminders, and write words around a summary.
    fn only_in(&self, others: &[Self]) -> Option<TranscriptPart> {
        let Some(words) = &self.words else { return Some(self.shown.clone()) };
        let theirs = || others.iter().filter_map(|other| other.words.as_deref()).filter(|theirs| theirs.len() >= SHORT);
        if words.len() >= SHORT && theirs().any(|theirs| theirs.contains(words.as_str())) {
            return None;
        }
        let mut pieces: Vec<&str> = theirs().filter(|theirs| words.contains(theirs)).collect();
        pieces.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
        let left = pieces.into_iter().fold(words.clone(), |left, piece| left.replace(piece, ""));
        let characters = if left == *words { self.shown.characters } else { left.chars().count() as u64 };
        (!left.is_empty()).then(|| TranscriptPart { characters, ..self.shown.clone() })
    }
}

/// The words of a text without blank space, and without the tags that agents put around what they add.
fn words(text: &str) -> String {
    const TAGS: [&str; 4] = ["<system-reminder>", "</system-reminder>", "<summary>", "</summary>"];
    let bare = TAGS.iter().fold(text.to_owned(), |text, tag| text.replace(tag, " "));
    bare.split_whitespace().collect()
}

/// What a session contains, each thing once.
async fn contents(past: &SessionAt) -> Result<Vec<RecordedContent>, ReadError> {
    let mut collected =
        TranscriptContent { parts: Vec::new(), seen: BTreeSet::new(), sent: None, answered: BTreeMap::new() };
    past.each(Seq::ZERO, past.until, |record| collected.take(record, past.blobs())).await?;
    collected.requested(None);
    Ok(collected.parts)
}

struct TranscriptContent {
    parts: Vec<RecordedContent>,
    seen: BTreeSet<Digest>,
    /// The newest request, until its answer begins.
    sent: Option<(Seq, RequestSent)>,
    /// How many requests each name is the answer of.
    answered: BTreeMap<String, u64>,
}

impl TranscriptContent {
    fn take(&mut self, record: &Record<'_>, blobs: &dyn Blobs) {
        let seq = record.seq;
        match record.event {
            Event::Context(ContextEvent::EpochStarted(started)) => {
                started.parts.iter().for_each(|part| self.text(seq, "system", &part.text, blobs));
            }
            Event::Context(ContextEvent::Admitted(admitted)) => self.text(seq, "context", &admitted.text, blobs),
            Event::Profile(ProfileEvent::ToolsRecorded(recorded)) => {
                for tool in &recorded.tools {
                    let (description, schema) = (tool.description.resolve(blobs), tool.schema.0.resolve(blobs));
                    self.add(seq, "tools", &tool.name, &format!("{}\n{description}\n{schema}", tool.name));
                }
            }
            Event::Profile(ProfileEvent::OptionsRecorded(recorded)) => {
                let all = recorded.options.controls.iter().chain(&recorded.options.body);
                for (field, value) in all {
                    let text = format!("{field}: {}", value.0.resolve(blobs));
                    self.add(seq, "options", &text, &text);
                }
            }
            Event::Input(InputEvent::Admitted(admitted)) => self.text(seq, "input", &admitted.text, blobs),
            Event::Step(StepEvent::TextEnded(ended)) => self.text(seq, "answer", &ended.text, blobs),
            Event::Step(StepEvent::ReasoningEnded(ended)) => self.text(seq, "reasoning", &ended.text, blobs),
            Event::Step(StepEvent::RequestSent(sent)) => self.sends(seq, sent),
            Event::Step(StepEvent::Started(started)) => {
                self.requested(started.answer.as_ref().map(|answer| answer.message.as_str()));
            }
            Event::Tool(ToolEvent::Called(called)) => {
                let text = format!("{} {}", called.name, called.input.0.resolve(blobs));
                self.add(seq, "call", &text, &format!("{} {}", called.call.0, called.name));
            }
            Event::Tool(ToolEvent::Settled(settled)) => {
                let text = settled.error.as_ref().unwrap_or(&settled.output);
                self.text(seq, "result", text, blobs);
            }
            Event::Compaction(CompactionEvent::Completed(completed)) => {
                self.text(seq, "summary", &completed.summary, blobs);
            }
            _ => {}
        }
    }

    /// A request is sent. Another attempt of one is the same request.
    fn sends(&mut self, seq: Seq, sent: &RequestSent) {
        let is_again = self.sent.as_ref().is_some_and(|(_, before)| before.request == sent.request);
        match sent.purpose {
            Purpose::Turn if is_again => {}
            Purpose::Turn => {
                self.requested(None);
                self.sent = Some((seq, sent.clone()));
            }
            Purpose::Summary | Purpose::Title | Purpose::Other => self.request(seq, sent, None),
        }
    }

    /// The newest request of a turn is answered, or another one is sent.
    fn requested(&mut self, answer: Option<&str>) {
        if let Some((seq, sent)) = self.sent.take() {
            self.request(seq, &sent, answer);
        }
    }

    /// A request, which both sessions know by what the provider calls the answer.
    fn request(&mut self, seq: Seq, sent: &RequestSent, answer: Option<&str>) {
        let shown = format!("{} request to {}", sent.purpose.as_str(), sent.model.as_str());
        let named = answer.map_or_else(|| sent.request.to_string(), str::to_owned);
        // A provider may call all of its answers the same.
        let before = self.answered.entry(named.clone()).or_default();
        *before += 1;
        let named = format!("{named} {before}");
        self.add(seq, "request", &shown, &named);
    }

    fn text(&mut self, seq: Seq, kind: &'static str, text: &Text, blobs: &dyn Blobs) {
        let text = text.resolve(blobs);
        if !text.trim().is_empty() {
            self.add(seq, kind, &text, &text);
        }
    }

    /// Adds what is not known yet; `named` is the text to compare.
    fn add(&mut self, seq: Seq, kind: &'static str, shown: &str, named: &str) {
        let name = name_of(kind, named);
        if !self.seen.insert(name) {
            return;
        }
        let characters = match kind {
            "request" => 0,
            _ => named.chars().count().max(shown.chars().count()) as u64,
        };
        let line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = line.chars().take(SHOWN).collect();
        let words = matches!(kind, "context" | "result" | "summary").then(|| words(shown));
        self.parts.push(RecordedContent { kind, name, shown: TranscriptPart { seq, characters, text }, words });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(kind: &'static str, text: &str) -> RecordedContent {
        let shown = TranscriptPart { seq: Seq(1), characters: text.chars().count() as u64, text: text.to_owned() };
        RecordedContent { kind, name: name_of(kind, text), shown, words: Some(words(text)) }
    }

    #[test]
    fn texts_that_an_agent_joins_or_frames_are_in_both() {
        let kept =
            [content("context", "The first reminder of it."), content("context", "Another reminder.\nIt is long.")];
        let left = |text: &str| content("context", text).only_in(&kept).map(|part| part.characters);
        let joined =
            "<system-reminder>\nThe first reminder of it.\n\nAnother reminder. It is long.\n</system-reminder>";
        assert_eq!(left(joined), None);
        assert_eq!(left("reminder. It is"), None, "a part of a text that is kept");
        assert_eq!(left("The first reminder of it. And more."), Some("Andmore.".len() as u64));
        assert_eq!(left("Nothing of the kind."), Some(20));
        assert_eq!(left("It is"), Some(5), "too short to be looked for");
    }
}
