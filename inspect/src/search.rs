//! Searching the texts of all sessions: events that have all words of a search, sessions with whole words first, then the newest.
//!
//! ```text
//! SearchPattern ─► TextRequirement ─► SearchIndex ─► candidates ─┐
//!              └─────────────► what no index covers, scanned ────┴─► in order ─► verified in the log ─► SearchMatch
//! ```

mod candidates;
mod folding;
mod lines;
mod pattern;
mod requirement;
mod searching;

pub use candidates::{CandidateQuery, IndexStatus, IndexedUpTo, SearchCandidate, SearchIndex};
pub use folding::words as words_of_folded;
pub use pattern::{SearchPattern, SearchPatternError, indexed_text, is_path};
pub use requirement::TextRequirement;

use crate::sessions::SessionFilter;
use annals_core::event::{
    ChildEvent, CompactionEvent, ContextEvent, ErasureEvent, InputEvent, MessageEvent, PermissionEvent, SessionEvent,
    StepEvent, ToolEvent,
};
use annals_core::{Blobs, Event, Seq, SessionId, Text, Time, kinds};
use serde::Serialize;
use std::borrow::Cow;
use std::ops::Range;

/// Who wrote a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TextAuthor {
    /// Prompts, shell commands, feedback.
    User,
    /// Answers, reasoning, tool calls.
    Model,
    /// Results and errors of tools.
    Tool,
    /// System prompts, context updates, summaries, titles.
    Context,
}

impl TextAuthor {
    /// Every author.
    pub const ALL: [Self; 4] = [Self::User, Self::Model, Self::Tool, Self::Context];

    /// The name in JSON and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Context => "context",
        }
    }

    /// Which texts are meant.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::User => "Prompts, shell commands, feedback",
            Self::Model => "Answers, reasoning, tool calls",
            Self::Tool => "Results and errors of tools",
            Self::Context => "System prompts, context updates, summaries, titles",
        }
    }
}

/// What to search for, and where.
#[derive(Clone, Debug, Default)]
pub struct SearchQuery {
    /// What must match.
    pub pattern: SearchPattern,
    /// This session only, with what it inherits.
    pub session: Option<SessionId>,
    /// Of the other sessions, those that these conditions select; sub-agents are included.
    pub sessions: SessionFilter,
    /// Texts of these authors only; of all of them if it is empty.
    pub authors: Vec<TextAuthor>,
    /// Calls and results of this tool only.
    pub tool: Option<String>,
    /// Events from this time on.
    pub since: Option<Time>,
    /// How many lines before and after each match are wanted.
    pub context: usize,
    /// At most so many matches.
    pub limit: Option<u64>,
    /// At most so many matches of one event.
    pub per_event: Option<usize>,
}

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchMatch {
    /// The session.
    pub session: SessionId,
    /// Its title.
    pub title: String,
    /// The event.
    pub seq: Seq,
    /// Its time.
    pub at: Time,
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Who wrote the line.
    pub by: TextAuthor,
    /// The whole line.
    pub line: String,
    /// The lines before it, as many as were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// The lines after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Where the first match is in the line, in bytes.
    #[serde(skip)]
    pub range: Range<usize>,
}

/// How much a search found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchTotals {
    /// How many matches were given.
    pub shown: u64,
    /// How many more there are.
    pub more: u64,
    /// Whether `more` is an estimate: not every event that an index names was read.
    pub estimated: bool,
    /// No event matches: these are of sessions in which every term occurs, in different events.
    pub across: bool,
}

/// Whose texts in an event match, and whether these have every word of the search as a whole word. For laws over an index.
pub fn matching_authors(pattern: &SearchPattern, event: &Event, blobs: &dyn Blobs) -> Vec<(TextAuthor, bool)> {
    lines::EventMatcher { pattern, words: &pattern.whole_words(), authors: &[], blobs }.authors_of(event)
}

/// Texts and who wrote each.
pub type AuthoredTexts<'a> = Vec<(TextAuthor, Cow<'a, Text>)>;

/// The texts of an event that a person would search for, and who wrote them. Names, ids and numbers are none: the list of
/// events shows them.
pub fn authored_texts(event: &Event) -> AuthoredTexts<'_> {
    use Cow::{Borrowed, Owned};
    use TextAuthor::{Context, Tool, User};
    match event {
        Event::Session(SessionEvent::Titled(titled)) => vec![(Context, Owned(titled.title.as_str().into()))],
        Event::Input(InputEvent::Admitted(admitted)) => vec![(User, Borrowed(&admitted.text))],
        Event::Context(ContextEvent::EpochStarted(started)) => {
            started.parts.iter().map(|part| (Context, Borrowed(&part.text))).collect()
        }
        Event::Context(ContextEvent::Admitted(update)) => vec![(Context, Borrowed(&update.text))],
        Event::Step(event) => answer(event),
        Event::Tool(event) => tool(event),
        Event::Permission(PermissionEvent::Replied(replied)) => {
            replied.feedback.iter().map(|feedback| (User, Borrowed(feedback))).collect()
        }
        Event::Compaction(CompactionEvent::Ended(ended)) => vec![(Context, Borrowed(&ended.summary))],
        Event::Compaction(CompactionEvent::Completed(ended)) => vec![(Context, Borrowed(&ended.summary))],
        Event::Message(MessageEvent::UnknownPart(part)) => vec![(Context, Borrowed(&part.text))],
        Event::Message(MessageEvent::Edited(edited)) => {
            edited.edits.iter().filter_map(|edit| edit.text.as_ref()).map(|text| (Context, Borrowed(text))).collect()
        }
        Event::Message(MessageEvent::SyntheticAdded(added)) => vec![(Context, Borrowed(&added.text))],
        Event::Message(MessageEvent::ShellRan(ran)) => {
            vec![(User, Borrowed(&ran.command)), (Tool, Borrowed(&ran.output))]
        }
        Event::Child(ChildEvent::Settled(settled)) => vec![(Tool, Borrowed(&settled.result))],
        kinds!(
            Session(Created, Forked, Moved, AgentSwitched, ProcessAttached, ModelSwitched, TitleFailed),
            Input(Configured, Promoted, Withdrawn, DeliveryChanged),
            Context(EpochReplacementBlocked, SnapshotAdvanced, InstructionDiscovered),
            Profile,
            Permission(Asked),
            Compaction(Started, Failed, Undone, ToolOutputsPruned, ToolOutputsReduced, CallsReduced),
            Message(Pinned, Unpinned, TodoUpdated, RedactionApplied),
            Files,
            Child(Started),
            Erasure(Forgotten)
        ) => Vec::new(),
        Event::Erasure(ErasureEvent::TextsErased(erased)) => vec![(User, Borrowed(&erased.reason))],
    }
}

fn answer(event: &StepEvent) -> AuthoredTexts<'_> {
    let text = match event {
        StepEvent::Failed(failed) => &failed.error.message,
        StepEvent::TextEnded(ended) => &ended.text,
        StepEvent::ReasoningEnded(ended) => &ended.text,
        StepEvent::RequestSent(_)
        | StepEvent::RequestRecorded(_)
        | StepEvent::AnswerRecorded(_)
        | StepEvent::Started(_)
        | StepEvent::Ended(_)
        | StepEvent::RetryScheduled(_) => return Vec::new(),
    };
    vec![(TextAuthor::Model, Cow::Borrowed(text))]
}

fn tool(event: &ToolEvent) -> AuthoredTexts<'_> {
    match event {
        ToolEvent::Called(called) => vec![
            (TextAuthor::Model, Cow::Owned(called.name.as_str().into())),
            (TextAuthor::Model, Cow::Borrowed(&called.input.0)),
        ],
        ToolEvent::Settled(settled) => {
            let texts = std::iter::once(&settled.output).chain(&settled.error);
            texts.map(|text| (TextAuthor::Tool, Cow::Borrowed(text))).collect()
        }
        ToolEvent::Progressed(_) => Vec::new(),
    }
}
