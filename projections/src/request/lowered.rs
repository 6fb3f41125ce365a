//! A message as it is sent, with what its part of a request's digest and size is.

use super::json::request_message_chars;
use super::{RequestMessage, message_json};
use crate::shared::SharedVec;
use alloc::string::String;
use alloc::sync::Arc;
use annals_core::{Digest, Seq};
use core::ops::Deref;

/// A message as it is sent, with its digest and size: a message is lowered once, and requests share it.
#[derive(Clone, Debug)]
pub struct LoweredMessage {
    /// The message.
    pub message: RequestMessage,
    /// The digest of its canonical JSON: its part of the digest of a request.
    pub digest: Digest,
    /// Its part of the size of a request: characters of its JSON in the view `requests`.
    pub chars: u64,
    /// The message of the history that it begins with; `None` for what is sent with one request alone.
    pub(super) from: Option<Seq>,
}

impl LoweredMessage {
    /// A message that begins with a message of the history.
    pub(super) fn of_history(message: RequestMessage, from: Seq) -> Self {
        Self { from: Some(from), ..Self::from(message) }
    }

    /// Its canonical JSON.
    pub fn json(&self) -> String {
        message_json(&self.message)
    }
}

impl From<RequestMessage> for LoweredMessage {
    fn from(message: RequestMessage) -> Self {
        let digest = Digest::of(message_json(&message).as_bytes());
        Self { digest, chars: request_message_chars(&message), message, from: None }
    }
}

impl Deref for LoweredMessage {
    type Target = RequestMessage;

    fn deref(&self) -> &RequestMessage {
        &self.message
    }
}

/// Two are the same if they are sent alike and come from the same events.
impl PartialEq for LoweredMessage {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message
    }
}

impl Eq for LoweredMessage {}

/// The messages of a request, which requests of one session share.
pub type RequestMessages = SharedVec<Arc<LoweredMessage>>;

impl FromIterator<RequestMessage> for RequestMessages {
    fn from_iter<I: IntoIterator<Item = RequestMessage>>(messages: I) -> Self {
        messages.into_iter().map(|message| Arc::new(message.into())).collect()
    }
}
