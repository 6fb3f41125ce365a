//! Texts that are withheld or disclosed, in sessions with their key and without.

use super::material::{KEY, admitted, created, draft, fork, promoted, session, story, two, whole};
use super::{LawResult, Violation, hold};
use crate::append_rules::NO_KEY;
use crate::log::{AppendError, Draft, EventLog};
use annals_core::event::{Todo, TodoUpdated};
use annals_core::text::Texts;
use annals_core::{Batch, Digest, Disclosure, Event, KnownText, NoBlobs, Seq, SessionId, Text};
use std::sync::Arc;

/// The batches of a session, made outside any log, with texts withheld or disclosed in turn.
fn sealed_elsewhere(of: SessionId, batches: Vec<Vec<Event>>) -> Result<Vec<Batch>, Violation> {
    let (mut made, mut prev, mut first, mut number): (_, Option<Digest>, _, _) = (Vec::new(), None, Seq::ZERO, 0u32);
    let failed = |error: String| Violation(format!("a batch could not be made: {error}"));
    for events in batches {
        let at = draft(of, first, Vec::new()).at;
        let sealed =
            Batch::seal(&KEY, &NoBlobs, of, first, at, prev, events).map_err(|error| failed(error.to_string()))?;
        let disclosed = sealed.batch.disclose(Some(&KEY), &sealed_blobs(&sealed.blobs), &mut |_| {
            number += 1;
            if number.is_multiple_of(2) { Disclosure::Withhold } else { Disclosure::Disclose }
        });
        let batch = disclosed.map_err(|error| failed(error.to_string()))?;
        (prev, first) = (Some(batch.digest), batch.next());
        made.push(batch);
    }
    Ok(made)
}

fn sealed_blobs(blobs: &[(Digest, String)]) -> std::collections::BTreeMap<Digest, String> {
    blobs.iter().cloned().collect()
}

fn brought(batch: &Batch) -> Draft {
    let Batch { session, first, at, ref events, digest, ref states, .. } = *batch;
    Draft { session, expected: first, at, events: events.clone(), digest: Some(digest), states: states.clone() }
}

fn batches_of_a_story() -> Vec<Vec<Event>> {
    vec![
        vec![created()],
        vec![admitted("a", "what now?"), promoted("a")],
        vec![admitted("b", &"a large text ".repeat(2_000)), admitted("c", ""), promoted("b")],
    ]
}

async fn reads_back(log: &dyn EventLog, of: SessionId, made: &[Batch]) -> LawResult {
    let read = whole(log, of).await?;
    hold!(read.len() == made.len(), "{} batches of {} read back", read.len(), made.len());
    for (read, made) in read.iter().zip(made) {
        let (states, first) = (&read.batch.states, made.first);
        hold!(*states == made.states, "the states of the texts of the batch at seq {first} read back as {states:?}");
        hold!(read.batch.digest == made.digest, "the batch at seq {first} reads back with another digest");
    }
    Ok(())
}

pub(super) async fn withheld_and_disclosed_texts_read_back_as_they_were_appended(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    let made = sealed_elsewhere(s, batches_of_a_story())?;
    let absent =
        |batch: &Batch| batch.states.iter().filter(|state| matches!(state.known, KnownText::Absent(_))).count();
    hold!(made.iter().map(absent).sum::<usize>() > 0, "nothing is withheld");
    for batch in &made {
        let committed = log.append(brought(batch)).await?;
        hold!(!committed.known && committed.batch.digest == batch.digest, "a batch landed as another one");
    }
    reads_back(&*log, s, &made).await?;
    for batch in &made {
        hold!(log.append(brought(batch)).await?.known, "the batch at seq {} again is not known", batch.first);
    }
    story(&*log, session(2), 1).await?;
    reads_back(&*log, s, &made).await
}

pub(super) async fn another_commitment_is_another_batch(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    let mut made = sealed_elsewhere(s, vec![vec![created(), admitted("a", "what now?")]])?;
    let Some(batch) = made.first_mut() else { return Ok(()) };
    for event in &mut batch.events {
        event.texts(&mut |text| {
            if let Text::Absent(absent) = text {
                absent.bytes += 1;
            }
        });
    }
    let answer = log.append(brought(batch)).await;
    hold!(matches!(answer, Err(AppendError::Seal { .. })), "a withheld text in two forms gave {answer:?}");
    for state in &mut batch.states {
        if let KnownText::Absent(absent) = &mut state.known {
            absent.bytes += 1;
        }
    }
    let answer = log.append(brought(batch)).await;
    hold!(matches!(answer, Err(AppendError::Diverged { .. })), "an altered commitment gave {answer:?}");
    hold!(log.head(s).await?.is_none(), "a refused batch made a session");
    Ok(())
}

pub(super) async fn a_session_without_its_key_is_continued_by_a_fork_alone(log: Arc<dyn EventLog>) -> LawResult {
    let (s, child) = (session(1), session(2));
    let made = sealed_elsewhere(s, batches_of_a_story())?;
    for batch in &made {
        log.append(brought(batch)).await?;
    }
    let end = made.last().map_or(Seq::ZERO, Batch::next);
    let answer = two(&*log, s, end).await;
    let refused = matches!(answer, Err(AppendError::Misplaced { reason: NO_KEY, .. }));
    hold!(refused, "a new batch in a session without its key gave {answer:?}");
    fork(&*log, s, end, child).await?;
    two(&*log, child, Seq(end.0 + 1)).await?;
    whole(&*log, child).await?;
    reads_back(&*log, s, &made).await
}

pub(super) async fn a_batch_keeps_many_states(log: Arc<dyn EventLog>) -> LawResult {
    let item = |n: usize| Todo { content: n.to_string(), status: String::new(), priority: Some(String::new()) };
    let items = (0..2_000).map(item).collect();
    let s = session(1);
    let mut batches = batches_of_a_story();
    batches.insert(1, vec![TodoUpdated { items }.into()]);
    let made = sealed_elsewhere(s, batches)?;
    for batch in &made {
        log.append(brought(batch)).await?;
    }
    hold!(made.iter().any(|batch| batch.states.len() == 6_000), "few states were made");
    reads_back(&*log, s, &made).await
}
