//! Reads from the log what an earlier import recorded, for readers that must not contradict it.

use super::sink::KnownContext;
use annals_core::event::{ContextEvent, InputEvent, SessionEvent};
use annals_core::{Event, ModelName, Seq, SessionId};
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
                        _ => {}
                    }
                }
            }
        }
    }
    recalled
}

/// The model that a session of the log was created with.
pub async fn first_model(log: &dyn EventLog, session: SessionId) -> Option<ModelName> {
    log.head(session).await.ok()??;
    let first = log.batch_at(session, Seq::ZERO).await.ok()??;
    match first.batch.events.first()? {
        Event::Session(SessionEvent::Created(created)) => Some(created.model.clone()),
        _ => None,
    }
}

/// The start of the first line of an input, which serves as a title.
pub fn first_prompt(event: &Event) -> Option<String> {
    let Event::Input(InputEvent::Admitted(admitted)) = event else { return None };
    let line = admitted.text.inline()?.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(80).collect())
}
