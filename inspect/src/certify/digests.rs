//! The digests of views and requests, made as they are written: none of them is in memory as a whole.

use crate::joined::JoinedItems;
use crate::{AskError, SessionAt, each_request, views};
use annals_core::event::CompactionEvent;
use annals_core::{Digest, Digester, Event, Seq, canonical};
use annals_projections::{Body, Messages, Projection, SessionView, ToJson};
use annals_store::{ReadError, Slice};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The digest of a JSON array whose items come one by one.
struct ListDigest {
    digester: Digester,
    count: u64,
}

impl ListDigest {
    fn begin() -> Self {
        let mut digester = Digester::default();
        digester.update(b"[");
        Self { digester, count: 0 }
    }

    fn item(&mut self, canonical: &str) {
        if self.count > 0 {
            self.digester.update(b",");
        }
        self.count += 1;
        self.digester.update(canonical.as_bytes());
    }

    fn end(mut self) -> Digest {
        self.digester.update(b"]");
        self.digester.digest()
    }
}

/// The digest of each view at the end of a session, and of each request's body.
pub(super) async fn of_views(past: &SessionAt) -> Result<(BTreeMap<String, Digest>, Vec<Digest>), AskError> {
    let view = past.seen(past.until).await?;
    let mut all: BTreeMap<String, Digest> = BTreeMap::new();
    for name in views::NAMES {
        let digest = match name {
            "transcript" => transcript(past, &view).await?,
            "events" => events(past).await?,
            "requests" => continue,
            name => views::digest(&views::folded(&view, name, past.blobs())),
        };
        all.insert(name.to_owned(), digest);
    }
    let steps = past.steps().await?;
    let (mut requests, mut bodies, mut texts) = (ListDigest::begin(), Vec::new(), views::RequestTexts::default());
    each_request(past, steps.requests.iter(), |step, built, _| {
        requests.item(texts.item(step, &built));
        bodies.push(Digest::of(texts.body(step, &built).as_bytes()));
    })
    .await?;
    all.insert("requests".to_owned(), requests.end());
    Ok((all, bodies))
}

async fn events(past: &SessionAt) -> Result<Digest, ReadError> {
    let mut list = ListDigest::begin();
    past.each(Seq::ZERO, past.until, |record| list.item(&canonical::value(&record.to_json(past.blobs())))).await?;
    Ok(list.end())
}

async fn transcript(past: &SessionAt, view: &SessionView) -> Result<Digest, ReadError> {
    let (mut list, mut messages) = (ListDigest::begin(), Messages::default());
    let mut write = |message: &Arc<annals_projections::Message>| {
        if !matches!(message.body, Body::System { .. }) {
            list.item(&canonical::value(&view.transcript.message_json(&view.transcript.marked(message), past.blobs())));
        }
    };
    let mut pages = past.log().pages(past.session, Seq::ZERO..past.until);
    while let Some(slices) = pages.next_page().await? {
        slices.iter().flat_map(Slice::records).for_each(|record| {
            messages.apply(&record);
        });
        messages.take_settled().iter().for_each(&mut write);
    }
    messages.list().iter().for_each(write);
    Ok(list.end())
}

/// The view `history`, written again where it changed.
#[derive(Default)]
struct HistoryText {
    items: JoinedItems,
    /// The message of each item.
    messages: Vec<Seq>,
    changed: Option<Seq>,
}

impl HistoryText {
    fn change(&mut self, from: Option<Seq>) {
        self.changed = match (self.changed, from) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    fn text(&mut self, past: &SessionAt, view: &SessionView) -> &str {
        if let Some(from) = self.changed.take() {
            let kept = self.messages.iter().rposition(|seq| *seq < from).map_or(0, |at| at + 1);
            let kept = if from == Seq::ZERO { 0 } else { kept };
            self.messages.truncate(kept);
            self.items.truncate(kept);
            for message in view.history.selected_from(from) {
                self.messages.push(message.seq);
                self.items.push(&canonical::value(&view.history.message_json(message, past.blobs())));
            }
        }
        self.items.text()
    }
}

/// The digest over those of `history`, `baseline`, `snapshot` and `usage` where each user message joined, and at the end:
/// what a fold does on the way is certified too.
pub(super) async fn of_turns(past: &SessionAt) -> Result<Digest, AskError> {
    let steps = past.steps().await?;
    let mut ahead = steps.users.iter().peekable();
    let (mut view, mut history, mut digests) = (SessionView::default(), HistoryText::default(), Vec::new());
    let mut pages = past.log().pages(past.session, Seq::ZERO..past.until);
    while let Some(slices) = pages.next_page().await? {
        for record in slices.iter().flat_map(Slice::records) {
            if ahead.next_if(|user| **user == record.seq).is_some() {
                digests.push(at_turn(past, &view, history.text(past, &view)));
            }
            history.change(view.history.take(&record));
            view.epochs.apply(&record);
            view.usage.apply(&record);
            if matches!(record.event, Event::Compaction(CompactionEvent::Ended(_) | CompactionEvent::Completed(_))) {
                view.history.evict();
            }
            if view.is_stale() {
                view = past.view(record.seq.plus(1)).await?;
                history.change(Some(Seq::ZERO));
            }
        }
    }
    digests.push(at_turn(past, &view, history.text(past, &view)));
    Ok(Digest::of_all(&digests))
}

fn at_turn(past: &SessionAt, view: &SessionView, history: &str) -> Digest {
    let of = |name| canonical::value(&views::folded(view, name, past.blobs()));
    let mut digester = Digester::default();
    let parts = ["{\"baseline\":", &of("baseline"), ",\"history\":[", history, "],\"snapshot\":", &of("snapshot")];
    parts.into_iter().chain([",\"usage\":", &of("usage"), "}"]).for_each(|part| digester.update(part.as_bytes()));
    digester.digest()
}
