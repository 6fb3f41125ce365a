//! A small legal writer: turns commands of any kind into events that a correct runtime could have appended.
//!
//! It is deliberately not the runtime: it keeps the least state that legality needs, so that laws over its output do
//! not repeat the code that they judge.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use annals_core::event::*;
use annals_core::{Batch, CallId, Digest, Entry, Event, InputId, Json, Key, RequestId, Seq, SessionId, Text, Time};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What happens next, if it is legal now; otherwise nothing happens.
#[derive(Clone, Debug)]
pub enum Command {
    Admit { queue: bool, text: u8 },
    Withdraw(u8),
    ChangeDelivery(u8),
    Promote,
    StartEpoch(EpochCause),
    Tell { key: u8, value: u8 },
    Untell { key: u8 },
    Step { texts: u8, calls: u8 },
    Settle { fail: bool },
    EndStep,
    FailStep,
    Retry,
    Compact,
    FailCompaction,
    UndoCompaction,
    Prune,
    Pin(u8),
    Unpin,
    Synthetic,
    Shell,
    Switch { model: bool, to: u8 },
    Move(u8),
    StageRevert(u8),
    ClearRevert,
    CommitRevert,
    Title,
    AskTitle,
    EndTitle { fail: bool },
    Summarise(u8),
    Restore,
}

pub fn commands() -> impl Strategy<Value = Vec<Command>> {
    use Command::*;
    let one = prop_oneof![
        6 => (any::<bool>(), any::<u8>()).prop_map(|(queue, text)| Admit { queue, text }),
        1 => any::<u8>().prop_map(Withdraw),
        1 => any::<u8>().prop_map(ChangeDelivery),
        6 => Just(Promote),
        2 => prop::sample::select(vec![
            EpochCause::FirstTurn, EpochCause::Compaction, EpochCause::Incompatible, EpochCause::Moved,
        ]).prop_map(StartEpoch),
        3 => (0..4_u8, any::<u8>()).prop_map(|(key, value)| Tell { key, value }),
        1 => (0..4_u8).prop_map(|key| Untell { key }),
        6 => (0..3_u8, 0..3_u8).prop_map(|(texts, calls)| Step { texts, calls }),
        4 => any::<bool>().prop_map(|fail| Settle { fail }),
        5 => Just(EndStep),
        1 => Just(FailStep),
        1 => Just(Retry),
        2 => Just(Compact),
        1 => Just(FailCompaction),
        1 => Just(UndoCompaction),
        1 => Just(Prune),
        1 => any::<u8>().prop_map(Pin),
        1 => Just(Unpin),
        1 => Just(Synthetic),
        1 => Just(Shell),
        1 => (any::<bool>(), 0..3_u8).prop_map(|(model, to)| Switch { model, to }),
        1 => (0..3_u8).prop_map(Move),
        1 => any::<u8>().prop_map(StageRevert),
        1 => Just(ClearRevert),
        1 => Just(CommitRevert),
        1 => Just(Title),
        1 => Just(AskTitle),
        1 => any::<bool>().prop_map(|fail| EndTitle { fail }),
        1 => any::<u8>().prop_map(Summarise),
        1 => Just(Restore),
    ];
    prop::collection::vec(one, 0..60)
}

/// The log that a writer has made, and what legality needs to know of it.
pub struct Writer {
    pub session: SessionId,
    pub batches: Vec<Batch>,
    pub next: Seq,
    at: Time,
    inputs: u64,
    waiting: Vec<(InputId, bool, Seq)>,
    users: Vec<Seq>,
    messages: Vec<Seq>,
    calls: u64,
    open: Vec<(CallId, Seq)>,
    settled: Vec<(CallId, Seq)>,
    step: Option<(Seq, u32)>,
    epoch: Option<BTreeSet<Key>>,
    compactions: Vec<Seq>,
    pinned: Vec<Seq>,
    staged: Option<Seq>,
    locations: u64,
    /// Whether the present Location's files were captured.
    captured: bool,
    titling: Option<RequestId>,
    restoring: bool,
}

impl Writer {
    pub fn new() -> Self {
        let mut writer = Self {
            session: SessionId::from_parts(1_780_488_000_000, 1),
            batches: Vec::new(),
            next: Seq::ZERO,
            at: Time(1_780_488_000_000),
            inputs: 0,
            waiting: Vec::new(),
            users: Vec::new(),
            messages: Vec::new(),
            calls: 0,
            open: Vec::new(),
            settled: Vec::new(),
            step: None,
            epoch: None,
            compactions: Vec::new(),
            pinned: Vec::new(),
            staged: None,
            locations: 0,
            captured: false,
            titling: None,
            restoring: false,
        };
        writer.append(vec![
            SessionCreated {
                location: location(0),
                agent: "build".into(),
                model: "test/alpha".into(),
                policy: Policy::default(),
                title: None,
                parent: None,
                origin: None,
            }
            .into(),
        ]);
        writer
    }

    pub fn run(commands: &[Command]) -> Self {
        let mut writer = Self::new();
        commands.iter().for_each(|command| writer.command(command));
        writer
    }

    pub fn append(&mut self, events: Vec<Event>) -> Seq {
        let first = self.next;
        let prev = self.batches.last().map(|batch| batch.digest);
        self.at = self.at.plus(1_000);
        let sealed = Batch::seal(self.session, first, self.at, prev, events).expect("a legal batch seals");
        self.next = sealed.batch.next();
        self.batches.push(sealed.batch);
        first
    }

    fn message(&mut self, events: Vec<Event>) -> Seq {
        let seq = self.append(events);
        self.messages.push(seq);
        seq
    }

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
                    let told = ContextAdmitted { keys: vec![key.clone()], text: "Now.".into() };
                    let advanced = SnapshotAdvanced { set: BTreeMap::from([(key, entry)]), removed: Vec::new() };
                    self.message(vec![told.into(), advanced.into()]);
                }
            }
            Command::Untell { key: n } => {
                let key = key(*n);
                if self.step.is_none() && self.epoch.as_mut().is_some_and(|keys| keys.remove(&key)) {
                    let told = ContextAdmitted { keys: vec![key.clone()], text: "Gone.".into() };
                    let advanced = SnapshotAdvanced { set: BTreeMap::new(), removed: vec![key] };
                    self.message(vec![told.into(), advanced.into()]);
                }
            }
            Command::Step { texts, calls } => {
                if self.step.is_some() || self.epoch.is_none() || self.staged.is_some() {
                    return;
                }
                // Every other step is captured.
                let files = self.next.0.is_multiple_of(2).then(|| tree(self.next.0));
                self.captured |= files.is_some();
                let started = StepStarted { agent: "build".into(), model: "test/alpha".into(), files };
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
                    self.append(vec![SessionMoved { location: location(self.locations) }.into()]);
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
        }
    }

    fn forget(&mut self, first_removed: Seq) {
        self.users.retain(|seq| *seq < first_removed);
        self.messages.retain(|seq| *seq < first_removed);
        self.compactions.retain(|seq| *seq < first_removed);
        self.pinned.retain(|seq| *seq < first_removed);
        self.waiting.retain(|(_, _, seq)| *seq < first_removed);
        self.open.retain(|(_, seq)| *seq < first_removed);
        self.settled.retain(|(_, seq)| *seq < first_removed);
        self.epoch = None;
        // What was captured before it may be all gone: a step says so anew.
        self.captured = false;
    }
}

fn pick<T>(list: &mut Vec<T>, n: u8) -> Option<T> {
    let at = usize::from(n);
    (at < list.len()).then(|| list.remove(at))
}

pub fn settled(call: &CallId, fail: bool) -> ToolSettled {
    match fail {
        true => ToolSettled { error: Some("no".into()), ..ToolSettled::bare(call.clone(), ToolOutcome::Failed) },
        false => ToolSettled { output: "seen".into(), ..ToolSettled::bare(call.clone(), ToolOutcome::Completed) },
    }
}

/// A title request, as far as a fold looks at it.
fn title_request(request: RequestId) -> RequestSent {
    let none = Digest([0; 32]);
    RequestSent {
        request,
        purpose: Purpose::Title,
        attempt: 1,
        digest: none,
        wire: None,
        agent: "build".into(),
        model: "test/small".into(),
        agent_profile: none,
        model_profile: none,
        tools: None,
        options: none,
        last_step: false,
        prompt: Some("Give a title.".into()),
    }
}

/// The id of a Git tree.
fn tree(number: u64) -> String {
    format!("{number:040x}")
}

fn failure() -> Failure {
    Failure { kind: "transport".to_owned(), message: "cut off".into(), status: None }
}

fn key(n: u8) -> Key {
    format!("test/key-{n}").parse().expect("a valid key")
}

fn location(n: u64) -> Location {
    Location { directory: format!("/project/{n}"), workspace: None }
}
