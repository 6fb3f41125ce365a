//! Batches without the texts that their log says are erased. Their digests stay.

use annals_core::event::ErasureEvent;
use annals_core::{Batch, Blobs, Event, KnownText, Seq, SessionId, SessionKey};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// What the log says about the erased texts of a session.
#[derive(Debug, Default)]
pub(crate) struct ErasedSession {
    /// Which texts.
    pub texts: BTreeSet<(Seq, String)>,
    /// The last `texts.erased`: batches from there on keep the key that it started.
    pub last: Seq,
    /// The key of its first batch, if it is still there.
    pub key: Option<SessionKey>,
}

impl ErasedSession {
    /// Whether a text is erased.
    pub fn names(&self, seq: Seq, place: &str) -> bool {
        self.texts.contains(&(seq, place.to_owned()))
    }

    /// Takes note of a batch, the next of its session; `keys` are those of the first batches.
    pub fn note(sessions: &mut BTreeMap<SessionId, Self>, keys: &mut BTreeMap<SessionId, SessionKey>, batch: &Batch) {
        match batch.events.first() {
            Some(Event::Erasure(ErasureEvent::TextsErased(texts))) => {
                let session = sessions.entry(batch.session).or_default();
                session.texts.extend(texts.what.iter().map(|text| (text.seq, text.place.clone())));
                session.last = batch.first;
                session.key = keys.get(&batch.session).copied();
            }
            Some(event) if event.begins() => {
                keys.extend(batch.session_key().map(|key| (batch.session, key)));
            }
            _ => {}
        }
    }
}

/// A batch without its erased texts.
pub(crate) struct RemovedTexts {
    pub batch: Batch,
    /// Its codec form.
    pub encoded: Vec<u8>,
    /// How many texts went.
    pub texts: u64,
}

/// A batch of a session without its erased texts; `None` when nothing is to be done. `key` is the key of the session when the batch was
/// appended, unless the batch brings it.
///
/// # Errors
/// When the batch cannot be changed without changing its digest, or a blob is missing.
pub(crate) fn without_texts(
    batch: &Batch,
    session: &ErasedSession,
    key: Option<SessionKey>,
    blobs: &dyn Blobs,
) -> io::Result<Option<RemovedTexts>> {
    let is_erased = |seq: Seq, place: &str| session.names(seq, place);
    let wrong = |what: String| {
        let (session, seq) = (batch.session, batch.first);
        io::Error::other(format!("session {session}, event {seq}: {what}"))
    };
    let before = absent(batch);
    let own_keys = batch.has_own_keys(blobs).map_err(|error| wrong(error.to_string()))?;
    let seq_of = |event: u32| batch.first.plus(u64::from(event));
    let mut chosen = batch.states.iter().filter(|state| is_erased(seq_of(state.event), &state.place));
    let done = chosen.all(|state| matches!(state.known, KnownText::Absent(it) if it.erased));
    if own_keys && done {
        return Ok(None);
    }
    let key = batch.session_key().or(key);
    let erased = batch.erase(key.as_ref(), blobs, &is_erased).map_err(|error| wrong(error.to_string()))?;
    let packed = erased.pack().map_err(|error| wrong(error.to_string()))?;
    for (hash, text) in &packed.blobs {
        // They were blobs before, under these names.
        if blobs.text(hash).as_ref() != Some(text) {
            return Err(wrong(format!("blob {hash} is not in the store")));
        }
    }
    let digest = packed.batch.compute_digest(None, blobs).map_err(|error| wrong(error.to_string()))?;
    if digest != batch.digest {
        return Err(wrong("its digest would change".to_owned()));
    }
    let texts = absent(&packed.batch).saturating_sub(before);
    Ok(Some(RemovedTexts { batch: packed.batch, encoded: packed.encoded, texts }))
}

/// How many texts of a batch are absent.
fn absent(batch: &Batch) -> u64 {
    batch.states.iter().filter(|state| matches!(state.known, KnownText::Absent(it) if it.erased)).count() as u64
}
