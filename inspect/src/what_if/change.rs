//! A decision that would have been different, and what that makes of the facts.

use crate::recorded_path::last_name;
use annals_core::bound::{self, Limits};
use annals_core::event::{
    AgentProfile, CompactionEvent, ContextEvent, EpochStarted, InputEvent, MessageEvent, ModelProfile, Part,
    RequestSent, ToolEvent,
};
use annals_core::text::Texts;
use annals_core::{Blobs, Digest, Event, Key, Text};
use annals_projections::SessionView;
use std::fmt;
use std::sync::Arc;

/// A path as long as that of a file with a whole output, which was never written.
const FILE: &str = "outputs/tool_00000000000000000000000000";

/// Replaces secrets in a text.
pub type TextRedaction = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// One changed decision.
#[derive(Clone)]
pub enum WhatIfChange {
    /// A file of instructions has another content; `None` if it is not there.
    File {
        /// Its path, or the end of it.
        path: String,
        /// The content.
        content: Option<String>,
    },
    /// A context source has another text; `None` if it is left out.
    Source {
        /// Its key.
        key: Key,
        /// The text.
        text: Option<String>,
    },
    /// The agent has another system text of its own.
    AgentSystem {
        /// The agent; every one without it.
        agent: Option<String>,
        /// The text.
        text: Option<String>,
    },
    /// A tool is not offered.
    WithoutTool {
        /// Its name.
        name: String,
    },
    /// Another model answers: its window, its prices, and how it takes messages.
    Model {
        /// What the model is.
        profile: Box<ModelProfile>,
    },
    /// Other settings of compactions.
    Compaction(CompactionRules),
    /// Other limits of the output of a tool.
    Output(Limits),
    /// Secrets are replaced in every text.
    Redaction {
        /// The replacement.
        redact: TextRedaction,
    },
}

/// When requests are made smaller (`docs/compaction.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionRules {
    /// Whether requests that would be too large are compacted first.
    pub auto: bool,
    /// Whether old tool outputs are cleared before a summary is made.
    pub prune: bool,
    /// Tokens of the window that stay free.
    pub buffer: u64,
    /// Tokens at the end of the conversation that stay as they are.
    pub keep_tokens: u64,
}

impl fmt::Debug for WhatIfChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, .. } => write!(f, "file:{path}"),
            Self::Source { key, .. } => write!(f, "source:{}", key.as_str()),
            Self::AgentSystem { agent, .. } => write!(f, "agent.system {agent:?}"),
            Self::WithoutTool { name } => write!(f, "tool:{name}"),
            Self::Model { profile } => write!(f, "model={}", profile.model),
            Self::Compaction(rules) => write!(f, "{rules:?}"),
            Self::Output(limits) => write!(f, "{limits:?}"),
            Self::Redaction { .. } => write!(f, "redaction"),
        }
    }
}

impl WhatIfChange {
    /// The event as it would have been; `None` if there would be none. Notes in `found` whether the change applied.
    pub(super) fn event(&self, event: Event, blobs: &dyn Blobs, found: &mut bool) -> Option<Event> {
        match self {
            Self::File { path, content } => file(event, path, content.as_deref(), blobs, found),
            Self::Source { key, text } => source(event, key, text.as_deref(), found),
            Self::AgentSystem { agent, text } => Some(recorded_system(event, agent.as_deref(), text.as_deref(), found)),
            Self::Output(limits) => Some(output(event, *limits, blobs, found)),
            Self::Redaction { redact } => {
                let mut event = event;
                event.texts(&mut |text: &mut Text| {
                    let Some(whole) = text.read(blobs) else { return };
                    let redacted = redact(&whole);
                    if redacted != *whole {
                        *found = true;
                        *text = Text::from(redacted);
                    }
                });
                Some(event)
            }
            _ => Some(event),
        }
    }

    /// What shapes a request, as it would have been. Profiles that were not recorded are lent to the view.
    pub(super) fn sent(&self, sent: &mut RequestSent, view: &mut SessionView, found: &mut bool) {
        let profiles = &mut view.profiles;
        match self {
            Self::AgentSystem { agent, text } if agent.as_ref().is_none_or(|agent| *agent == sent.agent.0) => {
                let Some(profile) = profiles.agents.get(&sent.agent_profile) else { return };
                // The system prompt of a request of another agent is recorded as a whole: it was replaced there.
                if *found && profile.system.is_none() {
                    return;
                }
                let profile = AgentProfile { system: text.clone().map(Text::from), ..profile.clone() };
                *found = true;
                sent.agent_profile = lend(&mut profiles.agents, profile.digest().ok(), profile);
            }
            Self::Model { profile } => {
                *found = true;
                sent.model = profile.model.clone();
                sent.model_profile = lend(&mut profiles.models, profile.digest().ok(), (**profile).clone());
            }
            Self::WithoutTool { name } => {
                let Some(tools) = sent.tools.and_then(|tools| profiles.tools.get(&tools)) else { return };
                let left: Vec<_> = tools.iter().filter(|tool| tool.name != *name).cloned().collect();
                if left.len() < tools.len() {
                    *found = true;
                    let named = annals_core::event::ToolsRecorded { tools: left.clone() };
                    sent.tools = Some(lend(&mut profiles.tools, named.digest().ok(), left));
                }
            }
            _ => {}
        }
    }

    /// What is added to the system prompt where the log contains nothing that the change replaces.
    pub(super) fn addition(&self) -> Option<Part> {
        match self {
            Self::File { path, content: Some(content) } => Some(Part {
                key: "core/instructions".parse().ok()?,
                text: Text::from(format!("Instructions from: {path}\n{content}")),
            }),
            Self::Source { key, text: Some(text) } => Some(Part { key: key.clone(), text: Text::from(text.clone()) }),
            _ => None,
        }
    }

    /// What is said where the log contains nothing that the change concerns.
    pub(super) fn found_nothing(&self) -> Option<String> {
        let nothing = match self {
            Self::File { .. } | Self::Source { .. } if self.addition().is_some() => format!(
                "the log does not contain what {self:?} replaces; it is added to the system prompt, and what it would have replaced \
                 stays unknown"
            ),
            Self::File { .. } | Self::Source { .. } => {
                format!("the log does not contain {self:?}, so leaving it out changes nothing")
            }
            Self::WithoutTool { name } => format!("no request in the log is recorded as offering the tool {name}"),
            Self::AgentSystem { .. } => "the log does not contain a system text of that agent".to_owned(),
            Self::Model { .. } | Self::Compaction(_) | Self::Output(_) | Self::Redaction { .. } => return None,
        };
        Some(nothing)
    }
}

fn lend<T>(known: &mut std::collections::BTreeMap<Digest, T>, digest: Option<Digest>, value: T) -> Digest {
    let digest = digest.unwrap_or(Digest([0; 32]));
    known.entry(digest).or_insert(value);
    digest
}

/// The system prompt of requests of another agent, which is recorded as it was sent.
fn recorded_system(event: Event, agent: Option<&str>, text: Option<&str>, found: &mut bool) -> Event {
    let Event::Context(ContextEvent::EpochStarted(mut started)) = event else { return event };
    let is_sent = |part: &Part| part.key.as_str().starts_with("system/");
    if agent.is_none_or(|agent| *agent == *started.agent.0)
        && started.parts.iter().all(is_sent)
        && let Some(Part { key, .. }) = started.parts.first().cloned()
    {
        *found = true;
        started.parts = text.map(|text| Part { key, text: text.into() }).into_iter().collect();
    }
    Event::Context(ContextEvent::EpochStarted(started))
}

/// Replaces what a file contributed to texts that the model reads as instructions.
fn file(event: Event, path: &str, content: Option<&str>, blobs: &dyn Blobs, found: &mut bool) -> Option<Event> {
    let mut change = |text: &mut Text| {
        if let Some(changed) = text.read(blobs).and_then(|whole| replaced(&whole, path, content)) {
            *found = true;
            *text = Text::from(changed);
        }
    };
    match event {
        Event::Context(ContextEvent::EpochStarted(mut started)) => {
            started.parts.iter_mut().for_each(|part| change(&mut part.text));
            let gone = |part: &Part| part.text.inline().is_some_and(str::is_empty);
            started.parts.retain(|part| !gone(part));
            Some(Event::Context(ContextEvent::EpochStarted(started)))
        }
        Event::Context(ContextEvent::Admitted(mut admitted)) => {
            let before = admitted.text.clone();
            change(&mut admitted.text);
            // An update about this file alone would not have been sent: its content never changes.
            if admitted.keys.len() == 1 && admitted.text != before {
                return None;
            }
            Some(Event::Context(ContextEvent::Admitted(admitted)))
        }
        Event::Input(InputEvent::Admitted(mut input)) => {
            change(&mut input.text);
            Some(Event::Input(InputEvent::Admitted(input)))
        }
        Event::Message(MessageEvent::SyntheticAdded(mut added)) => {
            change(&mut added.text);
            Some(Event::Message(MessageEvent::SyntheticAdded(added)))
        }
        other => Some(other),
    }
}

/// The text with another content of a file: in the forms of this runtime, of Codex and of Claude Code. `None` if it does not
/// contain the file.
fn replaced(text: &str, path: &str, content: Option<&str>) -> Option<String> {
    const OWN: &str = "Instructions from: ";
    let named = |line: &str| line == path || line.ends_with(&format!("/{}", path.trim_start_matches("./")));
    let fill = |before: &str, after: &str, head: &str| match content {
        Some(content) => format!("{before}{head}{}{after}", content.trim_end()),
        None => format!("{}{}", before.trim_end(), after),
    };
    // `Instructions from: PATH`, its content up to the next one.
    for (at, _) in text.match_indices(OWN) {
        let rest = text.get(at + OWN.len()..)?;
        let line = rest.lines().next().unwrap_or_default();
        if !named(line) || !(at == 0 || text.get(..at)?.ends_with('\n')) {
            continue;
        }
        let body = at + OWN.len() + line.len();
        let end = text.get(body..)?.find(&format!("\n\n{OWN}")).map_or(text.len(), |end| body + end);
        return Some(fill(text.get(..at)?, text.get(end..)?, &format!("{OWN}{line}\n")));
    }
    // Codex: `# AGENTS.md instructions for DIR`, `<INSTRUCTIONS>`.
    let file_name = last_name(path);
    if text.contains(&format!("# {file_name} instructions for ")) {
        let start = text.find("<INSTRUCTIONS>\n")? + "<INSTRUCTIONS>\n".len();
        let end = start + text.get(start..)?.rfind("</INSTRUCTIONS>")?;
        let content = content.map_or(String::new(), |content| format!("{}\n", content.trim_end()));
        return Some(format!("{}{content}{}", text.get(..start)?, text.get(end..)?));
    }
    // Claude Code: `Contents of PATH (...):`, up to the next one or the end of the reminder.
    const CLAUDE: &str = "Contents of ";
    for (at, _) in text.match_indices(CLAUDE) {
        let rest = text.get(at + CLAUDE.len()..)?;
        let line = rest.lines().next().unwrap_or_default();
        if !named(line.split([' ', ':']).next().unwrap_or_default()) {
            continue;
        }
        let body = at + CLAUDE.len() + line.len();
        let ends = ["\n\nContents of ", "\n# currentDate", "</system-reminder>", "\n\n      IMPORTANT:"];
        let after = text.get(body..)?;
        let end = ends.iter().filter_map(|end| after.find(end)).min().map_or(text.len(), |end| body + end);
        return Some(fill(text.get(..at)?, text.get(end..)?, &format!("{CLAUDE}{line}\n\n")));
    }
    None
}

/// Shortens what a tool returned to other limits. An output that was shortened when it was recorded keeps both of its ends, of which
/// smaller limits leave less.
fn output(mut event: Event, limits: Limits, blobs: &dyn Blobs, found: &mut bool) -> Event {
    if let Event::Tool(ToolEvent::Settled(settled)) = &mut event
        && settled.hosted_result.is_none()
        && let Some(text) = settled.output.read(blobs).filter(|text| !limits.hold(text))
    {
        *found = true;
        let file = if settled.truncated { settled.paths.last().map(String::as_str) } else { Some(FILE) };
        settled.output = Text::from(bound::preview(&text, limits, &bound::marker(file)));
    }
    event
}

fn source(event: Event, key: &Key, text: Option<&str>, found: &mut bool) -> Option<Event> {
    match event {
        Event::Context(ContextEvent::EpochStarted(mut started)) => {
            let EpochStarted { parts, entries, .. } = &mut started;
            match (parts.iter().position(|part| part.key == *key), text) {
                (Some(at), Some(text)) => {
                    *found = true;
                    if let Some(part) = parts.get_mut(at) {
                        part.text = Text::from(text.to_owned());
                    }
                }
                (Some(at), None) => {
                    *found = true;
                    parts.remove(at);
                    entries.remove(key);
                }
                (None, _) => {}
            }
            Some(Event::Context(ContextEvent::EpochStarted(started)))
        }
        // An update about this source alone would not have been sent: its text never changes.
        Event::Context(ContextEvent::Admitted(admitted)) if admitted.keys == [key.clone()] => {
            *found = true;
            None
        }
        Event::Context(ContextEvent::Admitted(mut admitted)) if admitted.keys.contains(key) => {
            let texts: Vec<String> =
                admitted.text.inline().unwrap_or_default().split("\n\n").map(str::to_owned).collect();
            // The texts of several sources are joined by blank lines; where they have some of their own, they cannot be separated.
            if texts.len() == admitted.keys.len() {
                *found = true;
                let kept = texts.into_iter().zip(&admitted.keys).filter(|(_, other)| *other != key);
                admitted.text = Text::from(kept.map(|(text, _)| text).collect::<Vec<_>>().join("\n\n"));
                admitted.keys.retain(|other| other != key);
            }
            Some(Event::Context(ContextEvent::Admitted(admitted)))
        }
        other => Some(other),
    }
}

/// Whether an event belongs to a compaction that rules made due.
pub(super) fn is_automatic(event: &CompactionEvent) -> bool {
    use annals_core::event::CompactionReason::{Auto, Overflow};
    match event {
        CompactionEvent::Started(started) => matches!(started.reason, Auto | Overflow),
        CompactionEvent::Ended(ended) => matches!(ended.reason, Auto | Overflow),
        CompactionEvent::Completed(completed) => matches!(completed.reason, Auto | Overflow),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn a_file_is_found_in_the_forms_of_three_agents() {
        let own = "Instructions from: /a/AGENTS.md\nold\n\nInstructions from: /a/b/AGENTS.md\nother";
        assert_eq!(
            replaced(own, "/a/AGENTS.md", Some("new\n")).as_deref(),
            Some("Instructions from: /a/AGENTS.md\nnew\n\nInstructions from: /a/b/AGENTS.md\nother")
        );
        assert_eq!(
            replaced(own, "/a/AGENTS.md", None).as_deref(),
            Some("\n\nInstructions from: /a/b/AGENTS.md\nother")
        );
        let codex = "# AGENTS.md instructions for /a\n\n<INSTRUCTIONS>\nold\n</INSTRUCTIONS>";
        assert_eq!(
            replaced(codex, "AGENTS.md", Some("new")).as_deref(),
            Some("# AGENTS.md instructions for /a\n\n<INSTRUCTIONS>\nnew\n</INSTRUCTIONS>")
        );
        let claude =
            "<system-reminder>\nContents of /a/CLAUDE.md (project instructions):\n\nold\n</system-reminder>\nHi";
        assert_eq!(
            replaced(claude, "CLAUDE.md", Some("new")).as_deref(),
            Some("<system-reminder>\nContents of /a/CLAUDE.md (project instructions):\n\nnew</system-reminder>\nHi")
        );
        assert_eq!(replaced("no file", "AGENTS.md", Some("new")), None);
    }
}
