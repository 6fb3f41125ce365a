//! CPU time of a turn of the library by the length of its history, with and without a body, over the log in memory.
//!
//! `cargo bench -p annals-runtime --bench turn [-- TURNS [MESSAGES...]]`. Prints microseconds and how they grow.

use annals_core::event::{Delivery, Finish, InputAdmitted, InputPromoted, StepEnded, StepStarted, TextEnded};
use annals_core::{Event, InputId, Seq, Time};
use annals_providers::provider::{AnswerStream, Provider, ProviderEvent, ProviderRequest};
use annals_runtime::permission::FixedApprover;
use annals_runtime::ports::SeededIds;
use annals_runtime::settings::{FixedDefinitions, LocationServices, bare_model};
use annals_runtime::testing::{ManualClock, MemoryOutputs};
use annals_runtime::{NewInput, NewSession, Ports, Runtime, Session, Settings};
use annals_store::{Draft, EventLog, MemoryLog};
use futures_util::StreamExt;
use futures_util::stream;
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const LINE: &str = "    let view = runner.lane.view().await?; // \"a line of source\", as models read and write them\n";

/// Answers with ten lines, and counts the bytes that it is sent.
#[derive(Default)]
struct Answering {
    bytes: AtomicU64,
}

impl Provider for Answering {
    fn send(&self, request: ProviderRequest) -> AnswerStream {
        self.bytes.store(request.body.map_or(0, |body| body.bytes.len() as u64), Ordering::Relaxed);
        let id = || "text".to_owned();
        let events = [
            ProviderEvent::TextDelta { id: id(), text: LINE.repeat(10) },
            ProviderEvent::TextEnded { id: id(), metadata: None },
            ProviderEvent::Finished(Finish::Stop),
        ];
        stream::iter(events.map(Ok)).boxed()
    }
}

/// CPU time of this process, in microseconds.
fn cpu() -> u64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    (now.tv_sec as u64) * 1_000_000 + (now.tv_nsec as u64) / 1_000
}

/// A session with a history of so many messages, and its provider.
async fn session(messages: u64, protocol: &str) -> Result<(Runtime, Session, Arc<Answering>), Box<dyn Error>> {
    let (log, provider) = (Arc::new(MemoryLog::new()), Arc::new(Answering::default()));
    let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
    let model = bare_model(&"test/alpha".into(), 1 << 40, 32_000);
    let model = annals_core::event::ModelProfile { protocol: protocol.into(), id: "alpha".into(), ..model };
    let ports = Ports {
        log: log.clone(),
        provider: provider.clone(),
        clock: clock.clone(),
        ids: Arc::new(SeededIds::scripted(1)),
        outputs: Arc::new(MemoryOutputs::new(clock)),
        approver: Arc::new(FixedApprover::allowing("user")),
        locations: Arc::new(LocationServices::default()),
        definitions: Arc::new(FixedDefinitions::default().model(model)),
    };
    let runtime = Runtime::new(ports, Settings::default());
    let session = runtime.create(NewSession::at("/project", "build", "test/alpha")).await?;
    turn(&session).await?;
    let mut next = session.view().await?.cut().next;
    for n in 0..messages / 2 {
        let (input, answer) = (InputId(format!("before-{n}")), LINE.repeat(10).as_str().into());
        let prompt = LINE.repeat(3).as_str().into();
        let (agent, model) = ("build".into(), "test/alpha".into());
        let admitted =
            InputAdmitted { input: input.clone(), text: prompt, attachments: vec![], delivery: Delivery::Steer };
        let ended = StepEnded { finish: Finish::Stop, usage: None, cost: 0, files: None, changed: vec![] };
        let events: Vec<Event> = vec![
            admitted.into(),
            InputPromoted { input }.into(),
            StepStarted { agent, model, files: None, answer: None }.into(),
            TextEnded { index: 0, text: answer, metadata: None }.into(),
            ended.into(),
        ];
        let count = events.len() as u64;
        let at = Time(1_780_488_000_000);
        log.append(Draft { session: session.id(), expected: next, at, events, digest: None, states: vec![] }).await?;
        next = Seq(next.0 + count);
    }
    Ok((runtime, session, provider))
}

async fn turn(session: &Session) -> Result<(), Box<dyn Error>> {
    session.admit(NewInput::steer(LINE.repeat(3))).await?;
    session.run().await?;
    Ok(())
}

/// The fastest of seven rounds of turns, in microseconds a turn, and the bytes of the last body.
async fn measured(messages: u64, protocol: &str, turns: u64) -> Result<(f64, u64), Box<dyn Error>> {
    let (_runtime, session, provider) = session(messages, protocol).await?;
    turn(&session).await?;
    let mut best = u64::MAX;
    for _ in 0..7 {
        let before = cpu();
        for _ in 0..turns {
            turn(&session).await?;
        }
        best = best.min(cpu() - before);
    }
    Ok((best as f64 / turns as f64, provider.bytes.load(Ordering::Relaxed)))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse().ok());
    let turns = numbers.next().unwrap_or(20);
    let lengths: Vec<u64> = numbers.collect();
    let lengths = if lengths.is_empty() { vec![10, 100, 1_000, 10_000] } else { lengths };
    println!("CPU time of a turn in microseconds, fastest of 7 rounds of {turns} turns");
    println!("{:>10} {:>14} {:>14} {:>12}", "messages", "no body", "with a body", "body KB");
    let mut first = None;
    let mut last = (0, 0.0);
    for messages in lengths {
        let (bare, _) = measured(messages, "scripted", turns).await?;
        let (encoded, bytes) = measured(messages, "anthropic-messages", turns).await?;
        println!("{messages:>10} {bare:>14.0} {encoded:>14.0} {:>12}", bytes / 1_000);
        first.get_or_insert((messages, bare));
        last = (messages, bare);
    }
    if let Some((messages, bare)) = first.filter(|(messages, _)| *messages < last.0) {
        let exponent = (last.1 / bare).ln() / (last.0 as f64 / messages as f64).ln();
        println!("exponent of growth without a body: {exponent:.2} (1 is linear)");
    }
    Ok(())
}
