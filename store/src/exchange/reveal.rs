//! Texts that are given later to a holder of an export that withholds them.

use super::export::{ExportError, refused, texts_of};
use super::line::Line;
use super::read_line;
use super::withhold::{TextSelection, WithholdRules};
use crate::log::{EventLog, ReadError};
use annals_core::{AbsentText, Digest, Disclosure, KnownText, Seq, SessionId, TextKey};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Write};

/// A text with its own key, which proves that it is what an export withholds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevealedText {
    /// The session that wrote the event.
    pub session: SessionId,
    /// The event.
    pub seq: Seq,
    /// The RFC 6901 pointer of the text in the export form of the event.
    pub place: String,
    /// The key of the text, 64 hex digits.
    pub key: Digest,
    /// The text.
    pub text: String,
}

/// What comparing a text with an export gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RevealOutcome {
    /// It is the text that the export withholds there.
    Proved,
    /// The export withholds another text there, or the key is another one.
    Differs,
    /// The export does not withhold the text at this place.
    NotWithheld,
    /// The export has no such event.
    NoEvent,
}

/// Writes the texts that the rules select as lines of JSON, each with its key. Gives their number.
///
/// # Errors
/// [`ExportError::NoMatch`] before anything is written; see [`ExportError`].
pub async fn reveal_texts(
    log: &dyn EventLog,
    session: SessionId,
    rules: &WithholdRules,
    out: &mut (dyn Write + Send),
) -> Result<u64, ExportError> {
    let head = log.head(session).await?.ok_or(ReadError::NoSession(session))?;
    let blobs = log.blobs();
    let mut selection = TextSelection::new(rules);
    let mut pages = log.pages(session, Seq::ZERO..head.next);
    while let Some(page) = pages.next_page().await? {
        for slice in &page {
            selection.take(&slice.batch, &texts_of(&slice.batch, &*blobs)?);
        }
    }
    if let Some(rule) = selection.unmatched() {
        return Err(ExportError::NoMatch { rule: rule.to_owned(), session });
    }
    let (mut keys, mut count) = (BTreeMap::new(), 0);
    let mut pages = log.pages(session, Seq::ZERO..head.next);
    while let Some(page) = pages.next_page().await? {
        for slice in &page {
            let batch = &slice.batch;
            keys.extend(batch.session_key().map(|key| (batch.session, key)));
            let texts = texts_of(batch, &*blobs)?;
            let selected = selection.selected(batch, &texts);
            let chosen: BTreeSet<_> = texts
                .iter()
                .zip(selected)
                .filter(|((seq, _, text), selected)| *selected && text.is_some() && *seq < slice.until)
                .map(|((seq, place, _), _)| (*seq, place.as_str()))
                .collect();
            if chosen.is_empty() {
                continue;
            }
            let disclosed = batch.disclose(keys.get(&batch.session), &*blobs, &mut |text| {
                if chosen.contains(&(text.seq, text.place)) { Disclosure::Disclose } else { Disclosure::Keep }
            });
            let states = disclosed.map_err(|source| refused(batch, source))?.states;
            let known: BTreeMap<_, _> = states
                .iter()
                .filter_map(|state| match state.known {
                    KnownText::Disclosed(key) => {
                        Some(((batch.first.plus(u64::from(state.event)), state.place.as_str()), key))
                    }
                    KnownText::Absent(_) => None,
                })
                .collect();
            for (seq, place, text) in &texts {
                let at = (*seq, place.as_str());
                if let (true, Some(key), Some(text)) = (chosen.contains(&at), known.get(&at), text) {
                    let (place, key, text) = (place.clone(), Digest(key.0), text.clone());
                    let line = RevealedText { session: batch.session, seq: *seq, place, key, text };
                    writeln!(
                        out,
                        "{}",
                        serde_json::to_string(&line).map_err(|error| std::io::Error::other(error.to_string()))?
                    )?;
                    count += 1;
                }
            }
        }
    }
    out.flush()?;
    Ok(count)
}

/// Compares texts with what an export withholds, one outcome for each. The export itself is not verified.
///
/// # Errors
/// When the export cannot be read.
pub fn compare_revealed(source: &mut dyn BufRead, texts: &[RevealedText]) -> std::io::Result<Vec<RevealOutcome>> {
    let mut outcomes = vec![RevealOutcome::NoEvent; texts.len()];
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if read_line(source, &mut bytes)? == 0 {
            return Ok(outcomes);
        }
        let Ok(Line::Batch { batch, .. }) = Line::read(bytes.strip_suffix(b"\n").unwrap_or(&bytes)) else { continue };
        for (text, outcome) in texts.iter().zip(&mut outcomes) {
            if text.session != batch.session || text.seq < batch.first || text.seq >= batch.next() {
                continue;
            }
            let absent = batch.states.iter().find_map(|state| match state.known {
                KnownText::Absent(absent)
                    if state.place == text.place && batch.first.plus(u64::from(state.event)) == text.seq =>
                {
                    Some(absent)
                }
                _ => None,
            });
            *outcome = match absent {
                None => RevealOutcome::NotWithheld,
                Some(absent) if absent == AbsentText::of(&text.text, &TextKey(text.key.0)) => RevealOutcome::Proved,
                Some(_) => RevealOutcome::Differs,
            };
        }
    }
}
