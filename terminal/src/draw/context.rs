//! A context epoch: its system prompt, the snapshot, the updates since.

use crate::layout::{Sheet, plain};
use crate::message;
use crate::style::{Emphasis, Style, counted};
use annals_core::{Blobs, Key, Snapshot};
use annals_projections::{Body, Epoch, History, Message, SessionView, UNKNOWN_PART};
use std::io::{self, Write};

/// Why no system prompt is in force.
pub fn absent(view: &SessionView) -> String {
    let recorder = view.session.origin.as_ref().map(|origin| product(&origin.agent));
    match (recorder, view.epochs.marks.is_empty()) {
        (Some(recorder), true) => {
            format!("not recorded: {recorder} did not write the system prompt of this session into its file")
        }
        (None, true) => "no system prompt yet: the first turn renders it".to_owned(),
        (_, false) => "no system prompt is in force: the next turn renders a new one".to_owned(),
    }
}

/// Draws a context epoch: its system prompt, the snapshot, the updates since.
pub fn draw(
    epoch: &Epoch,
    view: &SessionView,
    blobs: &dyn Blobs,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut sheet = Sheet::for_names(out, style, ["exec_command"]);
    baseline(epoch, &mut sheet, blobs)?;
    snapshot(&epoch.snapshot, &mut sheet, blobs)?;
    let messages: Vec<_> = context_messages(&view.history).collect();
    if !messages.is_empty() {
        writeln!(sheet.out)?;
        sheet.rule("context updates", &counted(messages.len() as u64, "message"), Emphasis::Strong)?;
        messages.iter().try_for_each(|message| message::draw(message, "", &mut sheet, blobs))?;
    }
    if let Some(blocked) = &epoch.blocked {
        let keys: Vec<&str> = blocked.keys.iter().map(|key| key.as_str()).collect();
        let line = format!("a new system prompt is due ({}), but {} cannot be read", blocked.cause, keys.join(", "));
        sheet.row(Some(blocked.seq), ("blocked", Emphasis::Warn), (&line, Emphasis::Plain), ("", Emphasis::Dim))?;
    } else if let Some(cause) = view.epochs.due() {
        let line = format!("the next turn renders a new system prompt ({cause})");
        sheet.row(None, ("due", Emphasis::Warn), (&line, Emphasis::Plain), ("", Emphasis::Dim))?;
    }
    Ok(())
}

/// What people call an agent that sessions are imported from.
fn product(agent: &str) -> &str {
    match agent {
        "claude-code" => "Claude Code",
        "codex" => "Codex",
        "opencode" => "OpenCode",
        "kilo" => "Kilo",
        other => other,
    }
}

/// The context messages that the model still sees; parts of a body that no reader knows are none.
pub fn context_messages(history: &History) -> impl Iterator<Item = &Message> {
    let is_unknown = |key: &Key| key.as_str() == UNKNOWN_PART;
    history
        .selected()
        .filter(move |message| matches!(&message.body, Body::System { keys, .. } if !keys.iter().any(is_unknown)))
}

fn baseline(epoch: &Epoch, sheet: &mut Sheet<'_>, blobs: &dyn Blobs) -> io::Result<()> {
    let left = format!("epoch {} · {}", epoch.mark.epoch, epoch.mark.cause);
    let right = format!("event {} · {}", epoch.mark.seq, epoch.location.directory);
    sheet.rule(&left, &right, Emphasis::Strong)?;
    if !epoch.known {
        let line = "this system prompt was not recorded by the agent that the session was imported from";
        sheet.row(
            Some(epoch.mark.seq),
            ("baseline", Emphasis::Context),
            (line, Emphasis::Warn),
            ("", Emphasis::Dim),
        )?;
        return Ok(());
    }
    for part in &epoch.parts {
        let text = plain(&part.text.resolve(blobs));
        let size = counted(part.text.chars(), "character");
        let key = part.key.as_str();
        sheet.row(
            Some(epoch.mark.seq),
            ("baseline", Emphasis::Context),
            (key, Emphasis::Context),
            (&size, Emphasis::Dim),
        )?;
        sheet.quote(&text, Emphasis::Plain)?;
    }
    if epoch.parts.is_empty() {
        sheet.row(
            Some(epoch.mark.seq),
            ("baseline", Emphasis::Context),
            ("empty", Emphasis::Dim),
            ("", Emphasis::Dim),
        )?;
    }
    Ok(())
}

fn snapshot(snapshot: &Snapshot, sheet: &mut Sheet<'_>, blobs: &dyn Blobs) -> io::Result<()> {
    if snapshot.0.is_empty() {
        return Ok(());
    }
    writeln!(sheet.out)?;
    sheet.rule("snapshot", &counted(snapshot.0.len() as u64, "source"), Emphasis::Strong)?;
    for (key, entry) in &snapshot.0 {
        sheet.row(None, ("source", Emphasis::Context), (key.as_str(), Emphasis::Context), ("", Emphasis::Dim))?;
        sheet.quote(&plain(&entry.value.0.resolve(blobs)), Emphasis::Plain)?;
        if let Some(removed) = &entry.removed {
            let line = format!("if removed: {}", plain(&removed.resolve(blobs)));
            sheet.quote(&line, Emphasis::Dim)?;
        }
    }
    Ok(())
}
