//! What each line of a Codex rollout means here.
//!
//! | theirs | ours |
//! |---|---|
//! | `session_meta`, the first `turn_context` | `session.created`; the agent is `codex` |
//! | developer and context messages before the first prompt | `epoch.started`, one part per piece |
//! | such messages later | `context.admitted` with `snapshot.advanced` |
//! | a user message | `input.admitted` with `input.promoted` |
//! | `reasoning`, `message`, calls | `step.started` before the first of an answer; `reasoning.ended`, `text.ended`, `tool.called` |
//! | outputs | `tool.settled`; a spawned agent as `child.started` |
//! | `token_usage_record`, `token_count` | the usage of `step.ended`, which the next answer, prompt or end of a task shows |
//! | a changed model in `turn_context` | `model.switched` |
//! | `compacted` | `compaction.started`, `compaction.ended`, and a new epoch |
//! | `thread_rolled_back`, `turn_aborted`, `error` | `revert.committed`, `step.failed` |
//! | other `event_msg`, `world_state` | nothing: they repeat it for the display |

use super::super::foreign::{Object, compact, quote, string};
use super::super::identity::{Editions, Unique};
use super::message::{Kind, Piece, items};
use super::{AGENT, created};
use annals_core::event::*;
use annals_core::{AgentName, CallId, Entry, Event, InputId, Json, Key, ModelName, Seq, Text, Time};
use std::collections::{BTreeMap, HashMap};

/// The header of a rollout.
#[derive(Clone, Debug, Default)]
pub struct Meta {
    /// The thread's id.
    pub id: String,
    /// When it was created (ms).
    pub created: u64,
    /// Codex's version.
    pub version: Option<String>,
    cwd: String,
    provider: String,
    instructions: Option<String>,
    parent: Option<String>,
}

impl Meta {
    /// Reads `session_meta`, recorded at a time (ms).
    pub fn read(payload: &Object<'_>, at: u64) -> Self {
        let recorded = payload.text("timestamp").as_deref().and_then(super::moment).unwrap_or(at);
        let id = payload.text("id").or_else(|| payload.text("session_id")).unwrap_or_default();
        let spawn = payload.object("source").and_then(|source| source.object("subagent"));
        let spawn = spawn.and_then(|subagent| {
            subagent.skip_all();
            subagent.object("thread_spawn").and_then(|spawn| {
                spawn.skip_all();
                spawn.text("parent_thread_id")
            })
        });
        let instructions = payload.object("base_instructions").and_then(|base| base.text("text"));
        payload.skip(&[
            "session_id",
            "account_scoped",
            "runtime_workspace_roots",
            "originator",
            "source",
            "thread_source",
            "history_mode",
            "context_window",
            "git",
            "multi_agent_version",
            "dynamic_tools",
            "memory_mode",
        ]);
        Self {
            created: created(&id, recorded),
            id,
            version: payload.text("cli_version"),
            cwd: payload.text("cwd").unwrap_or_default(),
            provider: payload.text("model_provider").unwrap_or_else(|| "openai".into()),
            instructions: instructions.or_else(|| payload.text("instructions")),
            parent: payload.text("parent_thread_id").or(spawn),
        }
    }
}

/// An answer that is being read.
struct Step {
    next: u32,
    calls: bool,
    open: u32,
    usage: Option<Usage>,
    /// Whether what follows belongs to another answer: usage or an output came.
    sealed: bool,
    line: u64,
    at: Time,
}

/// A Batch to append: line, time, facts.
pub type Mapped = (u64, Time, Vec<Event>);

/// One Session.
pub struct State {
    /// What is ready to be appended.
    pub out: Vec<Mapped>,
    meta: Meta,
    model: String,
    editions: Editions,
    origin: Origin,
    next: Seq,
    begun: bool,
    /// Pieces of the baseline of an epoch that has not begun yet, with line and time of the last.
    pieces: Vec<(String, String)>,
    gathered: (u64, Time),
    cause: Option<EpochCause>,
    step: Option<Step>,
    calls: HashMap<String, (CallId, String)>,
    shown: HashMap<String, Json>,
    unique: Unique,
    inputs: Vec<Seq>,
}

impl State {
    /// A Session with its header and first model.
    pub fn new(meta: Meta, model: &str, editions: &Editions, origin: Origin) -> Self {
        let model = format!("{}/{model}", meta.provider);
        let pieces = meta.instructions.clone().map(|text| ("base.instructions".into(), text)).into_iter().collect();
        Self {
            out: Vec::new(),
            meta,
            model,
            editions: editions.clone(),
            origin,
            next: Seq::ZERO,
            begun: false,
            pieces,
            gathered: (0, Time::default()),
            cause: Some(EpochCause::FirstTurn),
            step: None,
            calls: HashMap::new(),
            shown: HashMap::new(),
            unique: Unique::default(),
            inputs: Vec::new(),
        }
    }

    fn push(&mut self, line: u64, at: Time, events: Vec<Event>) -> Seq {
        let first = self.next;
        if !events.is_empty() {
            self.next = first.plus(events.len() as u64);
            self.out.push((line, at, events));
        }
        first
    }

    /// One line; `next` is the Seq that the log has come to.
    pub fn line(&mut self, next: Seq, line: u64, at: Time, kind: &str, payload: &Object<'_>) {
        self.next = next;
        match kind {
            "session_meta" => self.meta(line, payload),
            "turn_context" => self.turn(line, at, payload),
            "response_item" => self.item(line, at, payload),
            "token_usage_record" => {
                let usage = payload.object("usage").map(|usage| tokens(&usage));
                payload.skip_all();
                self.spent(line, at, usage);
            }
            "compacted" => self.compacted(line, at, payload),
            "event_msg" => self.message(line, at, payload),
            "world_state" => payload.skip_all(),
            _ => {
                payload.skip_all();
                payload.note("not understood");
            }
        }
    }

    fn location(&self) -> Location {
        Location { directory: self.meta.cwd.clone(), workspace: None }
    }

    fn meta(&mut self, line: u64, payload: &Object<'_>) {
        let read = Meta::read(payload, 0);
        if self.begun {
            if read.id != self.meta.id {
                payload.skip_all();
                payload.note("the header of another thread");
            }
            return;
        }
        self.begun = true;
        let parent = self.meta.parent.clone().map(|parent| Parent {
            session: self.editions.session(AGENT, &parent, created(&parent, self.meta.created)),
            call: None,
        });
        let created = SessionCreated {
            location: self.location(),
            agent: AgentName(AGENT.into()),
            model: ModelName(self.model.clone()),
            policy: Policy::default(),
            title: None,
            parent,
            origin: Some(self.origin.clone()),
        };
        let at = Time(self.meta.created);
        self.gathered = (line, at);
        self.push(line, at, vec![created.into()]);
    }

    fn turn(&mut self, line: u64, at: Time, payload: &Object<'_>) {
        if payload.text("cwd").is_some_and(|cwd| cwd != self.meta.cwd) {
            payload.note("another working directory");
        }
        let model = payload.text("model").map(|model| format!("{}/{model}", self.meta.provider));
        payload.skip_all(); // Policies of the sandbox and of approval shape no event of ours.
        if let Some(model) = model.filter(|model| *model != self.model) {
            self.close();
            self.model.clone_from(&model);
            self.push(line, at, vec![ModelSwitched { model: ModelName(model) }.into()]);
        }
    }

    fn item(&mut self, line: u64, at: Time, payload: &Object<'_>) {
        payload.skip(&["id", "status", "internal_chat_message_metadata_passthrough", "phase", "namespace"]);
        let kind = payload.text("type").unwrap_or_default();
        match kind.as_str() {
            "message" => self.pieces(line, at, payload),
            "reasoning" => {
                let texts = |name: &str| {
                    payload
                        .objects(name)
                        .iter()
                        .filter_map(|it| {
                            it.skip_all();
                            it.text("text")
                        })
                        .collect::<Vec<_>>()
                };
                let text = [texts("summary"), texts("content")].concat().join("\n\n");
                let metadata = payload.raw("encrypted_content").map(|raw| {
                    let id = payload.raw("id").map_or("null", |raw| raw.get());
                    Json::received(format!("{{\"id\":{id},\"encrypted_content\":{}}}", compact(raw.get())))
                });
                let index = self.content(line, at);
                self.push(line, at, vec![ReasoningEnded { index, text: text.into(), metadata }.into()]);
            }
            "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" => {
                let name = payload.text("name").unwrap_or_else(|| kind.trim_end_matches("_call").into());
                let input = match (payload.text("arguments"), payload.text("input")) {
                    (Some(arguments), _) => Json::received(arguments),
                    (None, Some(input)) => Json::received(quote(&input)),
                    (None, None) => payload
                        .json("action")
                        .or_else(|| payload.json("arguments"))
                        .unwrap_or_else(|| Json::received("{}")),
                };
                let foreign = payload.text("call_id").or_else(|| payload.text("id")).unwrap_or_default();
                let index = self.content(line, at);
                let call = CallId(self.unique.next(&foreign));
                self.calls.insert(foreign, (call.clone(), name.clone()));
                if let Some(step) = &mut self.step {
                    step.calls = true;
                    step.open += 1;
                }
                let called = ToolCalled { index, call, name, input, hosted: false, metadata: None };
                self.push(line, at, vec![called.into()]);
            }
            "web_search_call" | "image_generation_call" => {
                let foreign = payload.text("id").unwrap_or_default();
                let call = CallId(self.unique.next(&foreign));
                let index = self.content(line, at);
                let input = payload.json("action").unwrap_or_else(|| Json::received("{}"));
                let result = payload.json("result");
                payload.skip_all();
                let name = kind.trim_end_matches("_call").to_owned();
                let called = ToolCalled { index, call: call.clone(), name, input, hosted: true, metadata: None };
                let settled = ToolSettled { hosted_result: result, ..settlement(call) };
                self.push(line, at, vec![called.into(), settled.into()]);
            }
            _ if kind.ends_with("_output") => self.output(line, at, payload),
            "ghost_snapshot" => payload.skip_all(),
            _ => {
                payload.skip_all();
                payload.note(&format!("a {kind} item"));
            }
        }
    }

    fn pieces(&mut self, line: u64, at: Time, payload: &Object<'_>) {
        let mut context: Vec<(String, String)> = Vec::new();
        let mut input = (Vec::new(), Vec::new());
        for Piece { kind, text, attachment } in items(payload) {
            match kind {
                Kind::Context(name) => context.push((name, text)),
                Kind::Synthetic => {
                    self.close();
                    self.push(line, at, vec![SyntheticAdded { text: text.into() }.into()]);
                }
                Kind::Input => {
                    if !text.is_empty() || attachment.is_none() {
                        input.0.push(text);
                    }
                    input.1.extend(attachment);
                }
                Kind::Answer => {
                    let index = self.content(line, at);
                    self.push(line, at, vec![TextEnded { index, text: text.into(), metadata: None }.into()]);
                }
            }
        }
        if !context.is_empty() {
            self.context(line, at, context);
        }
        let (texts, attachments) = input;
        if texts.is_empty() && attachments.is_empty() {
            return;
        }
        self.close();
        self.epoch();
        let foreign = payload.text("id").unwrap_or_else(|| format!("line-{line}"));
        let id = InputId(self.unique.next(&foreign));
        let text = texts.join("\n\n").into();
        let admitted = InputAdmitted { input: id.clone(), text, attachments, delivery: Delivery::Steer };
        let first = self.push(line, at, vec![admitted.into(), InputPromoted { input: id }.into()]);
        self.inputs.push(first.plus(1));
    }

    /// Context that the model is told: a piece of the baseline before the epoch begins, a message after.
    fn context(&mut self, line: u64, at: Time, pieces: Vec<(String, String)>) {
        if self.cause.is_some() {
            self.pieces.extend(pieces);
            self.gathered = (line, at);
            return;
        }
        self.close();
        let (parts, set) = keyed(&pieces);
        let keys = parts.iter().map(|part| part.key.clone()).collect();
        let text = parts.into_iter().filter_map(|part| part.text.inline().map(str::to_owned));
        let text = text.collect::<Vec<_>>().join("\n\n").into();
        let advance = SnapshotAdvanced { set, removed: Vec::new() };
        self.push(line, at, vec![ContextAdmitted { keys, text }.into(), advance.into()]);
    }

    /// The epoch begins, if one is due: what was told to the model before this is its baseline.
    fn epoch(&mut self) {
        let Some(cause) = self.cause.take() else { return };
        let (parts, entries) = keyed(&std::mem::take(&mut self.pieces));
        let known = parts.iter().any(|part| part.key.as_str() != "codex/base.instructions");
        let (parts, entries) = if known { (parts, entries) } else { Default::default() };
        let (agent, location) = (AgentName(AGENT.into()), self.location());
        let (line, at) = self.gathered;
        self.push(line, at, vec![EpochStarted { cause, agent, location, parts, entries, known }.into()]);
    }

    /// The place of the next content of an answer; a new answer begins if what came before was sealed.
    fn content(&mut self, line: u64, at: Time) -> u32 {
        if self.step.as_ref().is_some_and(|step| step.sealed) {
            self.close();
        }
        if self.step.is_none() {
            self.epoch();
            let started =
                StepStarted { agent: AgentName(AGENT.into()), model: ModelName(self.model.clone()), files: None };
            self.push(line, at, vec![started.into()]);
            self.step = Some(Step { next: 0, calls: false, open: 0, usage: None, sealed: false, line, at });
        }
        let Some(step) = &mut self.step else { return 0 };
        (step.line, step.at) = (line, at);
        let index = step.next;
        step.next += 1;
        index
    }

    fn spent(&mut self, line: u64, at: Time, usage: Option<Usage>) {
        if let (Some(step), Some(usage)) = (&mut self.step, usage) {
            step.sealed = true;
            if step.usage.is_none() {
                step.usage = Some(usage);
                (step.line, step.at) = (line, at);
            }
        }
    }

    /// The answer is over.
    fn close(&mut self) {
        let Some(step) = self.step.take() else { return };
        let finish = if step.calls { Finish::ToolCalls } else { Finish::Stop };
        let ended = StepEnded { finish, usage: step.usage, cost: 0, files: None, changed: Vec::new() };
        self.push(step.line, step.at, vec![ended.into()]);
    }

    fn output(&mut self, line: u64, at: Time, payload: &Object<'_>) {
        let foreign = payload.text("call_id").unwrap_or_default();
        let mut settled = settlement(CallId::default());
        if let Some(text) = payload.text("output") {
            settled.output = text.into();
        } else {
            let object = payload.object("output");
            let from = object.as_ref().unwrap_or(payload);
            let name = if object.is_some() { "content" } else { "output" };
            let failed = object.as_ref().and_then(|object| object.raw("success")).is_some_and(|it| it.get() == "false");
            let mut texts: Vec<String> = from.text(name).into_iter().collect();
            for item in from.objects(name) {
                texts.extend(item.text("text"));
                if let Some(uri) = item.text("image_url") {
                    let (mime, uri) = ("image/*".into(), uri.into());
                    settled.attachments.push(Attachment { mime, name: None, uri });
                }
                item.skip_all();
            }
            let text = Text::from(texts.join("\n"));
            if failed {
                settled.outcome = ToolOutcome::Failed;
                settled.error = Some(text.clone());
            }
            settled.output = text;
        }
        payload.skip(&["name", "execution", "tools"]);
        let Some((call, name)) = self.calls.remove(&foreign) else {
            payload.note("an output without a call");
            return;
        };
        let mut events: Vec<Event> = Vec::new();
        if name == "spawn_agent"
            && let Some(child) = settled.output.inline().and_then(spawned)
        {
            let session = self.editions.session(AGENT, &child, created(&child, at.millis()));
            let agent = AgentName(AGENT.into());
            events.push(ChildStarted { child: session, call: Some(call.clone()), agent, background: true }.into());
        }
        settled.call = call;
        settled.structured = self.shown.remove(&foreign);
        events.push(settled.into());
        if let Some(step) = &mut self.step {
            step.sealed = true;
            step.open = step.open.saturating_sub(1);
            (step.line, step.at) = (line, at);
        }
        self.push(line, at, events);
    }

    fn compacted(&mut self, line: u64, at: Time, payload: &Object<'_>) {
        self.close();
        self.epoch();
        let summary = payload.text("message").unwrap_or_default();
        let mut kept = Vec::new();
        let mut context = Vec::new();
        for item in payload.objects("replacement_history") {
            if item.text("type").as_deref() == Some("message") {
                for piece in items(&item) {
                    match piece.kind {
                        Kind::Context(name) => context.push((name, piece.text)),
                        // The summary itself closes the history that replaces the old one.
                        _ if !summary.is_empty() && piece.text.contains(&summary) => {}
                        _ => kept.push(piece.text),
                    }
                }
            } else if item.has("encrypted_content") {
                item.note("an encrypted summary");
            }
            item.skip_all();
        }
        payload.skip(&["window_number", "window_id", "first_window_id", "previous_window_id"]);
        // A rollout does not say who asked.
        let reason = CompactionReason::Auto;
        let ended = CompactionEnded {
            reason,
            summary: summary.into(),
            recent: kept.join("\n\n").into(),
            estimate: 0,
            usage: None,
            cost: 0,
        };
        let started = CompactionStarted { reason, model: Some(ModelName(self.model.clone())), estimate: 0 };
        self.push(line, at, vec![started.into(), ended.into()]);
        self.pieces =
            self.meta.instructions.clone().map(|text| ("base.instructions".into(), text)).into_iter().collect();
        self.pieces.extend(context);
        self.gathered = (line, at);
        self.cause = Some(EpochCause::Compaction);
    }

    fn message(&mut self, line: u64, at: Time, payload: &Object<'_>) {
        let kind = payload.text("type").unwrap_or_default();
        match kind.as_str() {
            "token_count" => {
                let info = payload.object("info");
                let usage = info.as_ref().and_then(|info| info.object("last_token_usage")).map(|usage| tokens(&usage));
                info.iter().for_each(Object::skip_all);
                if usage.is_some() {
                    self.spent(line, at, usage);
                }
            }
            "task_complete" | "turn_complete" => self.close(),
            "item_completed" => {
                // A command's exit status and whole output, or a file's changes: the structure of the result to come.
                let item = payload.object("item");
                let known = item.as_ref().and_then(|item| item.text("id")).filter(|id| self.calls.contains_key(id));
                if let (Some(id), Some(json)) = (known, payload.json("item")) {
                    self.shown.insert(id, json);
                }
                item.iter().for_each(Object::skip_all);
            }
            "turn_aborted" => {
                let reason = payload.text("reason").unwrap_or_else(|| "interrupted".into());
                self.fail(line, at, Failure { kind: reason, message: "turn aborted".into(), status: None }, false);
            }
            "error" => {
                let message = payload.text("message").unwrap_or_default().into();
                self.fail(line, at, Failure { kind: "error".into(), message, status: None }, true);
            }
            "thread_rolled_back" => {
                let turns = payload.number("num_turns").and_then(|it| usize::try_from(it).ok()).unwrap_or(0);
                self.close();
                let from = self.inputs.len().saturating_sub(turns);
                let first_removed = self.inputs.get(from).copied();
                self.inputs.truncate(from);
                if let Some(first_removed) = first_removed {
                    self.push(line, at, vec![RevertCommitted { first_removed }.into()]);
                }
            }
            _ => {}
        }
        payload.skip_all();
    }

    fn fail(&mut self, line: u64, at: Time, error: Failure, start: bool) {
        if self.step.is_none() && start {
            self.content(line, at);
        }
        if let Some(step) = self.step.take() {
            self.push(line, at, vec![StepFailed { error, usage: step.usage, cost: 0 }.into()]);
        }
    }

    /// Nothing follows: an answer that is whole is over.
    pub fn end(&mut self, next: Seq) {
        self.next = next;
        if self.step.as_ref().is_some_and(|step| step.open == 0 && step.usage.is_some()) {
            self.close();
        }
    }
}

fn settlement(call: CallId) -> ToolSettled {
    ToolSettled {
        call,
        outcome: ToolOutcome::Completed,
        output: Text::default(),
        error: None,
        structured: None,
        attachments: Vec::new(),
        paths: Vec::new(),
        truncated: false,
        lossy: false,
        hosted_result: None,
        metadata: None,
    }
}

/// The thread that `spawn_agent` says it began.
fn spawned(output: &str) -> Option<String> {
    let notes = super::Notes::default();
    let object = Object::parse(output, "", &notes).ok()?;
    object.raw("agent_id").or_else(|| object.raw("new_thread_id")).and_then(|raw| string(raw.get()))
}

/// Tokens: theirs count cached input within input, and reasoning within output.
fn tokens(usage: &Object<'_>) -> Usage {
    let count = |name| usage.number(name).unwrap_or(0);
    let (cached, written, reasoning) =
        (count("cached_input_tokens"), count("cache_write_input_tokens"), count("reasoning_output_tokens"));
    usage.skip_all();
    Usage {
        input: count("input_tokens").saturating_sub(cached).saturating_sub(written),
        output: count("output_tokens").saturating_sub(reasoning),
        reasoning,
        cache_read: cached,
        cache_write: written,
    }
}

/// Pieces as keyed parts and entries: `codex/NAME`, a repeated name as `codex/NAME/2`.
fn keyed(pieces: &[(String, String)]) -> (Vec<Part>, BTreeMap<Key, Entry>) {
    let mut counts: HashMap<String, u32> = HashMap::new();
    let mut parts = Vec::new();
    let mut entries = BTreeMap::new();
    for (name, text) in pieces {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
        let name: String = name.to_lowercase().chars().map(|c| if allowed(c) { c } else { '-' }).collect();
        let count = counts.entry(name.clone()).or_insert(0);
        *count += 1;
        let key = if *count == 1 { format!("codex/{name}") } else { format!("codex/{name}/{count}") };
        let Ok(key) = key.parse::<Key>() else { continue };
        let value = Json::canonical(&serde_json::Value::from(text.as_str()));
        entries.insert(key.clone(), Entry { value, removed: None });
        parts.push(Part { key, text: text.as_str().into() });
    }
    (parts, entries)
}
