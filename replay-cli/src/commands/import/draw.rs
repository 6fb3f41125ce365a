//! What an import did, for people and as JSON.

use crate::error::CliError;
use crate::layout::{columns, pad, plain, wrap};
use crate::style::{Emphasis, Style, counted, thousands};
use annals_import::{ImportOutcome, ImportReport, Loss, SessionReport};
use annals_inspect::reader::short_ids;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;

/// Shows each session that the import changed or that needs attention, and one total.
///
/// # Errors
/// When the output refuses.
pub fn draw(report: &ImportReport, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    let ids = short_ids(&report.sessions.iter().map(|session| session.session).collect::<Vec<_>>());
    for session in report.sessions.iter().filter(|session| is_shown(session)) {
        let id = ids.get(&session.session).cloned().unwrap_or_default();
        one(session, &id, style, out)?;
    }
    for ((path, what), loss) in &report.damage {
        let line = format!("{}{}: {what}", plain(&path.to_string_lossy()), places(loss));
        writeln!(out, "{}", style.paint(Emphasis::Warn, &line))?;
    }
    writeln!(out, "{}", style.paint(Emphasis::Strong, &total(report)))?;
    Ok(())
}

/// Whether a session is shown: it is new or continued, or somebody should look.
fn is_shown(session: &SessionReport) -> bool {
    session.new > 0 || session.outcome != ImportOutcome::Imported || session.is_damaged()
}

fn total(report: &ImportReport) -> String {
    let count = |wanted: &dyn Fn(&SessionReport) -> bool| report.sessions.iter().filter(|it| wanted(it)).count() as u64;
    let sum = |number: &dyn Fn(&SessionReport) -> u64| report.sessions.iter().map(number).sum::<u64>();
    let changed = count(&|it| it.new > 0);
    let elsewhere = count(&|it| matches!(it.outcome, ImportOutcome::Diverged { other_form: Some(_), .. }));
    let mut total = counted(report.sessions.len() as u64, "session");
    if changed > 0 && changed < report.sessions.len() as u64 {
        total.push_str(&format!(", {} changed", thousands(changed)));
    }
    total.push_str(&match (sum(&|it| it.events), sum(&|it| it.new)) {
        (_, 0) => ", nothing new".to_owned(),
        (0, new) => format!(", {}", counted(new, "new batch")),
        (events, _) => format!(", {}", counted(events, "new event")),
    });
    if elsewhere > 0 {
        total.push_str(&format!(", {} already here in another form", thousands(elsewhere)));
    }
    if !report.refused.is_empty() {
        total.push_str(&format!(", {} not imported", counted(report.refused.len() as u64, "file")));
    }
    match sum(&|it| if it.new > 0 { it.lost } else { 0 }) {
        0 => total,
        1 => total + "; 1 field was not imported (--report FILE lists it)",
        lost => format!("{total}; {} fields were not imported (--report FILE lists them)", thousands(lost)),
    }
}

fn one(session: &SessionReport, id: &str, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    let (mark, emphasis) = match session.outcome {
        ImportOutcome::Diverged { other_form: Some(_), .. } => ("=", Emphasis::Dim),
        ImportOutcome::Diverged { .. } | ImportOutcome::Failed { .. } | ImportOutcome::ChangedHere { .. } => {
            ("✗", Emphasis::Bad)
        }
        ImportOutcome::Imported if session.is_damaged() => ("!", Emphasis::Warn),
        ImportOutcome::Imported => ("✓", Emphasis::Good),
    };
    let much = match (session.new, session.events, session.known) {
        (0, ..) => "nothing new".to_owned(),
        (new, 0, _) => counted(new, "batch"),
        (_, events, 0) => counted(events, "event"),
        (_, events, _) => counted(events, "new event"),
    };
    let head = format!("{id}  {}  ", pad(&much, 16));
    let title = plain(session.title.as_deref().unwrap_or(&session.foreign));
    for (at, line) in wrap(&title, style.width.saturating_sub(columns(&head) + 2)).iter().enumerate() {
        match at {
            0 => {
                let (id, much) = head.split_at(id.len());
                let (id, much) = (style.paint(Emphasis::Context, id), style.paint(Emphasis::Dim, much));
                writeln!(out, "{} {id}{much}{line}", style.paint(emphasis, mark))?;
            }
            _ => writeln!(out, "{:width$}{line}", "", width = columns(&head) + 2)?,
        }
    }
    for (emphasis, remark) in remarks(session) {
        writeln!(out, "{}", style.paint(emphasis, &format!("  {remark}")))?;
    }
    Ok(())
}

/// What is shown below a session, each on one line.
fn remarks(session: &SessionReport) -> Vec<(Emphasis, String)> {
    let mut remarks = Vec::new();
    match &session.outcome {
        ImportOutcome::Imported => {}
        ImportOutcome::Diverged { line, other_form: None } => remarks.push((
            Emphasis::Bad,
            format!(
                "differs from the earlier import at line {line}; not imported. --as-new imports it as a second session"
            ),
        )),
        ImportOutcome::Diverged { other_form: Some(form), .. } => remarks.push((
            Emphasis::Dim,
            format!("already here (imported from {form}); --as-new imports this form as a second session"),
        )),
        ImportOutcome::ChangedHere { seq } => {
            remarks
                .push((Emphasis::Bad, format!("changed here at event {seq}, and its source has grown; not imported")));
        }
        ImportOutcome::Failed { line, reason } => {
            remarks.push((Emphasis::Bad, format!("stopped at line {line}: {}", plain(reason))));
        }
    }
    if let (Some((changed, seq)), 1..) = (session.instead_of, session.new) {
        let what = "imported as a second session; later imports continue that one";
        remarks.push((Emphasis::Warn, format!("{changed} was changed here at event {seq}, and its source has grown:")));
        remarks.push((Emphasis::Warn, what.to_owned()));
    }
    remarks.extend(session.damage.iter().map(|(what, loss)| (Emphasis::Warn, format!("{what}{}", places(loss)))));
    remarks
}

fn places(loss: &Loss) -> String {
    let lines: Vec<String> = loss.lines.iter().filter(|line| **line > 0).map(u64::to_string).collect();
    match (lines.len() as u64, loss.count) {
        (0, 1) => String::new(),
        (0, count) => format!(" ({count} times)"),
        (shown, count) if shown < count => format!(" (lines {} and {} more)", lines.join(", "), count - shown),
        (1, _) => format!(" (line {})", lines.join("")),
        _ => format!(" (lines {})", lines.join(", ")),
    }
}

/// The whole report.
pub fn in_json(report: &ImportReport) -> Value {
    let losses = |losses: &BTreeMap<String, Loss>| -> Value {
        losses.iter().map(|(what, loss)| (what.clone(), loss_json(loss))).collect::<serde_json::Map<_, _>>().into()
    };
    let sessions: Vec<Value> = report
        .sessions
        .iter()
        .map(|session| {
            let outcome = match &session.outcome {
                ImportOutcome::Imported => json!({"outcome": "imported"}),
                ImportOutcome::Diverged { line, other_form } => {
                    json!({"outcome": "diverged", "line": line, "other_form": other_form})
                }
                ImportOutcome::ChangedHere { seq } => json!({"outcome": "changed-here", "seq": seq}),
                ImportOutcome::Failed { line, reason } => json!({"outcome": "failed", "line": line, "reason": reason}),
            };
            let instead_of = session.instead_of.map(|(changed, seq)| json!({"session": changed, "seq": seq}));
            json!({
                "session": session.session, "agent": session.agent, "id": session.foreign, "form": session.form,
                "title": session.title, "new": session.new, "known": session.known, "events": session.events,
                "lost": session.lost, "instead_of": instead_of, "result": outcome,
                "losses": losses(&session.losses), "damage": losses(&session.damage),
            })
        })
        .collect();
    let damage: Vec<Value> = report
        .damage
        .iter()
        .map(|((path, what), loss)| json!({"file": path.to_string_lossy(), "what": what, "where": loss_json(loss)}))
        .collect();
    let refused: Vec<Value> =
        report.refused.iter().map(|(path, why)| json!({"file": path.to_string_lossy(), "why": why})).collect();
    json!({"sessions": sessions, "damage": damage, "refused": refused})
}

fn loss_json(loss: &Loss) -> Value {
    json!({"count": loss.count, "lines": loss.lines, "originals": loss.originals})
}
