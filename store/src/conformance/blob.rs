//! Large texts: content-addressed, durable before the batch that names them.

use super::material::{begin, draft, session, synthetic, whole};
use super::{LawResult, hold};
use crate::log::{AppendError, EventLog};
use annals_core::event::MessageEvent;
use annals_core::text::{BlobRef, INLINE_MAX};
use annals_core::{Batch, Digest, Event, Seq, Text};
use std::sync::Arc;

fn text_of(batch: &Batch, at: usize) -> Option<&Text> {
    match batch.events.get(at) {
        Some(Event::Message(MessageEvent::SyntheticAdded(added))) => Some(&added.text),
        _ => None,
    }
}

pub(super) async fn large_texts_move_to_blobs(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    begin(&*log, s).await?;
    let (small, large) = ("s".repeat(INLINE_MAX), "größer ".repeat(INLINE_MAX));
    let wanted = draft(s, Seq(1), vec![synthetic(small.clone()), synthetic(large.clone())]);
    let committed = log.append(wanted.clone()).await?;
    let read = whole(&*log, s).await?.pop().map(|slice| slice.batch);
    hold!(read.as_ref() == Some(&committed.batch), "the batch reads back as something else");
    hold!(text_of(&committed.batch, 0) == Some(&Text::Inline(small)), "a text of {INLINE_MAX} bytes is inline");
    let blob = BlobRef::to(&large);
    hold!(text_of(&committed.batch, 1) == Some(&Text::from(blob)), "a larger text is a reference");
    hold!(log.blobs().text(&blob.blob).as_deref() == Some(&*large), "the blob holds the text");
    hold!(log.append(wanted).await?.known, "the same batch with its texts inline is known");
    let named = draft(s, Seq(1), committed.batch.events.clone());
    hold!(log.append(named).await?.known, "the same batch with its texts as references is known");
    hold!(log.blobs().text(&Digest::of(b"nobody wrote this")).is_none(), "a blob that was never put exists");
    Ok(())
}

pub(super) async fn a_batch_that_exceeds_a_record_moves_its_largest_texts(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    begin(&*log, s).await?;
    let texts: Vec<String> = (0..20).map(|n| format!("{n:02}").repeat(2_500 + n)).collect();
    let committed = log.append(draft(s, Seq(1), texts.iter().cloned().map(synthetic).collect())).await?;
    let blobs = log.blobs();
    let mut moved = 0;
    for (at, text) in texts.iter().enumerate() {
        let Some(stored) = text_of(&committed.batch, at) else { continue };
        moved += usize::from(stored.inline().is_none());
        hold!(stored.resolve(&*blobs) == *text, "text {at} reads back as something else");
    }
    hold!(moved > 0 && moved < texts.len(), "{moved} of {} texts moved", texts.len());
    whole(&*log, s).await.map(|_| ())
}

pub(super) async fn a_batch_waits_for_the_blobs_that_it_names(log: Arc<dyn EventLog>) -> LawResult {
    let s = session(1);
    begin(&*log, s).await?;
    let text = "kept elsewhere ".repeat(1_000);
    let blob = BlobRef::to(&text);
    let wanted = draft(s, Seq(1), vec![synthetic("inline"), synthetic(Text::from(blob))]);
    match log.append(wanted.clone()).await {
        Err(AppendError::MissingBlob { session: of, seq, blob: missing }) => {
            hold!(of == s && seq == Seq(1) && missing == blob.blob, "the refusal names another place");
        }
        other => hold!(false, "a batch whose blob is missing gave {other:?}"),
    }
    hold!(log.head(s).await?.is_some_and(|head| head.next == Seq(1)), "a batch without its blob landed");
    hold!(log.put_blob(text.clone()).await? == blob.blob, "a blob is named by its content");
    hold!(log.put_blob(text.clone()).await? == blob.blob, "putting a blob again changes nothing");
    hold!(log.blobs().text(&blob.blob) == Some(text), "the blob holds the text");
    log.append(wanted).await?;
    whole(&*log, s).await.map(|_| ())
}
