//! Draws when the model knew something.

use crate::layout::Sheet;
use crate::style::{Emphasis, counted};
use annals_inspect::when::{Left, LeftBy, Sighting, Stay, Through, When};
use std::io;

/// Draws the answer.
pub fn draw(when: &When, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let here = when.sightings.iter().filter(|it| it.stays.last().is_some_and(|stay| stay.left.is_none())).count();
    let right = match (when.sightings.len(), here) {
        (0, _) if when.lacks.is_empty() => "never in the model's view".to_owned(),
        (0, _) => "in nothing that was recorded".to_owned(),
        (all, 0) => format!("{}, no longer there", counted(all as u64, "place")),
        (all, here) => format!("{}, {here} there now", counted(all as u64, "place")),
    };
    sheet.rule(&format!("{:?}", when.text), &right, Emphasis::Strong)?;
    when.sightings.iter().try_for_each(|sighting| one(sighting, sheet))?;
    for missed in &when.missed {
        let time = sheet.style.clock(missed.fact.at);
        let line = format!("{} · {}", missed.fact.kind, missed.reason.words());
        sheet.row(
            Some(missed.fact.seq),
            ("unseen", Emphasis::Warn),
            (&line, Emphasis::Plain),
            (&time, Emphasis::Dim),
        )?;
    }
    if !when.lacks.is_empty() {
        let lacks: Vec<&str> = when.lacks.iter().map(|lack| lack.words()).collect();
        let line = format!("not recorded by the agent: {}", lacks.join(", "));
        sheet.row(None, ("", Emphasis::Dim), (&line, Emphasis::Warn), ("", Emphasis::Dim))?;
    }
    Ok(())
}

fn one(sighting: &Sighting, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let (label, emphasis, name) = label(&sighting.through);
    let turn = if sighting.turn == 0 { "before turn 1".to_owned() } else { format!("turn {}", sighting.turn) };
    let mut line: Vec<String> = name.into_iter().collect();
    line.extend([sighting.fact.kind.to_owned(), turn]);
    line.extend(sighting.fact.inherited.map(|session| format!("inherited from {session}")));
    let time = sheet.style.clock(sighting.fact.at);
    sheet.row(
        Some(sighting.fact.seq),
        (label, emphasis),
        (&line.join(" · "), Emphasis::Plain),
        (&time, Emphasis::Dim),
    )?;
    sighting.stays.iter().try_for_each(|stay| self::stay(sighting, stay, sheet))
}

fn stay(sighting: &Sighting, stay: &Stay, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let carried = match (stay.first, stay.last) {
        (Some(first), Some(last)) if first == last => format!("request {first} carried it"),
        (Some(first), Some(last)) => format!("requests {first} to {last} carried it"),
        _ => "no request carried it".to_owned(),
    };
    let entered = stay.entered;
    let time = sheet.style.clock(entered.at);
    let line = if entered.seq == sighting.fact.seq { carried } else { format!("{} · {carried}", entered.kind) };
    sheet.row(Some(entered.seq), ("entered", Emphasis::Good), (&line, Emphasis::Dim), (&time, Emphasis::Dim))?;
    match &stay.left {
        None => sheet.row(None, ("", Emphasis::Dim), ("still there", Emphasis::Good), ("", Emphasis::Dim))?,
        Some(left) => {
            let time = sheet.style.clock(left.fact.at);
            let line = format!("{} · {}", left.fact.kind, words(left));
            sheet.row(Some(left.fact.seq), ("left", Emphasis::Warn), (&line, Emphasis::Dim), (&time, Emphasis::Dim))?;
        }
    }
    Ok(())
}

fn words(left: &Left) -> String {
    match left.by {
        LeftBy::Compaction => "a compaction summarised it".to_owned(),
        LeftBy::Prune => "a prune cleared the output".to_owned(),
        LeftBy::Revert => "a committed revert removed it".to_owned(),
        LeftBy::Epoch(cause) => format!("a new system prompt ({cause})"),
        LeftBy::Move => "the session moved, which ended the system prompt".to_owned(),
        LeftBy::CompactionUndone => "the compaction was undone".to_owned(),
        LeftBy::Unpinned => "it was unpinned".to_owned(),
        LeftBy::Edited => "the agent replaced it, or left it out".to_owned(),
        LeftBy::Reconfigured => "this request contains something else".to_owned(),
    }
}

fn label(through: &Through) -> (&'static str, Emphasis, Option<String>) {
    match through {
        Through::User => ("user", Emphasis::User, None),
        Through::System { sources } => ("system", Emphasis::Context, (!sources.is_empty()).then(|| sources.join(", "))),
        Through::Baseline { source } => ("baseline", Emphasis::Context, Some(source.clone())),
        Through::Synthetic => ("runtime", Emphasis::Warn, None),
        Through::Shell => ("shell", Emphasis::User, None),
        Through::Summary => ("summary", Emphasis::Context, None),
        Through::Recent => ("kept tail", Emphasis::Context, None),
        Through::Text => ("text", Emphasis::Model, None),
        Through::Reasoning => ("thought", Emphasis::Model, None),
        Through::Call { tool } => ("call", Emphasis::Tool, Some(tool.clone())),
        Through::Result { tool } => ("result", Emphasis::Tool, Some(tool.clone())),
        Through::Edit => ("edit", Emphasis::Warn, None),
        Through::Unknown => ("unknown", Emphasis::Warn, None),
        Through::Body { pointer } => ("body", Emphasis::Warn, Some(pointer.clone()).filter(|place| !place.is_empty())),
        Through::AgentText { agent } => ("agent", Emphasis::Strong, Some(agent.clone())),
        Through::Tool { tool } => ("tool", Emphasis::Tool, Some(tool.clone())),
    }
}
