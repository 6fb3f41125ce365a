//! One answer of OpenCode V1: an assistant message and its parts. See the table in `v1.rs`.

use super::super::foreign::JsonObject;
use super::content::{StepSlots, file_part, finish, names, todo_items, usage};
use super::v1::V1Mapper;
use annals_core::event::*;
use annals_core::{AgentName, CallId, Event, ModelName, Text, Time};
use std::collections::HashMap;

/// A call of the answer.
struct AnswerCall {
    id: CallId,
    index: u32,
    called: bool,
    settled: bool,
    shown: Option<String>,
}

/// An assistant message that is being read.
pub struct V1Answer {
    /// Its foreign id.
    pub id: String,
    created: Time,
    /// The time of its last part.
    at: Time,
    agent: String,
    model: String,
    /// Whether it is the summary of a compaction.
    summary: bool,
    /// Whether it was copied from another session, which counts what it used.
    is_copy: bool,
    summarised: String,
    started: bool,
    ended: bool,
    /// The end of a step, which waits for the next record: the changed files are in a separate part.
    finishing: Option<(u64, Time, StepEnded)>,
    step: StepSlots,
    fragments: HashMap<String, u32>,
    recorded: std::collections::HashSet<String>,
    calls: HashMap<String, AnswerCall>,
    /// Set at an incomplete part that others follow: a later import continues from there.
    held: bool,
}

impl V1Answer {
    /// An answer that begins.
    pub fn new(id: &str, at: Time, agent: String, model: String, summary: bool, is_copy: bool) -> Self {
        Self {
            id: id.to_owned(),
            created: at,
            at,
            agent,
            model,
            summary,
            is_copy,
            summarised: String::new(),
            started: false,
            ended: false,
            finishing: None,
            step: StepSlots::default(),
            fragments: HashMap::new(),
            recorded: Default::default(),
            calls: HashMap::new(),
            held: false,
        }
    }

    fn start(&mut self, mapper: &mut V1Mapper, line: u64, at: Time, files: Option<String>) {
        self.settle(mapper);
        let started = StepStarted {
            agent: AgentName(self.agent.clone()),
            model: ModelName(self.model.clone()),
            files,
            answer: None,
        };
        let seq = mapper.push(line, at, vec![started.into()]);
        if !self.started {
            mapper.remember(&self.id, self.created, seq);
        }
        self.started = true;
        self.ended = false;
        self.step = StepSlots::default();
    }

    /// Appends the end of a step that waited.
    pub fn settle(&mut self, mapper: &mut V1Mapper) {
        if let Some((line, at, ended)) = self.finishing.take() {
            mapper.push(line, at, vec![ended.into()]);
        }
    }

    /// Maps a new value of one of its parts.
    pub fn part(
        &mut self,
        mapper: &mut V1Mapper,
        line: u64,
        id: &str,
        part: &JsonObject<'_>,
        at: Option<Time>,
        whole: bool,
    ) {
        if self.held {
            part.skip_all();
            return;
        }
        let kind = part.text("type").unwrap_or_default();
        if kind == "patch" {
            part.skip(&["hash"]);
            let changed = names(part, "files");
            if let Some((_, _, ended)) = &mut self.finishing {
                ended.changed = changed;
            }
            return;
        }
        self.settle(mapper);
        let time = part.object("time");
        let stamp = |name: &str| time.as_ref().and_then(|time| time.number(name)).map(Time);
        let (begun, done) = (stamp("start"), stamp("end"));
        let ran = part.object("state").and_then(|state| {
            state.skip_all();
            let time = state.object("time")?;
            time.skip_all();
            time.number("end").or_else(|| time.number("start")).map(Time)
        });
        // The time of a copied record is that of the copying.
        let own = done.or(begun).or(ran);
        let at = at.filter(|_| !self.is_copy).or(own).unwrap_or(self.at).max(self.created);
        self.at = at;
        if self.summary {
            self.summary_part(&kind, part);
            return;
        }
        match kind.as_str() {
            "step-start" => self.start(mapper, line, at, part.text("snapshot")),
            "text" | "reasoning" => {
                if !self.started {
                    self.start(mapper, line, at, None);
                }
                let index = *self.fragments.entry(id.to_owned()).or_insert_with(|| self.step.take(id));
                let text = part.text("text").unwrap_or_default();
                let metadata = part.json("metadata");
                if done.is_none() && !whole {
                    return;
                }
                if !self.recorded.insert(id.to_owned()) {
                    return;
                }
                let text = Text::from(text);
                mapper.push(
                    line,
                    at,
                    vec![match kind.as_str() {
                        "text" => TextEnded { index, text, metadata }.into(),
                        _ => ReasoningEnded { index, text, metadata }.into(),
                    }],
                );
            }
            "tool" => self.tool(mapper, line, id, part, at),
            "step-finish" => {
                let ended = StepEnded {
                    finish: finish(&part.text("reason").unwrap_or_default(), part),
                    usage: part.object("tokens").map(|tokens| usage(&tokens)).filter(|_| !self.is_copy),
                    cost: part.money("cost").filter(|_| !self.is_copy).unwrap_or(0),
                    files: part.text("snapshot"),
                    changed: Vec::new(),
                };
                if self.is_copy {
                    part.note("usage of the session that it was forked from");
                }
                self.ended = true;
                self.finishing = Some((line, at, ended));
            }
            "retry" => {
                let attempt = part.number("attempt").and_then(|it| u32::try_from(it).ok()).unwrap_or(1);
                let error = part.object("error").map(|error| failure(&error)).unwrap_or_else(unknown);
                let attempt = attempt.saturating_add(1);
                mapper.push(line, at, vec![RetryScheduled { attempt, at, error, usage: None, cost: 0 }.into()]);
            }
            "snapshot" => {
                let tree = part.text("snapshot").unwrap_or_default();
                mapper.push(line, at, vec![FilesCaptured { tree }.into()]);
            }
            _ => {
                part.skip_all();
                part.note(&format!("a {kind} part of an answer"));
            }
        }
    }

    fn summary_part(&mut self, kind: &str, part: &JsonObject<'_>) {
        match kind {
            "text" => self.summarised = part.text("text").unwrap_or_default(),
            "step-start" | "step-finish" => part.skip_all(),
            _ => {
                part.skip_all();
                part.note(&format!("a {kind} part of a summary"));
            }
        }
    }

    fn tool(&mut self, mapper: &mut V1Mapper, line: u64, part_id: &str, part: &JsonObject<'_>, at: Time) {
        let Some(state) = part.object("state") else { return };
        if !self.started {
            self.start(mapper, line, at, None);
        }
        let (foreign, name) = (part.text("callID").unwrap_or_default(), part.text("tool").unwrap_or_default());
        let status = state.text("status").unwrap_or_default();
        state.skip(&["title", "time", "raw"]); // Titles are for display; the times of the batches suffice.
        let native = part.json("metadata"); // Each update of a call has it again.
        let (metadata, input) = (state.object("metadata"), state.json("input"));
        let shown = metadata.as_ref().and_then(|metadata| metadata.text("output"));
        let structured = state.json("metadata").filter(|json| json.0.inline() != Some("{}"));
        metadata.iter().for_each(JsonObject::skip_all);
        let Self { step, calls, .. } = self;
        let call = calls.entry(part_id.to_owned()).or_insert_with(|| AnswerCall {
            id: CallId(mapper.unique.next(&foreign)),
            index: step.take(part_id),
            called: false,
            settled: false,
            shown: None,
        });
        if status == "pending" || call.settled {
            return;
        }
        let mut events: Vec<Event> = Vec::new();
        if !call.called {
            call.called = true;
            let (index, id) = (call.index, call.id.clone());
            let input = input.unwrap_or_else(|| annals_core::Json::received("{}"));
            let called = ToolCalled { index, call: id, name: name.clone(), input, hosted: false, metadata: native };
            events.push(called.into());
        }
        let child = metadata.as_ref().and_then(|metadata| metadata.text("sessionId")).filter(|_| name == "task");
        let child = child.map(|child| (mapper.info.other(&mapper.editions, &child, at.millis()), child));
        if let Some((session, foreign)) = &child
            && mapper.children.insert(foreign.clone())
        {
            let agent = state.object("input").and_then(|input| {
                let agent = input.text("subagent_type");
                input.skip_all();
                agent
            });
            let agent = AgentName(agent.unwrap_or_default());
            events.push(ChildStarted { child: *session, call: Some(call.id.clone()), agent, background: false }.into());
        }
        let failed = status == "error";
        if status == "running" {
            if shown.is_some() && shown != call.shown {
                call.shown.clone_from(&shown);
                let (call, output) = (call.id.clone(), shown.map(Text::from));
                events.push(ToolProgressed { call, output, structured: None }.into());
            }
        } else if failed || status == "completed" {
            call.settled = true;
            mapper.settled.insert(part_id.to_owned(), call.id.clone());
            let output = state.text("output").unwrap_or_default();
            let error = state.text("error");
            let result = error.clone().filter(|_| failed).unwrap_or_else(|| output.clone());
            let outcome = if failed { ToolOutcome::Failed } else { ToolOutcome::Completed };
            let settled = ToolSettled {
                output: output.into(),
                error: error.map(Text::from),
                structured,
                attachments: state.objects("attachments").iter().filter_map(file_part).collect(),
                paths: metadata.as_ref().and_then(|metadata| metadata.text("outputPath")).into_iter().collect(),
                truncated: metadata.as_ref().is_some_and(|metadata| metadata.flag("truncated")),
                ..ToolSettled::bare(call.id.clone(), outcome)
            };
            events.push(settled.into());
            if let Some((child, _)) = child {
                let outcome = if failed { ChildOutcome::Failed } else { ChildOutcome::Completed };
                events.push(ChildSettled { child, outcome, result: result.into() }.into());
            }
            if !failed && name == "todowrite" {
                let input = state.object("input");
                events.extend(input.as_ref().and_then(todo_items).map(Event::from));
                input.iter().for_each(JsonObject::skip_all);
            }
        }
        mapper.push(line, at, events);
    }

    /// The record is complete or failed.
    #[expect(clippy::too_many_arguments, reason = "the fields of one record")]
    pub fn complete(
        &mut self,
        mapper: &mut V1Mapper,
        line: u64,
        at: Time,
        error: Option<&JsonObject<'_>>,
        usage: Option<Usage>,
        cost: u64,
        word: Option<Finish>,
    ) {
        self.settle(mapper);
        let (usage, cost) = if self.is_copy { (None, 0) } else { (usage, cost) };
        if self.summary {
            if !std::mem::replace(&mut self.ended, true) {
                let reason = mapper.reason;
                let event: Event = match error {
                    Some(error) => CompactionFailed { reason, error: failure(error), usage, cost }.into(),
                    None => {
                        let summary = std::mem::take(&mut self.summarised).into();
                        CompactionEnded { reason, summary, recent: Text::default(), estimate: 0, usage, cost }.into()
                    }
                };
                let seq = mapper.push(line, at, vec![event]);
                mapper.remember(&self.id, self.created, seq);
            }
            return;
        }
        if let Some(error) = error {
            if !self.started {
                self.start(mapper, line, at, None);
            }
            if !std::mem::replace(&mut self.ended, true) {
                mapper.push(line, at, vec![StepFailed { error: failure(error), usage, cost }.into()]);
            } else {
                error.skip_all();
                error.note("an error after the step ended");
            }
        } else if self.started && !std::mem::replace(&mut self.ended, true) {
            let finish = word.unwrap_or(Finish::Other);
            mapper.push(line, at, vec![StepEnded { finish, usage, cost, files: None, changed: Vec::new() }.into()]);
        }
    }

    /// Stops: a later import continues from here.
    pub fn hold(&mut self) {
        self.held = true;
    }
}

fn unknown() -> Failure {
    Failure { kind: "unknown".into(), message: Text::default(), status: None }
}

/// An error of OpenCode: `{name, data: {message, statusCode}}`.
fn failure(error: &JsonObject<'_>) -> Failure {
    let data = error.object("data");
    let status = data.as_ref().and_then(|data| data.number("statusCode"));
    let message = data.as_ref().and_then(|data| data.text("message")).or_else(|| error.text("message"));
    Failure {
        kind: error.text("name").unwrap_or_else(|| "unknown".into()),
        message: message.unwrap_or_default().into(),
        status: status.and_then(|status| u16::try_from(status).ok()),
    }
}
