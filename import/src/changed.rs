//! Whether an imported session was changed here. Earlier versions appended pins, undos and turns to the imported session itself.

use super::drive::{EDITIONS_MAX, ImportError, once};
use super::report::{ImportReport, Outcome, SessionReport};
use super::{Options, Progress, Source};
use annals_core::event::{
    ChildEvent, CompactionEvent, FilesEvent, InputEvent, MessageEvent, PermissionEvent, ProfileEvent, SessionEvent,
    StepEvent, ToolEvent,
};
use annals_core::{Event, InputId, Seq, SessionId};
use annals_store::{EventLog, ReadError};
use std::sync::Arc;

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
        Event::Message(MessageEvent::Pinned(_))
        | Event::Message(MessageEvent::Unpinned(_))
        | Event::Step(StepEvent::RequestSent(_))
        | Event::Profile(ProfileEvent::AgentRecorded(_))
        | Event::Profile(ProfileEvent::ModelRecorded(_))
        | Event::Profile(ProfileEvent::ToolsRecorded(_))
        | Event::Profile(ProfileEvent::OptionsRecorded(_))
        | Event::Permission(PermissionEvent::Asked(_))
        | Event::Permission(PermissionEvent::Replied(_))
        | Event::Message(MessageEvent::RedactionApplied(_))
        | Event::Files(FilesEvent::RestoreBegun(_))
        | Event::Files(FilesEvent::DepartureBegun(_))
        | Event::Compaction(CompactionEvent::Undone(_)) => Recorded::Here,
        Event::Input(InputEvent::Admitted(admitted)) if is_ours(&admitted.input) => Recorded::Here,
        // A run first selects agent and model and settles what was open; an undo is staged by other agents, too.
        Event::Files(FilesEvent::RevertStaged(_))
        | Event::Files(FilesEvent::RevertCleared(_))
        | Event::Files(FilesEvent::RevertCommitted(_))
        | Event::Session(SessionEvent::Titled(_))
        | Event::Session(SessionEvent::Moved(_))
        | Event::Session(SessionEvent::AgentSwitched(_))
        | Event::Session(SessionEvent::ModelSwitched(_))
        | Event::Tool(ToolEvent::Settled(_))
        | Event::Step(StepEvent::Failed(_))
        | Event::Child(ChildEvent::Settled(_)) => Recorded::Anywhere,
        _ => Recorded::There,
    }
}

/// Whether an input's id is one that Annals makes: `input_` and a ULID.
fn is_ours(input: &InputId) -> bool {
    input.as_str().strip_prefix("input_").is_some_and(|id| id.len() == 26 && id.parse::<SessionId>().is_ok())
}

/// Imports the sources of sessions that were changed here, as second sessions; those replace them in the report.
///
/// # Errors
/// See [`ImportError`].
pub async fn continue_changed(
    log: &Arc<dyn EventLog>,
    source: &Source,
    options: &Options,
    mut report: ImportReport,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<ImportReport, ImportError> {
    let mut options = options.clone();
    for _ in 0..EDITIONS_MAX {
        let changed = |it: &&SessionReport| matches!(it.outcome, Outcome::ChangedHere { .. });
        let changed: Vec<SessionReport> = report.sessions.iter().filter(changed).cloned().collect();
        if changed.is_empty() {
            break;
        }
        // With all that refers to them: branches and sub-agents of the same file.
        let family = |it: &SessionReport| changed.iter().any(|changed| is_of(changed, &it.agent, &it.foreign));
        for session in report.sessions.iter().filter(|it| family(it)) {
            options.editions.renew(&session.agent, &session.foreign);
        }
        let only = source.only.as_ref().map(|_| changed.iter().map(|it| it.foreign.clone()).collect());
        let part = Source { only, ..source.clone() };
        let mut again = once(log, &part, &options, Some(&changed), progress).await?;
        for session in &mut again.sessions {
            let before = report.sessions.iter().find(|it| it.agent == session.agent && it.foreign == session.foreign);
            session.instead_of = before.and_then(|before| match before.outcome {
                Outcome::ChangedHere { seq } => Some((before.session, seq)),
                _ => before.instead_of,
            });
        }
        report
            .sessions
            .retain(|it| !again.sessions.iter().any(|new| new.agent == it.agent && new.foreign == it.foreign));
        report.sessions.append(&mut again.sessions);
    }
    Ok(report)
}

/// Whether a foreign session is `changed`, or a branch or sub-agent of it in the same file.
pub fn is_of(changed: &SessionReport, agent: &str, foreign: &str) -> bool {
    let rest = (changed.agent == agent).then(|| foreign.strip_prefix(changed.foreign.as_str())).flatten();
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['#', '/']))
}
