//! Draws the tabs: each as the command that answers the same question prints it.

use super::page::{PageOutput, PageText};
use super::tab::{TuiCut, TuiPageKey, TuiTab};
use super::timeline::TuiTimeline;
use crate::draw::events::EventLines;
use crate::draw::{self, changes, compactions, context, event, history, usage};
use crate::error::TerminalError;
use crate::layout::{Sheet, name};
use crate::style::{Emphasis, Style, counted};
use annals_core::{Seq, SessionId};
use annals_inspect::pricing::Pricing;
use annals_inspect::reader::Reader;
use annals_inspect::recorded_path::below;
use annals_inspect::view_diff::changes;
use annals_inspect::{AskError, SessionAt, cache, why};
use annals_store::Slice;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// Requests that the tab of the cache shows.
const REQUESTS: usize = 40;
/// Milliseconds that a provider keeps an unused prefix, as `annals cache` assumes.
const TTL_MS: u64 = 300_000;
/// Events that are listed before those of the cut.
const EVENTS: u64 = 40;
/// Files that are listed, the newest first.
const FILES: usize = 1_000;

/// What the tabs of a session are drawn from.
pub struct TuiPages<'a> {
    /// Where it is read.
    pub reader: &'a Reader,
    /// The session.
    pub session: SessionId,
    /// Its timeline.
    pub timeline: &'a TuiTimeline,
    /// What tokens cost.
    pub pricing: &'a Pricing,
    /// How it looks, in lines of the width of the tab.
    pub style: Style,
}

/// Prints a line about what is absent.
fn note(text: &str, style: &Style, out: &mut PageOutput) -> Result<(), TerminalError> {
    Ok(writeln!(out, "{}", style.paint(Emphasis::Dim, text))?)
}

impl TuiPages<'_> {
    /// The text of a tab at a cut. An error is shown as the text.
    pub async fn text(&self, key: &TuiPageKey, cut: TuiCut) -> PageText {
        let mut out = PageOutput::default();
        let past = self.reader.session_at(self.session, cut.until);
        let drawn = match key.tab {
            TuiTab::Seen => self.seen(&past, key.full, &mut out).await,
            TuiTab::Changes => self.changes(&past, key.since, cut, &mut out).await,
            TuiTab::History => self.history(cut, &mut out).await,
            TuiTab::Context => self.context(cut, &mut out).await,
            TuiTab::Usage => self.usage(&past, &mut out).await,
            TuiTab::Cache => self.cache(&past, &mut out).await,
            TuiTab::Compactions => self.compactions(&past, &mut out).await,
            TuiTab::Events => self.events(cut, &mut out).await,
            TuiTab::Files => self.files(cut, &mut out),
        };
        if let Err(error) = drawn
            && !out.is_full()
        {
            // Memory takes it.
            drop(writeln!(out, "{}", self.style.paint(Emphasis::Bad, &error.to_string())));
        }
        PageText::of(&out, self.style.width)
    }

    async fn seen(&self, past: &SessionAt, full: bool, out: &mut PageOutput) -> Result<(), TerminalError> {
        match why::ask(past, None, None).await {
            Ok(answer) => Ok(draw::why::draw(&answer, full, &mut Sheet::new(out, &self.style))?),
            Err(AskError::NoStep { .. }) => note("no request was sent up to this event", &self.style, out),
            Err(error) => Err(error.into()),
        }
    }

    async fn changes(
        &self,
        past: &SessionAt,
        since: Option<Seq>,
        cut: TuiCut,
        out: &mut PageOutput,
    ) -> Result<(), TerminalError> {
        let from = match since {
            Some(mark) => past_cut(self.reader, self.session, mark).await?.until,
            None => cut.first,
        };
        let found = match from <= cut.until {
            true => past.diff_views(from).await?,
            false => {
                let before = self.reader.view(self.session, from).await?;
                changes(&before, &self.reader.view(self.session, cut.until).await?, self.reader.blobs())
            }
        };
        let last = |until: Seq| until.0.checked_sub(1).map_or("the start".to_owned(), |last| format!("event {last}"));
        let what = format!("{} from {} to {}", counted(found.len() as u64, "change"), last(from), last(cut.until));
        note(&what, &self.style, out)?;
        Ok(changes::draw(&found, &self.style, out)?)
    }

    async fn history(&self, cut: TuiCut, out: &mut PageOutput) -> Result<(), TerminalError> {
        let view = self.reader.bounded(self.session, cut.until).await?;
        let mut sheet = Sheet::for_names(out, &self.style, ["exec_command"]);
        match history::draw(&view, self.reader.blobs(), &mut sheet)? {
            0 => note("the next request would carry no messages", &self.style, out),
            _ => Ok(()),
        }
    }

    async fn context(&self, cut: TuiCut, out: &mut PageOutput) -> Result<(), TerminalError> {
        let view = self.reader.bounded(self.session, cut.until).await?;
        match &view.epochs.current {
            Some(epoch) => Ok(context::draw(epoch, &view, self.reader.blobs(), &self.style, out)?),
            None => note(&context::absent(&view), &self.style, out),
        }
    }

    async fn usage(&self, past: &SessionAt, out: &mut PageOutput) -> Result<(), TerminalError> {
        let usage = past.usage().await?;
        if usage.total.attempts == 0 && usage.total.cost == 0 {
            return note("no usage recorded", &self.style, out);
        }
        Ok(usage::table(&usage, self.pricing, &self.style, out)?)
    }

    async fn cache(&self, past: &SessionAt, out: &mut PageOutput) -> Result<(), TerminalError> {
        let answer = cache::ask(past, cache::Asking { last: Some(REQUESTS), ttl_ms: TTL_MS }).await?;
        if answer.requests.len() >= REQUESTS {
            note(&format!("the last {REQUESTS} requests; annals cache shows all"), &self.style, out)?;
        }
        Ok(draw::cache::draw(&answer, &self.style, out)?)
    }

    async fn compactions(&self, past: &SessionAt, out: &mut PageOutput) -> Result<(), TerminalError> {
        let items = past.compactions().await?;
        if items.is_empty() {
            return note("no compaction up to this event", &self.style, out);
        }
        Ok(items.iter().rev().try_for_each(|item| compactions::draw(item, &self.style, out))?)
    }

    /// The events of the cut in full, then those before, one a line.
    async fn events(&self, cut: TuiCut, out: &mut PageOutput) -> Result<(), TerminalError> {
        let from = Seq(cut.first.0.saturating_sub(EVENTS));
        let mut pages = self.reader.pages(self.session, from, cut.until);
        let mut slices: Vec<Slice> = Vec::new();
        while let Some(slice) = pages.next_slice().await? {
            slices.push(slice);
        }
        let (before, of_cut): (Vec<&Slice>, Vec<&Slice>) = slices.iter().partition(|slice| slice.until <= cut.first);
        for slice in of_cut {
            for record in slice.records() {
                event::draw(&record, &slice.batch, self.session, &self.style, self.reader.blobs(), out)?;
                writeln!(out)?;
            }
        }
        if before.is_empty() {
            return Ok(());
        }
        note("the events before", &self.style, out)?;
        let directory = self.timeline.directory().to_owned();
        let mut lines = EventLines { style: &self.style, directory, reader: self.reader };
        for slice in before.iter().rev() {
            lines.batch(&slice.records().collect::<Vec<_>>(), out)?;
        }
        Ok(())
    }

    /// The files that events up to the cut name, the one that was named last first.
    fn files(&self, cut: TuiCut, out: &mut PageOutput) -> Result<(), TerminalError> {
        let files = self.timeline.index().files();
        let shown = files.get(..files.partition_point(|file| file.event < cut.until)).unwrap_or_default();
        let mut paths: BTreeMap<&str, (Seq, BTreeSet<&str>)> = BTreeMap::new();
        for file in shown {
            let (last, actions) = paths.entry(&file.path).or_default();
            *last = file.event;
            actions.insert(file.action.name());
        }
        if paths.is_empty() {
            return note("no event up to this one names a file", &self.style, out);
        }
        let mut paths: Vec<_> = paths.into_iter().collect();
        paths.sort_by(|(one, a), (other, b)| b.0.cmp(&a.0).then(one.cmp(other)));
        note(&format!("{}, with the last event of each", counted(paths.len() as u64, "file")), &self.style, out)?;
        for (path, (seq, actions)) in paths.iter().take(FILES) {
            let path = below(path, self.timeline.directory()).unwrap_or(path);
            let actions: Vec<&str> = actions.iter().copied().collect();
            let (seq, actions) = (format!("{seq:>6}"), actions.join(", "));
            let (seq, actions) = (self.style.paint(Emphasis::Dim, &seq), self.style.paint(Emphasis::Tool, &actions));
            writeln!(out, "{seq}  {}  {actions}", name(path))?;
        }
        Ok(())
    }
}

/// The batch of an event.
///
/// # Errors
/// When the log cannot be read, or ends before.
pub async fn past_cut(reader: &Reader, session: SessionId, seq: Seq) -> Result<TuiCut, TerminalError> {
    let slice = reader.log().batch_at(session, seq).await?;
    let slice = slice.ok_or(AskError::NoEvent { session, seq })?;
    Ok(TuiCut { first: slice.batch.first.min(seq), until: slice.until })
}
