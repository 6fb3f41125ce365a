//! Draws a timeline.

use crate::layout::{Sheet, WHOLE, plain};
use crate::look::{Tone, counted, duration, money, thousands};
use annals_core::event::{Attachment, Delivery, Finish, ToolOutcome};
use annals_core::{Blobs, Seq};
use annals_inspect::timeline::{
    Activity, Called, Compacted, Item, Settled, Sort, What, failed_exit, input_in_brief, last_lines, one_line,
    output_in_brief,
};
use std::io;

/// How much is told.
#[derive(Clone, Debug)]
pub struct Detail {
    /// Lines of a tool's result, of a failure, of reasoning.
    pub result: usize,
    /// Lines of a context message, of a summary.
    pub context: usize,
    /// Where the Session works: paths below it are shown from there.
    pub directory: String,
    /// Ranges `[from, until)` that committed reverts undid.
    pub undone: Vec<(Seq, Seq)>,
}

impl Default for Detail {
    fn default() -> Self {
        Self { result: 3, context: 6, directory: String::new(), undone: Vec::new() }
    }
}

impl Detail {
    /// Everything, whole.
    pub fn full() -> Self {
        Self { result: WHOLE, context: WHOLE, ..Self::default() }
    }
}

impl Detail {
    fn is_full(&self) -> bool {
        self.result == WHOLE
    }
}

/// Draws one item.
///
/// # Errors
/// When the output refuses.
pub fn draw(item: &Item, sheet: &mut Sheet<'_>, detail: &Detail, blobs: &dyn Blobs) -> io::Result<()> {
    let seq = Some(item.seq);
    let undone = detail.undone.iter().find(|(from, until)| item.seq >= *from && item.seq < *until);
    sheet.undone = undone.is_some() && !matches!(item.what, What::Impossible { .. });
    match &item.what {
        What::Turn { number } => {
            writeln!(sheet.out)?;
            let time = match undone {
                Some((_, until)) => format!("undone at event {until} · {}", sheet.look.clock(item.at)),
                None => sheet.look.clock(item.at),
            };
            sheet.rule(&number.to_string(), &time, Tone::Strong)
        }
        What::Said { who, model, text, attachments, number } => {
            let tone = if *model { Tone::Model } else { Tone::User };
            let text = plain(text.resolve(blobs).trim_end());
            let joins = number.map(|number| format!("({number})")).unwrap_or_default();
            sheet.row(seq, (who, tone), (&text, Tone::Plain), (&joins, Tone::Dim))?;
            attachments.iter().try_for_each(|attachment| attached(attachment, sheet))
        }
        What::Waits { text, delivery, .. } => {
            let how = match delivery {
                Delivery::Steer => "sent while the model works (steer)",
                Delivery::Queue => "queued",
            };
            sheet.row(seq, ("you", Tone::User), (how, Tone::Dim), ("", Tone::Dim))?;
            sheet.quote_brief(&plain(&text.resolve(blobs)), Tone::Plain, detail.context)
        }
        What::Thought { text } => {
            let text = plain(&text.resolve(blobs));
            sheet.row_brief(seq, ("thought", Tone::Dim), (&text, Tone::Dim), detail.result)
        }
        What::Called(called) => call(item, called, sheet, detail, blobs),
        What::Compacted(compacted) => compaction(item, compacted, sheet, detail, blobs),
        What::Note { label, sort, line, more } => {
            let tone = match sort {
                Sort::Session => Tone::Strong,
                Sort::Context => Tone::Context,
                Sort::Warning => Tone::Warn,
                Sort::Failure => Tone::Bad,
            };
            if let (true, Some(more)) = (line.is_empty(), more) {
                let text = plain(&more.resolve(blobs));
                return sheet.row_brief(seq, (label, tone), (&text, Tone::Plain), detail.context);
            }
            sheet.row(seq, (label, tone), (&plain(line), Tone::Plain), ("", Tone::Dim))?;
            match more {
                Some(more) if *label == "shell" => {
                    sheet.quote_lines(&plain(&more.resolve(blobs)), Tone::Dim, detail.result)
                }
                Some(more) => sheet.quote_brief(&plain(&more.resolve(blobs)), Tone::Plain, detail.context),
                None => Ok(()),
            }
        }
        What::Answered(activity) => answered(activity, sheet),
        What::Impossible { what } => sheet.row(seq, ("anomaly", Tone::Bad), (&plain(what), Tone::Bad), ("", Tone::Dim)),
    }
}

/// How many lines of what a failed command gave are shown: its last ones.
const FAILED: usize = 8;

/// How a command failed, and after how long.
fn took_to_exit(exit: i64, ms: u64) -> String {
    let mark = format!("✗ exit {exit}");
    if ms == 0 { mark } else { format!("{mark}  {:>6}", duration(ms)) }
}

/// A mark and a duration; 0 is one that is not known.
fn took(mark: char, ms: u64) -> String {
    if ms == 0 { mark.to_string() } else { format!("{mark} {:>6}", duration(ms)) }
}

fn attached(attachment: &Attachment, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let name = attachment.name.as_deref().unwrap_or("a file");
    let line = format!("{} ({}, {})", plain(name), attachment.mime, crate::look::size(attachment.uri.bytes()));
    sheet.row(None, ("", Tone::Dim), (&line, Tone::Dim), ("attached", Tone::Dim))
}

fn call(item: &Item, called: &Called, sheet: &mut Sheet<'_>, detail: &Detail, blobs: &dyn Blobs) -> io::Result<()> {
    let exit = called.settled.as_ref().and_then(|settled| {
        let text = settled.error.as_ref().unwrap_or(&settled.output).resolve(blobs);
        failed_exit(settled.structured.as_ref(), &text, blobs)
    });
    let (right, tone) = match &called.settled {
        None => ("never settled".to_owned(), Tone::Bad),
        Some(Settled { ms, .. }) if let Some(exit) = exit => (took_to_exit(exit, *ms), Tone::Bad),
        Some(Settled { outcome: ToolOutcome::Completed, ms, .. }) => (took('✓', *ms), Tone::Good),
        Some(Settled { ms, .. }) => (took('✗', *ms), Tone::Bad),
    };
    let mut input = plain(&input_in_brief(&called.input, &detail.directory, blobs));
    if !detail.is_full() {
        input = crate::layout::clip(&input, (sheet.room() * 2).saturating_sub(12));
    }
    sheet.row(Some(item.seq), (&plain(&called.name), Tone::Tool), (&input, Tone::Plain), (&right, tone))?;
    if let Some(asked) = &called.asked {
        let answer = asked.answer.as_deref().unwrap_or("no answer");
        let line = format!("asked: {} – {answer}", one_line(&asked.question));
        sheet.row(None, ("", Tone::Dim), (&plain(&line), Tone::Warn), ("", Tone::Dim))?;
    }
    let Some(settled) = &called.settled else { return Ok(()) };
    match (&settled.error, settled.outcome) {
        (error, _) if exit.is_some() && !detail.is_full() => {
            let text = error.as_ref().unwrap_or(&settled.output).resolve(blobs);
            let text = output_in_brief(&text);
            let (before, lines) = last_lines(&text, FAILED);
            sheet.quote_end(before, &plain(&lines.join("\n")), Tone::Bad)?;
        }
        (Some(error), ToolOutcome::Failed | ToolOutcome::Interrupted | ToolOutcome::Exhausted) => {
            sheet.quote_lines(&plain(&error.resolve(blobs)), Tone::Bad, detail.result)?;
        }
        _ => {
            let output = settled.output.resolve(blobs);
            let told = if detail.is_full() { output.into_owned() } else { output_in_brief(&output) };
            sheet.quote_lines(&plain(&told), Tone::Dim, detail.result)?;
        }
    }
    if settled.truncated {
        let whole = settled.paths.last().map(|path| format!("; the whole output was in {path}")).unwrap_or_default();
        sheet.row(None, ("", Tone::Dim), (&plain(&format!("a preview{whole}")), Tone::Warn), ("", Tone::Dim))?;
    }
    Ok(())
}

fn compaction(
    item: &Item,
    compacted: &Compacted,
    sheet: &mut Sheet<'_>,
    detail: &Detail,
    blobs: &dyn Blobs,
) -> io::Result<()> {
    let mut facts = Vec::new();
    match compacted.estimates {
        (0, 0) => {}
        (before, 0) => facts.push(format!("a request of {} tokens was due", thousands(before))),
        (0, after) => facts.push(format!("{} tokens remain", thousands(after))),
        (before, after) => facts.push(format!("{} → {} tokens", thousands(before), thousands(after))),
    }
    if compacted.cost > 0 {
        facts.push(money(compacted.cost));
    }
    let asked = match compacted.reason.as_str() {
        "auto" => "automatic",
        "manual" => "asked for",
        "overflow" => "the request was too large",
        other => other,
    };
    facts.insert(0, asked.to_owned());
    let label = ("compact", Tone::Context);
    let (right, tone) = match &compacted.outcome {
        None => ("never ended".to_owned(), Tone::Bad),
        Some(Ok(_)) => (took('✓', compacted.ms), Tone::Good),
        Some(Err(_)) => (took('✗', compacted.ms), Tone::Bad),
    };
    sheet.row(Some(item.seq), label, (&facts.join(", "), Tone::Plain), (&right, tone))?;
    match &compacted.outcome {
        Some(Ok(summary)) => sheet.quote_brief(&plain(&summary.resolve(blobs)), Tone::Plain, detail.context),
        Some(Err(why)) => sheet.quote_brief(&plain(why), Tone::Bad, detail.context),
        None => Ok(()),
    }
}

fn answered(activity: &Activity, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let mut facts = Vec::new();
    match activity.finish {
        Some(Finish::Stop) | None => {}
        Some(Finish::ToolCalls | Finish::Paused) => facts.push("broke off".to_owned()),
        Some(Finish::Length) => facts.push("cut off at the output limit".to_owned()),
        Some(Finish::ContentFilter) => facts.push("cut off by a filter".to_owned()),
        Some(Finish::Error) => facts.push("failed".to_owned()),
        Some(Finish::Other) => facts.push("ended in a way without a name".to_owned()),
    }
    let tone = if facts.is_empty() { Tone::Dim } else { Tone::Warn };
    let ms = activity.ended.millis().saturating_sub(activity.began.millis());
    facts.extend((ms > 0).then(|| duration(ms)));
    if activity.steps > 1 {
        facts.push(counted(activity.steps, "step"));
    }
    facts.extend(tokens(activity));
    if activity.cost > 0 {
        facts.push(money(activity.cost));
    }
    if !activity.changed.is_empty() {
        facts.push(format!("{} changed", counted(activity.changed.len() as u64, "file")));
    }
    if facts.is_empty() {
        return Ok(());
    }
    sheet.row(None, ("", Tone::Dim), (&facts.join(" · "), tone), ("", Tone::Dim))
}

fn tokens(activity: &Activity) -> Option<String> {
    let usage = &activity.usage;
    let input = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    let output = usage.output.saturating_add(usage.reasoning);
    (input > 0 || output > 0).then(|| format!("{} in, {} out", thousands(input), thousands(output)))
}
