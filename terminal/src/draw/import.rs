//! Draws what an import did.

use crate::layout::{columns, hanging, name, pad, plain, wrap};
use crate::shown_title::shown_title;
use crate::style::{Emphasis, Style, counted, thousands};
use annals_import::{ImportOutcome, ImportReport, Loss, LossKind, SessionReport};
use annals_inspect::reader::short_ids;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Shows each session that the import changed or that needs attention, and one total.
pub fn draw(report: &ImportReport, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let ids = short_ids(&report.sessions.iter().map(|session| session.session).collect::<Vec<_>>());
    let lists_elsewhere = report.sessions.iter().filter(|session| is_elsewhere(session)).count() <= ELSEWHERE;
    for session in report.sessions.iter().filter(|session| is_shown(session, lists_elsewhere)) {
        let id = ids.get(&session.session).cloned().unwrap_or_default();
        one(session, &id, style, out)?;
    }
    for ((path, what), loss) in &report.damage {
        let line = format!("{}{}: {what}", plain(&path.to_string_lossy()), places(loss));
        writeln!(out, "{}", style.paint(Emphasis::Warn, &line))?;
    }
    for filled in &report.filled {
        let (session, texts) = (filled.session, counted(filled.texts, "text"));
        match filled.texts {
            0 => writeln!(out, "added the key of session {session}")?,
            _ => writeln!(out, "filled in {texts} of session {session}")?,
        }
    }
    for (kind, emphasis) in [(LossKind::Content, Emphasis::Warn), (LossKind::Settings, Emphasis::Dim)] {
        if let Some(lost) = lost(report, kind) {
            let line = hanging(&format!("  {} not imported: {lost}", kind.name()), 4, style.width);
            writeln!(out, "{}", style.paint(emphasis, &line))?;
        }
    }
    writeln!(out, "{}", style.paint(Emphasis::Strong, &total(report)))?;
    Ok(())
}

/// How many kinds of losses are named; more are counted.
const LOSSES: usize = 4;

/// What was lost most often of a kind, of sessions that are new; `None` without losses. Of a session that is continued only the number
/// is known.
fn lost(report: &ImportReport, kind: LossKind) -> Option<String> {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    let counted = |session: &SessionReport| -> u64 {
        let losses = session.losses.iter().filter(|(what, _)| LossKind::of(what) != LossKind::Display);
        losses.map(|(_, loss)| loss.count).sum()
    };
    for session in report.sessions.iter().filter(|session| session.new > 0 && counted(session) == session.lost) {
        for (what, loss) in session.losses.iter().filter(|(what, _)| LossKind::of(what) == kind) {
            *kinds.entry(what).or_default() += loss.count;
        }
    }
    let mut kinds: Vec<(&str, u64)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(what, count)| (Reverse(*count), *what));
    let named = kinds.iter().take(LOSSES).map(|(what, count)| match count {
        1 => name(what),
        count => format!("{} ({})", name(what), thousands(*count)),
    });
    let mut named: Vec<String> = named.collect();
    if let more @ 1.. = kinds.len().saturating_sub(LOSSES) {
        named.push(format!("{more} more"));
    }
    (!named.is_empty()).then(|| named.join(", "))
}

/// How many sessions that are here in another form are listed; more are counted.
const ELSEWHERE: usize = 3;

/// Whether a session is shown: it is new or continued, or needs attention.
fn is_shown(session: &SessionReport, lists_elsewhere: bool) -> bool {
    let is_fine = match session.outcome {
        ImportOutcome::Imported => true,
        ImportOutcome::Diverged { other_form: Some(_), .. } => !lists_elsewhere,
        _ => false,
    };
    session.new > 0 || !is_fine || session.is_damaged()
}

fn is_elsewhere(session: &SessionReport) -> bool {
    matches!(session.outcome, ImportOutcome::Diverged { other_form: Some(_), .. })
}

fn total(report: &ImportReport) -> String {
    let count = |wanted: &dyn Fn(&SessionReport) -> bool| report.sessions.iter().filter(|it| wanted(it)).count() as u64;
    let sum = |number: &dyn Fn(&SessionReport) -> u64| report.sessions.iter().map(number).sum::<u64>();
    let changed = count(&|it| it.new > 0);
    let elsewhere = count(&is_elsewhere);
    let mut total = counted(report.sessions.len() as u64, "session");
    if changed > 0 && changed < report.sessions.len() as u64 {
        total.push_str(&format!(", {} changed", thousands(changed)));
    }
    let filled: u64 = report.filled.iter().map(|filled| filled.texts).sum();
    total.push_str(&match (sum(&|it| it.events), sum(&|it| it.new)) {
        (_, 0) if filled > 0 => format!(", {} filled in", counted(filled, "text")),
        (_, 0) if !report.filled.is_empty() => ", no new text".to_owned(),
        (_, 0) => ", nothing new".to_owned(),
        (0, new) => format!(", {}", counted(new, "new batch")),
        (events, _) => format!(", {}", counted(events, "new event")),
    });
    if elsewhere > 0 {
        total.push_str(&format!(", {} already here in another form", thousands(elsewhere)));
        if elsewhere > ELSEWHERE as u64 {
            total.push_str(" (--as-new imports this one, too)");
        }
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

fn one(session: &SessionReport, id: &str, style: &Style, out: &mut dyn Write) -> io::Result<()> {
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
    let title = shown_title(session.title.as_deref().unwrap_or(&session.foreign));
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
    if let (Some((former, line)), 1..) = (session.former, session.new) {
        let what =
            format!("its source was rewritten at line {line}: imported as a second session; the first one is {former}");
        remarks.push((Emphasis::Warn, what));
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
