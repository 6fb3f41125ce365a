//! Reads from the log what an earlier import recorded, for readers that must not contradict it.

use super::sink::{ForkPoint, KnownContext, RecordedStart};
use annals_core::event::{ContextEvent, InputEvent, SessionEvent, ToolEvent};
use annals_core::{Event, Seq, SessionId};
use annals_store::EventLog;

/// The recorded context of a session. Errors are ignored here: appending to the session reports them.
pub async fn recall(log: &dyn EventLog, session: SessionId) -> KnownContext {
    let mut recalled = KnownContext::default();
    if let Ok(Some(head)) = log.head(session).await {
        recalled.head = head.next;
        let mut pages = log.pages(session, Seq::ZERO..head.next);
        while let Ok(Some(slices)) = pages.next_page().await {
            for batch in slices.iter().map(|slice| &slice.batch) {
                for event in &batch.events {
                    match event {
                        Event::Context(ContextEvent::EpochStarted(epoch)) if batch.events.len() == 1 => {
                            recalled.epochs.insert(batch.first, (batch.at, epoch.clone()));
                        }
                        Event::Context(ContextEvent::SnapshotAdvanced(advance)) => {
                            recalled.advances.insert(batch.first, advance.clone());
                        }
                        Event::Tool(ToolEvent::Settled(settled)) if settled.truncated && !settled.lossy => {
                            recalled
                                .outputs
                                .extend(settled.structured.clone().map(|json| (settled.call.clone(), json)));
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    recalled
}

/// How a session of the log begins; `None` if it is new. Errors are ignored here: appending to the session reports them.
pub async fn start(log: &dyn EventLog, session: SessionId) -> Option<RecordedStart> {
    let next = log.head(session).await.ok()??.next;
    // Where its own events begin, by bisection: at 0, or at the cut of a fork.
    let (mut from, mut until) = (0, next.0.saturating_sub(1));
    let mut at = 0;
    let first = loop {
        let slice = log.batch_at(session, Seq(at)).await.ok()??;
        match slice.batch.session == session {
            true if from >= at => break slice,
            true => until = slice.batch.first.0,
            false => from = at + 1,
        }
        at = from + (until - from) / 2;
    };
    match first.batch.events.first()? {
        Event::Session(SessionEvent::Created(created)) => Some(RecordedStart::Created(created.clone())),
        Event::Session(SessionEvent::Forked(forked)) => {
            Some(RecordedStart::Forked(ForkPoint { parent: forked.parent, cut: forked.cut }))
        }
        _ => None,
    }
}

/// The start of the first line of an input, which serves as a title.
pub fn first_prompt(event: &Event) -> Option<String> {
    let Event::Input(InputEvent::Admitted(admitted)) = event else { return None };
    let line = admitted.text.inline()?.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(80).collect())
}
