//! The mapping of Codex rollouts, line by line.
//!
//! | Codex | Annals |
//! |---|---|
//! | `session_meta`, the first `turn_context` | `session.created`; the agent is `codex` |
//! | `session_meta` with a `history_base` in another thread | `session.forked` |
//! | `session_meta` with a `history_base` in its own thread (a rewind) | `revert.committed` |
//! | developer and context messages before the first prompt | `epoch.started`, one part per piece |
//! | such messages later | `context.admitted` with `snapshot.advanced` |
//! | a user message, the task of an agent | `input.admitted` with `input.promoted` |
//! | other messages between agents | `synthetic.added`; the last one of an agent with `child.settled` |
//! | `reasoning`, `message`, calls | `step.started` before the first of an answer; `reasoning.ended`, `text.ended`, `tool.called` |
//! | outputs | `tool.settled`; a spawned agent as `child.started` |
//! | `item_completed` of a call that a script made | `tool.called` with `tool.settled` |
//! | `token_usage_record`, `token_count` | the usage of `step.ended`, which the next answer, prompt or end of a task shows |
//! | a changed model in `turn_context` | `model.switched` |
//! | a later `session_meta` of another program, version or git state | `process.attached` |
//! | `compacted` | `compaction.started`, `compaction.ended`, and a new epoch |
//! | `thread_rolled_back`; `turn_aborted`, `error`, an error in `task_complete` | `revert.committed`; `step.failed` |
//! | a name in `session_index.jsonl` | `session.titled` |
//! | events that repeat other lines for display, `world_state` | nothing |

use super::super::foreign::{JsonObject, compact, quote};
use super::super::identity::{Editions, UniqueIds};
use super::super::sink::MappedBatch;
use super::agents::StartedAgent;
use super::header::RolloutHeader;
use super::message::{MessagePiece, PieceKind, items};
use super::step::RolloutStep;
use super::usage::{ThreadTotal, tokens};
use super::{AGENT, created};
use annals_core::event::*;
use annals_core::{AgentName, CallId, Digest, Event, InputId, Json, ModelName, Seq, StoredKey, Time};
use std::collections::{HashMap, HashSet};

/// How long Codex may take to copy lines into a fork, in milliseconds. No model answers so fast.
const COPYING: u64 = 1_000;

/// One session.
#[derive(Clone)]
pub struct RolloutMapper {
    /// Batches that are ready to be appended.
    pub out: Vec<MappedBatch>,
    pub(super) meta: RolloutHeader,
    pub(super) model: String,
    pub(super) editions: Editions,
    pub(super) origin: Origin,
    /// The number of the next event.
    pub next: Seq,
    pub(super) begun: bool,
    /// The baseline of the next epoch so far, by piece; `gathered` is the line and time of the last piece.
    pub(super) pieces: Vec<(String, String)>,
    pub(super) gathered: (u64, Time),
    pub(super) cause: Option<EpochCause>,
    pub(super) step: Option<RolloutStep>,
    pub(super) calls: HashMap<String, (CallId, String)>,
    pub(super) shown: HashMap<String, Json>,
    pub(super) unique: UniqueIds,
    pub(super) inputs: Vec<Seq>,
    /// Threads that this one started, by their path.
    pub(super) children: HashMap<String, StartedAgent>,
    /// Foreign ids of calls, those with a result included.
    pub(super) seen_calls: HashSet<String>,
    pub(super) policies: [Option<Digest>; 2],
    pub(super) total: ThreadTotal,
    /// What was used without an answer: it belongs to the compaction or the answer that follows.
    pub(super) unassigned: Option<Usage>,
    /// The usage of a repeated count since the last answer.
    pub(super) repeated: Option<Usage>,
    /// Whether the current turn failed already.
    pub(super) failed: bool,
    /// The last line that is a copy, if that is known.
    pub(super) copied_lines: Option<u64>,
    /// In a fork of an unknown thread: until when its lines are copies. Copies keep their times, or have that of the fork.
    pub(super) copied_until: Option<Time>,
    /// Whether the first event was `session.forked`: nothing in its file is a copy.
    pub(super) is_forked: bool,
}

impl RolloutMapper {
    /// A session with its header and first model.
    pub fn new(meta: RolloutHeader, model: &str, editions: &Editions, origin: Origin) -> Self {
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
            unique: UniqueIds::default(),
            inputs: Vec::new(),
            children: HashMap::new(),
            seen_calls: HashSet::new(),
            policies: [None; 2],
            total: ThreadTotal::default(),
            unassigned: None,
            repeated: None,
            failed: false,
            copied_lines: None,
            copied_until: None,
            is_forked: false,
        }
    }

    /// Names the last line that is a copy of another thread.
    pub fn with_copies(mut self, until: Option<u64>) -> Self {
        self.copied_lines = until;
        self
    }

    pub(super) fn push(&mut self, line: u64, at: Time, events: Vec<Event>) -> Seq {
        let first = self.next;
        if !events.is_empty() {
            self.next = first.plus(events.len() as u64);
            self.out.push((line, at, events));
        }
        first
    }

    /// Maps one line.
    pub fn line(&mut self, line: u64, at: Time, kind: &str, payload: &JsonObject<'_>) {
        match kind {
            "session_meta" => self.meta(line, at, payload),
            "turn_context" => self.turn(line, at, payload),
            "response_item" => self.item(line, at, payload),
            "token_usage_record" => {
                let usage = payload.object("usage").map(|usage| tokens(&usage));
                let thread = payload.text("thread_id").filter(|thread| !thread.is_empty());
                payload.skip_all();
                self.total.record(usage);
                // What a fork continues without a copy keeps the id of its thread.
                match thread {
                    Some(thread) if thread != self.meta.id => self.spent_elsewhere(payload),
                    thread => {
                        // What follows a record of its own is its own.
                        self.copied_until = self.copied_until.filter(|_| thread.is_none());
                        self.spent(line, at, usage);
                    }
                }
            }
            "compacted" => self.compacted(line, at, payload),
            "event_msg" => self.message(line, at, payload),
            "world_state" | "inter_agent_communication_metadata" | "state" => payload.skip_all(),
            _ => {
                payload.skip_all();
                payload.note("not recognised");
            }
        }
    }

    pub(super) fn location(&self) -> Location {
        Location { directory: self.meta.cwd.clone(), workspace: None }
    }

    fn meta(&mut self, line: u64, at: Time, payload: &JsonObject<'_>) {
        let read = RolloutHeader::read(payload, 0);
        if self.begun || self.is_forked {
            if read.id != self.meta.id {
                payload.skip_all();
                payload.note("the header of another thread");
            } else if read.process != self.meta.process {
                self.meta.process = read.process.clone();
                self.close_complete();
                self.push(line, at, vec![ProcessAttached { process: read.process }.into()]);
            }
            return;
        }
        self.begun = true;
        if read.forked_from.is_some() && read.parent.is_none() {
            payload.note("the thread that it was forked from");
        }
        if read.forked_from.is_some() && self.copied_lines.is_none() {
            self.copied_until = Some(at.max(Time(self.meta.created)).plus(COPYING));
        }
        let parent = self.meta.parent.clone().map(|parent| Parent {
            session: self.editions.session(AGENT, &parent, created(&parent, self.meta.created)),
            call: None,
        });
        let created = SessionCreated {
            location: self.location(),
            agent: AgentName(AGENT.into()),
            model: ModelName(self.model.clone()),
            policy: Policy::default(),
            title: self.meta.title(),
            parent,
            origin: Some(self.origin.clone()),
            process: Some(self.meta.process.clone()),
            key: StoredKey::NONE,
        };
        let at = Time(self.meta.created);
        self.gathered = (line, at);
        self.push(line, at, vec![created.into()]);
    }

    fn turn(&mut self, line: u64, at: Time, payload: &JsonObject<'_>) {
        if payload.text("cwd").is_some_and(|cwd| cwd != self.meta.cwd) {
            payload.note("another working directory");
        }
        let model = payload.text("model").map(|model| format!("{}/{model}", self.meta.provider));
        // Sandbox and approval policies are in no event: counted as lost where they change.
        for (name, last) in ["approval_policy", "sandbox_policy"].into_iter().zip(&mut self.policies) {
            let value = payload.raw(name).map(|raw| Digest::of(raw.get().as_bytes()));
            if value.is_some() && value != *last {
                *last = value;
                payload.note(name);
            }
        }
        payload.skip_all();
        if let Some(model) = model.filter(|model| *model != self.model) {
            self.close();
            self.model.clone_from(&model);
            self.push(line, at, vec![ModelSwitched { model: ModelName(model) }.into()]);
        }
    }

    fn item(&mut self, line: u64, at: Time, payload: &JsonObject<'_>) {
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
                self.seen_calls.insert(foreign.clone());
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
                let settled = ToolSettled { hosted_result: result, ..ToolSettled::bare(call, ToolOutcome::Completed) };
                self.push(line, at, vec![called.into(), settled.into()]);
            }
            "agent_message" => self.agent_message(line, at, payload),
            _ if kind.ends_with("_output") => self.output(line, at, payload),
            "ghost_snapshot" => payload.skip_all(),
            _ => {
                payload.skip_all();
                payload.note(&format!("a {kind} item"));
            }
        }
    }

    fn pieces(&mut self, line: u64, at: Time, payload: &JsonObject<'_>) {
        let mut context: Vec<(String, String)> = Vec::new();
        let mut input = (Vec::new(), Vec::new());
        for MessagePiece { kind, text, attachment } in items(payload) {
            match kind {
                PieceKind::Context(name) => context.push((name, text)),
                PieceKind::Synthetic => {
                    self.close();
                    self.push(line, at, vec![SyntheticAdded { text: text.into() }.into()]);
                }
                PieceKind::Input => {
                    if !text.is_empty() || attachment.is_none() {
                        input.0.push(text);
                    }
                    input.1.extend(attachment);
                }
                PieceKind::Answer => {
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
        let foreign = payload.text("id").unwrap_or_else(|| format!("line-{line}"));
        self.input(line, at, &foreign, texts.join("\n\n"), attachments);
    }

    pub(super) fn input(&mut self, line: u64, at: Time, foreign: &str, text: String, attachments: Vec<Attachment>) {
        self.epoch();
        self.failed = false;
        let id = InputId(self.unique.next(foreign));
        let admitted = InputAdmitted { input: id.clone(), text: text.into(), attachments, delivery: Delivery::Steer };
        let first = self.push(line, at, vec![admitted.into(), InputPromoted { input: id }.into()]);
        self.inputs.push(first.plus(1));
    }

    /// Whether a line was copied from another thread.
    pub(super) fn is_copy(&self, line: u64, at: Time) -> bool {
        match self.copied_lines {
            Some(last) => line <= last,
            None => self.copied_until.is_some_and(|until| at <= until),
        }
    }

    /// Whether the thread begins with copies of another one.
    pub(super) fn has_copies(&self) -> bool {
        self.copied_lines.is_some() || self.copied_until.is_some()
    }

    /// Whether a call has this foreign id.
    pub(super) fn had_call(&self, foreign: &str) -> bool {
        self.seen_calls.contains(foreign)
    }

    /// The end of the source: ends an answer that is complete.
    pub fn end(&mut self) {
        self.close_complete();
    }

    /// Ends an answer that is complete, also where the source could end.
    pub(super) fn close_complete(&mut self) {
        if self.step.as_ref().is_some_and(|step| step.open == 0 && (step.usage.is_some() || step.copied)) {
            self.close();
        }
    }
}
