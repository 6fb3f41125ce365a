//! Filling an index with what was appended since.

use crate::writer::IndexWriter;
use crate::{FillReport, IndexError, IndexPlace};
use annals_core::Batch;
use annals_inspect::search::IndexedUpTo;
use annals_store::{EventLog, Followed, ReadError, Scope, StoreCursor};
use futures_util::StreamExt;

/// Number of events after which what was written is made durable: an interruption loses no more.
const DURABLE: u64 = 50_000;

/// Fills the index of a store with what it does not cover yet. `progress` receives how many events were added.
///
/// # Errors
/// When the index cannot be written, another process fills it, or the log cannot be read. What was written before is kept.
pub async fn fill(
    log: &dyn EventLog,
    place: &IndexPlace,
    progress: impl Fn(u64) + Send,
) -> Result<FillReport, IndexError> {
    // The file is there before any text is read: what an erasure removes meanwhile goes into a file that is removed with it.
    match fill_from(log, IndexWriter::open(place)?, place, &progress).await {
        Err(error) if error.is_damage() => fill_from(log, IndexWriter::anew(place)?, place, &progress).await,
        filled => filled,
    }
}

/// Whether the log holds the last batch that an index covers where the index ends.
pub(crate) async fn holds(log: &dyn EventLog, upto: &IndexedUpTo) -> Result<bool, ReadError> {
    match log.last_before(&upto.cursor).await {
        Err(ReadError::ForeignCursor(_)) => Ok(false),
        last => Ok(last?.is_some_and(|last| last.batch.digest == upto.digest)),
    }
}

async fn fill_from(
    log: &dyn EventLog,
    mut writer: IndexWriter,
    place: &IndexPlace,
    progress: &(impl Fn(u64) + Send),
) -> Result<FillReport, IndexError> {
    let covered = writer.covered();
    let mut from = covered.cursor.clone();
    if !from.is_start() && !holds(log, &covered).await? {
        // The log is another one, or was set back.
        drop(writer);
        writer = IndexWriter::anew(place)?;
        from = StoreCursor::START;
    }
    let mut following = log.follow(Scope::All { from });
    let (blobs, first) = (log.blobs(), writer.events());
    let mut durable = first;
    while let Some(followed) = following.next().await.transpose()? {
        let Followed::Batch { slice, place: Some(place) } = followed else { break };
        let batch: &Batch = &slice.batch;
        writer.take(batch, place, &*blobs)?;
        if writer.events() - durable >= DURABLE {
            writer.commit(&*blobs)?;
            durable = writer.events();
            progress(durable - first);
            writer.begin()?;
        }
    }
    if writer.events() > durable {
        writer.commit(&*blobs)?;
    }
    Ok(FillReport { added: writer.events() - first, events: writer.events(), anew: first == 0 })
}
