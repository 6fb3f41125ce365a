//! An entry point for fuzzing: messages between the owner of a store and its guests.

use super::wire::{Answer, Ask, committed_of, draft_of, greeted, understands};
use crate::log::{AppendError, ReadError};
use annals_core::{BlobHash, Digest, Seq, SessionId};
use bytes::{Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

/// Reads bytes as a stream of messages and as one message, from either side.
///
/// # Panics
/// When a message that was read reads differently after it was written.
pub fn messages(bytes: &[u8]) {
    let (mut stream, mut frames) = (BytesMut::from(bytes), greeted());
    // The length of a frame is checked before memory is made for it; what is cut off waits for more.
    while let Ok(Some(message)) = frames.decode(&mut stream) {
        one(&message);
    }
    one(bytes);
}

/// Messages of every kind that holds more than numbers, about one batch in the codec of the log: inputs of [`messages`].
///
/// # Errors
/// When one cannot be written.
pub fn messages_of(batch: &[u8]) -> std::io::Result<Vec<Vec<u8>>> {
    let (session, from) = (SessionId([1; 16]), Seq(3));
    let asks = [
        Ask::Append { batch: batch.to_vec(), digest: Some(Digest::of(batch)) },
        Ask::Read { session, from, limit: 7 },
        Ask::FollowAll { from: 9 },
        Ask::Sessions { after: Some(session), limit: 3 },
        Ask::PutBlob { text: "a text".into() },
    ];
    let answers = [
        Answer::Committed { batch: batch.to_vec(), position: 4, known: true },
        Answer::Sessions { heads: Vec::new(), more: true },
        Answer::Stored { hash: BlobHash::of(b"a text") },
        Answer::Blob { text: Some("a text".into()) },
        Answer::Refused { refusal: AppendError::Unknown.into() },
        Answer::Unreadable { reason: ReadError::NoSession(session).into() },
    ];
    let written = asks.iter().map(Ask::write).chain(answers.iter().map(Answer::write));
    let mut found: Vec<Vec<u8>> = written.map(|bytes| Ok(bytes?.to_vec())).collect::<std::io::Result<_>>()?;
    // And all of them as they follow each other on a connection.
    let mut stream = BytesMut::new();
    for message in &found {
        greeted().encode(Bytes::copy_from_slice(message), &mut stream)?;
    }
    found.push(stream.to_vec());
    Ok(found)
}

fn one(bytes: &[u8]) {
    if let Ok(ask) = Ask::read(bytes) {
        let written = ask.write().ok();
        let again = written.as_deref().and_then(|written| Ask::read(written).ok()?.write().ok());
        assert_eq!(again, written, "a question reads as it was written");
        if let Ask::Append { batch, digest } = ask {
            drop(draft_of(&batch, digest));
        }
    }
    if let Ok(answer) = Answer::read(bytes) {
        let written = answer.write().ok();
        let again = written.as_deref().and_then(|written| Answer::read(written).ok()?.write().ok());
        assert_eq!(again, written, "an answer reads as it was written");
        match answer {
            Answer::Committed { batch, position, known } => drop(committed_of(&batch, position, known)),
            Answer::Slices { slices } => slices.iter().for_each(|slice| drop(slice.slice())),
            Answer::Followed { slice, .. } => drop(slice.slice()),
            _ => {}
        }
    }
    if let Ok(text) = str::from_utf8(bytes) {
        understands(text, text);
    }
}
