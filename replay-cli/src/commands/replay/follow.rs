//! A session that is followed: each entry once it is complete, and on a terminal what a model is still sending below it.

use crate::command_context::FoundSession;
use crate::draw::timeline::{Detail, draw};
use crate::error::{CliError, Verdict};
use crate::escape::control;
use crate::layout::{Sheet, clip, wrap};
use crate::style::Emphasis;
use annals_core::Seq;
use annals_host::live::{LiveContent, LiveFragment, LiveReader, LiveUpdate};
use annals_inspect::reader::Reader;
use annals_projections::{Projection, Timeline, ToJson};
use annals_store::{Followed, Scope, Slice};
use futures_util::StreamExt;
use std::io::{self, Write};

/// Rows of what is on its way that are shown at a time: its end.
const ROWS: usize = 8;

/// Continues a timeline with what is appended, until the log ends. `watched`: `sheet` is a terminal.
///
/// # Errors
/// When the log cannot be read, or the output refuses.
pub async fn follow(
    found: &FoundSession,
    mut timeline: Timeline,
    detail: &Detail,
    sheet: &mut Sheet<'_>,
    watched: bool,
) -> Result<(), CliError> {
    let reader = &found.reader;
    let live = LiveReader::start(reader.folder());
    let mut cursor = live.follow(found.session);
    let mut batches = reader.log().follow(Scope::Session { session: found.session, from: found.until });
    let mut arriving = ArrivingText::default();
    sheet.out.flush()?;
    loop {
        tokio::select! {
            batch = batches.next() => {
                let Some(batch) = batch else { return Ok(()) };
                let Followed::Batch { slice, .. } = batch? else { continue };
                slice.records().for_each(|record| timeline.apply(&record));
                let entries: Vec<_> = std::iter::from_fn(|| timeline.pop()).collect();
                if !entries.is_empty() {
                    arriving.replaced(sheet)?;
                }
                entries.iter().try_for_each(|entry| draw(entry, sheet, detail, reader.blobs()))?;
                arriving.draw(sheet)?;
            }
            updates = cursor.next(), if watched => {
                arriving.take(updates);
                arriving.draw(sheet)?;
            }
        }
        sheet.out.flush()?;
    }
}

/// The same for programs: each event as `annals log --follow --json` prints it, and each piece of an answer.
///
/// # Errors
/// See [`follow`].
pub async fn follow_as_json(found: &FoundSession, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (reader, session) = (&found.reader, found.session);
    let live = LiveReader::start(reader.folder());
    let mut cursor = live.follow(session);
    let mut pages = reader.pages(session, Seq::ZERO, found.until);
    while let Some(slice) = pages.next_slice().await? {
        events(&slice, reader, out)?;
    }
    let mut batches = reader.log().follow(Scope::Session { session, from: found.until });
    loop {
        out.flush()?;
        tokio::select! {
            batch = batches.next() => match batch.transpose()? {
                Some(Followed::Batch { slice, .. }) => events(&slice, reader, out)?,
                Some(Followed::Synced) => {}
                None => return Ok(Verdict::Fine),
            },
            updates = cursor.next() => for update in &updates {
                line(update, out)?;
            },
        }
    }
}

fn events(slice: &Slice, reader: &Reader, out: &mut dyn Write) -> io::Result<()> {
    slice.records().try_for_each(|record| line(&record.to_json(reader.blobs()), out))
}

fn line(value: &impl serde::Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

/// What is on its way, as far as it is on the screen.
#[derive(Debug, Default)]
struct ArrivingText {
    /// What has arrived of each fragment, and whether the log has it.
    fragments: Vec<(LiveFragment, String, bool)>,
    /// How many rows of the screen show it.
    rows: usize,
}

impl ArrivingText {
    fn take(&mut self, updates: Vec<LiveUpdate>) {
        for update in updates {
            let known =
                self.fragments.iter_mut().find(|(fragment, _, settled)| !settled && fragment == update.fragment());
            match (update, known) {
                (LiveUpdate::Delta { text, .. }, Some((_, whole, _))) => whole.push_str(&text),
                (LiveUpdate::Delta { fragment, text }, None) => self.fragments.push((fragment, text, false)),
                // It stays until its entry is drawn.
                (LiveUpdate::Settled { .. }, Some((_, _, settled))) => *settled = true,
                (LiveUpdate::Settled { .. }, None) => {}
            }
        }
    }

    /// Makes room for entries: what they hold is no longer shown here.
    fn replaced(&mut self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        self.fragments.retain(|(_, _, settled)| !settled);
        self.erase(sheet)
    }

    fn erase(&mut self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        match std::mem::take(&mut self.rows) {
            0 => Ok(()),
            rows => write!(sheet.out, "{}{}", control(&format!("{rows}A")), control("0J")),
        }
    }

    fn draw(&mut self, sheet: &mut Sheet<'_>) -> io::Result<()> {
        self.erase(sheet)?;
        let width = sheet.style.width.saturating_sub(2).max(20);
        let mut lines: Vec<String> = Vec::new();
        for (fragment, text, _) in &self.fragments {
            let what = match fragment.of {
                LiveContent::Text => "",
                LiveContent::Reasoning => "thinking: ",
                LiveContent::ToolInput => "calls a tool: ",
                LiveContent::Summary => "summarizes: ",
            };
            // Only its end can be shown: what precedes it need not be wrapped.
            let end = text.char_indices().rev().nth(ROWS * width).map_or(0, |(at, _)| at);
            lines.extend(wrap(&format!("{what}{}", text.get(end..).unwrap_or_default()), width));
        }
        let shown = lines.get(lines.len().saturating_sub(ROWS)..).unwrap_or_default();
        for line in shown {
            writeln!(
                sheet.out,
                "{}",
                sheet.style.paint(Emphasis::Dim, &format!("… {}", clip(&line.replace('\t', " "), width)))
            )?;
        }
        self.rows = shown.len();
        Ok(())
    }
}
