//! Decodes the server-sent events of an answer into [`ProviderEvent`]s.

use super::halves::Halves;
use super::refusal::{behind, in_stream};
use super::{Protocol, anthropic, chat, responses};
use crate::provider::{ProviderError, ProviderErrorKind, ProviderEvent};
use serde::Deserialize;
use serde_json::Value;

/// Decodes one answer, event by event. It never panics; what the protocol does not allow is a
/// [`ProviderErrorKind::IncompleteStream`].
///
/// The answer ends at its first end, whichever that is: after [`ProviderEvent::Finished`] or an error, further events
/// return nothing. Events that were decoded from the same chunk before it turned out wrong are discarded; a turn that
/// failed keeps what came with earlier chunks.
pub struct Decoder {
    protocol: Box<dyn ProtocolDecoder>,
    halves: Halves,
    /// Whether anything but usage was returned.
    begun: bool,
    over: bool,
}

/// A decoder for one answer.
pub fn decoder(protocol: Protocol) -> Decoder {
    let protocol: Box<dyn ProtocolDecoder> = match protocol {
        Protocol::OpenAiChat => Box::new(chat::decoder()),
        Protocol::OpenAiResponses => Box::new(responses::decoder()),
        Protocol::AnthropicMessages => Box::new(anthropic::decoder()),
    };
    Decoder { protocol, halves: Halves::default(), begun: false, over: false }
}

impl Decoder {
    /// Decodes one event: its name (empty when the stream has none) and its data.
    ///
    /// # Errors
    /// The provider's own error, or a violation of the protocol.
    pub fn event(&mut self, name: &str, data: &str) -> Result<Vec<ProviderEvent>, ProviderError> {
        let data = self.halves.whole(data);
        self.decode(|protocol, out| protocol.event(name, &data, out))
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// When the answer was not complete.
    pub fn end(&mut self) -> Result<Vec<ProviderEvent>, ProviderError> {
        self.decode(|protocol, out| protocol.end(out))
    }

    /// Bytes buffered for later events, such as names and ids of calls and native metadata. Text that was returned already
    /// does not count.
    pub fn held(&self) -> usize {
        self.protocol.held()
    }

    fn decode(
        &mut self,
        step: impl FnOnce(&mut dyn ProtocolDecoder, &mut Vec<ProviderEvent>) -> Result<(), ProviderError>,
    ) -> Result<Vec<ProviderEvent>, ProviderError> {
        if self.over {
            return Ok(Vec::new());
        }
        let mut out = Vec::new();
        let decoded = step(self.protocol.as_mut(), &mut out);
        self.over = decoded.is_err() || matches!(out.last(), Some(ProviderEvent::Finished(_)));
        decoded.map_err(|error| if self.begun { cut_off(error) } else { error })?;
        self.begun |= out.iter().any(|event| !matches!(event, ProviderEvent::Usage(_)));
        Ok(out)
    }
}

/// How one protocol decodes events.
pub(super) trait ProtocolDecoder: Send {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError>;
    fn end(&mut self, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError>;
    fn held(&self) -> usize {
        0
    }
}

/// The answer is not what the protocol allows.
pub(super) fn violation(what: impl Into<String>) -> ProviderError {
    fault(ProviderErrorKind::Violation, what.into())
}

fn fault(kind: ProviderErrorKind, message: String) -> ProviderError {
    ProviderError { kind, status: None, retry_after_ms: None, message }
}

/// An error of the provider that ends an answer of which something arrived: one that passes cuts it off, as a lost
/// connection does. What the provider said stays in the message.
fn cut_off(error: ProviderError) -> ProviderError {
    use ProviderErrorKind::{IncompleteStream, ProviderInternal, RateLimit, Transport};
    match error.kind {
        RateLimit | ProviderInternal | Transport => ProviderError {
            kind: IncompleteStream,
            message: format!("the answer broke off: {}", error.message),
            ..error
        },
        _ => error,
    }
}

/// The answer ended before it was complete.
pub(super) fn broke_off() -> ProviderError {
    fault(ProviderErrorKind::IncompleteStream, "the answer broke off before it was complete".into())
}

/// The server says that the answer is not whole.
pub(super) fn given_up(reason: &str) -> ProviderError {
    fault(ProviderErrorKind::IncompleteStream, format!("the server gave the answer up: {reason}"))
}

/// Reads the data of an event.
pub(super) fn read<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, ProviderError> {
    serde_json::from_str(data).map_err(|error| violation(format!("an event of the answer cannot be read: {error}")))
}

/// An error inside an answer: `{type, code, message}`, or a text.
pub(super) fn provider_error(error: &Value) -> ProviderError {
    let text = |name: &str| match error.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let message = match error {
        Value::String(text) => text.clone(),
        _ => behind(text("message"), error),
    };
    in_stream(&[&text("code"), &text("type")], &message)
}

/// A count of tokens: never negative, never beyond what is counted.
pub(super) fn tokens(usage: &Value, path: &str) -> Option<u64> {
    let count = usage.pointer(path)?;
    // A float that is too large or not a number is converted to the nearest count.
    count.as_u64().or_else(|| count.as_f64().map(|count| count as u64)).map(|count| count.min((1 << 53) - 1))
}
