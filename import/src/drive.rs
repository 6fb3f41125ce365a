//! Reads a source on a thread of its own while its batches are appended.

mod driver;
mod erased;

use super::known_context::{recall, start};
use super::recognise::RecogniseError;
use super::report::{ImportReport, SessionReport};
use super::sink::{ImportSink, ReadSourceError, ReceiverGone, SourceItem};
use super::{ImportOptions, ImportProgress, ImportSource};
use annals_core::text::Texts;
use annals_store::{AppendError, EventLog, ReadError, exchange};
use driver::Driver;
use futures_util::StreamExt;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// How many batches may wait for the log: enough to append the sessions of a database concurrently.
const WAITING: usize = 4096;

/// The most text between the reader and the log, in KiB.
const TEXT_MAX: u32 = 64 * 1024;

/// An import stopped. What was appended before it remains; import again to continue.
#[derive(Debug, thiserror::Error)]
pub enum SourceImportError {
    /// The source cannot be read.
    #[error(transparent)]
    Source(#[from] ReadSourceError),
    /// The file is not recognised, or its sessions cannot be listed.
    #[error(transparent)]
    Recognise(#[from] RecogniseError),
    /// An export of Annals cannot be imported: it cannot be read, does not verify (nothing was appended), or the log refused it.
    #[error("{}: {source}", path.display())]
    Export {
        /// The export.
        path: PathBuf,
        /// The error that caused it.
        #[source]
        source: Box<exchange::ImportError>,
    },
    /// The log cannot be read.
    #[error("the log could not be read: {0}")]
    Log(#[from] ReadError),
    /// A record that loses something could not be stored as a blob.
    #[error("an original could not be stored: {0}")]
    Keep(#[source] AppendError),
    /// The thread that reads the source panicked.
    #[error("reading the source ended unexpectedly: {0}")]
    Reader(String),
}

impl SourceImportError {
    /// Whether only this source is at fault, so that others can still be imported.
    pub fn is_of_source(&self) -> bool {
        match self {
            Self::Source(_) | Self::Recognise(_) => true,
            Self::Export { source, .. } => !matches!(**source, exchange::ImportError::Append { .. }),
            Self::Log(_) | Self::Keep(_) | Self::Reader(_) => false,
        }
    }
}

/// Reads a source once; `only` chooses sessions of it, with their branches.
pub(super) async fn once(
    log: &Arc<dyn EventLog>,
    source: &ImportSource,
    options: &ImportOptions,
    only: Option<&[SessionReport]>,
    progress: &mut (dyn FnMut(ImportProgress<'_>) + Send),
) -> Result<ImportReport, SourceImportError> {
    let (sender, mut items) = mpsc::channel::<(SourceItem, TextPermit)>(WAITING);
    let room = Arc::new(Semaphore::new(TEXT_MAX as usize));
    let reader = tokio::task::spawn_blocking({
        let (log, source, options) = (Arc::clone(log), source.clone(), options.clone());
        let handle = Handle::current();
        move || {
            let mut send = |mut item| {
                let wanted = weight(&mut item);
                let held = handle.block_on(Arc::clone(&room).acquire_many_owned(wanted)).map_err(|_| ReceiverGone)?;
                sender.blocking_send((item, held)).map_err(|_| ReceiverGone)
            };
            let recall = |session| handle.block_on(recall(&*log, session));
            let start = |session| handle.block_on(start(&*log, session));
            let mut sink = ImportSink {
                send: &mut send,
                recall: &recall,
                editions: &options.editions,
                keep_originals: options.keep_originals,
                prompts: options.prompts,
                start: &start,
                without_requests: options.without_requests,
            };
            source.read(&mut sink)
        }
    });
    let mut driver = Driver::new(log, source, only, options.secret);
    loop {
        // Both at once: the reader waits for permits that only finished appends release.
        tokio::select! {
            received = items.recv(), if driver.waiting < WAITING => match received {
                Some((item, held)) => driver.take(item, held, progress).await?,
                None => break,
            },
            Some(sent) = driver.in_flight.next(), if !driver.in_flight.is_empty() => {
                driver.settle(sent, progress).await;
            }
        }
    }
    driver.settle_all(progress).await;
    match reader.await {
        Ok(Ok(())) => Ok(driver.finish()),
        Ok(Err(error)) => Err(error.into()),
        Err(error) => Err(SourceImportError::Reader(error.to_string())),
    }
}

/// The share of `TEXT_MAX` that an item takes; dropped when the item is appended.
type TextPermit = OwnedSemaphorePermit;

/// The share of `TEXT_MAX` that an item takes, in KiB; a larger item takes all of it.
fn weight(item: &mut SourceItem) -> u32 {
    let mut bytes = 0;
    match item {
        SourceItem::Batch { draft, .. } => {
            draft.events.iter_mut().for_each(|event| event.texts(&mut |text| bytes += text.bytes()));
        }
        SourceItem::Lost { original: Some(original), .. } => bytes = original.len() as u64,
        SourceItem::Started { .. }
        | SourceItem::Lost { .. }
        | SourceItem::Damaged { .. }
        | SourceItem::Progress { .. } => {}
    }
    u32::try_from(bytes / 1024).unwrap_or(TEXT_MAX).min(TEXT_MAX)
}
