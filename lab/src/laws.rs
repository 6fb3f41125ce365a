//! What holds of a store after a crash at any point and a restart (`docs/lab.md#the-laws`).

use crate::error::LabError;
use annals_core::event::SessionEvent;
use annals_core::legal::Legality;
use annals_core::{Event, Seq, SessionId};
use annals_inspect::SessionAt;
use annals_inspect::prove::RequestProofs;
use annals_projections::{Body, Projection, SessionView};
use annals_store::crash_point::{CrashPlace, ReachedPoint};
use annals_store::exchange::{Progress, verify_store};
use annals_store::{DiskLog, EventLog, OpenMode, Slice};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// What both runs noted.
pub(crate) struct Evidence<'a> {
    /// Of the run that was killed.
    pub(crate) first: &'a [ReachedPoint],
    /// Of the run after it.
    pub(crate) second: &'a [ReachedPoint],
    /// Whether the last run ended well.
    pub(crate) ended_well: bool,
}

/// The laws that do not hold, a sentence each.
pub(crate) async fn broken(store: &Path, evidence: &Evidence<'_>) -> Result<Vec<String>, LabError> {
    let (log, opening) = match DiskLog::open(store, OpenMode::Existing) {
        Ok(opened) => opened,
        Err(annals_store::OpenError::NoStore { .. }) if evidence.ended_well => {
            return Ok(vec!["no store was written".to_owned()]);
        }
        Err(error) => return Ok(vec![format!("the store cannot be opened: {error}")]),
    };
    let log: Arc<DiskLog> = Arc::new(log);
    let mut broken = Vec::new();
    if opening.lost_something() {
        broken.push(format!("the store lost something: {}", annals_store::disk::summary(&opening.remarks).join("; ")));
    }
    nothing_acknowledged_is_missing(&*log, evidence, &mut broken).await?;
    no_call_runs_twice(evidence, &mut broken);
    let report = verify_store(&*log, &mut |_: Progress| {}).await?;
    if !report.is_sound() {
        broken.push("the log is damaged: a digest, a batch or a blob does not fit (annals verify)".to_owned());
    }
    for one in log.sessions().all().await? {
        let past = SessionAt::new(log.clone(), None, one.session, one.head.next);
        let (mut view, mut foreign) = (SessionView::default(), false);
        let mut legality = Legality::default();
        let mut pages = log.pages(one.session, Seq::ZERO..one.head.next);
        while let Some(slices) = pages.next_page().await? {
            for record in slices.iter().flat_map(Slice::records) {
                if let Event::Session(SessionEvent::Created(created)) = record.event {
                    foreign |= created.origin.is_some();
                }
                if let Err(illegal) = legality.may_follow(record.event).map_err(|illegal| illegal.to_string()) {
                    let kind = record.event.kind().name();
                    broken.push(format!("session {}, event {} ({kind}): {illegal}", one.session, record.seq));
                }
                legality.apply(record.event);
                view.apply(&record);
            }
        }
        if foreign {
            continue;
        }
        nothing_is_open(one.session, &view, &mut broken);
        let mut proofs = RequestProofs::default();
        proofs.add(&past, true).await?;
        broken.extend(proofs.flaws.into_iter().map(|flaw| format!("a request cannot be rebuilt: {flaw}")));
    }
    log.close().await.map_err(|source| LabError::File { path: store.to_owned(), source })?;
    Ok(broken)
}

async fn nothing_acknowledged_is_missing(
    log: &dyn EventLog,
    evidence: &Evidence<'_>,
    broken: &mut Vec<String>,
) -> Result<(), LabError> {
    let acknowledged =
        [evidence.first, evidence.second].into_iter().flat_map(|points| at(points, CrashPlace::AfterAppend));
    for point in acknowledged {
        let (Some(session), Some(next), Some(digest)) = (point.session, point.next, point.digest) else { continue };
        let last = Seq(next.0.saturating_sub(1));
        let found = match log.head(session).await? {
            Some(head) if head.next >= next => log.batch_at(session, last).await?,
            _ => None,
        };
        if found.is_none_or(|slice| slice.batch.digest != digest) {
            let events = point.events.join(", ");
            broken.push(format!("session {session}: {events} up to event {last} was acknowledged, and is missing"));
        }
    }
    Ok(())
}

fn no_call_runs_twice(evidence: &Evidence<'_>, broken: &mut Vec<String>) {
    let mut ran = BTreeSet::new();
    for (again, points) in [(false, evidence.first), (true, evidence.second)] {
        for point in at(points, CrashPlace::BeforeTool) {
            let call = (point.session, point.call.clone());
            if !ran.insert(call) {
                let (call, tool) = (point.call.as_deref().unwrap_or("?"), point.tool.as_deref().unwrap_or("?"));
                let when = if again { "again after the crash" } else { "twice" };
                broken.push(format!("the call {call} of {tool} ran {when}"));
            }
        }
    }
}

fn nothing_is_open(session: SessionId, view: &SessionView, broken: &mut Vec<String>) {
    let mut open = Vec::new();
    open.extend(view.calls.open.iter().map(|call| format!("the call {} is open", call.call)));
    if view.calls.step_open {
        open.push("an answer is open".to_owned());
    }
    if view.calls.compaction_open.is_some() {
        open.push("a compaction is open".to_owned());
    }
    open.extend(view.inbox.pending.iter().map(|pending| format!("the input {} waits", pending.input)));
    let last = view.history.selected().last();
    if let Some(message) = last.filter(|message| matches!(message.body, Body::User { .. })) {
        open.push(format!("the prompt of event {} has no answer", message.seq));
    }
    open.extend(view.anomalies().iter().map(|anomaly| format!("event {}: {}", anomaly.seq, anomaly.what)));
    broken.extend(open.into_iter().map(|open| format!("session {session}: {open}")));
}

/// The points of one kind.
fn at(points: &[ReachedPoint], place: CrashPlace) -> impl Iterator<Item = &ReachedPoint> {
    points.iter().filter(move |point| point.place == place)
}
