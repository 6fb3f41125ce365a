//! From a command to events, if it is legal now.

use super::facts::{failure, key, location, settled, title_request, tree};
use super::{Command, Writer};
use annals_core::event::*;
use annals_core::{CallId, Entry, InputId, Json, RequestId, Seq, Text};
use std::collections::{BTreeMap, BTreeSet};

impl Writer {
    pub fn command(&mut self, command: &Command) {
        match command {
            Command::Admit { queue, text } => {
                self.inputs += 1;
                let input = InputId(format!("in-{}", self.inputs));
                let delivery = if *queue { Delivery::Queue } else { Delivery::Steer };
                let text = Text::Inline(format!("say {text}"));
                let admitted = InputAdmitted { input: input.clone(), text, attachments: Vec::new(), delivery };
                let mut events = Vec::new();
                if let Some(first_removed) = self.staged.take() {
                    self.forget(first_removed);
                    events.push(RevertCommitted { first_removed }.into());
                }
                events.push(admitted.into());
                self.append(events);
                self.waiting.push((input, *queue, Seq(self.next.0 - 1)));
            }
            Command::Withdraw(n) => {
                if let Some((input, ..)) = pick(&mut self.waiting, *n) {
                    self.append(vec![InputWithdrawn { input }.into()]);
                }
            }
            Command::ChangeDelivery(n) => {
                let at = usize::from(*n);
                if let Some((input, queue, _)) = self.waiting.get_mut(at) {
                    *queue = !*queue;
                    let delivery = if *queue { Delivery::Queue } else { Delivery::Steer };
                    let changed = InputDeliveryChanged { input: input.clone(), delivery };
                    self.append(vec![changed.into()]);
                }
            }
            Command::Promote => {
                if self.step.is_none() && self.staged.is_none() && !self.waiting.is_empty() {
                    let (input, ..) = self.waiting.remove(0);
                    let seq = self.message(vec![InputPromoted { input }.into()]);
                    self.users.push(seq);
                }
            }
            Command::StartEpoch(cause) => {
                if self.step.is_none() {
                    let key = key(0);
                    let entry = Entry { value: Json::received("\"here\""), removed: None };
                    self.append(vec![
                        EpochStarted {
                            cause: *cause,
                            agent: "build".into(),
                            location: location(self.locations),
                            parts: vec![Part { key: key.clone(), text: "Here.".into() }],
                            entries: BTreeMap::from([(key.clone(), entry)]),
                            known: true,
                        }
                        .into(),
                    ]);
                    self.epoch = Some(BTreeSet::from([key]));
                }
            }
            Command::Tell { key: n, value } => {
                if self.step.is_none() && self.epoch.is_some() {
                    let key = key(*n);
                    if let Some(keys) = &mut self.epoch {
                        keys.insert(key.clone());
                    }
                    let value = Json::canonical(&(*value).into());
                    let entry = Entry { value, removed: Some("Gone.".into()) };
                    let update = ContextAdmitted { keys: vec![key.clone()], text: "Now.".into() };
                    let advanced = SnapshotAdvanced { set: BTreeMap::from([(key, entry)]), removed: Vec::new() };
                    self.message(vec![update.into(), advanced.into()]);
                }
            }
            Command::Untell { key: n } => {
                let key = key(*n);
                if self.step.is_none() && self.epoch.as_mut().is_some_and(|keys| keys.remove(&key)) {
                    let update = ContextAdmitted { keys: vec![key.clone()], text: "Gone.".into() };
                    let advanced = SnapshotAdvanced { set: BTreeMap::new(), removed: vec![key] };
                    self.message(vec![update.into(), advanced.into()]);
                }
            }
            Command::Step { texts, calls } => {
                if self.step.is_some() || self.epoch.is_none() || self.staged.is_some() {
                    return;
                }
                // Every other step is captured.
                let files = self.next.0.is_multiple_of(2).then(|| tree(self.next.0));
                self.captured |= files.is_some();
                let started = StepStarted { agent: "build".into(), model: "test/alpha".into(), files, answer: None };
                let step = self.message(vec![started.into()]);
                let mut index = 0;
                for n in 0..*texts {
                    let text = Text::Inline(format!("text {n}"));
                    self.append(vec![TextEnded { index, text, metadata: None }.into()]);
                    index += 1;
                }
                for _ in 0..*calls {
                    self.calls += 1;
                    let call = CallId(format!("call-{}", self.calls));
                    let called = ToolCalled {
                        index,
                        call: call.clone(),
                        name: "look".to_owned(),
                        input: Json::received("{}"),
                        hosted: false,
                        metadata: None,
                    };
                    let seq = self.append(vec![called.into()]);
                    self.open.push((call, seq));
                    index += 1;
                }
                self.step = Some((step, index));
            }
            Command::Settle { fail } => {
                if self.open.is_empty() {
                    return;
                }
                let (call, _) = self.open.remove(0);
                let settled = settled(&call, *fail);
                let seq = self.append(vec![settled.into()]);
                self.settled.push((call, seq));
            }
            Command::EndStep => {
                if self.step.is_some() && self.open.is_empty() {
                    self.step = None;
                    let usage = Some(Usage { input: 10, output: 2, ..Usage::default() });
                    let files = self.captured.then(|| tree(self.next.0));
                    let ended = StepEnded { finish: Finish::Stop, usage, cost: 5, files, changed: Vec::new() };
                    self.append(vec![ended.into()]);
                }
            }
            Command::FailStep => {
                if self.step.is_some() && self.open.is_empty() {
                    self.step = None;
                    self.append(vec![StepFailed { error: failure(), usage: None, cost: 1 }.into()]);
                }
            }
            Command::Retry => {
                if self.step.is_none() {
                    let retry =
                        RetryScheduled { attempt: 2, at: self.at.plus(2_000), error: failure(), usage: None, cost: 0 };
                    self.append(vec![retry.into()]);
                }
            }
            Command::Compact => {
                if self.step.is_none() && self.staged.is_none() {
                    let reason = CompactionReason::Manual;
                    self.append(vec![CompactionStarted { reason, model: None, estimate: 0 }.into()]);
                    let ended = CompactionEnded {
                        reason,
                        summary: "Summary.".into(),
                        recent: Text::default(),
                        estimate: 0,
                        usage: None,
                        cost: 3,
                    };
                    let seq = self.message(vec![ended.into()]);
                    self.compactions.push(seq);
                }
            }
            Command::FailCompaction => {
                if self.step.is_none() {
                    let reason = CompactionReason::Auto;
                    self.append(vec![CompactionStarted { reason, model: None, estimate: 0 }.into()]);
                    self.append(vec![CompactionFailed { reason, error: failure(), usage: None, cost: 0 }.into()]);
                }
            }
            Command::UndoCompaction => {
                if let (None, Some(compaction)) = (self.step, self.compactions.pop()) {
                    self.append(vec![CompactionUndone { compaction }.into()]);
                }
            }
            Command::Prune => {
                let calls: Vec<CallId> = self.settled.iter().map(|(call, _)| call.clone()).collect();
                if self.step.is_none() && !calls.is_empty() {
                    self.append(vec![ToolOutputsPruned { calls }.into()]);
                }
            }
            Command::Pin(n) => {
                if let Some(message) = self.users.get(usize::from(*n)).copied() {
                    self.append(vec![MessagePinned { message }.into()]);
                    self.pinned.push(message);
                }
            }
            Command::Unpin => {
                if let Some(message) = self.pinned.pop() {
                    self.append(vec![MessageUnpinned { message }.into()]);
                }
            }
            Command::Synthetic => {
                if self.step.is_none() {
                    self.message(vec![SyntheticAdded { text: "Go on.".into() }.into()]);
                }
            }
            Command::Shell => {
                if self.step.is_none() {
                    let ran = ShellRan { command: "ls".into(), output: "a\n".into(), exit: Some(0) };
                    self.message(vec![ran.into()]);
                }
            }
            Command::Switch { model: true, to } => {
                let model = format!("test/model-{to}").into();
                self.message(vec![ModelSwitched { model }.into()]);
            }
            Command::Switch { model: false, to } => {
                let agent = format!("agent-{to}").into();
                self.message(vec![AgentSwitched { agent }.into()]);
            }
            Command::Move(to) => {
                if self.step.is_none() {
                    self.locations = u64::from(*to);
                    self.epoch = None;
                    (self.captured, self.restoring) = (false, false);
                    let mut events = vec![SessionMoved { location: location(self.locations) }.into()];
                    // Every other place is reached with what was uncommitted.
                    if to.is_multiple_of(2) && !self.departing {
                        self.departing = true;
                        events.push(DepartureBegun { location: location(9), from: tree(0), to: tree(1) }.into());
                    }
                    self.append(events);
                }
            }
            Command::StageRevert(n) => {
                if let (None, Some(first_removed)) = (self.step, self.users.get(usize::from(*n)).copied()) {
                    let staged = RevertStaged { first_removed, original: None, diff: None, files: Vec::new() };
                    self.append(vec![staged.into()]);
                    self.restoring = false;
                    self.staged = Some(first_removed);
                }
            }
            Command::ClearRevert => {
                if self.staged.take().is_some() {
                    self.append(vec![RevertCleared {}.into()]);
                    self.restoring = false;
                }
            }
            Command::CommitRevert => {
                if let Some(first_removed) = self.staged.take() {
                    self.forget(first_removed);
                    self.append(vec![RevertCommitted { first_removed }.into()]);
                }
            }
            Command::Title => {
                self.append(vec![SessionTitled::given("A title").into()]);
            }
            Command::AskTitle => {
                if self.titling.is_none() {
                    let request = RequestId::from_parts(1, u128::from(self.next.0));
                    self.titling = Some(request);
                    self.append(vec![title_request(request).into()]);
                }
            }
            Command::EndTitle { fail } => {
                let usage = Some(Usage { input: 7, output: 1, ..Usage::default() });
                if let Some(request) = self.titling.take() {
                    self.append(vec![match fail {
                        true => TitleFailed { request, error: failure(), usage, cost: 2 }.into(),
                        false => {
                            SessionTitled { title: "Asked for".to_owned(), request: Some(request), usage, cost: 2 }
                                .into()
                        }
                    }]);
                }
            }
            Command::Summarise(lines) => {
                if self.captured && self.step.is_none() {
                    let file = FileChange {
                        path: "a".to_owned(),
                        status: "modified".to_owned(),
                        additions: u64::from(*lines),
                        deletions: 1,
                    };
                    let summarised = FilesSummarised { from: tree(0), to: tree(self.next.0), files: vec![file] };
                    self.append(vec![summarised.into()]);
                }
            }
            Command::Restore => {
                let event = match self.restoring {
                    true => RestoreAbandoned { error: failure() }.into(),
                    false => RestoreBegun { location: location(0), from: tree(0), to: tree(1) }.into(),
                };
                self.restoring = !self.restoring;
                self.append(vec![event]);
            }
            Command::Attach(commit) => {
                let git = (*commit > 0).then(|| GitState {
                    branch: Some(format!("branch-{}", commit % 3)),
                    commit: Some(tree(u64::from(*commit))),
                    dirty: Some(commit % 2 == 0),
                    repository: None,
                });
                let process = ProcessInfo { program: "annals".to_owned(), git, ..ProcessInfo::default() };
                self.append(vec![ProcessAttached { process }.into()]);
            }
            Command::Depart { fail } => {
                if std::mem::take(&mut self.departing) {
                    self.append(vec![DepartureEnded { error: fail.then(failure) }.into()]);
                }
            }
        }
    }
}

fn pick<T>(list: &mut Vec<T>, n: u8) -> Option<T> {
    let at = usize::from(n);
    (at < list.len()).then(|| list.remove(at))
}
