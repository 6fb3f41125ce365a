//! The spans of a request, each with the event that put it there.

use super::file_line::FileRead;
use crate::body_view::BodyView;
use crate::{Asked, IndexedRequest, RequestIndex};
use annals_core::event::{Purpose, ToolDefinition};
use annals_core::{AgentName, Blobs, Digest, ModelName, NoBlobs, Seq, canonical};
use annals_projections::{Block, Body, Content, PRUNED, Request, Role, SessionView, UNKNOWN_PART};
use serde::Serialize;
use std::collections::BTreeMap;

/// Who acted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Actor {
    /// The user.
    User,
    /// A model, in an agent's name.
    Model {
        /// The agent.
        agent: AgentName,
        /// The model.
        model: ModelName,
    },
    /// A tool.
    Tool {
        /// Its name.
        name: String,
    },
    /// Who defined the agent, its tools and its options.
    Configuration,
    /// The runtime: it observed a source, compacted, or added a rule of its own.
    Runtime,
}

/// What kind of thing is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sort {
    /// The agent's own system text.
    AgentText,
    /// A piece of the Baseline System Context.
    Baseline,
    /// A blank line between two pieces of a baseline.
    Blank,
    /// A user message.
    User,
    /// A file or image.
    Attachment,
    /// A Mid-Conversation System Message.
    System,
    /// The runtime's words in the user's place.
    Synthetic,
    /// A shell command of the user.
    Shell,
    /// A completed compaction.
    Compaction,
    /// Text of a model.
    Text,
    /// Reasoning of a model.
    Reasoning,
    /// A tool call.
    Call,
    /// What a call gave.
    Result,
    /// The note in the place of a pruned output.
    Pruned,
    /// What the runtime adds to this request alone.
    Added,
    /// A part of a recorded body that no event explains, or that no reader of its protocol knows.
    Unknown,
    /// The message of a summary or title request.
    Prompt,
    /// A tool definition.
    Tool,
    /// Model Request Options and Generation Controls.
    Options,
}

/// A recorded thing that requests name by hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    Agent(Digest),
    Tools(Digest),
    Options(Digest),
}

/// A stretch of a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestSpan {
    /// The part of the request, as its digests name them: `system 0`, `message 3`, `tools`, `options`.
    pub part: String,
    /// Its place in the part, in pieces, from 0.
    pub piece: usize,
    /// What kind of thing it is.
    pub sort: Sort,
    /// Where it is in the recorded body, as a JSON Pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The Context Sources that it renders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// What is sent: the exact text; JSON for calls, tools and options.
    pub text: String,
    /// Who put it there.
    pub actor: Actor,
    /// The event that put it there.
    #[serde(skip)]
    pub seq: Option<Seq>,
    /// For a user message, the event that admitted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admitted: Option<Seq>,
    /// For the result of a pruned call, the event that gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<Seq>,
    /// Where it joined the model's view.
    #[serde(skip)]
    pub(super) placed: Option<Seq>,
    #[serde(skip)]
    pub(super) set: Option<Set>,
    /// For the result of a tool that reads a file, what it read.
    #[serde(skip)]
    pub(super) read: Option<FileRead>,
}

impl RequestSpan {
    /// What makes it the same span in another request.
    pub(super) fn identity(&self) -> (Option<Seq>, String) {
        (self.seq, self.text.clone())
    }
}

/// The author of something, according to the fold.
struct Maker {
    sort: Sort,
    actor: Actor,
    sources: Vec<String>,
    admitted: Option<Seq>,
    pruned: Option<Seq>,
}

/// The makers of everything in the selected history, by the Seq that blocks carry.
fn makers(view: &SessionView) -> BTreeMap<Seq, Maker> {
    let mut makers = BTreeMap::new();
    let plain = |sort, actor| Maker { sort, actor, sources: Vec::new(), admitted: None, pruned: None };
    for message in view.history.selected() {
        let maker = match &message.body {
            Body::User { .. } => {
                let items = &view.transcript.items;
                let item = items.find_by_key(&message.seq, |item| item.seq).and_then(|at| items.get(at));
                let admitted = item.map(|item| item.first).filter(|first| *first != message.seq);
                Maker { admitted, ..plain(Sort::User, Actor::User) }
            }
            Body::System { keys, .. } => {
                let is_unknown = keys.iter().any(|key| key.as_str() == UNKNOWN_PART);
                let sort = if is_unknown { Sort::Unknown } else { Sort::System };
                let sources = keys.iter().map(|key| key.as_str().to_owned()).collect();
                Maker { sources, ..plain(sort, Actor::Runtime) }
            }
            Body::Synthetic { .. } => plain(Sort::Synthetic, Actor::Runtime),
            Body::Shell { .. } => plain(Sort::Shell, Actor::User),
            Body::Compaction { .. } => plain(Sort::Compaction, Actor::Runtime),
            Body::AgentSwitched { .. } | Body::ModelSwitched { .. } => continue,
            Body::Assistant(assistant) => {
                let model = || Actor::Model { agent: assistant.agent.clone(), model: assistant.model.clone() };
                for content in &assistant.content {
                    match content {
                        Content::Text { seq, .. } => drop(makers.insert(*seq, plain(Sort::Text, model()))),
                        Content::Reasoning { seq, .. } => drop(makers.insert(*seq, plain(Sort::Reasoning, model()))),
                        Content::Tool(tool) => {
                            makers.insert(tool.seq, plain(Sort::Call, model()));
                            if let Some((settled, _)) = tool.settled {
                                let tools = Actor::Tool { name: tool.name.clone() };
                                makers.insert(settled, Maker { pruned: tool.pruned, ..plain(Sort::Result, tools) });
                            }
                        }
                    }
                }
                continue;
            }
        };
        makers.insert(message.seq, maker);
    }
    makers
}

/// Every span of a request, in the order in which it is sent.
pub(super) fn spans(asked: &Asked, steps: &RequestIndex) -> Vec<RequestSpan> {
    let (request, view, step, body) = (&asked.request, &asked.view, &asked.step, asked.body.as_ref());
    let mut spans = system(request, step, steps, body);
    let makers = makers(view);
    let mut reads = BTreeMap::new();
    for (number, message) in request.messages.iter().enumerate() {
        for (piece, block) in message.blocks.iter().enumerate() {
            let mut span = of_block(block, message.role, &makers, request.purpose, step, (number, piece));
            if let Some(body) = body {
                let pointer = body.messages.get(number).and_then(|places| places.get(piece));
                span.pointer = pointer.filter(|pointer| !pointer.is_empty()).cloned();
                if span.sort == Sort::Added {
                    span.sort = Sort::Unknown;
                }
            }
            // The agent sends it otherwise than the event that it came from has it.
            if let (Some(place), Some(edit)) = (span.seq, block.seq().and_then(|place| view.history.edited(place))) {
                (span.settled, span.seq, span.placed) = (Some(place), Some(edit), Some(edit));
            }
            match block {
                Block::Call { id, tool, input, .. } => reads.extend(FileRead::of(tool, input).map(|read| (id, read))),
                Block::Result { result, .. } => span.read = reads.get(&result.id).cloned(),
                _ => {}
            }
            spans.push(span);
        }
    }
    let configured = |part: &str, piece, sort, text, set, digest: Option<Digest>| {
        let seq = digest.and_then(|digest| steps.recorded_at(digest));
        RequestSpan {
            part: part.to_owned(),
            piece,
            sort,
            pointer: None,
            sources: Vec::new(),
            text,
            actor: Actor::Configuration,
            seq,
            admitted: None,
            settled: None,
            placed: seq,
            set,
            read: None,
        }
    };
    for (piece, tool) in request.tools.iter().enumerate() {
        spans.push(configured(
            "tools",
            piece,
            Sort::Tool,
            tool_text(tool, &NoBlobs),
            step.tools.map(Set::Tools),
            step.tools,
        ));
    }
    if step.recorded {
        let text = canonical::value(&serde_json::to_value(&request.options).unwrap_or_default());
        spans.push(configured("options", 0, Sort::Options, text, step.options.map(Set::Options), step.options));
    }
    spans
}

fn system(request: &Request, step: &IndexedRequest, steps: &RequestIndex, body: Option<&BodyView>) -> Vec<RequestSpan> {
    let mut spans = Vec::new();
    for (number, system) in request.system.iter().enumerate() {
        let mut from = 0;
        for (piece, span) in system.spans.iter().enumerate() {
            let text = system.text.get(from..from + span.bytes).unwrap_or_default().to_owned();
            from += span.bytes;
            let agent = span.seq.is_none().then_some(step.agent_profile).flatten().filter(|_| body.is_none());
            let seq = span.seq.or_else(|| agent.and_then(|digest| steps.recorded_at(digest)));
            let sort = match (&span.source, span.seq) {
                (Some(_), _) => Sort::Baseline,
                (None, Some(_)) => Sort::Blank,
                (None, None) => Sort::AgentText,
            };
            spans.push(RequestSpan {
                part: format!("system {number}"),
                piece,
                sort,
                pointer: body.and_then(|body| body.system.get(number)).cloned(),
                sources: span.source.iter().map(|key| key.as_str().to_owned()).collect(),
                text,
                actor: if sort == Sort::AgentText { Actor::Configuration } else { Actor::Runtime },
                seq,
                admitted: None,
                settled: None,
                placed: seq,
                set: agent.map(Set::Agent),
                read: None,
            });
        }
    }
    spans
}

fn of_block(
    block: &Block,
    role: Role,
    makers: &BTreeMap<Seq, Maker>,
    purpose: Purpose,
    step: &IndexedRequest,
    (number, piece): (usize, usize),
) -> RequestSpan {
    let seq = block.seq();
    let maker = seq.and_then(|seq| makers.get(&seq));
    let (text, own) = match block {
        Block::Text { text, .. } => (text.clone(), None),
        Block::Reasoning { text, metadata, .. } => {
            let text = if text.is_empty() { metadata.clone().unwrap_or_default() } else { text.clone() };
            (text, Some(Sort::Reasoning))
        }
        Block::Media { attachment, .. } => {
            (canonical::value(&serde_json::to_value(attachment).unwrap_or_default()), Some(Sort::Attachment))
        }
        Block::Call { tool, input, .. } => (format!("{tool} {input}"), Some(Sort::Call)),
        Block::HostedResult { result, .. } => (result.clone(), Some(Sort::Result)),
        Block::Result { result, .. } => {
            let text = result.output.clone().or_else(|| result.error.clone()).unwrap_or_default();
            let pruned = maker.is_some_and(|maker| maker.pruned.is_some()) && text == PRUNED;
            (text, Some(if pruned { Sort::Pruned } else { Sort::Result }))
        }
    };
    let sort = own.or(maker.map(|maker| maker.sort)).unwrap_or(match (purpose, role) {
        (Purpose::Summary | Purpose::Title | Purpose::Other, _) => Sort::Prompt,
        _ => Sort::Added,
    });
    let pruned = maker.and_then(|maker| maker.pruned).filter(|_| sort == Sort::Pruned);
    let placed = if sort == Sort::Prompt { Some(step.seq) } else { pruned.or(seq) };
    RequestSpan {
        part: format!("message {number}"),
        piece,
        sort,
        pointer: None,
        sources: maker.map(|maker| maker.sources.clone()).unwrap_or_default(),
        text,
        actor: match (pruned, maker) {
            (Some(_), _) | (None, None) => Actor::Runtime,
            (None, Some(maker)) => maker.actor.clone(),
        },
        seq: placed,
        admitted: maker.and_then(|maker| maker.admitted),
        settled: pruned.and(seq),
        placed: if sort == Sort::Prompt { None } else { placed },
        set: None,
        read: None,
    }
}

/// A tool definition as text: its canonical JSON.
pub(super) fn tool_text(tool: &ToolDefinition, blobs: &dyn Blobs) -> String {
    canonical::value(&serde_json::json!({
        "name": tool.name, "description": tool.description.resolve(blobs), "schema": tool.schema.value(blobs),
    }))
}
