//! Detects imported sessions that Annals extended: earlier versions appended pins, undos and turns to them.

use super::report::SessionReport;
use annals_core::event::InputEvent;
use annals_core::{Event, InputId, Seq, SessionId, kinds};
use annals_store::{EventLog, ReadError};

/// Batches per read: the first ones mostly decide.
const PAGE: usize = 64;

/// Who recorded an event.
enum RecordedBy {
    /// Annals: no importer creates such events.
    Here,
    /// The source: Annals never starts with such an event.
    There,
    /// Either of them.
    Anywhere,
}

/// Whether Annals recorded the events from `seq` on. `keeps_states`: the source only keeps the last state, so that imported
/// events may be missing from it now.
pub async fn changed_here(
    log: &dyn EventLog,
    session: SessionId,
    seq: Seq,
    keeps_states: bool,
) -> Result<bool, ReadError> {
    let mut pages = log.pages(session, seq..Seq(u64::MAX)).at_most(PAGE);
    while let Some(slices) = pages.next_page().await? {
        for event in slices.iter().flat_map(|slice| &slice.batch.events) {
            match recorded(event) {
                RecordedBy::Here => return Ok(true),
                RecordedBy::There => return Ok(false),
                RecordedBy::Anywhere => {}
            }
        }
    }
    Ok(!keeps_states)
}

fn recorded(event: &Event) -> RecordedBy {
    match event {
        kinds!(
            Message(Pinned, Unpinned, RedactionApplied),
            Step(RequestSent),
            Profile(AgentRecorded, ModelRecorded, ToolsRecorded, OptionsRecorded),
            Permission(Asked, Replied),
            Files(RestoreBegun, DepartureBegun),
            Compaction(Undone)
        ) => RecordedBy::Here,
        Event::Input(InputEvent::Admitted(admitted)) if is_ours(&admitted.input) => RecordedBy::Here,
        // A run first selects agent and model and settles open calls; other agents stage undos as well.
        kinds!(
            Files(RevertStaged, RevertCleared, RevertCommitted),
            Session(Titled, Moved, AgentSwitched, ProcessAttached, ModelSwitched),
            Tool(Settled),
            Step(Failed),
            Child(Settled),
            Erasure
        ) => RecordedBy::Anywhere,
        _ => RecordedBy::There,
    }
}

/// Whether an input id has the form that Annals generates: `input_` and a ULID.
fn is_ours(input: &InputId) -> bool {
    input.as_str().strip_prefix("input_").is_some_and(|id| id.len() == 26 && id.parse::<SessionId>().is_ok())
}

/// Whether a foreign session is `changed` itself, or a branch or sub-agent of it in the same file.
pub fn is_of(changed: &SessionReport, agent: &str, foreign: &str) -> bool {
    changed.agent == agent && is_part_of(foreign, &changed.foreign)
}

/// Whether an id of a session names `whole`, or a branch or sub-agent of it.
pub fn is_part_of(foreign: &str, whole: &str) -> bool {
    foreign.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with(['#', '/']))
}
