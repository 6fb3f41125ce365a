//! An entry point for fuzzing: the answer of a server, as a stream of events.

use super::answer::AnswerReader;
use super::endpoint::EndpointLimits;
use super::secrets::EndpointSecrets;
use crate::provider::ProviderEvent;
use crate::wire::{Protocol, decoder};
use futures_util::{StreamExt, stream};
use tokio::time::Instant;

/// Reads an answer that arrives in these pieces, and gives what it says.
///
/// # Panics
/// When it gives something behind its end, or holds more than its limits allow.
pub async fn answer(protocol: Protocol, pieces: Vec<Vec<u8>>) -> Vec<ProviderEvent> {
    let limits = EndpointLimits {
        event_bytes: 1 << 16,
        answer_bytes: 1 << 20,
        content_bytes: 1 << 16,
        ..EndpointLimits::default()
    };
    let deadline = Instant::now() + limits.total;
    let bytes = stream::iter(pieces.into_iter().map(Ok::<_, String>));
    let reader =
        AnswerReader::of(bytes, decoder(protocol), limits, deadline, EndpointSecrets::default(), "fuzzing".into());
    let answer: Vec<_> = reader.answer().collect().await;
    let last = answer.len().saturating_sub(1);
    for (at, event) in answer.iter().enumerate() {
        let ends = matches!(event, Err(_) | Ok(ProviderEvent::Finished(_)));
        assert!(!ends || at == last, "an answer ends once");
    }
    answer.into_iter().filter_map(Result::ok).collect()
}
