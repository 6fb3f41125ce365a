//! From the server-sent events of an answer to what the turn takes in.

use super::halves::Halves;
use super::refusal::{behind, in_stream};
use super::{Protocol, anthropic, chat, responses};
use crate::provider::{ProviderError, ProviderErrorKind, ProviderEvent};
use serde::Deserialize;
use serde_json::Value;

/// Reads one answer, event by event. It never panics, whatever it is given; what the protocol does not allow is an
/// [`ProviderErrorKind::IncompleteStream`].
///
/// After [`ProviderEvent::Finished`] or an error the answer is over: further events give nothing.
pub trait Decoder: Send {
    /// Takes in one event: its name (empty when the stream gives none) and its data.
    ///
    /// # Errors
    /// What the provider says went wrong, or what the protocol does not allow.
    fn event(&mut self, name: &str, data: &str) -> Result<Vec<ProviderEvent>, ProviderError>;

    /// The stream ended.
    ///
    /// # Errors
    /// When the answer was not complete.
    fn end(&mut self) -> Result<Vec<ProviderEvent>, ProviderError>;

    /// Bytes that it holds for events to come, such as names and ids of calls and native metadata. The text of what it gives
    /// in pieces does not count.
    fn held(&self) -> usize;
}

/// A decoder for one answer.
pub fn decoder(protocol: Protocol) -> Box<dyn Decoder> {
    match protocol {
        Protocol::OpenAiChat => Box::new(Once::new(chat::decoder())),
        Protocol::OpenAiResponses => Box::new(Once::new(responses::decoder())),
        Protocol::AnthropicMessages => Box::new(Once::new(anthropic::decoder())),
    }
}

/// What a protocol makes of an event.
pub(super) trait Reading: Send {
    fn read(&mut self, name: &str, data: &str, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError>;
    fn finish(&mut self, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError>;
    fn held(&self) -> usize {
        0
    }
}

/// Ends an answer at its first end, whichever it is. What an event gave before it turned out wrong is given up: a turn
/// that failed keeps what came with earlier events.
struct Once<R> {
    reading: R,
    halves: Halves,
    /// Whether it gave anything but usage.
    begun: bool,
    over: bool,
}

impl<R: Reading> Once<R> {
    fn new(reading: R) -> Self {
        Self { reading, halves: Halves::default(), begun: false, over: false }
    }

    fn take(
        &mut self,
        step: impl FnOnce(&mut R, &mut Vec<ProviderEvent>) -> Result<(), ProviderError>,
    ) -> Result<Vec<ProviderEvent>, ProviderError> {
        if self.over {
            return Ok(Vec::new());
        }
        let mut out = Vec::new();
        let taken = step(&mut self.reading, &mut out);
        self.over = taken.is_err() || matches!(out.last(), Some(ProviderEvent::Finished(_)));
        taken.map_err(|error| if self.begun { cut_off(error) } else { error })?;
        self.begun |= out.iter().any(|event| !matches!(event, ProviderEvent::Usage(_)));
        Ok(out)
    }
}

impl<R: Reading> Decoder for Once<R> {
    fn event(&mut self, name: &str, data: &str) -> Result<Vec<ProviderEvent>, ProviderError> {
        let data = self.halves.whole(data);
        self.take(|reading, out| reading.read(name, &data, out))
    }

    fn end(&mut self) -> Result<Vec<ProviderEvent>, ProviderError> {
        self.take(Reading::finish)
    }

    fn held(&self) -> usize {
        self.reading.held()
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

/// An error that stands in the answer: `{type, code, message}`, or a text.
pub(super) fn told(error: &Value) -> ProviderError {
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
    // A float that is too large or not a number becomes the nearest count.
    count.as_u64().or_else(|| count.as_f64().map(|count| count as u64)).map(|count| count.min((1 << 53) - 1))
}
