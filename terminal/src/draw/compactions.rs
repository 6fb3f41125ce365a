//! Compactions: what each removed, and what of it is kept.

use crate::layout::{columns, plain, wrap};
use crate::style::{Emphasis, Style, counted, money, thousands};
use annals_core::event::CompactionReason;
use annals_inspect::compactions::ListedCompaction;
use annals_inspect::timeline::one_line;
use annals_projections::{LedgerEntry, LedgerOutcome};
use std::io::{self, Write};

/// Tokens before and after: as the provider counted them, else as they were estimated.
fn size(entry: &LedgerEntry) -> Option<String> {
    let estimated = |tokens: u64| (tokens > 0).then(|| format!("about {}", thousands(tokens)));
    let counted = (entry.counted_before.map(thousands), entry.counted_after.map(thousands));
    let (before, after) = match (counted, (estimated(entry.before), estimated(entry.after))) {
        ((Some(before), Some(after)), _) => (Some(before), Some(after)),
        (_, (Some(before), Some(after))) => (Some(before), Some(after)),
        (counted, estimated) => (counted.0.or(estimated.0), counted.1.or(estimated.1)),
    };
    match (before, after) {
        (None, None) => None,
        (Some(before), None) => Some(format!("{before} tokens before")),
        (None, Some(after)) => Some(format!("{after} tokens after")),
        (Some(before), Some(after)) => Some(format!("{before} → {after} tokens")),
    }
}

/// Draws a compaction: what it removed, and what of it is kept.
pub fn draw(item: &ListedCompaction, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let entry = &item.entry;
    let mut facts = vec![match entry.reason {
        CompactionReason::Unknown => "not recorded who asked".to_owned(),
        reason => reason.as_str().to_owned(),
    }];
    facts.push(match &entry.outcome {
        LedgerOutcome::Open => "not finished".to_owned(),
        LedgerOutcome::Completed => format!("completed at event {}", entry.ended.unwrap_or(entry.seq)),
        LedgerOutcome::Failed { kind } => format!("failed: {kind}"),
        LedgerOutcome::Undone { by } => format!("undone at event {by}"),
        LedgerOutcome::Reverted { by } => format!("reverted at event {by}"),
    });
    facts.extend(size(entry));
    facts.extend(entry.model.as_ref().map(ToString::to_string));
    facts.extend((entry.cost > 0).then(|| money(entry.cost)));
    let head = style.paint(Emphasis::Strong, &format!("event {:>5}", entry.seq));
    let (time, facts) = (style.exact(entry.at), facts.join(", "));
    let is_wide = 15 + columns(&time) + columns(&facts) > style.width;
    let same_line = if is_wide { String::new() } else { format!("  {facts}") };
    writeln!(out, "{head}  {}{same_line}", style.paint(Emphasis::Dim, &time))?;
    let mut print = |text: &str| -> io::Result<()> {
        for line in wrap(&plain(text), style.width.saturating_sub(11)) {
            writeln!(out, "           {line}")?;
        }
        Ok(())
    };
    if is_wide {
        print(&facts)?;
    }
    if item.summary.is_some() {
        let counts = [
            (entry.messages.len(), "message"),
            (entry.tool_outputs.len(), "tool output"),
            (entry.context_messages.len(), "context update"),
        ];
        let left: Vec<String> =
            counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, noun)| counted(n as u64, noun)).collect();
        let stays = [
            (entry.pinned.len(), "pinned message"),
            (entry.replayed.len(), "unfinished input"),
            (entry.kept.len(), "message of the tail"),
        ];
        let pinned: String = stays
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, noun)| match (n, noun) {
                (1, "message of the tail") | (_, "pinned message" | "unfinished input") => counted(n as u64, noun),
                (n, _) => format!("{n} messages of the tail"),
            })
            .map(|stays| format!("; {stays} kept"))
            .collect();
        print(&format!("replaced by the summary: {}{pinned}", left.join(", ")))?;
    }
    if let Some(request) = &entry.request {
        print(&format!("request {}", request.short()))?;
    }
    if let Some(summary) = &item.summary {
        print(&one_line(summary))?;
    }
    if let Some(fidelity) = &item.fidelity {
        let kinds = [
            (fidelity.names, "names"),
            (fidelity.paths, "paths"),
            (fidelity.numbers, "numbers"),
            (fidelity.instructions, "instructions"),
        ];
        let kinds: Vec<String> = kinds
            .into_iter()
            .filter(|(count, _)| count.of > 0)
            .map(|(count, kind)| format!("{kind} {} of {}", count.kept, count.of))
            .collect();
        if !kinds.is_empty() {
            print(&format!("kept in summary or tail: {}% ({})", fidelity.percent, kinds.join(", ")))?;
        }
        for sentence in fidelity.sentences.iter().filter(|sentence| sentence.count.kept < sentence.count.of) {
            let (count, text) = (sentence.count, one_line(&sentence.text));
            print(&format!("event {}, kept {} of {}: {text}", sentence.message, count.kept, count.of))?;
        }
    }
    for instruction in &item.unmentioned.instructions {
        print(&format!("not in the summary: {instruction}"))?;
    }
    if !item.unmentioned.names.is_empty() {
        print(&format!("names not in the summary: {}", item.unmentioned.names.join(", ")))?;
    }
    Ok(())
}
