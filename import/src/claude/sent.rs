//! What a request that the transcript records adds to its session: system prompt, reminders, profiles, and the request itself.

use super::AGENT;
use super::body::BodyParts;
use super::context::{contexts_of, reminder_key};
use super::mapping::TranscriptBranch;
use super::requests::{NotedRequest, PartHash, RequestLog};
use crate::sink::{ImportSink, ReceiverGone, SourceItem};
use annals_core::canonical;
use annals_core::event::*;
use annals_core::{AgentName, Digest, Event, Json, Key, ModelName, NoBlobs, Record, RequestId, Seq, SessionId, Time};
use annals_projections::{RequestBuilder, SessionView};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};

/// How many events are appended together at most.
const BATCH_MAX: usize = 32;

/// Fields of a body that are sampling and output controls.
const CONTROLS: [&str; 5] = ["max_tokens", "temperature", "top_p", "top_k", "stop_sequences"];

/// What a branch has of requests: the view that they are built from, and what the model was given.
#[derive(Default)]
pub(super) struct RequestState {
    view: SessionView,
    builder: RequestBuilder,
    /// Where the log has which pieces of bodies.
    pub(super) pieces: HashMap<PartHash, (Seq, usize)>,
    /// The system prompt in force, as canonical JSON.
    system: Option<String>,
    /// Messages that were looked at for reminders since the system prompt began.
    examined: HashSet<PartHash>,
    /// Reminders that the model was given since then.
    admitted: HashSet<Digest>,
    /// Texts that attachments were rendered to.
    rendered: Vec<(Key, String)>,
    /// Texts of the conversation that the program may send in words of its own.
    texts: Vec<String>,
}

impl RequestState {
    /// Whether a system prompt is in force.
    pub(super) fn has_system(&self) -> bool {
        self.system.is_some()
    }

    /// Takes in an event of the session.
    pub(super) fn apply(&mut self, session: SessionId, seq: Seq, at: Time, event: &Event) {
        self.builder.apply(&mut self.view, &Record { session, seq, at, event });
    }

    /// The same for a fork of the session.
    pub(super) fn forked(&self) -> Self {
        Self {
            view: self.view.clone(),
            builder: RequestBuilder::default(),
            pieces: self.pieces.clone(),
            system: self.system.clone(),
            examined: self.examined.clone(),
            admitted: self.admitted.clone(),
            rendered: self.rendered.clone(),
            texts: self.texts.clone(),
        }
    }

    /// The system prompt is no longer in force: the next request says what the model is given.
    pub(super) fn forget(&mut self) {
        self.system = None;
        self.examined.clear();
        self.admitted.clear();
    }

    /// Learns what an attachment was rendered to.
    pub(super) fn render(&mut self, key: &Key, text: &str) {
        if !self.rendered.iter().any(|(_, known)| known == text) {
            self.rendered.push((key.clone(), text.to_owned()));
        }
    }

    /// Learns a text of the conversation.
    pub(super) fn say(&mut self, text: &str) {
        const LONG: usize = 16;
        if text.len() >= LONG {
            self.texts.push(text.trim().to_owned());
        }
    }

    /// Notes that the model was given a text.
    pub(super) fn admit(&mut self, key: &Key, text: &str, events: &mut Vec<Event>) {
        if self.admitted.insert(Digest::of(text.as_bytes())) {
            events.push(ContextAdmitted { keys: vec![key.clone()], text: text.into() }.into());
        }
    }

    /// The reminders in the messages of a request that were not looked at yet.
    fn reminders(&mut self, request: &NotedRequest, log: &RequestLog, events: &mut Vec<Event>) {
        for hash in &request.messages {
            let Some(text) = log.message(hash).filter(|_| self.examined.insert(*hash)) else { continue };
            let Ok(message) = serde_json::from_str::<Value>(text) else { continue };
            for (name, text) in contexts_of(&message) {
                let (pieces, rest) = super::context::split(&text, &self.rendered, &self.texts);
                for (key, piece) in pieces {
                    self.admit(&key, &piece, events);
                }
                if let (Some(rest), Some(key)) = (rest, reminder_key(name)) {
                    self.admit(&key, &rest, events);
                }
            }
        }
        self.texts.clear();
    }
}

/// Profiles of a request.
struct RequestProfiles {
    agent: AgentProfile,
    model: ModelProfile,
    tools: Option<ToolsRecorded>,
    options: RequestOptions,
}

impl RequestProfiles {
    fn of(request: &NotedRequest, agent: AgentName, model: ModelName) -> Self {
        let text = |name: &str| request.params.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let tools = request.shape.as_ref().and_then(|shape| shape.get("tools")?.as_array());
        let tools: Vec<ToolDefinition> = tools.into_iter().flatten().map(tool).collect();
        let mut options = RequestOptions::default();
        for (name, value) in &request.params {
            let fields = if CONTROLS.contains(&name.as_str()) { &mut options.controls } else { &mut options.body };
            if name != "model" {
                fields.insert(name.clone(), Json::canonical(value));
            }
        }
        Self {
            agent: AgentProfile { agent, system: None, steps: None, permissions: Vec::new() },
            // Prices and limits are those of a list, which changes: what a transcript gives must not.
            model: ModelProfile {
                id: text("model"),
                media: vec!["*/*".to_owned()],
                protocol: "anthropic-messages".to_owned(),
                ..ModelProfile::of_name(model)
            },
            tools: (!tools.is_empty()).then_some(ToolsRecorded { tools }),
            options,
        }
    }

    /// Those that the log does not have, and the request that names them.
    fn request(
        self,
        view: &SessionView,
        request: RequestId,
        prompt: Option<String>,
    ) -> Result<(Vec<Event>, RequestSent), canonical::CanonicalError> {
        let mut events: Vec<Event> = Vec::new();
        let known = &view.profiles;
        let tools = self.tools.as_ref().map(ToolsRecorded::digest).transpose()?;
        let sent = RequestSent {
            request,
            purpose: if prompt.is_some() { Purpose::Other } else { Purpose::Turn },
            attempt: 1,
            digest: Digest([0; 32]),
            wire: None,
            agent: self.agent.agent.clone(),
            model: self.model.model.clone(),
            agent_profile: self.agent.digest()?,
            model_profile: self.model.digest()?,
            tools,
            options: self.options.digest()?,
            last_step: false,
            prompt: prompt.map(Into::into),
        };
        if !known.agents.contains_key(&sent.agent_profile) {
            events.push(AgentProfileRecorded { profile: self.agent }.into());
        }
        if !known.models.contains_key(&sent.model_profile) {
            events.push(ModelProfileRecorded { profile: self.model }.into());
        }
        if let Some(tools) = self.tools.filter(|_| tools.is_some_and(|tools| !known.tools.contains_key(&tools))) {
            events.push(tools.into());
        }
        if !known.options.contains_key(&sent.options) {
            events.push(OptionsRecorded { options: self.options }.into());
        }
        Ok((events, sent))
    }
}

fn tool(tool: &Value) -> ToolDefinition {
    let text = |name: &str| tool.get(name).and_then(Value::as_str);
    let name = text("name").or_else(|| text("type")).unwrap_or_default().to_owned();
    let schema = Json::canonical(tool.get("input_schema").unwrap_or(tool));
    ToolDefinition { name, description: text("description").unwrap_or_default().into(), schema }
}

impl TranscriptBranch {
    /// Records requests that were sent: those that an answer names, and earlier ones that got none.
    pub(super) fn send(
        &mut self,
        sink: &mut ImportSink<'_>,
        log: &RequestLog,
        requests: Vec<NotedRequest>,
        answered: bool,
    ) -> Result<(), ReceiverGone> {
        let last = requests.len().saturating_sub(1);
        for (at, request) in requests.into_iter().enumerate() {
            self.settle(sink)?;
            let is_turn = answered && at == last
                || ["sdk", "repl", "agent"].iter().any(|start| request.source.starts_with(start));
            if is_turn {
                let events = self.given(&request, log);
                self.append_all(sink, &request, events)?;
            }
            if sink.without_requests {
                let what = "api-request: its body may have secrets".to_owned();
                let session = self.session();
                (sink.send)(SourceItem::Lost { session, line: request.line, what, original: None })?;
            } else {
                let prompt = (!is_turn).then(|| prompt_of(&request, log));
                self.record(sink, log, &request, prompt)?;
            }
        }
        Ok(())
    }

    fn append_all(
        &mut self,
        sink: &mut ImportSink<'_>,
        request: &NotedRequest,
        events: Vec<Event>,
    ) -> Result<(), ReceiverGone> {
        let mut events = events.into_iter().peekable();
        while events.peek().is_some() {
            let some = events.by_ref().take(BATCH_MAX).collect();
            self.append(sink, request.line, request.at, some)?;
        }
        Ok(())
    }

    /// The system prompt, if it is another one, and the reminders that are new.
    fn given(&mut self, request: &NotedRequest, log: &RequestLog) -> Vec<Event> {
        let mut events = Vec::new();
        let system = request.shape.as_ref().map(|shape| shape.get("system").cloned().unwrap_or_default());
        let is_other = |state: &RequestState| system.as_ref().map(canonical::value) != state.system;
        if let Some(system) = &system
            && self.requests.as_deref().is_some_and(is_other)
        {
            let texts: Vec<String> = match system {
                Value::String(text) => vec![text.clone()],
                Value::Array(blocks) => {
                    blocks.iter().filter_map(|block| block.get("text")?.as_str().map(str::to_owned)).collect()
                }
                _ => Vec::new(),
            };
            events.push(self.epoch(texts));
            if let Some(state) = &mut self.requests {
                state.forget();
                state.system = Some(canonical::value(system));
            }
        }
        self.context.given();
        if let Some(state) = &mut self.requests {
            state.reminders(request, log, &mut events);
        }
        events
    }

    /// Starts an epoch with the texts of a system prompt.
    pub(super) fn epoch(&mut self, texts: Vec<String>) -> Event {
        let part = |(number, text): (usize, String)| {
            Some(Part { key: format!("system/{number}").parse().ok()?, text: text.into() })
        };
        EpochStarted {
            cause: self.context.cause(&self.model),
            agent: AgentName(self.agent.clone()),
            location: Location { directory: self.directory.clone(), workspace: None },
            parts: texts.into_iter().enumerate().filter_map(part).collect(),
            entries: BTreeMap::new(),
            known: true,
        }
        .into()
    }

    /// Records the request itself with its body in pieces.
    fn record(
        &mut self,
        sink: &mut ImportSink<'_>,
        log: &RequestLog,
        request: &NotedRequest,
        prompt: Option<String>,
    ) -> Result<(), ReceiverGone> {
        let bits = Digest::of(format!("{AGENT}\0{}", request.id).as_bytes()).0;
        let bits = bits.iter().take(10).fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
        let id = RequestId::from_parts(request.at.millis(), bits);
        let profiles = RequestProfiles::of(request, AgentName(self.agent.clone()), ModelName(self.model.clone()));
        let made = self.requests.as_ref().map(|state| profiles.request(&state.view, id, prompt));
        let Some(Ok((events, mut sent))) = made else {
            return sink.damaged(Some(self.session()), request.line, "a request with a number that is too large");
        };
        self.append_all(sink, request, events)?;
        let next = self.next();
        let Some(state) = &mut self.requests else { return Ok(()) };
        let Ok(digest) = state.builder.build(&state.view, &sent, &NoBlobs).map(|built| built.digest()) else {
            return sink.damaged(Some(self.session()), request.line, "a request that cannot be rebuilt");
        };
        sent.digest = digest;
        let mut placed = BodyParts::of(request, log).place(&state.pieces, next);
        state.pieces.extend(placed.places.iter().copied());
        let last = placed.events.pop().unwrap_or_default();
        placed.recipe.hashes = Some(request.hashes());
        let recorded = |recipe: String, pieces: Vec<String>| RequestRecorded {
            request: id,
            attempt: 1,
            target: format!("{AGENT} {}", request.source).trim_end().to_owned(),
            recipe: Json::received(recipe),
            pieces: pieces.into_iter().map(Into::into).collect(),
            redacted: None,
        };
        for pieces in std::mem::take(&mut placed.events) {
            self.append(sink, request.line, request.at, vec![recorded("[]".to_owned(), pieces).into()])?;
        }
        let body = recorded(placed.recipe.to_json(), last);
        self.append(sink, request.line, request.at, vec![body.into(), sent.into()]).map(|_| ())
    }
}

/// All text of the user's messages, for a request that is none of the conversation.
fn prompt_of(request: &NotedRequest, log: &RequestLog) -> String {
    let messages = request.messages.iter().filter_map(|hash| serde_json::from_str::<Value>(log.message(hash)?).ok());
    let mut texts = Vec::new();
    for message in messages.filter(|message| message.get("role").and_then(Value::as_str) == Some("user")) {
        let blocks = message.get("content").and_then(Value::as_array);
        texts.extend(blocks.into_iter().flatten().filter_map(|block| block.get("text")?.as_str().map(str::to_owned)));
    }
    texts.join("\n\n")
}
