//! The right to run a session: a key with a time to live, renewed while its holder runs.

use super::api::{ApiError, GetMessage, GotMessage, NO_MESSAGE, PubAck, WRONG_LAST, WRONG_LAST_PENDING};
use super::connection::{NatsConnection, Patience};
use super::layout::{LEASE_SECONDS, StoreLayout};
use super::message::{EXPECTED_LAST, from_leader};
use crate::log::{Boxed, HeldLease, SessionLeases};
use annals_core::SessionId;
use async_nats::HeaderMap;
use bytes::Bytes;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// How often a lease is renewed.
const RENEWED: Duration = Duration::from_secs(LEASE_SECONDS / 3);
/// How long the end of a process waits for them to be given back.
const GIVEN_BACK: Duration = Duration::from_secs(3);
const OPERATION: &str = "KV-Operation";

/// The rights to run sessions of a store in a cluster.
#[derive(Clone, Debug)]
pub struct NatsLeases {
    connection: Arc<NatsConnection>,
    layout: StoreLayout,
    /// How many this process holds, or is giving back.
    held: watch::Sender<usize>,
}

/// The right to run a session. Held until dropped; 15 seconds after its process is gone another one may take it.
#[derive(Debug)]
pub struct NatsLease {
    shared: Arc<LeaseState>,
    /// Dropped with the lease: ends its renewal.
    _end: oneshot::Sender<()>,
}

#[derive(Debug)]
struct LeaseState {
    connection: Arc<NatsConnection>,
    subject: String,
    holder: Bytes,
    /// The number of the message that is the lease.
    seq: Mutex<u64>,
    lost: AtomicBool,
}

impl NatsLeases {
    pub(super) fn new(connection: Arc<NatsConnection>, layout: StoreLayout) -> Self {
        Self { connection, layout, held: watch::Sender::new(0) }
    }

    /// Takes the right to run a session; `None` while another process has it.
    ///
    /// # Errors
    /// When the cluster does not answer or refuses.
    pub async fn take(&self, session: SessionId, holder: &str) -> Result<Option<NatsLease>, ApiError> {
        let subject = self.layout.lease_subject(session);
        let get = GetMessage { last_by_subj: Some(subject.clone()), ..GetMessage::default() };
        let stream = self.layout.lease_stream();
        let got = self.connection.ask::<GotMessage>(&format!("$JS.API.STREAM.MSG.GET.{stream}"), &get).await;
        let before = match got {
            Ok(got) => {
                let message = from_leader(got.message)?;
                if message.header(OPERATION).is_none() {
                    return Ok(None);
                }
                message.seq
            }
            Err(error) if error.is(NO_MESSAGE) => 0,
            Err(error) => return Err(error),
        };
        let shared = LeaseState {
            connection: self.connection.clone(),
            subject,
            holder: format!("{holder} {}", unique_name()?).into(),
            seq: Mutex::new(before),
            lost: AtomicBool::new(false),
        };
        let mut patience = Patience::new(&self.connection);
        loop {
            match shared.write(false).await {
                Ok(_) => break,
                // After an answer that was lost it may be this very one.
                Err(error) if error.is(WRONG_LAST) => match self.is_of(&stream, &shared).await? {
                    true => break,
                    false => return Ok(None),
                },
                Err(error) if error.is(WRONG_LAST_PENDING) => return Ok(None),
                Err(error) if error.is_passing() && patience.again(&error).await => {}
                Err(error) => return Err(error),
            }
        }
        let (shared, (end, ended)) = (Arc::new(shared), oneshot::channel());
        let (renewed, held) = (renewing(shared.clone(), ended), self.held.clone());
        held.send_modify(|held| *held += 1);
        self.connection.spawn(async move {
            renewed.await;
            held.send_modify(|held| *held -= 1);
        });
        Ok(Some(NatsLease { shared, _end: end }))
    }

    /// Whether a lease in the cluster is the one that was just written.
    async fn is_of(&self, stream: &str, shared: &LeaseState) -> Result<bool, ApiError> {
        let get = GetMessage { last_by_subj: Some(shared.subject.clone()), ..GetMessage::default() };
        let got = self.connection.ask::<GotMessage>(&format!("$JS.API.STREAM.MSG.GET.{stream}"), &get).await;
        let message = match got {
            Ok(got) => from_leader(got.message)?,
            Err(error) if error.is(NO_MESSAGE) => return Ok(false),
            Err(error) => return Err(error),
        };
        let is_ours = message.payload == shared.holder;
        if is_ours {
            *shared.seq.lock().unwrap_or_else(PoisonError::into_inner) = message.seq;
        }
        Ok(is_ours)
    }

    /// Waits until those that were dropped are given back.
    pub(super) async fn given_back(&self) {
        let mut held = self.held.subscribe();
        if tokio::time::timeout(GIVEN_BACK, held.wait_for(|held| *held == 0)).await.is_err() {
            tracing::debug!("a lease was not given back; it ends by itself");
        }
    }
}

/// A name that no other process has.
pub(super) fn unique_name() -> Result<String, ApiError> {
    let mut bytes = [0_u8; 12];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    filled.map_err(|error| ApiError::NoAnswer(format!("no random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl SessionLeases for NatsLeases {
    fn take(&self, session: SessionId) -> Boxed<'_, io::Result<Option<Box<dyn HeldLease>>>> {
        Box::pin(async move {
            let holder = format!("process {}", std::process::id());
            let lease = NatsLeases::take(self, session, &holder).await.map_err(io::Error::other)?;
            Ok(lease.map(|lease| Box::new(lease) as Box<dyn HeldLease>))
        })
    }
}

impl HeldLease for NatsLease {}

impl NatsLease {
    /// Whether another process may have it by now: it could not be renewed in time.
    pub fn is_lost(&self) -> bool {
        self.shared.lost.load(Ordering::Acquire)
    }
}

impl LeaseState {
    /// Writes the key anew, or that it is given up.
    async fn write(&self, ends: bool) -> Result<PubAck, ApiError> {
        let before = *self.seq.lock().unwrap_or_else(PoisonError::into_inner);
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED_LAST, before.to_string().as_str());
        headers.insert("Nats-TTL", format!("{LEASE_SECONDS}s").as_str());
        if ends {
            headers.insert(OPERATION, "DEL");
        }
        let payload = if ends { Bytes::new() } else { self.holder.clone() };
        let ack = self.connection.publish(self.subject.clone(), headers, payload).await?;
        *self.seq.lock().unwrap_or_else(PoisonError::into_inner) = ack.seq;
        Ok(ack)
    }
}

async fn renewing(lease: Arc<LeaseState>, mut ended: oneshot::Receiver<()>) {
    loop {
        tokio::select! {
            _ = &mut ended => {
                drop(lease.write(true).await);
                return;
            }
            () = tokio::time::sleep(RENEWED) => {}
        }
        match lease.write(false).await {
            Ok(_) => {}
            Err(error) if error.is(WRONG_LAST) => {
                lease.lost.store(true, Ordering::Release);
                tracing::warn!(subject = lease.subject, "the lease of a session was lost to another process");
                return;
            }
            Err(error) => tracing::debug!(%error, "a lease was not renewed; the next try follows"),
        }
    }
}
