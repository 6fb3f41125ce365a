//! Short sessions that can be continued after a crash: the next step follows from the log and the story alone.
//!
//! The model is a function of its request, the tool records every call that it runs, and the log can kill its own process
//! before or after any append.

mod killing;
mod scripted_model;

pub use killing::{Kill, KillingLog};

use annals_core::event::{AgentProfile, Finish, Policy, Switch};
use annals_core::{InputId, SessionId};
use annals_projections::{Body, SessionView};
use annals_runtime::context::{Source, SystemContext};
use annals_runtime::permission::FixedApprover;
use annals_runtime::ports::SeededIds;
use annals_runtime::settings::{CompactionSettings, FixedDefinitions, LocationServices, bare_agent, bare_model};
use annals_runtime::testing::{ManualClock, MemoryOutputs};
use annals_runtime::tools::{FunctionTool, Tool, ToolOutput};
use annals_runtime::{NewInput, NewSession, Ports, Runtime, Session, Settings};
use annals_store::EventLog;
use scripted_model::ScriptedModel;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// A step of a story.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A steering input; see `ScriptedModel` for the answer of the model.
    Prompt(&'static str),
    /// A queued input.
    Queue(&'static str),
    /// A manual compaction.
    Compact,
    /// A switch to another agent; each at most once.
    Agent(&'static str),
}

use Step::{Agent, Compact, Prompt, Queue};

/// The stories, by name.
pub const STORIES: [(&str, &[Step]); 10] = [
    ("one answer", &[Prompt("say hello")]),
    ("several prompts", &[Prompt("say a"), Prompt("say b"), Prompt("say c")]),
    ("one call", &[Prompt("look 1")]),
    ("calls one after the other", &[Prompt("look 3")]),
    ("calls at once", &[Prompt("both 3")]),
    ("a queued input", &[Prompt("look 1"), Queue("say later")]),
    ("a retry", &[Prompt("retry once"), Prompt("say on")]),
    ("another agent", &[Prompt("say a"), Agent("review"), Prompt("look 1")]),
    ("a compaction", &[Prompt("look 1"), Compact, Prompt("say on")]),
    ("all of it", &[Prompt("both 2"), Compact, Agent("review"), Prompt("look 2"), Queue("retry b")]),
];

/// The session of every story.
pub fn session_id() -> SessionId {
    SessionId::from_parts(1_780_488_000_000, 7)
}

/// Continues a story from the state of the log to its end. Appends a line to `calls_file` for each call that runs.
///
/// # Errors
/// When the log or the runtime refuses.
pub async fn run_story(log: Arc<dyn EventLog>, steps: &[Step], calls_file: &Path) -> Result<(), Box<dyn Error>> {
    let day = Arc::new(AtomicU64::new(0));
    let runtime = runtime(log.clone(), &day, calls_file.to_path_buf(), steps.len() as u64)?;
    let session = match log.head(session_id()).await? {
        Some(_) => runtime.session(session_id()).await?,
        None => {
            let policy = Policy { agent_switch: Switch::Replace, model_switch: Switch::Keep };
            let new =
                NewSession { id: Some(session_id()), policy, ..NewSession::at("/project", "build", "test/alpha") };
            runtime.create(new).await?
        }
    };
    let view = session.view().await?;
    let reached = (0..steps.len()).rev().find(|at| has_begun(&view, steps, *at)).unwrap_or(0);
    for (at, step) in steps.iter().enumerate().skip(reached) {
        day.store(at as u64, SeqCst);
        take(&session, steps, at, *step).await?;
    }
    Ok(())
}

async fn take(session: &Session, steps: &[Step], at: usize, step: Step) -> Result<(), Box<dyn Error>> {
    match step {
        Prompt(text) => drop(session.admit(NewInput::steer(text).named(input(at))).await?),
        Queue(text) => drop(session.admit(NewInput::queue(text).named(input(at))).await?),
        Compact if has_begun(&*session.view().await?, steps, at) => {}
        Compact => drop(session.compact().await?),
        Agent(name) if session.view().await?.session.agent.as_str() != name => session.switch_agent(name).await?,
        Agent(_) => {}
    }
    if matches!(step, Prompt(_) | Queue(_)) && is_unfinished(&*session.view().await?) {
        session.run().await?;
    }
    Ok(())
}

fn input(at: usize) -> InputId {
    format!("in-{at}").into()
}

/// Whether the log contains an event of a step: then all steps before it are done.
fn has_begun(view: &SessionView, steps: &[Step], at: usize) -> bool {
    match steps[at] {
        Prompt(_) | Queue(_) => view.inbox.used.contains_key(&input(at)),
        Compact => {
            let ordinal = steps[..=at].iter().filter(|step| matches!(step, Compact)).count();
            view.history.compactions().count() >= ordinal
        }
        Agent(name) => view.session.agent.as_str() == name,
    }
}

fn is_unfinished(view: &SessionView) -> bool {
    let answered = view.history.selected().last().is_some_and(|message| match &message.body {
        Body::Assistant(answer) => answer.finish == Some(Finish::Stop),
        _ => false,
    });
    !answered || !view.inbox.pending.is_empty() || view.calls.step_open
}

fn runtime(
    log: Arc<dyn EventLog>,
    day: &Arc<AtomicU64>,
    calls_file: PathBuf,
    days: u64,
) -> Result<Runtime, Box<dyn Error>> {
    let services = LocationServices::default();
    let today = day.clone();
    let source = Source::new(
        "story/day".parse()?,
        move || std::future::ready(today.load(SeqCst)),
        move |day: &u64| format!("It is day {day} of {days}."),
    );
    services.registry.register("story/day".parse()?, SystemContext::from(source))?.detach();
    services.tools.register([Arc::new(style(calls_file)) as Arc<dyn Tool>])?.detach();
    let reviewer = AgentProfile { system: Some("You review.".into()), ..bare_agent(&"review".into()) };
    let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
    // New ids in each process, as with a real source of entropy.
    let seed = std::process::id().into();
    let ports = Ports {
        log,
        provider: Arc::new(ScriptedModel),
        clock: clock.clone(),
        ids: Arc::new(SeededIds::scripted(seed)),
        outputs: Arc::new(MemoryOutputs::new(clock)),
        approver: Arc::new(FixedApprover::allowing("user")),
        locations: Arc::new(services),
        definitions: Arc::new(FixedDefinitions::default().agent(reviewer).model(bare_model(
            &"test/alpha".into(),
            200_000,
            32_000,
        ))),
    };
    let compaction = CompactionSettings { keep_tokens: 0, ..CompactionSettings::default() };
    Ok(Runtime::new(ports, Settings { compaction, ..Settings::default() }))
}

fn style(calls_file: PathBuf) -> FunctionTool<serde_json::Value> {
    let schema = serde_json::json!({"type": "object"});
    FunctionTool::new("look", "Looks.", &schema, move |_: serde_json::Value, context| {
        let calls_file = calls_file.clone();
        async move {
            let note = |line: String| {
                std::fs::File::options().create(true).append(true).open(calls_file)?.write_all(line.as_bytes())
            };
            note(format!("{}\n", context.call)).map_err(|error: std::io::Error| error.to_string())?;
            Ok(ToolOutput::text("seen"))
        }
    })
}

/// The history for comparison, a line for each message. Of an interrupted answer only the calls count, since the model
/// answered again.
pub fn history_lines(view: &SessionView) -> Vec<String> {
    scripted_model::lines(view)
}
