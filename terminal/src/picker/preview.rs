//! Preview of the selected session in a picker: its head, its beginning, its end.

use crate::draw::timeline::{Detail, draw};
use crate::error::TerminalError;
use crate::escape::visible_line;
use crate::layout::{Sheet, clip};
use crate::shown_title::without_keys;
use crate::style::{Style, counted};
use annals_core::event::StepEvent;
use annals_core::{Event, Seq};
use annals_inspect::pricing::Pricing;
use annals_inspect::reader::Reader;
use annals_inspect::sessions::SessionOverview;
use annals_inspect::timeline::EntryKind;
use annals_projections::{Projection, Timeline};
use annals_providers::catalog::Catalog;
use annals_store::Slice;
use std::sync::OnceLock;

/// Batches that are read from each end of the session.
const READ: usize = 24;

/// How a line begins that continues an entry.
const CONTINUED: &str = "          ";

/// Where lines are left out.
const LEFT_OUT: &str = "…";

/// The lines of a preview of at most this size. Reads the two ends of the session only.
pub async fn preview(
    reader: &Reader,
    session: &SessionOverview,
    style: &Style,
    (width, height): (usize, usize),
) -> Result<Vec<String>, TerminalError> {
    if width < 20 || height == 0 {
        return Ok(Vec::new());
    }
    let style = Style { width, colour: false, json: false, markdown: false, ..style.clone() };
    let mut lines = head(session, &style);
    let room = height.saturating_sub(lines.len() + 1);
    let first = reader.log().read(session.id, Seq::ZERO, READ).await?;
    let next = first.last().map_or(Seq::ZERO, |slice| slice.batch.next());
    let begun = timeline(&first, &Detail { result: 1, context: 1, ..detail(session) }, reader, &style)?;
    lines.push(String::new());
    if next >= session.next {
        lines.extend(cut(begun, room));
        return Ok(lines);
    }
    // The first prompt, then as much of the end as there is room for.
    lines.extend(cut(begun, room / 3));
    let last = reader.log().read_back(session.id, session.next, READ).await?;
    // Newest first as it is read.
    let last: Vec<_> = last.into_iter().rev().filter(|slice| slice.batch.first >= next).collect();
    let ended = timeline(&last, &detail(session), reader, &style)?;
    if lines.last().is_none_or(|line| line != LEFT_OUT) {
        lines.push(LEFT_OUT.to_owned());
    }
    let room = height.saturating_sub(lines.len());
    // From the beginning of an entry on.
    let ended = ended.iter().skip(ended.len().saturating_sub(room)).skip_while(|line| line.starts_with(CONTINUED));
    lines.extend(ended.cloned());
    Ok(lines)
}

fn detail(session: &SessionOverview) -> Detail {
    Detail { directory: session.directory.clone(), ..Detail::default() }
}

fn head(session: &SessionOverview, style: &Style) -> Vec<String> {
    let agent = session.origin.clone().unwrap_or_else(|| session.agent.to_string());
    let branch = session.branch.as_ref().map(|branch| format!(" · {branch}")).unwrap_or_default();
    let facts = [
        without_keys(&session.title).into_owned(),
        format!("{agent} · {} · {}", session.model, style.age(session.updated)),
        format!("{}{branch}", session.directory),
        format!(
            "{} · {} · {}",
            counted(session.turns, "turn"),
            counted(session.next.0, "event"),
            session.known_cost.shown()
        ),
    ];
    facts.iter().map(|line| clip(&visible_line(line), style.width)).collect()
}

fn timeline(slices: &[Slice], detail: &Detail, reader: &Reader, style: &Style) -> Result<Vec<String>, TerminalError> {
    let (mut timeline, mut out) = (Timeline::default(), Vec::new());
    let agents = slices.iter().flat_map(|slice| slice.records()).filter_map(|record| match record.event {
        Event::Step(StepEvent::Started(started)) => Some(started.agent.as_str()),
        _ => None,
    });
    let mut sheet = Sheet::for_names(&mut out, style, agents).priced(prices());
    // Without its beginning, how many turns came before is not known.
    let numbered = slices.first().is_some_and(|slice| slice.batch.first == Seq::ZERO);
    for record in slices.iter().flat_map(|slice| slice.records()) {
        timeline.apply(&record);
    }
    let mut entries: Vec<_> = std::iter::from_fn(|| timeline.pop()).collect();
    entries.extend(timeline.finish());
    for entry in entries.iter().filter(|entry| numbered || !matches!(entry.kind, EntryKind::Turn { .. })) {
        draw(entry, &mut sheet, detail, reader.blobs())?;
    }
    let text = String::from_utf8_lossy(&out).into_owned();
    let lines = text.lines().map(|line| clip(&visible_line(line), style.width)).skip_while(|line| line.is_empty());
    Ok(lines.collect())
}

/// The prices of this build: a preview is drawn at each key.
fn prices() -> Pricing {
    static PRICES: OnceLock<Pricing> = OnceLock::new();
    PRICES.get_or_init(|| Pricing::new(Catalog::built_in())).clone()
}

/// The first lines, with a mark when some are left out.
fn cut(mut lines: Vec<String>, most: usize) -> Vec<String> {
    if lines.len() > most {
        lines.truncate(most.saturating_sub(1));
        lines.push(LEFT_OUT.to_owned());
    }
    lines
}
