//! Draws a timeline.

use crate::layout::{Sheet, WHOLE, plain};
use crate::markdown::draw_row;
use crate::style::{Emphasis, counted, duration, money, thousands};
use annals_core::event::{Attachment, CompactionReason, Delivery, Finish, ToolOutcome};
use annals_core::{Blobs, Seq};
use annals_inspect::timeline::{
    CallResult, CommandFailure, CompactionOutcome, EntryKind, TimelineCall, TimelineCompaction, TimelineEntry,
    TimelineNote, Topic, TurnSummary, command_failure, input_in_brief, last_lines, note_line, one_line,
    output_in_brief, question, reply,
};
use std::io;

/// How much is shown.
#[derive(Clone, Debug)]
pub struct Detail {
    /// Lines of a tool's result, of a failure, of reasoning.
    pub result: usize,
    /// Lines of a context message, of a summary.
    pub context: usize,
    /// Where the session works: paths below it are shown from there.
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

/// Draws one entry.
pub fn draw(entry: &TimelineEntry, sheet: &mut Sheet<'_>, detail: &Detail, blobs: &dyn Blobs) -> io::Result<()> {
    let seq = Some(entry.seq);
    let undone = detail.undone.iter().find(|(from, until)| entry.seq >= *from && entry.seq < *until);
    sheet.undone = undone.is_some() && !matches!(entry.kind, EntryKind::Anomaly { .. });
    match &entry.kind {
        EntryKind::Turn { number } => {
            writeln!(sheet.out)?;
            let time = match undone {
                Some((_, until)) => format!("undone at event {until} · {}", sheet.style.clock(entry.at)),
                None => sheet.style.clock(entry.at),
            };
            sheet.rule(&number.to_string(), &time, Emphasis::Strong)
        }
        EntryKind::User { text, attachments, joined } => {
            let text = plain(text.resolve(blobs).trim_end());
            let joins = joined.map(|number| format!("({number})")).unwrap_or_default();
            sheet.row(seq, ("you", Emphasis::User), (&text, Emphasis::Plain), (&joins, Emphasis::Dim))?;
            attachments.iter().try_for_each(|attachment| attached(attachment, sheet))
        }
        EntryKind::Answer { agent, text } => {
            draw_row(sheet, seq, (agent.as_str(), Emphasis::Model), &text.resolve(blobs))
        }
        EntryKind::Waiting { text, delivery, .. } => {
            let how = match delivery {
                Delivery::Steer => "sent while the model works (steer)",
                Delivery::Queue => "queued",
            };
            sheet.row(seq, ("you", Emphasis::User), (how, Emphasis::Dim), ("", Emphasis::Dim))?;
            sheet.quote_brief(&plain(&text.resolve(blobs)), Emphasis::Plain, detail.context)
        }
        EntryKind::Reasoning { text } => {
            let text = plain(&text.resolve(blobs));
            sheet.row_brief(seq, ("thought", Emphasis::Dim), (&text, Emphasis::Dim), detail.result)
        }
        EntryKind::Call(call) => self::call(entry, call, sheet, detail, blobs),
        EntryKind::Compaction(compaction) => self::compaction(entry, compaction, sheet, detail, blobs),
        EntryKind::Note(note) => self::note(entry, note, sheet, detail, blobs),
        EntryKind::TurnEnded(turn) => turn_ended(turn, sheet),
        EntryKind::Anomaly { what } => {
            sheet.row(seq, ("anomaly", Emphasis::Bad), (&plain(what), Emphasis::Bad), ("", Emphasis::Dim))
        }
    }
}

fn note(
    entry: &TimelineEntry,
    note: &TimelineNote,
    sheet: &mut Sheet<'_>,
    detail: &Detail,
    blobs: &dyn Blobs,
) -> io::Result<()> {
    let (seq, words) = (Some(entry.seq), note_line(note, entry.at));
    let emphasis = match words.topic {
        Topic::Session => Emphasis::Strong,
        Topic::Context => Emphasis::Context,
        Topic::Warning => Emphasis::Warn,
        Topic::Failure => Emphasis::Bad,
    };
    let label = (words.label, emphasis);
    let more = words.more.map(|more| plain(&more.resolve(blobs)));
    if let (true, Some(more)) = (words.line.is_empty(), &more) {
        return sheet.row_brief(seq, label, (more, Emphasis::Plain), detail.context);
    }
    sheet.row(seq, label, (&plain(&words.line), Emphasis::Plain), ("", Emphasis::Dim))?;
    match more {
        Some(output) if matches!(note, TimelineNote::Shell(_)) => {
            sheet.quote_lines(&output, Emphasis::Dim, detail.result)
        }
        Some(more) => sheet.quote_brief(&more, Emphasis::Plain, detail.context),
        None => Ok(()),
    }
}

/// How many lines of what a failed command gave are shown: its last ones.
const FAILED: usize = 8;

/// How a command failed, and after how long.
fn took_to_fail(failure: CommandFailure, ms: u64) -> String {
    let mark = format!("✗ {failure}");
    if ms == 0 { mark } else { format!("{mark}  {:>6}", duration(ms)) }
}

/// A mark and a duration; 0 is one that is not known.
fn took(mark: char, ms: u64) -> String {
    if ms == 0 { mark.to_string() } else { format!("{mark} {:>6}", duration(ms)) }
}

fn attached(attachment: &Attachment, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let name = attachment.name.as_deref().unwrap_or("a file");
    let line = format!("{} ({}, {})", plain(name), attachment.mime, crate::style::size(attachment.uri.bytes()));
    sheet.row(None, ("", Emphasis::Dim), (&line, Emphasis::Dim), ("attached", Emphasis::Dim))
}

fn call(
    entry: &TimelineEntry,
    called: &TimelineCall,
    sheet: &mut Sheet<'_>,
    detail: &Detail,
    blobs: &dyn Blobs,
) -> io::Result<()> {
    let failure = called.result.as_ref().and_then(|settled| {
        let text = settled.error.as_ref().unwrap_or(&settled.output).resolve(blobs);
        command_failure(settled.structured.as_ref(), &text, blobs)
    });
    let (right, emphasis) = match &called.result {
        None => ("never settled".to_owned(), Emphasis::Bad),
        Some(CallResult { ms, .. }) if let Some(failure) = failure => (took_to_fail(failure, *ms), Emphasis::Bad),
        Some(CallResult { outcome: ToolOutcome::Completed, ms, .. }) => (took('✓', *ms), Emphasis::Good),
        Some(CallResult { ms, .. }) => (took('✗', *ms), Emphasis::Bad),
    };
    let mut input = plain(&input_in_brief(&called.input, &detail.directory, blobs));
    if !detail.is_full() {
        input = crate::layout::clip(&input, (sheet.room() * 2).saturating_sub(12));
    }
    sheet.row(
        Some(entry.seq),
        (&plain(&called.name), Emphasis::Tool),
        (&input, Emphasis::Plain),
        (&right, emphasis),
    )?;
    if let Some(asked) = &called.question {
        let answer = asked.reply.as_ref().map_or_else(|| "no answer".to_owned(), reply);
        let line = format!("asked: {} – {answer}", one_line(&question(&asked.action, &asked.resources)));
        sheet.row(None, ("", Emphasis::Dim), (&plain(&line), Emphasis::Warn), ("", Emphasis::Dim))?;
    }
    let Some(settled) = &called.result else { return Ok(()) };
    match (&settled.error, settled.outcome) {
        (error, _) if failure.is_some() && !detail.is_full() => {
            let text = error.as_ref().unwrap_or(&settled.output).resolve(blobs);
            let text = output_in_brief(&text);
            let (before, lines) = last_lines(&text, FAILED);
            sheet.quote_end(before, &plain(&lines.join("\n")), Emphasis::Bad)?;
        }
        (Some(error), ToolOutcome::Failed | ToolOutcome::Interrupted | ToolOutcome::Exhausted) => {
            sheet.quote_lines(&plain(&error.resolve(blobs)), Emphasis::Bad, detail.result)?;
        }
        _ => {
            let output = settled.output.resolve(blobs);
            let text = if detail.is_full() { output.into_owned() } else { output_in_brief(&output) };
            sheet.quote_lines(&plain(&text), Emphasis::Dim, detail.result)?;
        }
    }
    if settled.truncated {
        let whole = settled.paths.last().map(|path| format!("; full output in {path}")).unwrap_or_default();
        sheet.row(
            None,
            ("", Emphasis::Dim),
            (&plain(&format!("shortened{whole}")), Emphasis::Warn),
            ("", Emphasis::Dim),
        )?;
    }
    Ok(())
}

fn compaction(
    entry: &TimelineEntry,
    compacted: &TimelineCompaction,
    sheet: &mut Sheet<'_>,
    detail: &Detail,
    blobs: &dyn Blobs,
) -> io::Result<()> {
    let mut facts = Vec::new();
    match (compacted.before, compacted.after) {
        (0, 0) => {}
        (before, 0) => facts.push(format!("a request of {} tokens was due", thousands(before))),
        (0, after) => facts.push(format!("{} tokens remain", thousands(after))),
        (before, after) => facts.push(format!("{} → {} tokens", thousands(before), thousands(after))),
    }
    if compacted.cost > 0 {
        facts.push(money(compacted.cost));
    }
    let asked = match compacted.reason {
        CompactionReason::Auto => "automatic",
        CompactionReason::Manual => "asked for",
        CompactionReason::Overflow => "the request was too large",
        CompactionReason::Unknown => "not recorded who asked",
    };
    facts.insert(0, asked.to_owned());
    let label = ("compact", Emphasis::Context);
    let (right, emphasis) = match &compacted.outcome {
        None => ("never ended".to_owned(), Emphasis::Bad),
        Some(CompactionOutcome::Summary(_)) => (took('✓', compacted.ms), Emphasis::Good),
        Some(CompactionOutcome::Failed(_)) => (took('✗', compacted.ms), Emphasis::Bad),
    };
    sheet.row(Some(entry.seq), label, (&facts.join(", "), Emphasis::Plain), (&right, emphasis))?;
    match &compacted.outcome {
        Some(CompactionOutcome::Summary(summary)) => {
            sheet.quote_brief(&plain(&summary.resolve(blobs)), Emphasis::Plain, detail.context)
        }
        Some(CompactionOutcome::Failed(failure)) => {
            let why = format!("{}: {}", failure.kind, failure.message.resolve(blobs));
            sheet.quote_brief(&plain(&why), Emphasis::Bad, detail.context)
        }
        None => Ok(()),
    }
}

fn turn_ended(turn: &TurnSummary, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let mut facts = Vec::new();
    match turn.finish {
        Some(Finish::Stop) | None => {}
        Some(Finish::ToolCalls | Finish::Paused) => facts.push("broke off".to_owned()),
        Some(Finish::Length) => facts.push("cut off at the output limit".to_owned()),
        Some(Finish::ContentFilter) => facts.push("cut off by a filter".to_owned()),
        Some(Finish::Error) => facts.push("failed".to_owned()),
        Some(Finish::Other) => facts.push("ended for an unknown reason".to_owned()),
    }
    let emphasis = if facts.is_empty() { Emphasis::Dim } else { Emphasis::Warn };
    let ms = turn.ended.millis().saturating_sub(turn.began.millis());
    facts.extend((ms > 0).then(|| duration(ms)));
    if turn.steps > 1 {
        facts.push(counted(turn.steps, "step"));
    }
    facts.extend(tokens(turn));
    facts.extend(sheet.cost(turn.cost, &turn.model, turn.usage));
    if !turn.changed.is_empty() {
        facts.push(format!("{} changed", counted(turn.changed.len() as u64, "file")));
    }
    if facts.is_empty() {
        return Ok(());
    }
    sheet.row(None, ("", Emphasis::Dim), (&facts.join(" · "), emphasis), ("", Emphasis::Dim))
}

fn tokens(turn: &TurnSummary) -> Option<String> {
    let usage = &turn.usage;
    let input = usage.input_tokens();
    let output = usage.output.saturating_add(usage.reasoning);
    (input > 0 || output > 0).then(|| format!("{} in, {} out", thousands(input), thousands(output)))
}
