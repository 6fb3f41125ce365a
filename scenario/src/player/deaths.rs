//! A process may die before and after any append: its work is resumed, nothing is lost, nothing is
//! done twice (`docs/reference/turn.md#crash-recovery`).

use super::{Backend, Player, RunningProcess};
use crate::Scenario;
use crate::action::{Action, CrashPoint};
use crate::views::FoldedSession;
use annals_core::{CallId, InputId};
use annals_projections::{Body, Content, INTERRUPTED, SessionView, Status};
use annals_store::{EventLog, MemoryLog};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Sessions in which the facts of turns occur: context, inputs, answers, calls, questions, retries, compactions.
const STORIES: &[&str] = &[
    "changed-source-is-told-after-the-prompt",
    "several-changes-make-one-message",
    "removed-source-tells-its-stored-text",
    "incompatible-value-replaces-the-baseline",
    "skill-guidance-follows-the-catalogue",
    "pending-inputs-join-in-their-order",
    "agent-switch-replaces-the-epoch",
    "model-switch-replaces-the-epoch",
    "manual-compaction-opens-an-epoch",
    "passing-errors-are-retried",
    "parallel-tool-calls-settle-before-the-next-turn",
    "queued-prompt-runs-by-itself",
    "moved-session-begins-a-new-epoch",
    "built-in-and-own-sources-change-together",
    "failing-tool-calls-are-results",
    "structured-value-alone-is-shown-as-json",
];

/// A story without its expectations, every input named, so that giving it again is known.
fn story(name: &str) -> Scenario {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../fixtures/scenarios/{name}.json"));
    let mut scenario = Scenario::load(&file).unwrap_or_else(|error| panic!("{error}"));
    scenario.script.retain(|action| !matches!(action, Action::Expect { .. } | Action::Capture(_)));
    for (at, action) in scenario.script.iter_mut().enumerate() {
        if let Action::Admit(input) | Action::Prompt(input) = action {
            input.id.get_or_insert_with(|| InputId(format!("input-{at}")));
        }
    }
    scenario
}

/// What came of a story.
struct Played {
    history: Vec<Value>,
    ran: Vec<CallId>,
    /// Whether the armed death came.
    died: bool,
}

/// Plays a story; `crash` is the append around which the process dies.
fn play(scenario: &Scenario, crash: Option<(CrashPoint, u64)>) -> Played {
    let player = Player::new(scenario, &Backend::Memory);
    let mut running = player.begin().unwrap_or_else(|error| panic!("{error}"));
    if let Some((point, times)) = crash {
        player.world.arm(point, times);
    }
    let mut died = false;
    for action in &scenario.script {
        if running.perform(action) {
            continue;
        }
        died = true;
        running.end();
        running = player.begin().unwrap_or_else(|error| panic!("{error}"));
        let view = look(&running, &player.memory);
        give_back(&player, &view);
        again(&mut running, &player.memory, action);
    }
    let view = look(&running, &player.memory);
    assert!(view.anomalies().is_empty(), "{:?}", view.anomalies());
    assert!(view.calls.open.is_empty() && !view.session.running, "something is still open");
    let history = view.history.selected().filter_map(|message| shown(message, &player.memory)).collect();
    running.end();
    let ran = player.world.state().ran.clone();
    Played { history, ran, died }
}

/// An answer of which no call was recorded is given again, as a model would.
fn give_back(player: &Player, view: &SessionView) {
    let mut state = player.world.state();
    let reached = state.requests.len() == view.requests.marks.len();
    // A summary that the user asked for does not count as a turn.
    let open = view.session.running || view.calls.compaction_open.is_some();
    let answered = !open || !reached || view.calls.step_open && called(view);
    if let Some(attempt) = state.answering.take().filter(|_| !answered) {
        state.attempts.push_front(attempt);
    }
}

/// Whether the step that is open has calls.
fn called(view: &SessionView) -> bool {
    let last = view.history.selected().last().map(|message| &message.body);
    matches!(last, Some(Body::Assistant(last)) if last.content.iter().any(|content| matches!(content, Content::Tool(_))))
}

/// The person does again what the process died of, if anything is left to do.
fn again(running: &mut RunningProcess, memory: &MemoryLog, action: &Action) {
    let redo = match action {
        Action::Prompt(input) => {
            assert!(running.perform(&Action::Admit(input.clone())));
            &Action::Run
        }
        other => other,
    };
    let view = look(running, memory);
    let last = view.history.selected().last().map(|message| &message.body);
    let has_no_call = |content: &[Content]| !content.iter().any(|content| matches!(content, Content::Tool(_)));
    let done = view.inbox.pending.is_empty()
        && !view.session.running
        && matches!(last, Some(Body::Assistant(last)) if last.finish.is_some() && has_no_call(&last.content));
    if !(matches!(redo, Action::Run) && done) {
        assert!(running.perform(redo), "a process dies once");
    }
}

fn look(running: &RunningProcess, memory: &MemoryLog) -> SessionView {
    let session = running.process.session().expect("the first Session");
    running.events.block_on(FoldedSession::read(memory, session)).unwrap_or_else(|error| panic!("{error}")).view
}

/// A message as far as a death leaves it alone: of calls, what they gave or that they were interrupted. An answer that
/// broke off with its process and called nothing is left out: it was given again.
fn shown(message: &annals_projections::Message, memory: &MemoryLog) -> Option<Value> {
    use annals_projections::ToJson;
    let blobs = memory.blobs();
    let Body::Assistant(assistant) = &message.body else {
        let mut json = message.to_json(blobs.as_ref());
        if let Value::Object(fields) = &mut json {
            fields.remove("seq");
            fields.remove("at");
            fields.remove("first_kept");
        }
        return Some(json);
    };
    let tools = assistant.content.iter().any(|content| matches!(content, Content::Tool(_)));
    let interrupted = assistant.error.as_ref().is_some_and(|error| error.kind == "interrupted");
    if interrupted && !tools {
        return None;
    }
    let content = |content: &Content| match content {
        Content::Tool(call) if call.status == Status::Error => {
            json!({ "call": call.call, "error": call.error.as_ref().map(|error| error.resolve(blobs.as_ref())) })
        }
        Content::Tool(call) => json!({ "call": call.call, "output": call.output.resolve(blobs.as_ref()) }),
        other => other.to_json(blobs.as_ref()),
    };
    Some(json!({ "type": "assistant", "content": assistant.content.iter().map(content).collect::<Vec<_>>() }))
}

/// Whether a history is the uninterrupted one, but for calls that were open when the process died.
fn same(found: &[Value], whole: &[Value]) -> bool {
    let alike = |found: &Value, whole: &Value| {
        found == whole || found["call"].is_string() && found["call"] == whole["call"] && found["error"] == INTERRUPTED
    };
    let message = |(found, whole): (&Value, &Value)| match (found["content"].as_array(), whole["content"].as_array()) {
        // Calls that the log had not got yet are gone with those that were open.
        (Some(a), Some(b)) if a.len() < b.len() => {
            a.last().is_some_and(|last| last["error"] == INTERRUPTED) && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
        _ => found == whole,
    };
    found.len() == whole.len() && found.iter().zip(whole).all(message)
}

#[test]
fn a_process_may_die_around_any_append() {
    let mut deaths = 0;
    let mut wrong = Vec::new();
    for name in STORIES {
        let scenario = story(name);
        let whole = play(&scenario, None);
        for point in [CrashPoint::BeforeAppend, CrashPoint::AfterAppend] {
            for append in 0.. {
                let played = play(&scenario, Some((point, append)));
                if !played.died {
                    break;
                }
                deaths += 1;
                let once: BTreeSet<&CallId> = played.ran.iter().collect();
                if once.len() != played.ran.len() {
                    wrong.push(format!("{name}, {point:?} {append}: a tool ran twice for one call: {:?}", played.ran));
                }
                if !same(&played.history, &whole.history) {
                    let (found, whole) = (json!(played.history), json!(whole.history));
                    wrong.push(format!("{name}, {point:?} {append}:\n  found    {found}\n  expected {whole}"));
                }
            }
        }
    }
    assert!(deaths > 200, "only {deaths} deaths");
    assert!(wrong.is_empty(), "{} of {deaths} deaths:\n{}", wrong.len(), wrong.join("\n"));
}
