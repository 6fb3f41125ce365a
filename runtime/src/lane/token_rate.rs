//! How many tokens a provider counts in what this session sends (`docs/reference/compaction.md#token-rate`).

use super::Lane;
use crate::outcome::LogError;
use annals_core::event::StepEvent;
use annals_core::{Event, ModelName, Seq};
use annals_projections::{TokenRate, rebuild};
use annals_store::Slice;
use std::collections::BTreeMap;

/// Sizes of requests in characters, by the events that announce them.
pub(super) type MeasuredRequests = BTreeMap<Seq, u64>;

impl Lane {
    /// The rate of a model: that of the newest request to it whose size was reported.
    pub(crate) async fn token_rate(&self, model: &ModelName) -> Result<TokenRate, LogError> {
        let view = self.staged_view().await?;
        let Some(reported) = view.requests.reported.get(model).copied() else { return Ok(TokenRate::UNREPORTED) };
        let mut measured = self.measured.lock().await;
        let oldest = view.requests.reported.values().map(|reported| reported.request).min();
        measured.retain(|request, _| oldest.is_some_and(|oldest| *request >= oldest));
        let chars = match measured.get(&reported.request) {
            Some(chars) => *chars,
            None => {
                let chars = self.request_chars(reported.request).await?;
                measured.insert(reported.request, chars);
                chars
            }
        };
        Ok(TokenRate::reported(reported.tokens, chars))
    }

    /// Notes the size of a request that is sent, so that it need not be rebuilt.
    pub(crate) async fn note_request(&self, request: Seq, chars: u64) {
        self.measured.lock().await.insert(request, chars);
    }

    /// The size of a request that an earlier process sent; 0 where the log does not contain all of it any more.
    async fn request_chars(&self, request: Seq) -> Result<u64, LogError> {
        let (view, _) = self.views.whole(self.session, request).await?;
        let blobs = self.log.blobs();
        let mut pages = self.log.pages(self.session, request..Seq(request.0 + 1));
        while let Some(slices) = pages.next_page().await? {
            for record in slices.iter().flat_map(Slice::records).filter(|record| record.seq == request) {
                if let Event::Step(StepEvent::RequestSent(sent)) = record.event {
                    return Ok(rebuild(&view, sent, &*blobs).map_or(0, |request| request.chars()));
                }
            }
        }
        Ok(0)
    }
}
