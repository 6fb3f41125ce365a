//! Loads what is shown. Only the newest wish counts: what is being loaded for an older one is given up.

use super::pages::{TuiPages, past_cut};
use super::state::TuiLoaded;
use super::tab::{TuiPageKey, TuiWanted};
use super::timeline::TuiTimeline;
use crate::commands::log;
use crate::error::CliError;
use crate::style::Style;
use annals_core::{Seq, SessionId};
use annals_inspect::pricing::Pricing;
use annals_inspect::reader::Reader;
use annals_inspect::report::SessionIndex;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Loads sessions and tabs.
pub struct TuiLoader {
    reader: Reader,
    pricing: Pricing,
    style: Style,
    open: Option<LoadedSession>,
}

/// The session that was loaded last.
struct LoadedSession {
    session: SessionId,
    timeline: Arc<TuiTimeline>,
}

impl TuiLoader {
    /// A loader that reads here.
    pub fn new(reader: Reader, pricing: Pricing, style: Style) -> Self {
        Self { reader, pricing, style, open: None }
    }

    /// Loads what is wanted until the screen is gone.
    pub async fn run(
        mut self,
        mut wanted: watch::Receiver<Option<TuiWanted>>,
        loaded: mpsc::UnboundedSender<TuiLoaded>,
    ) {
        loop {
            let now = *wanted.borrow_and_update();
            let changed = tokio::select! {
                biased;
                changed = wanted.changed() => changed,
                () = self.load(now, &loaded) => wanted.changed().await,
            };
            if changed.is_err() {
                return;
            }
        }
    }

    /// Loads what is wanted. Who waited for an answer may be gone.
    pub async fn load(&mut self, wanted: Option<TuiWanted>, loaded: &mpsc::UnboundedSender<TuiLoaded>) {
        let Some(TuiWanted { session, page }) = wanted else {
            self.open = None;
            return;
        };
        if self.open.as_ref().is_none_or(|open| open.session != session) {
            self.open = None;
            match self.timeline(session).await {
                Ok((opened, end)) => {
                    let timeline = Arc::clone(&opened.timeline);
                    self.open = Some(opened);
                    drop(loaded.send(TuiLoaded::Timeline { session, timeline, end }));
                }
                Err(error) => drop(loaded.send(TuiLoaded::Failed { session, error: error.to_string() })),
            }
        }
        if let (Some(open), Some(key)) = (&self.open, page)
            && let Err(error) = self.page(open, key, loaded).await
        {
            drop(loaded.send(TuiLoaded::Failed { session, error: error.to_string() }));
        }
    }

    async fn timeline(&self, session: SessionId) -> Result<(LoadedSession, Seq), CliError> {
        let end = self.reader.head(session).await?.next;
        let mut index = SessionIndex::default();
        index.extend(&self.reader.session_at(session, end)).await?;
        let directory = log::directory(&self.reader, session).await?;
        Ok((LoadedSession { session, timeline: Arc::new(TuiTimeline::new(index, directory)) }, end))
    }

    async fn page(
        &self,
        open: &LoadedSession,
        key: TuiPageKey,
        loaded: &mpsc::UnboundedSender<TuiLoaded>,
    ) -> Result<(), CliError> {
        let session = open.session;
        let cut = past_cut(&self.reader, session, key.seq).await?;
        drop(loaded.send(TuiLoaded::Cut { session, seq: key.seq, cut }));
        let pages = TuiPages {
            reader: &self.reader,
            session,
            timeline: &open.timeline,
            pricing: &self.pricing,
            style: Style { width: usize::from(key.width), json: false, ..self.style.clone() },
        };
        let text = pages.text(&key, cut).await;
        drop(loaded.send(TuiLoaded::Page { session, key, text }));
        Ok(())
    }
}
