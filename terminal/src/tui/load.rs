//! Loads what is shown. Only the newest wish counts: what is being loaded for an older one is given up.

use super::follow::{TuiFollower, TuiNews, TuiSource};
use super::pages::{TuiPages, past_cut};
use super::state::TuiLoaded;
use super::tab::{TuiPageKey, TuiWanted};
use super::timeline::TuiTimeline;
use crate::error::TerminalError;
use crate::style::Style;
use annals_core::{Seq, SessionId};
use annals_inspect::pricing::Pricing;
use annals_inspect::report::SessionIndex;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Loads sessions and tabs.
pub struct TuiLoader {
    source: TuiSource,
    pricing: Pricing,
    style: Style,
    open: Option<LoadedSession>,
    /// The page that was sent last.
    sent: Option<TuiPageKey>,
}

/// The session that was loaded last.
struct LoadedSession {
    session: SessionId,
    index: SessionIndex,
    directory: String,
    timeline: Arc<TuiTimeline>,
    /// `None` where nothing is appended.
    follower: Option<TuiFollower>,
}

impl TuiLoader {
    /// A loader that reads here.
    pub fn new(source: TuiSource, pricing: Pricing, style: Style) -> Self {
        Self { source, pricing, style, open: None, sent: None }
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
                () = self.load_and_follow(now, &loaded) => return,
            };
            if changed.is_err() {
                return;
            }
        }
    }

    /// Loads what is wanted, then what happens in the session, until this is given up. Returns once the screen is gone.
    async fn load_and_follow(&mut self, wanted: Option<TuiWanted>, loaded: &mpsc::UnboundedSender<TuiLoaded>) {
        self.load(wanted, loaded).await;
        loop {
            let Some(LoadedSession { session, follower: Some(follower), .. }) = &mut self.open else {
                loaded.closed().await;
                return;
            };
            let session = *session;
            let news = match follower.next(&self.source).await {
                TuiNews::Arriving(text) => TuiLoaded::Arriving { session, text },
                TuiNews::Grown => match self.grown().await {
                    Ok(Some(news)) => news,
                    Ok(None) => continue,
                    Err(error) => TuiLoaded::Failed { session, error: error.to_string() },
                },
            };
            if let (TuiLoaded::Timeline { .. }, Some(LoadedSession { follower: Some(follower), .. })) =
                (&news, &mut self.open)
            {
                follower.shown();
            }
            if loaded.send(news).is_err() {
                return;
            }
        }
    }

    /// The timeline with what was appended.
    async fn grown(&mut self) -> Result<Option<TuiLoaded>, TerminalError> {
        let reader = self.source.reader().await?;
        let Some(open) = &mut self.open else { return Ok(None) };
        let end = reader.head(open.session).await?.next;
        open.index.extend(&reader.session_at(open.session, end)).await?;
        open.timeline = Arc::new(TuiTimeline::new(open.index.clone(), open.directory.clone()));
        Ok(Some(TuiLoaded::Timeline { session: open.session, timeline: open.timeline.clone(), end }))
    }

    /// Loads what is wanted. The receiver may be gone.
    pub async fn load(&mut self, wanted: Option<TuiWanted>, loaded: &mpsc::UnboundedSender<TuiLoaded>) {
        let Some(TuiWanted { session, page }) = wanted else {
            (self.open, self.sent) = (None, None);
            return;
        };
        // A request without a page comes from a session that was left and opened again: it has no timeline.
        if page.is_none() || self.open.as_ref().is_none_or(|open| open.session != session) {
            (self.open, self.sent) = (None, None);
            match self.timeline(session).await {
                Ok((opened, end)) => {
                    let timeline = Arc::clone(&opened.timeline);
                    self.open = Some(opened);
                    drop(loaded.send(TuiLoaded::Timeline { session, timeline, end }));
                }
                Err(error) => drop(loaded.send(TuiLoaded::Failed { session, error: error.to_string() })),
            }
        }
        if let (Some(open), Some(key)) = (&self.open, page.filter(|key| self.sent != Some(*key))) {
            match self.page(open, key, loaded).await {
                Ok(()) => self.sent = Some(key),
                Err(error) => drop(loaded.send(TuiLoaded::Failed { session, error: error.to_string() })),
            }
        }
    }

    async fn timeline(&self, session: SessionId) -> Result<(LoadedSession, Seq), TerminalError> {
        let reader = self.source.reader().await?;
        let end = reader.head(session).await?.next;
        let mut index = SessionIndex::default();
        index.extend(&reader.session_at(session, end)).await?;
        let directory = reader.directory(session).await?;
        let timeline = Arc::new(TuiTimeline::new(index.clone(), directory.clone()));
        let follower = match &self.source {
            TuiSource::Store(_) => Some(TuiFollower::new(&reader, session, end)),
            TuiSource::Fixed(_) => None,
        };
        Ok((LoadedSession { session, index, directory, timeline, follower }, end))
    }

    async fn page(
        &self,
        open: &LoadedSession,
        key: TuiPageKey,
        loaded: &mpsc::UnboundedSender<TuiLoaded>,
    ) -> Result<(), TerminalError> {
        let session = open.session;
        let reader = self.source.reader().await?;
        let cut = past_cut(&reader, session, key.seq).await?;
        drop(loaded.send(TuiLoaded::Cut { session, seq: key.seq, cut }));
        let pages = TuiPages {
            reader: &reader,
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
