//! Permission questions that other processes asked in a terminal, and that wait there. They are facts, and so are their answers: the
//! process that waits takes the answer from the log.

use super::PermissionShown;
use crate::problem::ApiProblem;
use annals_core::event::ToolEvent;
use annals_core::{Event, Seq, SessionId};
use annals_inspect::reader::Reader;
use annals_projections::{Catalogue, SessionView};
use annals_runtime::host::Leases;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::Mutex;

/// How many sessions are looked at: those that changed last. One that waits for an answer changed not long ago.
const LOOKED_AT: usize = 32;

/// The questions that wait in sessions that this server does not run.
pub(crate) struct AskedElsewhere {
    reader: Reader,
    leases: Leases,
    /// What waits in a session, by where the session ended then.
    known: Mutex<BTreeMap<SessionId, (Seq, Vec<PermissionShown>)>>,
}

impl AskedElsewhere {
    /// Of the sessions of a store.
    pub(crate) fn of(reader: &Reader) -> Self {
        let leases = Leases::of(&**reader.log(), reader.folder().clone());
        Self { reader: reader.clone(), leases, known: Mutex::default() }
    }

    /// The questions of the sessions that changed last, without those of `hosted`.
    pub(crate) async fn newest(
        &self,
        catalogue: &Catalogue,
        hosted: &BTreeSet<SessionId>,
    ) -> Result<Vec<PermissionShown>, ApiProblem> {
        let mut newest: Vec<(SessionId, Seq)> = Vec::new();
        let mut by_time: Vec<_> = catalogue.sessions.iter().collect();
        by_time.retain(|(id, entry)| {
            let parent = entry.parent.as_ref().map(|parent| parent.session);
            !hosted.contains(*id) && parent.is_none_or(|parent| !hosted.contains(&parent))
        });
        by_time.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.updated));
        for (id, _) in by_time.into_iter().take(LOOKED_AT) {
            newest.push((*id, self.reader.head(*id).await?.next));
        }
        let mut known = self.known.lock().await;
        known.retain(|id, _| newest.iter().any(|(one, _)| one == id));
        let mut waiting = Vec::new();
        for (id, head) in newest {
            if known.get(&id).is_none_or(|(at, _)| *at != head) {
                known.insert(id, (head, self.of_session(id, head).await?));
            }
            let asked = known.get(&id).map(|(_, asked)| asked.as_slice()).unwrap_or_default();
            if !asked.is_empty() && self.runs_elsewhere(id).await {
                waiting.extend_from_slice(asked);
            }
        }
        Ok(waiting)
    }

    /// Whether another process runs it. What waits in a session that does not run is settled when it is continued.
    async fn runs_elsewhere(&self, session: SessionId) -> bool {
        matches!(self.leases.take(session).await, Ok(None))
    }

    async fn of_session(&self, session: SessionId, head: Seq) -> Result<Vec<PermissionShown>, ApiProblem> {
        let past = self.reader.session_at(session, head);
        let view: SessionView = past.seen(head).await?;
        let calls: BTreeMap<_, _> = view.calls.open.iter().map(|open| (open.call.clone(), open)).collect();
        let mut shown = Vec::new();
        for (permission, asked) in &view.permissions.waiting {
            let call = asked.call.as_ref().and_then(|call| calls.get(call));
            let mut input = String::new();
            if let Some(call) = call {
                past.at(&BTreeSet::from([call.seq]), |record| {
                    if let Event::Tool(ToolEvent::Called(called)) = record.event {
                        input = called.input.0.resolve(past.blobs()).into_owned();
                    }
                })
                .await?;
            }
            shown.push(PermissionShown {
                permission: permission.clone(),
                session,
                call: asked.call.as_ref().map(|call| call.as_str().to_owned()).unwrap_or_default(),
                tool: call.map(|call| call.name.clone()).unwrap_or_default(),
                action: asked.action.clone(),
                resources: asked.resources.clone(),
                input,
                elsewhere: true,
            });
        }
        Ok(shown)
    }
}
