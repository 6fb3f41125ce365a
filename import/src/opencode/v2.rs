//! The mapping of OpenCode's V2 event log (`session.next.*`), record by record.
//!
//! | OpenCode | Annals |
//! |---|---|
//! | `session.created`, `.updated` | `session.created`; a changed title, agent, model or directory is a separate event |
//! | `prompt.admitted`, `prompted` | `input.admitted`, `input.promoted` |
//! | `context.updated` | `context.admitted` with `snapshot.advanced`; keys and values are not in the event log |
//! | `synthetic`, `shell.ended` | `synthetic.added`, `shell.ran` |
//! | `agent.switched`, `model.switched`, `moved` | the same |
//! | `step.started`, `.ended`, `.failed` | the same |
//! | `text.started`, `reasoning.started`, `tool.input.*` | nothing: they determine the index in the content |
//! | `text.ended`, `reasoning.ended` | the same |
//! | `tool.called`, `.progress`, `.success`, `.failed` | `tool.called`, `.progressed`, `.settled` (`todo.updated` with it) |
//! | `compaction.started`, `.ended`, `revert.*`, `retried` | the same; a revert here keeps the boundary message |

use super::super::foreign::JsonObject;
use super::content::{OpenCalls, StepSlots, files, finish, names, output, usage};
use super::info::{OpenCodeSession, model};
use annals_core::event::*;
use annals_core::{AgentName, Event, InputId, ModelName, Seq, Text, Time};
use std::collections::HashSet;

/// State from earlier records of a session that later records refer to.
#[derive(Debug, Default)]
pub struct V2Mapper {
    /// The current description of the session.
    pub info: OpenCodeSession,
    /// Foreign id and sequence number of each message, in order.
    messages: Vec<(String, Seq)>,
    inputs: HashSet<String>,
    promoted: HashSet<String>,
    pub(super) step: StepSlots,
    pub(super) calls: OpenCalls,
    shells: Vec<(String, Text)>,
}

/// The position of a record in the log.
pub struct RecordPosition {
    /// The sequence number of the record's first event.
    pub next: Seq,
    /// The record's time.
    pub at: Time,
    /// Snapshot advance of a `context.updated`.
    pub advance: SnapshotAdvanced,
}

impl V2Mapper {
    /// The events of one record. `kind` is its type without version; `None` for an unknown type.
    pub fn map(&mut self, kind: &str, data: &JsonObject<'_>, place: RecordPosition) -> Option<Vec<Event>> {
        let next = place.next;
        data.skip(&["sessionID", "timestamp"]);
        let short = kind.strip_prefix("session.next.").unwrap_or(kind);
        Some(match short {
            "session.updated" => self.updated(data),
            "prompt.admitted" => self.admitted(data),
            "prompted" => self.promoted(data, next),
            "context.updated" => {
                self.message(data, "messageID", next);
                let text = data.text("text")?.into();
                data.note("the sources of the update");
                vec![ContextAdmitted { keys: Vec::new(), text }.into(), place.advance.into()]
            }
            "synthetic" => {
                self.message(data, "messageID", next);
                vec![SyntheticAdded { text: data.text("text")?.into() }.into()]
            }
            "shell.started" => {
                data.skip(&["messageID"]);
                self.shells.push((data.text("callID")?, data.text("command")?.into()));
                Vec::new()
            }
            "shell.ended" => {
                self.message(data, "messageID", next);
                let id = data.text("callID")?;
                let at = self.shells.iter().position(|(call, _)| *call == id);
                let command = at.map(|at| self.shells.remove(at).1).unwrap_or_default();
                vec![ShellRan { command, output: data.text("output")?.into(), exit: None }.into()]
            }
            "agent.switched" => {
                self.message(data, "messageID", next);
                let agent = data.text("agent")?;
                self.info.agent = Some(agent.clone());
                vec![AgentSwitched { agent: AgentName(agent) }.into()]
            }
            "model.switched" => {
                self.message(data, "messageID", next);
                let model = model(&data.object("model")?)?;
                self.info.model = Some(model.clone());
                vec![ModelSwitched { model: ModelName(model) }.into()]
            }
            "moved" => {
                let location = data.object("location")?;
                self.info.directory = location.text("directory")?;
                self.info.workspace = location.text("workspaceID");
                vec![SessionMoved { location: self.info.location() }.into()]
            }
            "step.started" => self.step_started(data, next)?,
            "step.ended" => {
                data.skip(&["assistantMessageID"]);
                let ended = StepEnded {
                    finish: finish(&data.text("finish")?, data),
                    usage: data.object("tokens").map(|tokens| usage(&tokens)),
                    cost: data.money("cost").unwrap_or(0),
                    files: data.text("snapshot"),
                    changed: names(data, "files"),
                };
                vec![ended.into()]
            }
            "step.failed" => {
                data.skip(&["assistantMessageID"]);
                let error = failure(&data.object("error")?);
                vec![StepFailed { error, usage: None, cost: 0 }.into()]
            }
            "text.started" => {
                self.step.open(data, &format!("text {}", data.text("textID")?));
                Vec::new()
            }
            "reasoning.started" => {
                let slot = format!("reasoning {}", data.text("reasoningID")?);
                self.step.open(data, &slot);
                if let Some(metadata) = data.json("providerMetadata") {
                    self.step.metadata.insert(slot, metadata);
                }
                Vec::new()
            }
            "tool.input.started" => {
                let index = self.step.open(data, &format!("tool {}", data.text("callID")?))?;
                self.calls.started(data.text("assistantMessageID")?, data.text("callID")?, data.text("name")?, index);
                Vec::new()
            }
            "tool.input.ended" => {
                let text = data.text("text")?;
                self.calls.of(data)?.raw = Some(text);
                Vec::new()
            }
            "text.ended" => {
                let index = self.step.slot(data, &format!("text {}", data.text("textID")?))?;
                let metadata = data.json("providerMetadata");
                vec![TextEnded { index, text: data.text("text")?.into(), metadata }.into()]
            }
            "reasoning.ended" => {
                let slot = format!("reasoning {}", data.text("reasoningID")?);
                let index = self.step.slot(data, &slot)?;
                let before = self.step.metadata.remove(&slot);
                let metadata = data.json("providerMetadata").or(before);
                vec![ReasoningEnded { index, text: data.text("text")?.into(), metadata }.into()]
            }
            "tool.called" => self.called(data)?,
            "tool.progress" => {
                let shown = output(data);
                let call = self.calls.of(data)?;
                call.output = shown.text.clone();
                call.structured = shown.structured.clone();
                vec![ToolProgressed { call: call.id.clone(), output: shown.text, structured: shown.structured }.into()]
            }
            "tool.success" => self.succeeded(data)?,
            "tool.failed" => self.failed(data)?,
            "retried" | "retry.scheduled" => {
                data.skip(&["assistantMessageID"]);
                let attempt = u32::try_from(data.number("attempt")?).ok()?.saturating_add(1);
                let at = data.number("at").map_or(place.at, Time);
                let error = failure(&data.object("error")?);
                vec![RetryScheduled { attempt, at, error, usage: None, cost: 0 }.into()]
            }
            "compaction.started" => {
                data.skip(&["messageID"]);
                vec![CompactionStarted { reason: reason(data), model: None, estimate: 0 }.into()]
            }
            "compaction.ended" => {
                self.message(data, "messageID", next);
                let ended = CompactionEnded {
                    reason: reason(data),
                    summary: data.text("text")?.into(),
                    recent: data.text("recent").unwrap_or_default().into(),
                    estimate: 0,
                    usage: None,
                    cost: 0,
                };
                vec![ended.into()]
            }
            "compaction.failed" => {
                data.skip(&["messageID"]);
                let error = failure(&data.object("error")?);
                vec![CompactionFailed { reason: reason(data), error, usage: None, cost: 0 }.into()]
            }
            "revert.staged" => {
                let revert = data.object("revert")?;
                let first_removed = self.after(&revert.text("messageID")?, next)?;
                let staged = RevertStaged {
                    first_removed,
                    original: revert.text("snapshot"),
                    diff: revert.text("diff").map(Text::from),
                    files: files(&revert),
                };
                vec![staged.into()]
            }
            "revert.cleared" => vec![RevertCleared {}.into()],
            "revert.committed" => {
                vec![RevertCommitted { first_removed: self.after(&data.text("messageID")?, next)? }.into()]
            }
            _ => return None,
        })
    }

    fn message(&mut self, data: &JsonObject<'_>, field: &str, seq: Seq) {
        self.messages.extend(data.text(field).map(|id| (id, seq)));
    }

    /// The message after the boundary message (a revert in OpenCode keeps that one); the end of the log if none follows.
    fn after(&self, boundary: &str, next: Seq) -> Option<Seq> {
        let at = self.messages.iter().rposition(|(id, _)| id == boundary)?;
        Some(self.messages.get(at + 1).map_or(next, |(_, seq)| *seq))
    }

    fn updated(&mut self, data: &JsonObject<'_>) -> Vec<Event> {
        let Some(info) = data.object("info").map(|object| OpenCodeSession::read(&object)) else { return Vec::new() };
        let mut events = Vec::new();
        if info.directory != self.info.directory || info.workspace != self.info.workspace {
            self.info.directory.clone_from(&info.directory);
            self.info.workspace.clone_from(&info.workspace);
            events.push(SessionMoved { location: self.info.location() }.into());
        }
        if let Some(title) = info.title.filter(|title| self.info.title.as_ref() != Some(title)) {
            self.info.title = Some(title.clone());
            events.push(SessionTitled::given(title).into());
        }
        events.extend(info.agent.into_iter().flat_map(|agent| self.agent(agent)));
        events.extend(info.model.into_iter().flat_map(|model| self.model(model)));
        events
    }

    fn agent(&mut self, agent: String) -> Vec<Event> {
        if self.info.agent.as_ref() == Some(&agent) {
            return Vec::new();
        }
        self.info.agent = Some(agent.clone());
        vec![AgentSwitched { agent: AgentName(agent) }.into()]
    }

    fn model(&mut self, model: String) -> Vec<Event> {
        if self.info.model.as_ref() == Some(&model) {
            return Vec::new();
        }
        self.info.model = Some(model.clone());
        vec![ModelSwitched { model: ModelName(model) }.into()]
    }

    fn admitted(&mut self, data: &JsonObject<'_>) -> Vec<Event> {
        let (Some(id), Some(prompt)) = (data.text("messageID"), data.object("prompt")) else { return Vec::new() };
        if !self.inputs.insert(id.clone()) {
            prompt.skip_all();
            data.skip(&["delivery"]);
            data.note("an input id that was used before");
            return Vec::new();
        }
        let delivery = match data.text("delivery").as_deref() {
            Some("queue") => Delivery::Queue,
            _ => Delivery::Steer,
        };
        let text = prompt.text("text").unwrap_or_default().into();
        vec![
            InputAdmitted { input: InputId(id), text, attachments: super::content::attachments(&prompt), delivery }
                .into(),
        ]
    }

    fn promoted(&mut self, data: &JsonObject<'_>, next: Seq) -> Vec<Event> {
        let Some(id) = data.text("messageID") else { return Vec::new() };
        let mut events = Vec::new();
        if self.inputs.contains(&id) {
            data.skip(&["prompt", "delivery"]); // The same as in its admission.
        } else {
            // A promotion without an admission is imported as both.
            events = self.admitted(data);
        }
        if !self.promoted.insert(id.clone()) {
            data.note("an input that was promoted before");
            return Vec::new();
        }
        self.messages.push((id.clone(), next.plus(events.len() as u64)));
        events.push(InputPromoted { input: InputId(id) }.into());
        events
    }

    fn step_started(&mut self, data: &JsonObject<'_>, next: Seq) -> Option<Vec<Event>> {
        let id = data.text("assistantMessageID")?;
        self.messages.push((id.clone(), next));
        self.step = StepSlots::of(id);
        let started = StepStarted {
            agent: AgentName(data.text("agent")?),
            model: ModelName(model(&data.object("model")?)?),
            files: data.text("snapshot"),
            answer: None,
        };
        Some(vec![started.into()])
    }
}

fn reason(data: &JsonObject<'_>) -> CompactionReason {
    match data.text("reason").as_deref() {
        Some("manual") => CompactionReason::Manual,
        Some("overflow") => CompactionReason::Overflow,
        Some("auto") => CompactionReason::Auto,
        _ => CompactionReason::Unknown,
    }
}

/// An error of OpenCode: `type` is its kind, `statusCode` the HTTP status.
fn failure(error: &JsonObject<'_>) -> Failure {
    Failure {
        kind: error.text("type").unwrap_or_else(|| "unknown".into()),
        message: error.text("message").unwrap_or_default().into(),
        status: error.number("statusCode").and_then(|status| u16::try_from(status).ok()),
    }
}

/// The type of a row without its version: `session.next.step.ended` of `session.next.step.ended.2`.
pub fn bare(kind: &str) -> &str {
    match kind.rsplit_once('.') {
        Some((bare, version)) if version.bytes().all(|byte| byte.is_ascii_digit()) => bare,
        _ => kind,
    }
}

/// The time of a record (ms), if it has one.
pub fn timestamp(data: &JsonObject<'_>) -> Option<Time> {
    data.number("timestamp").or_else(|| data.number("time")).map(Time)
}
