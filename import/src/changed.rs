//! Whether an imported session was changed here. Earlier versions appended pins, undos and turns to the imported session itself.

use annals_core::{Event, InputId, Seq, SessionId};
use annals_store::{EventLog, ReadError};

/// How many Batches are read at a time.
const PAGE: usize = 64;

/// What an event says of who recorded it.
enum Recorded {
    /// Annals: no importer makes such events.
    Here,
    /// Its source: Annals never begins with such an event.
    There,
    /// Either.
    Anywhere,
}

/// Whether what a session holds from `seq` on was recorded here, not imported. `keeps_states` says whether its source keeps
/// the last state alone, so that what was imported may be gone from it.
///
/// # Errors
/// When the log cannot be read.
pub async fn changed_here(
    log: &dyn EventLog,
    session: SessionId,
    seq: Seq,
    keeps_states: bool,
) -> Result<bool, ReadError> {
    let mut from = seq;
    loop {
        let slices = log.read(session, from, PAGE).await?;
        let Some(last) = slices.last() else { return Ok(!keeps_states) };
        from = last.until.max(from.plus(1));
        for event in slices.iter().flat_map(|slice| &slice.batch.events) {
            match recorded(event) {
                Recorded::Here => return Ok(true),
                Recorded::There => return Ok(false),
                Recorded::Anywhere => {}
            }
        }
    }
}

fn recorded(event: &Event) -> Recorded {
    match event {
        Event::MessagePinned(_)
        | Event::MessageUnpinned(_)
        | Event::RequestSent(_)
        | Event::AgentProfileRecorded(_)
        | Event::ModelProfileRecorded(_)
        | Event::ToolsRecorded(_)
        | Event::OptionsRecorded(_)
        | Event::PermissionAsked(_)
        | Event::PermissionReplied(_)
        | Event::RedactionApplied(_)
        | Event::RestoreBegun(_)
        | Event::DepartureBegun(_)
        | Event::CompactionUndone(_) => Recorded::Here,
        Event::InputAdmitted(admitted) if is_ours(&admitted.input) => Recorded::Here,
        // A run first selects agent and model and settles what was open; an undo is staged by other agents, too.
        Event::RevertStaged(_)
        | Event::RevertCleared(_)
        | Event::RevertCommitted(_)
        | Event::SessionTitled(_)
        | Event::SessionMoved(_)
        | Event::AgentSwitched(_)
        | Event::ModelSwitched(_)
        | Event::ToolSettled(_)
        | Event::StepFailed(_)
        | Event::ChildSettled(_) => Recorded::Anywhere,
        _ => Recorded::There,
    }
}

/// Whether an input's id is one that Annals makes: `input_` and a ULID.
fn is_ours(input: &InputId) -> bool {
    input.as_str().strip_prefix("input_").is_some_and(|id| id.len() == 26 && id.parse::<SessionId>().is_ok())
}
