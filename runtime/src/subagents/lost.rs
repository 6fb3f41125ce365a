//! Children whose process ended before they did.

use super::result::ChildEnd;
use super::serve::{input, served};
use crate::lane::{Decision, Lane};
use crate::outcome::LogError;
use crate::state::RuntimeState;
use annals_core::event::{ChildEvent, ChildOutcome};
use annals_core::{Event, Seq, SessionId};
use annals_projections::SessionView;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Settles children whose process ended before they did; they are not resumed by themselves. The loss of a task in the
/// background is admitted as an input: the model was promised a message. A call that waited for its child is settled as
/// interrupted, which says enough.
pub(crate) async fn settle_lost(shared: &Arc<RuntimeState>, lane: &Lane) -> Result<(), LogError> {
    let view = lane.view().await?;
    let mut background = BTreeMap::new();
    for (child, began) in lost(shared, &view) {
        background.insert(child, in_background(shared, lane.session(), began).await?);
    }
    if background.is_empty() {
        return Ok(());
    }
    lane.decide(|view| {
        let mut events: Vec<Event> = Vec::new();
        for child in lost(shared, view).into_keys() {
            let text = "The process ended before the subagent did".into();
            let ended = ChildEnd { outcome: ChildOutcome::Cancelled, text };
            events.push(ended.settled(child).into());
            if background.get(&child).is_some_and(|background| *background) {
                events.push(input(shared, ended.text(child)).into());
            }
        }
        Ok(Decision::append(events, ()))
    })
    .await
}

/// The children that have no end and do not run in this process, and where each began or was last resumed.
fn lost(shared: &RuntimeState, view: &SessionView) -> BTreeMap<SessionId, Seq> {
    let served = served(shared);
    let lost = |child: &SessionId| !served.contains(child) && !shared.coordinator.is_busy(*child);
    let open = view.session.children.iter().filter(|child| child.outcome.is_none() && lost(&child.child));
    open.map(|child| (child.child, child.seq)).collect()
}

/// Whether the `child.started` at `seq` names a background task.
async fn in_background(shared: &RuntimeState, session: SessionId, seq: Seq) -> Result<bool, LogError> {
    let slice = shared.ports.log.batch_at(session, seq).await?;
    let mut records = slice.iter().flat_map(|slice| slice.records());
    let found = records.find(|record| record.seq == seq);
    Ok(found
        .is_some_and(|record| matches!(record.event, Event::Child(ChildEvent::Started(started)) if started.background)))
}
