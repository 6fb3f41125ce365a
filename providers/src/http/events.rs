//! Server-sent events of an answer, split from its bytes as they arrive and bounded in bytes and time
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html>).

mod splitter;

use super::endpoint::EndpointLimits;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, stream};
use splitter::EventSplitter;
use std::pin::Pin;
use std::str::Utf8Error;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// An event of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerEvent {
    /// Its type; empty for the default type, `message`.
    pub name: String,
    /// The id that this event or an earlier one set; empty without one.
    pub id: String,
    /// Its data.
    pub data: String,
    /// The delay after which the server wants to be asked again.
    pub retry: Option<Duration>,
}

/// Why an answer ends before its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Broken {
    /// The connection failed.
    #[error("the connection broke off: {0}")]
    Connection(String),
    /// Nothing came for too long.
    #[error("nothing came for {} s", .0.as_secs_f64())]
    Idle(Duration),
    /// It takes too long.
    #[error("the answer was not complete after {} s", .0.as_secs_f64())]
    Total(Duration),
    /// One event is too large.
    #[error("an event of the answer exceeds {0} bytes")]
    Event(usize),
    /// All of it is too large.
    #[error("the answer exceeds {0} bytes")]
    Answer(u64),
    /// A line is not text.
    #[error("the answer is not UTF-8: {0}")]
    Encoding(#[source] Utf8Error),
}

impl Broken {
    /// Whether another attempt would only bring the same.
    pub(super) fn is_of_size(&self) -> bool {
        matches!(self, Self::Event(_) | Self::Answer(_))
    }
}

/// The events among the bytes, to the end or the first error. An event that is not complete at the end is dropped.
pub(super) fn events<S, B>(
    bytes: S,
    limits: EndpointLimits,
    deadline: Instant,
) -> BoxStream<'static, Result<ServerEvent, Broken>>
where
    S: Stream<Item = Result<B, String>> + Send + 'static,
    B: AsRef<[u8]> + Send,
{
    let splitter = EventSplitter::new(limits.event_bytes);
    let reader = EventReader { bytes: Box::pin(bytes), splitter, broken: None, read: 0, limits, deadline };
    stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        let next = reader.next().await?;
        let continues = next.is_ok();
        Some((next, continues.then_some(reader)))
    })
    .fuse()
    .boxed()
}

struct EventReader<S> {
    bytes: Pin<Box<S>>,
    splitter: EventSplitter,
    /// What ends the answer once the events before it were given.
    broken: Option<Broken>,
    read: u64,
    limits: EndpointLimits,
    deadline: Instant,
}

impl<S, B> EventReader<S>
where
    S: Stream<Item = Result<B, String>>,
    B: AsRef<[u8]>,
{
    async fn next(&mut self) -> Option<Result<ServerEvent, Broken>> {
        loop {
            if let Some(event) = self.splitter.pop() {
                return Some(Ok(event));
            }
            if let Some(broken) = self.broken.take() {
                return Some(Err(broken));
            }
            match self.piece().await {
                Ok(Some(piece)) => self.broken = self.splitter.push(piece.as_ref()).err(),
                Ok(None) => return None,
                Err(broken) => return Some(Err(broken)),
            }
        }
    }

    async fn piece(&mut self) -> Result<Option<B>, Broken> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let piece = match timeout(self.limits.idle.min(left), self.bytes.next()).await {
            Err(_) if left <= self.limits.idle => return Err(Broken::Total(self.limits.total)),
            Err(_) => return Err(Broken::Idle(self.limits.idle)),
            Ok(None) => return Ok(None),
            Ok(Some(piece)) => piece.map_err(Broken::Connection)?,
        };
        self.read += piece.as_ref().len() as u64;
        match self.read > self.limits.answer_bytes {
            true => Err(Broken::Answer(self.limits.answer_bytes)),
            false => Ok(Some(piece)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> EndpointLimits {
        EndpointLimits { answer_bytes: 64, idle: Duration::from_millis(20), ..EndpointLimits::default() }
    }

    #[tokio::test]
    async fn the_whole_answer_is_bounded() {
        let pieces = stream::iter(["data: a\n\n"; 9].map(Ok::<_, String>));
        let deadline = Instant::now() + Duration::from_secs(60);
        let passed: Vec<_> = events(pieces, limits(), deadline).collect().await;
        assert_eq!(passed.iter().filter(|event| event.is_ok()).count(), 7);
        assert_eq!(passed.last(), Some(&Err(Broken::Answer(64))));
    }

    #[tokio::test]
    async fn events_before_a_fault_in_the_same_piece_are_given() {
        let pieces = stream::iter([Ok::<_, String>(&b"data: a\n\ndata: \xff\n\ndata: b\n\n"[..])]);
        let deadline = Instant::now() + Duration::from_secs(60);
        let passed: Vec<_> = events(pieces, limits(), deadline).collect().await;
        let [Ok(first), Err(Broken::Encoding(_))] = &passed[..] else { panic!("{passed:?}") };
        assert_eq!(first.data, "a");
    }

    #[tokio::test]
    async fn silence_ends_it_and_so_does_the_deadline() {
        let silent = || stream::pending::<Result<Vec<u8>, String>>();
        let soon = Instant::now();
        let total = events(silent(), EndpointLimits { total: Duration::from_secs(2), ..limits() }, soon).next().await;
        assert_eq!(total, Some(Err(Broken::Total(Duration::from_secs(2)))));
        let idle = events(silent(), limits(), soon + Duration::from_secs(60)).next().await;
        assert_eq!(idle, Some(Err(Broken::Idle(Duration::from_millis(20)))));
    }
}
