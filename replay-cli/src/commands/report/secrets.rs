//! Which events a report withholds because a secret is in them.

use crate::error::CliError;
use annals_core::event::ToolEvent;
use annals_core::text::Texts;
use annals_core::{CallId, Event, Record, Seq, SessionId};
use annals_guard::redaction::{Redactor, is_kept_for_secrets};
use annals_inspect::reader::Reader;
use annals_inspect::touched_files::touched_files;
use annals_projections::ToJson;
use annals_store::exchange::WithholdRule;
use serde_json::Value;
use std::collections::BTreeSet;

/// The rules that withhold the events with secrets.
pub(super) struct FoundSecrets {
    pub rules: Vec<WithholdRule>,
    /// How many events.
    pub events: u64,
}

/// The events of a log in which secrets are left: in fields that cannot be withheld.
pub(super) async fn left(redactor: &Redactor, reader: &Reader, session: SessionId) -> Result<Vec<Seq>, CliError> {
    let (blobs, head) = (reader.blobs(), reader.head(session).await?);
    let mut left = Vec::new();
    let visit = |record: &Record<'_>| left.extend(has_secret(redactor, &record.to_json(blobs)).then_some(record.seq));
    reader.each(session, Seq::ZERO, head.next, visit).await?;
    Ok(left)
}

/// Whether an event has a text, which can be withheld.
fn has_text(event: &Event) -> bool {
    let mut found = false;
    event.clone().texts(&mut |_| found = true);
    found
}

/// Looks for secrets in every text of every event, those that a model wrote included, and withholds what calls on files that are
/// kept for secrets returned.
pub(super) async fn rules(redactor: &Redactor, reader: &Reader, session: SessionId) -> Result<FoundSecrets, CliError> {
    let (blobs, head) = (reader.blobs(), reader.head(session).await?);
    let (mut found, mut secret_calls) = (BTreeSet::new(), BTreeSet::<CallId>::new());
    let visit = |record: &Record<'_>| {
        let named = touched_files(record.event, blobs).iter().any(|file| is_kept_for_secrets(&file.path));
        let of_call = match record.event {
            Event::Tool(ToolEvent::Called(called)) if named => {
                secret_calls.insert(called.call.clone());
                false
            }
            Event::Tool(ToolEvent::Progressed(progressed)) => secret_calls.contains(&progressed.call),
            Event::Tool(ToolEvent::Settled(settled)) => secret_calls.contains(&settled.call),
            _ => false,
        };
        if has_text(record.event) && (of_call || has_secret(redactor, &record.to_json(blobs))) {
            found.insert(record.seq);
        }
    };
    reader.each(session, Seq::ZERO, head.next, visit).await?;
    let rules = ranges(&found).into_iter().filter_map(|(first, last)| format!("seq:{first}-{last}").parse().ok());
    Ok(FoundSecrets { rules: rules.collect(), events: found.len() as u64 })
}

fn has_secret(redactor: &Redactor, value: &Value) -> bool {
    match value {
        Value::String(text) => !redactor.redact(text).counts.is_empty(),
        Value::Array(items) => items.iter().any(|item| has_secret(redactor, item)),
        Value::Object(fields) => fields.values().any(|item| has_secret(redactor, item)),
        _ => false,
    }
}

/// Events as ranges of events that follow each other.
fn ranges(seqs: &BTreeSet<Seq>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for seq in seqs {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == seq.0 => *last = seq.0,
            _ => ranges.push((seq.0, seq.0)),
        }
    }
    ranges
}
