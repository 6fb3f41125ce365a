//! Searching the texts of all sessions, newest session first.

use crate::reader::{FindError, Reader};
use annals_core::event::{
    ChildEvent, CompactionEvent, ContextEvent, ErasureEvent, InputEvent, MessageEvent, PermissionEvent, SessionEvent,
    StepEvent, ToolEvent,
};
use annals_core::{Blobs, Event, Record, Seq, SessionId, Text, Time};
use annals_projections::CatalogueEntry;
use serde::Serialize;
use std::borrow::Cow;
use std::ops::Range;

/// Who wrote a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
    /// The text. Case matters only if it has capital letters.
    pub text: String,
    /// This session only.
    pub session: Option<SessionId>,
    /// Texts of these authors only; of all of them if it is empty.
    pub authors: Vec<TextAuthor>,
    /// At most so many matches.
    pub limit: Option<u64>,
}

/// A line that contains the text.
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
    /// Where the text is in the line, in bytes; empty where lower case has another length, so that the place is unknown.
    #[serde(skip)]
    pub range: Range<usize>,
}

impl Reader {
    /// Visits every match, newest session first, each session's in order; returns how many there are. What a fork inherits is
    /// found in its parent, unless the fork is searched alone.
    ///
    /// # Errors
    /// When the log cannot be read, or the error of `visit`.
    pub async fn search<E: From<FindError>>(
        &self,
        query: &SearchQuery,
        mut visit: impl FnMut(&SearchMatch) -> Result<(), E>,
    ) -> Result<u64, E> {
        let needle = Needle::new(&query.text);
        let limit = query.limit.unwrap_or(u64::MAX);
        let mut count = 0;
        for (session, entry) in self.searched(query).await? {
            let from = entry.fork.filter(|_| query.session.is_none()).map_or(Seq::ZERO, |fork| fork.cut);
            let mut pages = self.pages(session, from, entry.next);
            while let Some(slice) = pages.next_slice().await.map_err(FindError::from)? {
                for record in slice.records() {
                    for (by, line, range) in matches(&record, &needle, &query.authors, self.blobs()) {
                        if count == limit {
                            return Ok(count);
                        }
                        count += 1;
                        visit(&SearchMatch {
                            session,
                            title: entry.title.clone(),
                            seq: record.seq,
                            at: record.at,
                            kind: record.event.kind().name(),
                            by,
                            line,
                            range,
                        })?;
                    }
                }
            }
        }
        Ok(count)
    }

    /// The sessions that a query is about, in the order in which they are searched.
    async fn searched(&self, query: &SearchQuery) -> Result<Vec<(SessionId, CatalogueEntry)>, FindError> {
        let sessions = self.catalogue().await?.sessions.into_iter();
        let mut sessions: Vec<_> =
            sessions.filter(|(id, entry)| query.session.map_or(!entry.forgotten, |only| only == *id)).collect();
        sessions.sort_by(|(a_id, a), (b_id, b)| b.updated.cmp(&a.updated).then(a_id.cmp(b_id)));
        Ok(sessions)
    }
}

struct Needle {
    text: String,
    any_case: bool,
}

impl Needle {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), any_case: !text.chars().any(char::is_uppercase) }
    }

    /// Where it is in a line, in bytes.
    fn find(&self, line: &str) -> Option<Range<usize>> {
        if !self.any_case {
            return line.find(&self.text).map(|at| at..at + self.text.len());
        }
        let lower = line.to_lowercase();
        let at = lower.find(&self.text)?;
        let range = at..at + self.text.len();
        if lower.len() == line.len() && line.get(range.clone()).is_some() { Some(range) } else { Some(0..0) }
    }
}

fn matches(
    record: &Record<'_>,
    needle: &Needle,
    authors: &[TextAuthor],
    blobs: &dyn Blobs,
) -> Vec<(TextAuthor, String, Range<usize>)> {
    let mut found = Vec::new();
    for (by, text) in texts(record.event) {
        if !authors.is_empty() && !authors.contains(&by) {
            continue;
        }
        let text = text.resolve(blobs);
        found.extend(text.lines().filter_map(|line| Some((by, line.to_owned(), needle.find(line)?))));
    }
    found
}

type AuthoredTexts<'a> = Vec<(TextAuthor, Cow<'a, Text>)>;

/// The texts of an event that a person would search for, and who wrote them. Names, ids and numbers are none: the list of
/// events shows them.
fn texts(event: &Event) -> AuthoredTexts<'_> {
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
        Event::Message(MessageEvent::SyntheticAdded(added)) => vec![(Context, Borrowed(&added.text))],
        Event::Message(MessageEvent::ShellRan(ran)) => {
            vec![(User, Borrowed(&ran.command)), (Tool, Borrowed(&ran.output))]
        }
        Event::Child(ChildEvent::Settled(settled)) => vec![(Tool, Borrowed(&settled.result))],
        Event::Session(
            SessionEvent::Created(_)
            | SessionEvent::Forked(_)
            | SessionEvent::Moved(_)
            | SessionEvent::AgentSwitched(_)
            | SessionEvent::ProcessAttached(_)
            | SessionEvent::ModelSwitched(_)
            | SessionEvent::TitleFailed(_),
        )
        | Event::Input(InputEvent::Promoted(_) | InputEvent::Withdrawn(_) | InputEvent::DeliveryChanged(_))
        | Event::Context(
            ContextEvent::EpochReplacementBlocked(_)
            | ContextEvent::SnapshotAdvanced(_)
            | ContextEvent::InstructionDiscovered(_),
        )
        | Event::Profile(_)
        | Event::Permission(PermissionEvent::Asked(_))
        | Event::Compaction(
            CompactionEvent::Started(_)
            | CompactionEvent::Failed(_)
            | CompactionEvent::Undone(_)
            | CompactionEvent::ToolOutputsPruned(_)
            | CompactionEvent::ToolOutputsReduced(_),
        )
        | Event::Message(
            MessageEvent::Pinned(_)
            | MessageEvent::Unpinned(_)
            | MessageEvent::TodoUpdated(_)
            | MessageEvent::RedactionApplied(_),
        )
        | Event::Files(_)
        | Event::Child(ChildEvent::Started(_))
        | Event::Erasure(ErasureEvent::Forgotten(_)) => Vec::new(),
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

#[cfg(test)]
mod tests {
    use super::Needle;

    #[test]
    fn case_matters_only_for_a_text_with_capitals() {
        assert_eq!(Needle::new("fix").find("To FIX it"), Some(3..6));
        assert_eq!(Needle::new("Fix").find("To FIX it"), None);
        assert_eq!(Needle::new("Fix").find("Fix it"), Some(0..3));
    }

    #[test]
    fn where_lower_case_has_another_length_the_line_is_found_without_the_place() {
        assert_eq!(Needle::new("fix").find("İ fix"), Some(0..0));
        assert_eq!(Needle::new("fix").find("é fix"), Some(3..6));
    }
}
