//! An answer as it comes: bytes to events, events to what the protocol says they mean.

use super::endpoint::EndpointLimits;
use super::events::{Broken, ServerEvent, events};
use super::faults::{broken, cause, fault};
use super::secrets::EndpointSecrets;
use crate::provider::{AnswerStream, ProviderError, ProviderErrorKind, ProviderEvent};
use crate::wire::Decoder;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, Stream, StreamExt, TryStreamExt, stream};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How long the end of a complete answer is awaited so that its connection can be reused: for a moment before the
/// turn continues, since most providers close the answer with its last event, then in the background.
const MOMENT: Duration = Duration::from_millis(20);
const REST: Duration = Duration::from_secs(1);

type Events = BoxStream<'static, Result<ServerEvent, Broken>>;

/// An open answer.
pub(super) struct AnswerReader {
    events: Events,
    decoder: Decoder,
    ready: VecDeque<ProviderEvent>,
    /// Whether the connection has given all it has.
    ended: bool,
    content: usize,
    limit: usize,
    secrets: EndpointSecrets,
    at: String,
}

impl AnswerReader {
    pub(super) fn new(
        response: reqwest::Response,
        decoder: Decoder,
        limits: EndpointLimits,
        deadline: Instant,
        secrets: EndpointSecrets,
        at: String,
    ) -> Self {
        let bytes = response.bytes_stream().map_err(|error| cause(&error));
        Self::of(bytes, decoder, limits, deadline, secrets, at)
    }

    /// An answer whose bytes come from anywhere.
    pub(super) fn of<B: AsRef<[u8]> + Send + 'static>(
        bytes: impl Stream<Item = Result<B, String>> + Send + 'static,
        decoder: Decoder,
        limits: EndpointLimits,
        deadline: Instant,
        secrets: EndpointSecrets,
        at: String,
    ) -> Self {
        let events = events(bytes, limits, deadline);
        let limit = limits.content_bytes;
        Self { events, decoder, ready: VecDeque::new(), ended: false, content: 0, limit, secrets, at }
    }

    /// What arrives, to the end or the first error. Dropping it closes the connection.
    pub(super) fn answer(self) -> AnswerStream {
        stream::unfold(Some(self), |reader| async move {
            let mut reader = reader?;
            match reader.next().await? {
                Ok(event @ ProviderEvent::Finished(_)) => {
                    reader.end().await;
                    Some((Ok(event), None))
                }
                Ok(event) => Some((Ok(event), Some(reader))),
                Err(error) => {
                    let message = reader.secrets.replace(error.message);
                    Some((Err(ProviderError { message, ..error }), None))
                }
            }
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<Result<ProviderEvent, ProviderError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.content += content(&event);
                return Some(self.bounded(0).map(|()| event));
            }
            if let Err(error) = self.bounded(self.decoder.held()) {
                return Some(Err(error));
            }
            if self.ended {
                return None;
            }
            let decoded = match self.events.next().await {
                Some(Ok(event)) => self.decoder.event(&event.name, &event.data),
                Some(Err(why)) => return Some(Err(broken(&why, &self.at))),
                None => {
                    self.ended = true;
                    self.decoder.end()
                }
            };
            match decoded {
                Ok(events) => self.ready.extend(events),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Whether the bytes so far, together with those that the decoder buffers, are within the limit.
    fn bounded(&self, held: usize) -> Result<(), ProviderError> {
        if self.content.saturating_add(held) <= self.limit {
            return Ok(());
        }
        let message = format!("{}: the content of the answer exceeds {} bytes", self.at, self.limit);
        Err(fault(ProviderErrorKind::InvalidRequest, message))
    }

    /// Reads on to the end of a complete answer.
    async fn end(self) {
        let mut events = self.events;
        let mut rest = async move { while let Some(Ok(_)) = events.next().await {} }.boxed();
        if timeout(MOMENT, &mut rest).await.is_err() {
            tokio::spawn(timeout(REST, rest));
        }
    }
}

/// Bytes that an event holds.
fn content(event: &ProviderEvent) -> usize {
    let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    match event {
        ProviderEvent::TextDelta { text, .. }
        | ProviderEvent::ReasoningDelta { text, .. }
        | ProviderEvent::ToolInputDelta { text, .. } => text.len(),
        ProviderEvent::TextEnded { metadata, .. } | ProviderEvent::ReasoningEnded { metadata, .. } => of(metadata),
        // Its input came piece by piece before.
        ProviderEvent::ToolCalled { call, name, metadata, .. } => call.0.len() + name.len() + of(metadata),
        ProviderEvent::HostedSettled { call, result, error, metadata } => {
            call.0.len() + result.len() + of(error) + of(metadata)
        }
        ProviderEvent::Usage(_) | ProviderEvent::Finished(_) => 0,
    }
}
