//! The mapping of Codex rollouts, line by line.
//!
//! | Codex | Annals |
//! |---|---|
//! | `session_meta`, the first `turn_context` | `session.created`; the agent is `codex` |
//! | developer and context messages before the first prompt | `epoch.started`, one part per piece |
//! | such messages later | `context.admitted` with `snapshot.advanced` |
//! | a user message | `input.admitted` with `input.promoted` |
//! | `reasoning`, `message`, calls | `step.started` before the first of an answer; `reasoning.ended`, `text.ended`, `tool.called` |
//! | outputs | `tool.settled`; a spawned agent as `child.started` |
//! | `token_usage_record`, `token_count` | the usage of `step.ended`, which the next answer, prompt or end of a task shows |
//! | a changed model in `turn_context` | `model.switched` |
//! | a later `session_meta` of another program, version or git state | `process.attached` |
//! | `compacted` | `compaction.started`, `compaction.ended`, and a new epoch |
//! | `thread_rolled_back`, `turn_aborted`, `error` | `revert.committed`, `step.failed` |
//! | other `event_msg`, `world_state` | nothing: they repeat other lines for display |

use super::super::foreign::{JsonObject, compact, quote};
use super::super::identity::{Editions, UniqueIds};
use super::super::sink::MappedBatch;
use super::header::RolloutHeader;
use super::message::{MessagePiece, PieceKind, items};
use super::step::{RolloutStep, tokens};
use super::{AGENT, created};
use annals_core::event::*;
use annals_core::{AgentName, CallId, Digest, Event, InputId, Json, ModelName, Seq, StoredKey, Time};
use std::collections::HashMap;

/// How long Codex may take to copy lines into a fork, in milliseconds. No model answers so fast.
const COPYING: u64 = 1_000;

/// One session.
pub struct RolloutMapper {
    /// Batches that are ready to be appended.
    pub out: Vec<MappedBatch>,
    pub(super) meta: RolloutHeader,
    pub(super) model: String,
    pub(super) editions: Editions,
    pub(super) origin: Origin,
    pub(super) next: Seq,
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
    policies: [Option<Digest>; 2],
    /// In a fork: until when its lines are copies. Copies keep their times, or have that of the fork.
    copied_until: Option<Time>,
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
            policies: [None; 2],
            copied_until: None,
        }
    }

    pub(super) fn push(&mut self, line: u64, at: Time, events: Vec<Event>) -> Seq {
        let first = self.next;
        if !events.is_empty() {
            self.next = first.plus(events.len() as u64);
            self.out.push((line, at, events));
        }
        first
    }

    /// Maps one line; `next` is the next sequence number of the log.
    pub fn line(&mut self, next: Seq, line: u64, at: Time, kind: &str, payload: &JsonObject<'_>) {
        self.next = next;
        match kind {
            "session_meta" => self.meta(line, at, payload),
            "turn_context" => self.turn(line, at, payload),
            "response_item" => self.item(line, at, payload),
            "token_usage_record" => {
                let usage = payload.object("usage").map(|usage| tokens(&usage));
                let thread = payload.text("thread_id").filter(|thread| !thread.is_empty());
                payload.skip_all();
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
            "world_state" => payload.skip_all(),
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
        if self.begun {
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
        if payload.text("forked_from_id").is_some_and(|thread| !thread.is_empty()) {
            payload.note("the thread that it was forked from");
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
            title: None,
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
        self.epoch();
        let foreign = payload.text("id").unwrap_or_else(|| format!("line-{line}"));
        let id = InputId(self.unique.next(&foreign));
        let text = texts.join("\n\n").into();
        let admitted = InputAdmitted { input: id.clone(), text, attachments, delivery: Delivery::Steer };
        let first = self.push(line, at, vec![admitted.into(), InputPromoted { input: id }.into()]);
        self.inputs.push(first.plus(1));
    }

    fn message(&mut self, line: u64, at: Time, payload: &JsonObject<'_>) {
        let kind = payload.text("type").unwrap_or_default();
        match kind.as_str() {
            "token_count" => {
                let info = payload.object("info");
                let usage = info.as_ref().and_then(|info| info.object("last_token_usage")).map(|usage| tokens(&usage));
                info.iter().for_each(JsonObject::skip_all);
                match usage {
                    // What a fork copied was used by the thread that it was forked from.
                    Some(_) if self.copied_until.is_some_and(|until| at <= until) => self.spent_elsewhere(payload),
                    Some(_) => self.spent(line, at, usage),
                    None => {}
                }
            }
            "task_complete" | "turn_complete" => self.close(),
            "item_completed" => {
                // Exit status and full output of a command, or the changes of a file: the structured value of the next result.
                let item = payload.object("item");
                let known = item.as_ref().and_then(|item| item.text("id")).filter(|id| self.calls.contains_key(id));
                if let (Some(id), Some(json)) = (known, payload.json("item")) {
                    self.shown.insert(id, json);
                }
                item.iter().for_each(JsonObject::skip_all);
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

    /// The end of the source: ends an answer that is complete.
    pub fn end(&mut self, next: Seq) {
        self.next = next;
        self.close_complete();
    }

    /// Ends an answer that is complete, also where the source could end.
    fn close_complete(&mut self) {
        if self.step.as_ref().is_some_and(|step| step.open == 0 && (step.usage.is_some() || step.copied)) {
            self.close();
        }
    }
}
