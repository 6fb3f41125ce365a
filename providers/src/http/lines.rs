//! An answer as whole lines: bounded in bytes and time before anything is parsed.
//!
//! The parser of events behind this (eventsource-stream 0.2.3) keeps an unfinished line and looks at it anew with every
//! piece that comes, which would cost the square of a long line; handed whole lines it looks at each byte once. And it
//! panics at a byte order mark, which is therefore taken off here.

use super::endpoint::EndpointLimits;
use futures_util::{Stream, StreamExt, stream};
use std::pin::Pin;
use std::time::Duration;
use tokio::time::{Instant, timeout};

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
}

impl Broken {
    /// Whether another attempt would only bring the same.
    pub(super) fn is_of_size(&self) -> bool {
        matches!(self, Self::Event(_) | Self::Answer(_))
    }
}

/// May precede the first line.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The whole lines among the bytes, piece by piece. What follows the last line end is no line.
pub(super) fn whole<S, B>(
    bytes: S,
    limits: EndpointLimits,
    deadline: Instant,
) -> Pin<Box<dyn Stream<Item = Result<Vec<u8>, Broken>> + Send>>
where
    S: Stream<Item = Result<B, String>> + Send + 'static,
    B: AsRef<[u8]> + Send,
{
    let lines = SseLines {
        bytes: Box::pin(bytes),
        held: Vec::new(),
        begun: false,
        read: 0,
        event: EventSize::default(),
        limits,
        deadline,
    };
    stream::unfold(Some(lines), |lines| async move {
        let mut lines = lines?;
        let next = lines.next().await?;
        let goes_on = next.is_ok();
        Some((next, goes_on.then_some(lines)))
    })
    .boxed()
}

struct SseLines<S> {
    bytes: Pin<Box<S>>,
    /// The beginning of a line.
    held: Vec<u8>,
    /// Whether a line was passed on.
    begun: bool,
    read: u64,
    event: EventSize,
    limits: EndpointLimits,
    deadline: Instant,
}

impl<S, B> SseLines<S>
where
    S: Stream<Item = Result<B, String>>,
    B: AsRef<[u8]>,
{
    async fn next(&mut self) -> Option<Result<Vec<u8>, Broken>> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let piece = match timeout(self.limits.idle.min(left), self.bytes.next()).await {
                Err(_) if left <= self.limits.idle => return Some(Err(Broken::Total(self.limits.total))),
                Err(_) => return Some(Err(Broken::Idle(self.limits.idle))),
                Ok(None) => return None,
                Ok(Some(Err(why))) => return Some(Err(Broken::Connection(why))),
                Ok(Some(Ok(piece))) => piece,
            };
            let piece = piece.as_ref();
            self.read += piece.len() as u64;
            if self.read > self.limits.answer_bytes {
                return Some(Err(Broken::Answer(self.limits.answer_bytes)));
            }
            self.event.pass(piece);
            if self.event.largest > self.limits.event_bytes {
                return Some(Err(Broken::Event(self.limits.event_bytes)));
            }
            let before = self.held.len();
            self.held.extend_from_slice(piece);
            if let Some(at) = piece.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
                let rest = self.held.split_off(before + at + 1);
                let mut lines = std::mem::replace(&mut self.held, rest);
                if !std::mem::replace(&mut self.begun, true) && lines.starts_with(BYTE_ORDER_MARK) {
                    lines.drain(..BYTE_ORDER_MARK.len());
                }
                return Some(Ok(lines));
            }
        }
    }
}

/// Counts the bytes from blank line to blank line.
#[derive(Default)]
struct EventSize {
    bytes: usize,
    line: usize,
    after_return: bool,
    largest: usize,
}

impl EventSize {
    fn pass(&mut self, piece: &[u8]) {
        for byte in piece {
            // A line feed after a carriage return ends the same line.
            let same_end = self.after_return && *byte == b'\n';
            self.after_return = *byte == b'\r';
            if same_end {
                continue;
            }
            if matches!(byte, b'\n' | b'\r') {
                if self.line == 0 {
                    self.bytes = 0;
                }
                self.line = 0;
            } else {
                self.line += 1;
                self.bytes += 1;
                self.largest = self.largest.max(self.bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits() -> EndpointLimits {
        EndpointLimits {
            event_bytes: 16,
            answer_bytes: 64,
            idle: Duration::from_millis(20),
            ..EndpointLimits::default()
        }
    }

    async fn of(pieces: Vec<Vec<u8>>) -> Vec<Result<String, Broken>> {
        let deadline = Instant::now() + Duration::from_secs(60);
        let lines = whole(stream::iter(pieces.into_iter().map(Ok)), limits(), deadline);
        lines.map(|line| line.map(|line| String::from_utf8_lossy(&line).into_owned())).collect().await
    }

    fn pieces(pieces: &[&str]) -> Vec<Vec<u8>> {
        pieces.iter().map(|piece| piece.as_bytes().to_vec()).collect()
    }

    #[tokio::test]
    async fn only_whole_lines_are_passed_on() {
        let passed = of(pieces(&["data", ": a\nda", "ta: b\n", "\n", "data: half"])).await;
        assert_eq!(passed, [Ok("data: a\n".into()), Ok("data: b\n".into()), Ok("\n".into())]);
    }

    #[tokio::test]
    async fn a_byte_order_mark_is_taken_off_the_beginning_alone() {
        let marked = "\u{feff}a\n\u{feff}b\n".as_bytes();
        let split = [&marked[..1], &marked[1..4], &marked[4..]].map(<[u8]>::to_vec);
        let passed: String = of(split.to_vec()).await.into_iter().map_while(Result::ok).collect();
        assert_eq!(passed, "a\n\u{feff}b\n");
        assert_eq!(of(vec![BYTE_ORDER_MARK.to_vec()]).await, []);
        assert_eq!(of(vec![[BYTE_ORDER_MARK, b"\n"].concat()]).await, [Ok("\n".into())]);
    }

    #[tokio::test]
    async fn an_event_is_bounded_over_its_lines_and_however_lines_end() {
        for end in ["\n", "\r\n", "\r"] {
            let fits = format!("data: 0123{end}{end}").repeat(4);
            assert!(of(pieces(&[&fits])).await.iter().all(Result::is_ok), "{end:?}");
            let exceeds = format!("data: 0{end}").repeat(3);
            assert_eq!(of(pieces(&[&exceeds])).await, [Err(Broken::Event(16))], "{end:?}");
        }
        assert_eq!(of(pieces(&["data: 012345", "67890"])).await, [Err(Broken::Event(16))]);
    }

    #[tokio::test]
    async fn the_whole_is_bounded_too() {
        let passed = of(pieces(&[": comment\n\n"; 9])).await;
        assert_eq!(passed.iter().filter(|line| line.is_ok()).count(), 5);
        assert_eq!(passed.last(), Some(&Err(Broken::Answer(64))));
    }

    #[tokio::test]
    async fn silence_ends_it_and_so_does_the_deadline() {
        let silent = || stream::pending::<Result<Vec<u8>, String>>();
        let soon = Instant::now();
        let total = whole(silent(), EndpointLimits { total: Duration::from_secs(2), ..limits() }, soon).next().await;
        assert_eq!(total, Some(Err(Broken::Total(Duration::from_secs(2)))));
        let idle = whole(silent(), limits(), soon + Duration::from_secs(60)).next().await;
        assert_eq!(idle, Some(Err(Broken::Idle(Duration::from_millis(20)))));
    }

    proptest! {
        #[test]
        fn the_same_bytes_pass_however_they_are_split(text in "[a:\r\n]{0,60}", cuts in proptest::collection::vec(1usize..7, 0..60)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
            let mut split = Vec::new();
            let mut rest = text.as_bytes();
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                split.push(piece.to_vec());
                rest = after;
            }
            split.push(rest.to_vec());
            let joined = |passed: Vec<Result<String, Broken>>| {
                let broke = passed.iter().any(Result::is_err);
                (broke, passed.into_iter().map_while(Result::ok).collect::<String>())
            };
            let (broke, passed) = joined(runtime.block_on(of(split)));
            let (whole_broke, at_once) = joined(runtime.block_on(of(vec![text.clone().into_bytes()])));
            prop_assert_eq!(broke, whole_broke);
            if !broke {
                prop_assert_eq!(&passed, &at_once);
                let lines = text.rfind(['\r', '\n']).map_or(0, |at| at + 1);
                prop_assert_eq!(passed.as_str(), &text[..lines]);
            }
        }
    }
}
