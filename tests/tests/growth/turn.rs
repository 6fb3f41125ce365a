//! What a turn costs by the length of its history.

use crate::counting::allocated;
use annals_core::event::{Delivery, Finish, InputAdmitted, InputPromoted, StepEnded, StepStarted, TextEnded};
use annals_core::{Event, InputId, Seq, Time};
use annals_runtime::permission::FixedApprover;
use annals_runtime::ports::SeededIds;
use annals_runtime::settings::{FixedDefinitions, LocationServices, bare_model};
use annals_runtime::testing::{ManualClock, MemoryOutputs, ScriptedAttempt, ScriptedProvider};
use annals_runtime::{NewInput, NewSession, Ports, Runtime, Session, Settings};
use annals_store::{Draft, EventLog, MemoryLog};
use annals_tests::counting_log::CountingLog;
use std::sync::Arc;

const LINE: &str = "    let view = runner.lane.view().await?; // \"a line of source\"\n";
/// How many turns are measured; the cheapest counts, since lists in memory double now and then.
const TURNS: usize = 8;

/// What a turn costs.
#[derive(Clone, Copy, Debug)]
pub struct TurnWork {
    /// Records that were read of the log.
    pub records: u64,
    /// Messages that were lowered and hashed, since the request before does not have them.
    pub lowered: u64,
    /// Batches: each is flushed to the device.
    pub batches: u64,
    /// Bytes that were allocated.
    pub bytes: u64,
}

/// A turn of a session with so many messages, over the log in memory.
pub async fn turn_work(messages: u64) -> TurnWork {
    let log = CountingLog::new(Arc::new(MemoryLog::new()));
    let provider = Arc::new(ScriptedProvider::new((0..TURNS + 2).map(|_| ScriptedAttempt::text(LINE.repeat(10)))));
    let session = session(log.clone(), provider.clone(), messages).await;
    take(&session).await;
    let mut least = TurnWork { records: u64::MAX, lowered: u64::MAX, batches: u64::MAX, bytes: u64::MAX };
    for _ in 0..TURNS {
        log.taken();
        log.appended();
        let before = allocated();
        take(&session).await;
        let bytes = allocated() - before;
        let sent = provider.received();
        let [.., previous, last] = &*sent else { panic!("two requests were sent") };
        let (previous, last) = (&previous.request.messages, &last.request.messages);
        assert!(last.len() as u64 > messages);
        let same = previous.iter().zip(last).filter(|(one, other)| Arc::ptr_eq(one, other)).count();
        least.records = least.records.min(log.taken());
        least.lowered = least.lowered.min((last.len() - same) as u64);
        least.batches = least.batches.min(log.appended());
        least.bytes = least.bytes.min(bytes);
    }
    least
}

async fn take(session: &Session) {
    session.admit(NewInput::steer(LINE.repeat(3))).await.unwrap();
    session.run().await.unwrap();
}

async fn session(log: Arc<CountingLog>, provider: Arc<ScriptedProvider>, messages: u64) -> Session {
    let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
    let ports = Ports {
        log: log.clone(),
        provider,
        clock: clock.clone(),
        ids: Arc::new(SeededIds::scripted(1)),
        outputs: Arc::new(MemoryOutputs::new(clock)),
        approver: Arc::new(FixedApprover::allowing("user")),
        locations: Arc::new(LocationServices::default()),
        definitions: Arc::new(FixedDefinitions::default().model(bare_model(&"test/alpha".into(), 1 << 40, 32_000))),
    };
    let runtime = Runtime::new(ports, Settings::default());
    let session = runtime.create(NewSession::at("/project", "build", "test/alpha")).await.unwrap();
    take(&session).await;
    let mut next = session.view().await.unwrap().cut().next;
    for n in 0..messages / 2 {
        let events = exchange(n);
        let count = events.len() as u64;
        let at = Time(1_780_488_000_000);
        let draft = Draft { session: session.id(), expected: next, at, events, digest: None, states: Vec::new() };
        log.append(draft).await.unwrap();
        next = Seq(next.0 + count);
    }
    session
}

/// A prompt and its answer.
fn exchange(n: u64) -> Vec<Event> {
    let input = InputId(format!("before-{n}"));
    let (text, answer) = (LINE.repeat(3).as_str().into(), LINE.repeat(10).as_str().into());
    let (agent, model) = ("build".into(), "test/alpha".into());
    vec![
        InputAdmitted { input: input.clone(), text, attachments: Vec::new(), delivery: Delivery::Steer }.into(),
        InputPromoted { input }.into(),
        StepStarted { agent, model, files: None, answer: None }.into(),
        TextEnded { index: 0, text: answer, metadata: None }.into(),
        StepEnded { finish: Finish::Stop, usage: None, cost: 0, files: None, changed: Vec::new() }.into(),
    ]
}
