//! Keeps the texts that a batch names there while others are erased.
//!
//! An erasure looks which of its texts no batch names any more, and then removes those: a batch that is appended in between names a text
//! that goes. So the process that appended it looks, before it is acknowledged, whether an erasure removes its texts or may have done so, and
//! stores those again. An erasure removes only messages that were there before it looked, never one that was stored again.

use super::log::{NatsStore, unwritable};
use crate::log::AppendError;
use annals_core::BlobHash;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// Erasures, as a process sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenErasures {
    /// How many removed texts.
    count: u64,
    /// What the pending one removes.
    removes: BTreeSet<BlobHash>,
}

/// The texts that a batch names.
#[derive(Debug, Default)]
pub struct NamedTexts {
    pub hashes: BTreeSet<BlobHash>,
    /// Those that it brought along.
    pub texts: Vec<(BlobHash, String)>,
    /// Before it was looked whether they are there.
    pub seen: SeenErasures,
}

impl NatsStore {
    async fn seen_erasures(&self) -> Result<SeenErasures, AppendError> {
        let failed = |error: io::Error| AppendError::Io { source: Arc::new(error) };
        // In this order: one that ended after its record was looked for is counted.
        let record = self.load_record().await.map_err(|error| failed(io::Error::other(error)))?;
        let count = self.erasures().await.map_err(|error| failed(io::Error::other(error)))?;
        Ok(SeenErasures { count, removes: record.unwrap_or_default().blobs })
    }

    /// Makes the texts of a batch durable that is to be appended.
    pub async fn put_named(
        &self,
        needed: &[BlobHash],
        texts: Vec<(BlobHash, String)>,
    ) -> Result<Result<NamedTexts, BlobHash>, AppendError> {
        let hashes: BTreeSet<BlobHash> = needed.iter().copied().chain(texts.iter().map(|(hash, _)| *hash)).collect();
        if hashes.is_empty() {
            return Ok(Ok(NamedTexts::default()));
        }
        let seen = self.seen_erasures().await?;
        self.blobs.doubt(seen.count, &seen.removes);
        for hash in needed {
            if !self.blobs.has(hash).await.map_err(unwritable)? {
                return Ok(Err(*hash));
            }
        }
        for (hash, text) in &texts {
            self.blobs.put(*hash, text).await.map_err(unwritable)?;
        }
        Ok(Ok(NamedTexts { hashes, texts, seen }))
    }

    /// Stores texts of appended batches again that an erasure removes, or may have removed since they were put there.
    pub async fn keep_named(&self, named: &[&NamedTexts]) -> Result<(), AppendError> {
        if named.iter().all(|named| named.hashes.is_empty()) {
            return Ok(());
        }
        let now = self.seen_erasures().await?;
        self.blobs.doubt(now.count, &now.removes);
        for named in named {
            for hash in &named.hashes {
                let goes = now.removes.contains(hash);
                let missing = || async { self.blobs.has(hash).await.map(|there| !there).map_err(unwritable) };
                if !goes && (named.seen.count == now.count || !missing().await?) {
                    continue;
                }
                let brought = named.texts.iter().find(|(brought, _)| brought == hash).map(|(_, text)| text.as_str());
                let kept = self.blobs.kept(hash);
                match brought.or(kept.as_deref()) {
                    Some(text) => self.blobs.store_again(*hash, text).await.map_err(unwritable)?,
                    None => tracing::warn!(%hash, "a text that a batch names was erased meanwhile"),
                }
            }
        }
        Ok(())
    }
}
