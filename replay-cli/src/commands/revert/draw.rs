//! What an undo takes away and puts back, for people.

use super::{FileEffect, RevertContext, RevertEffect};
use crate::command_context::CommandContext;
use crate::error::CliError;
use crate::layout::{Sheet, plain};
use crate::style::{Emphasis, Style, counted};
use annals_core::{Blobs, Seq};
use annals_inspect::timeline::{input_in_brief, one_line};
use annals_projections::{Body, Content, Message};
use annals_runtime::worktree::Plan;
use std::io::Write;

impl RevertContext {
    /// Shows what is removed, and what happens to files.
    pub(super) async fn draw(
        &self,
        effect: &RevertEffect,
        cli: &CommandContext,
        out: &mut (dyn Write + Send),
    ) -> Result<(), CliError> {
        let count = counted(effect.preview.messages.items.len() as u64, "message");
        writeln!(out, "undoes {count}: events {} and later", effect.preview.first_removed)?;
        let blobs = self.reader.blobs();
        let mut sheet = Sheet::new(out, &cli.style);
        let draw = |messages: &annals_projections::Messages, wanted: &[Seq]| -> Result<(), CliError> {
            for message in wanted.iter().filter_map(|seq| messages.get(*seq)) {
                in_brief(message, &mut sheet, blobs)?;
            }
            Ok(())
        };
        self.reader.transcript(self.session, self.head.next, &effect.preview.messages, draw).await?;
        let mut sheet = Sheet::new(out, &cli.style);
        for input in &effect.preview.inputs {
            let line = format!("waiting: {}", plain(input.as_str()));
            sheet.row(None, ("input", Emphasis::User), (&line, Emphasis::Plain), ("", Emphasis::Dim))?;
        }
        match &effect.files {
            FileEffect::Change(plan) => files(&effect.files, plan, &cli.style, out),
            stay => {
                Ok(sheet.row(None, ("files", Emphasis::Warn), (&stay.shown(), Emphasis::Plain), ("", Emphasis::Dim))?)
            }
        }
    }
}

/// What changes on disk: file by file, then the diff, then what stays and why.
pub(super) fn files(
    effect: &FileEffect,
    plan: &Plan,
    style: &Style,
    out: &mut (dyn Write + Send),
) -> Result<(), CliError> {
    let mut sheet = Sheet::new(out, style);
    let count = effect.shown();
    sheet.row(None, ("files", Emphasis::Warn), (&count, Emphasis::Plain), ("", Emphasis::Dim))?;
    for file in &plan.now.files {
        let line = format!("{:<8} {}", file.status, plain(&file.path));
        let lines = format!("+{} -{}", file.additions, file.deletions);
        sheet.row(None, ("", Emphasis::Dim), (&line, Emphasis::Plain), (&lines, Emphasis::Dim))?;
    }
    for left in &plan.left {
        let line = format!("{} not changed: {}", plain(&left.path), left.why);
        sheet.row(None, ("", Emphasis::Dim), (&line, Emphasis::Warn), ("", Emphasis::Dim))?;
    }
    for path in &plan.mixed {
        let line = format!("{}: changes that others made to it between the steps are undone too", plain(path));
        sheet.row(None, ("", Emphasis::Dim), (&line, Emphasis::Warn), ("", Emphasis::Dim))?;
    }
    if plan.unknown_steps > 0 {
        let line = format!("changes of {} are unknown and not undone", counted(plan.unknown_steps as u64, "step"));
        sheet.row(None, ("", Emphasis::Dim), (&line, Emphasis::Warn), ("", Emphasis::Dim))?;
    }
    for line in plan.now.diff.text.lines() {
        let emphasis = match line.bytes().next() {
            _ if line.starts_with("diff ") || line.starts_with("+++ ") || line.starts_with("--- ") => Emphasis::Strong,
            Some(b'+') => Emphasis::Good,
            Some(b'-') => Emphasis::Bad,
            Some(b'@') => Emphasis::Context,
            _ => Emphasis::Plain,
        };
        writeln!(out, "{}", style.paint(emphasis, &plain(line)))?;
    }
    Ok(())
}

/// A message in one row.
fn in_brief(message: &Message, sheet: &mut Sheet<'_>, blobs: &dyn Blobs) -> Result<(), CliError> {
    let line = |text: &annals_core::Text| one_line(&text.resolve(blobs));
    let (label, emphasis, text) = match &message.body {
        Body::User { text, .. } => ("user", Emphasis::User, line(text)),
        Body::Assistant(answer) => {
            let texts = answer.content.iter().map(|content| match content {
                Content::Text { text, .. } => line(text),
                Content::Reasoning { .. } => String::new(),
                Content::Tool(call) => format!("{} {}", call.name, input_in_brief(&call.input, "", blobs)),
            });
            let texts: Vec<String> = texts.filter(|texts| !texts.is_empty()).collect();
            ("assistant", Emphasis::Model, texts.join(" · "))
        }
        Body::System { text, .. } => ("system", Emphasis::Context, line(text)),
        Body::Synthetic { text } => ("runtime", Emphasis::Warn, line(text)),
        Body::Shell { command, .. } => ("shell", Emphasis::User, format!("$ {}", line(command))),
        Body::Compaction { .. } => ("compact", Emphasis::Context, "summary of the messages before it".to_owned()),
        Body::AgentSwitched { agent } => ("agent", Emphasis::Strong, agent.to_string()),
        Body::ModelSwitched { model } => ("model", Emphasis::Strong, model.to_string()),
    };
    Ok(sheet.row_brief(Some(message.seq), (label, emphasis), (&plain(&text), Emphasis::Plain), 1)?)
}
