//! Renewing the log of the consensus of a stream: it has every message until the next snapshot, which servers make after some minutes, or
//! when it is longer than 8 MiB.

use super::NatsEraseError;
use super::record::ErasureRecord;
use crate::nats::api::{ApiError, Purge};
use crate::nats::connection::Patience;
use crate::nats::leases::unique_name;
use crate::nats::log::NatsStore;
use crate::nats::message::EXPECTED_STREAM;
use async_nats::HeaderMap;
use bytes::Bytes;
use serde::de::IgnoredAny;

/// How many bytes make servers write a snapshot.
const ENOUGH: usize = 10 << 20;
/// How long a message may be, even where servers allow longer ones.
const LONGEST: usize = 900 * 1024;
/// What headers take of the longest message.
const HEADERS: usize = 4096;

impl NatsStore {
    /// Makes servers drop the logs that have erased texts, by messages that are removed again.
    pub(super) async fn renew_consensus_logs(&self, record: &ErasureRecord) -> Result<(), NatsEraseError> {
        if self.layout.replicas < 2 {
            return Ok(());
        }
        let most = self.connection.client.server_info().max_payload.saturating_sub(HEADERS).clamp(HEADERS, LONGEST);
        // Random, since servers compress what they log.
        let mut bytes = vec![0_u8; most];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            filled +=
                rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty()).map_err(std::io::Error::from)?;
        }
        let payload = Bytes::from(bytes);
        for (stream, prefix) in self.streams_of(record) {
            let subject = format!("{prefix}.filler.{}", unique_name()?);
            for _ in 0..ENOUGH.div_ceil(most) {
                self.fill(&stream, &subject, &payload).await?;
            }
            let purge = Purge { filter: format!("{prefix}.filler.*"), seq: u64::MAX };
            let _: IgnoredAny = self.connection.ask(&format!("$JS.API.STREAM.PURGE.{stream}"), &purge).await?;
        }
        Ok(())
    }

    async fn fill(&self, stream: &str, subject: &str, payload: &Bytes) -> Result<(), ApiError> {
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED_STREAM, stream);
        let mut patience = Patience::new(&self.connection);
        loop {
            match self.connection.publish(subject.to_owned(), headers.clone(), payload.clone()).await {
                Err(error) if error.is_passing() && patience.again(&error).await => {}
                done => return done.map(drop),
            }
        }
    }
}
