//! Copies of what passes: within a budget of memory, handed to the recorder without ever waiting for it.

use crate::coding::StreamCoding;
use crate::headers::AgentIds;
use annals_core::Time;
use annals_core::event::CompactionReason;
use annals_runtime::worktree::Tree;
use bytes::Bytes;
use futures_util::Stream;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// The most bytes of one body that are recorded.
pub(crate) const BODY_MAX: usize = 64 << 20;

/// The most bytes that wait for the recorder, of all bodies together.
const WAITING_MAX: usize = 256 << 20;

/// A request that was passed on.
#[derive(Debug)]
pub(crate) struct CapturedRequest {
    /// Numbers requests, so that the answer is found.
    pub(crate) id: u64,
    pub(crate) at: Time,
    pub(crate) method: String,
    /// The path and the query without credentials.
    pub(crate) target: String,
    /// The host that it was passed on to.
    pub(crate) host: String,
    pub(crate) ids: AgentIds,
    /// The agent that it is of, if it says so.
    pub(crate) agent: Option<&'static str>,
    /// Who asked for a summary, where the agent says that the request is for one.
    pub(crate) compaction: Option<CompactionReason>,
    /// Values of its headers and query that must not be written.
    pub(crate) secrets: Vec<String>,
    pub(crate) coding: Option<String>,
    pub(crate) body: CapturedBody,
    /// The files when it arrived, once they are captured.
    pub(crate) files: Option<oneshot::Receiver<Tree>>,
    /// Ends when the answer begins.
    pub(crate) answered: Option<oneshot::Receiver<()>>,
}

/// How long the recording of a request waits for the beginning of its answer.
const ANSWER_WAIT: Duration = Duration::from_millis(20);

impl CapturedRequest {
    /// Waits until the answer begins: the work of recording must not take the processor from the bytes that pass.
    pub(crate) async fn until_answered(&mut self) {
        if let Some(answered) = self.answered.take() {
            // Both a beginning and a broken exchange end it.
            drop(tokio::time::timeout(ANSWER_WAIT, answered).await);
        }
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct CapturedAnswer {
    pub(crate) id: u64,
    pub(crate) at: Time,
    /// `None` if the provider could not be reached.
    pub(crate) status: Option<u16>,
    pub(crate) media: Option<String>,
    /// The id that the provider gave the request.
    pub(crate) request_id: Option<String>,
    pub(crate) coding: Option<String>,
    pub(crate) body: CapturedBody,
    /// Whether the body arrived to its end.
    pub(crate) complete: bool,
    /// Why it did not.
    pub(crate) fault: Option<String>,
    pub(crate) first_byte_ms: Option<u64>,
    pub(crate) duration_ms: u64,
}

/// A piece of an answer that arrives.
#[derive(Debug)]
pub(crate) struct CapturedPiece {
    /// The request.
    pub(crate) id: u64,
    pub(crate) coding: StreamCoding,
    pub(crate) body: CapturedBody,
}

/// What the recorder receives.
#[derive(Debug)]
pub(crate) enum Captured {
    Request(Box<CapturedRequest>),
    /// A piece of an answer, of which the whole follows.
    Piece(CapturedPiece),
    Answer(Box<CapturedAnswer>),
    /// Nothing follows that is to be recorded.
    End,
}

/// The way to the recorder. Sending never waits.
#[derive(Clone, Debug)]
pub(crate) struct CaptureQueue {
    sender: mpsc::UnboundedSender<Captured>,
    waiting: Arc<AtomicUsize>,
    missed: Arc<AtomicU64>,
}

impl CaptureQueue {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Captured>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender, waiting: Arc::default(), missed: Arc::default() }, receiver)
    }

    /// An empty copy of a body.
    pub(crate) fn body(&self) -> CapturedBody {
        CapturedBody { bytes: Vec::new(), waiting: self.waiting.clone(), overflowed: false, size: 0 }
    }

    pub(crate) fn send(&self, captured: Captured) {
        if let Err(mpsc::error::SendError(Captured::Request(_))) = self.sender.send(captured) {
            self.miss();
        }
    }

    /// A piece of the answer to a request.
    pub(crate) fn piece(&self, id: u64, coding: StreamCoding, bytes: &[u8]) {
        let mut body = self.body();
        body.push(bytes);
        self.send(Captured::Piece(CapturedPiece { id, coding, body }));
    }

    /// Counts a request that is not recorded.
    pub(crate) fn miss(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// How many requests were not handed over.
    pub(crate) fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }
}

/// A copy of a body, as far as the budget reaches.
#[derive(Debug)]
pub(crate) struct CapturedBody {
    bytes: Vec<u8>,
    waiting: Arc<AtomicUsize>,
    overflowed: bool,
    /// How many bytes there were, kept or not.
    size: u64,
}

impl CapturedBody {
    /// A body that was read from a file.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        let (overflowed, waiting) = (bytes.len() > BODY_MAX, Arc::new(AtomicUsize::new(bytes.len())));
        let size = bytes.len() as u64;
        Self { bytes, waiting, overflowed, size }
    }

    /// Adds what passed.
    fn push(&mut self, piece: &[u8]) {
        self.size += piece.len() as u64;
        let before = self.waiting.fetch_add(piece.len(), Ordering::Relaxed);
        if self.overflowed || self.bytes.len() + piece.len() > BODY_MAX || before + piece.len() > WAITING_MAX {
            self.waiting.fetch_sub(piece.len(), Ordering::Relaxed);
            self.overflow();
            return;
        }
        self.bytes.extend_from_slice(piece);
    }

    fn overflow(&mut self) {
        self.waiting.fetch_sub(self.bytes.len(), Ordering::Relaxed);
        (self.bytes, self.overflowed) = (Vec::new(), true);
    }

    /// How many bytes there were, kept or not.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The bytes; `None` if there were too many.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        (!self.overflowed).then_some(&self.bytes)
    }
}

impl Drop for CapturedBody {
    fn drop(&mut self) {
        self.waiting.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

/// How a body ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    /// It arrived to its end.
    Complete,
    /// It broke off, or its receiver went.
    BrokenOff(Option<String>),
}

/// Called with the copy when a body ends.
type WhenEnded = Box<dyn FnOnce(CapturedBody, BodyEnd, Option<std::time::Instant>) + Send>;

/// Called with each piece that passes.
pub type WhenPassed = Box<dyn Fn(&[u8]) + Send>;

/// A stream that copies what passes.
pub(crate) struct CopyingStream<S> {
    inner: Pin<Box<S>>,
    passes: Option<WhenPassed>,
    copy: Option<(CapturedBody, WhenEnded)>,
    first: Option<std::time::Instant>,
    /// How many bytes are announced, and how many passed.
    announced: Option<u64>,
    passed: u64,
}

impl<S> CopyingStream<S> {
    pub(crate) fn new(inner: S, announced: Option<u64>, copy: CapturedBody, ended: WhenEnded) -> Self {
        Self { inner: Box::pin(inner), passes: None, copy: Some((copy, ended)), first: None, announced, passed: 0 }
    }

    /// The same; `passes` is called with each piece.
    pub(crate) fn passing(mut self, passes: Option<WhenPassed>) -> Self {
        self.passes = passes;
        self
    }

    fn end(&mut self, end: BodyEnd) {
        if let Some((copy, ended)) = self.copy.take() {
            ended(copy, end, self.first);
        }
    }
}

impl<S, E> Stream for CopyingStream<S>
where
    S: Stream<Item = Result<Bytes, E>>,
    E: std::fmt::Display,
{
    type Item = Result<Bytes, E>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.inner.as_mut().poll_next(context);
        match &polled {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(piece))) => {
                self.first.get_or_insert_with(std::time::Instant::now);
                self.passed += piece.len() as u64;
                if let Some((copy, _)) = &mut self.copy {
                    copy.push(piece);
                }
                if let Some(passes) = &self.passes {
                    passes(piece);
                }
            }
            Poll::Ready(Some(Err(error))) => {
                let why = error.to_string();
                self.end(BodyEnd::BrokenOff(Some(why)));
            }
            Poll::Ready(None) => self.end(BodyEnd::Complete),
        }
        polled
    }
}

impl<S> Drop for CopyingStream<S> {
    fn drop(&mut self) {
        // A reader of a body of known length may not look for its end.
        let whole = self.announced == Some(self.passed);
        self.end(if whole { BodyEnd::Complete } else { BodyEnd::BrokenOff(None) });
    }
}
/// A stream that one reader may continue where another gave up.
pub(crate) struct SharedStream<S>(Arc<Mutex<Pin<Box<S>>>>);

impl<S> SharedStream<S> {
    pub(crate) fn of(stream: S) -> Self {
        Self(Arc::new(Mutex::new(Box::pin(stream))))
    }
}

impl<S> Clone for SharedStream<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Stream> Stream for SharedStream<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Readers follow each other.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().poll_next(context)
    }
}
