//! Appends to sessions of one stream that come at the same time: they travel together.
//!
//! A message is sent at once if none of its stream is on its way. Those that come meanwhile wait for the acknowledgement of that, and are
//! then published together: each is stored behind the last message of its own subject, or none is, and then each is sent alone. So
//! servers replicate and flush once for many writers, and a writer that is alone does not wait.

use super::api::{ApiError, PubAck};
use super::connection::{ANSWER, NatsConnection};
use super::message::NewMessage;
use futures_util::future::join_all;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// How many messages travel together at most: servers take up to 1,000.
pub const TOGETHER: usize = 500;
/// How many bytes they have at most.
pub const TOGETHER_BYTES: usize = 4 << 20;

#[derive(Debug)]
struct WaitingMessage {
    message: NewMessage,
    answer: oneshot::Sender<Result<PubAck, ApiError>>,
}

/// One stream.
#[derive(Debug, Default)]
struct StreamGroup {
    is_on_its_way: bool,
    waiting: Vec<WaitingMessage>,
}

/// What is on its way to each stream of a store, and what waits for that.
#[derive(Debug)]
pub struct PublishGroups {
    connection: Arc<NatsConnection>,
    streams: Vec<Mutex<StreamGroup>>,
}

/// The right to send to a stream. When it ends, what waits is sent.
struct SendingTurn {
    groups: Arc<PublishGroups>,
    stream: usize,
}

impl Drop for SendingTurn {
    fn drop(&mut self) {
        let messages = self.groups.next_group(self.stream);
        if messages.is_empty() {
            return;
        }
        let next = Self { groups: self.groups.clone(), stream: self.stream };
        self.groups.connection.spawn(async move { next.groups.send(messages).await });
    }
}

impl PublishGroups {
    pub fn new(connection: Arc<NatsConnection>, streams: u32) -> Self {
        Self { connection, streams: (0..streams).map(|_| Mutex::default()).collect() }
    }

    /// Publishes a message once. [`ApiError::NoAnswer`]: it is not known whether it is stored.
    pub async fn publish(self: &Arc<Self>, stream: u32, message: NewMessage) -> Result<PubAck, ApiError> {
        let stream = stream as usize;
        let Some(group) = self.streams.get(stream) else { return self.publish_alone(message).await };
        let waits = {
            let mut group = group.lock().unwrap_or_else(PoisonError::into_inner);
            match std::mem::replace(&mut group.is_on_its_way, true) {
                false => Err(message),
                true => {
                    let (answer, answered) = oneshot::channel();
                    group.waiting.push(WaitingMessage { message, answer });
                    Ok(answered)
                }
            }
        };
        match waits {
            Err(message) => {
                let _turn = SendingTurn { groups: self.clone(), stream };
                self.publish_alone(message).await
            }
            // One that is given up here before it was sent is not sent.
            Ok(answered) => match tokio::time::timeout(ANSWER, answered).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => Err(ApiError::NoAnswer("the connection was closed".to_owned())),
                Err(elapsed) => Err(ApiError::NoAnswer(elapsed.to_string())),
            },
        }
    }

    /// What is sent next; nothing more is on its way if it is empty.
    fn next_group(&self, stream: usize) -> Vec<WaitingMessage> {
        let Some(group) = self.streams.get(stream) else { return Vec::new() };
        let mut group = group.lock().unwrap_or_else(PoisonError::into_inner);
        group.waiting.retain(|waiting| !waiting.answer.is_closed());
        let mut bytes = 0;
        let fits = group.waiting.iter().take(TOGETHER).take_while(|waiting| {
            bytes += waiting.message.payload.len();
            bytes <= TOGETHER_BYTES
        });
        let count = fits.count().max(1).min(group.waiting.len());
        group.is_on_its_way = count > 0;
        group.waiting.drain(..count).collect()
    }

    /// Sends messages together, and answers those who wait.
    async fn send(&self, group: Vec<WaitingMessage>) {
        let (answers, messages): (Vec<_>, Vec<_>) =
            group.into_iter().map(|waiting| (waiting.answer, waiting.message)).unzip();
        let results = self.publish_all(messages).await;
        for (answer, result) in answers.into_iter().zip(results) {
            // Who does not wait any more reads what became of it.
            drop(answer.send(result));
        }
    }

    async fn publish_all(&self, messages: Vec<NewMessage>) -> Vec<Result<PubAck, ApiError>> {
        let count = messages.len();
        if count > 1 {
            match self.connection.publish_together(&messages).await {
                Ok(PubAck { stream, seq, duplicate }) if seq >= count as u64 => {
                    let first = seq + 1 - count as u64;
                    return (first..=seq).map(|seq| Ok(PubAck { stream: stream.clone(), seq, duplicate })).collect();
                }
                Err(error) if error.is_passing() => return (0..count).map(|_| Err(error.clone())).collect(),
                // One of them is not behind the last message of its subject: the others are.
                refused => tracing::debug!(?refused, "appends do not travel together"),
            }
        }
        join_all(messages.into_iter().map(|message| self.publish_alone(message))).await
    }

    async fn publish_alone(&self, message: NewMessage) -> Result<PubAck, ApiError> {
        let NewMessage { subject, headers, payload } = message;
        self.connection.publish(subject, headers, payload).await
    }
}
