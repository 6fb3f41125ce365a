//! `annals compactions`

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{columns, plain, wrap};
use crate::style::{Emphasis, Style, counted, money, thousands};
use annals_core::Seq;
use annals_core::event::CompactionUndone;
use annals_host::editing;
use annals_inspect::SessionAt;
use annals_inspect::compactions::ListedCompaction;
use annals_inspect::timeline::one_line;
use annals_projections::LedgerOutcome;
use annals_store::OpenMode;
use std::io::Write;

/// List compactions and what each removed, or undo one.
///
/// For each compaction: tokens before and after, what left the model's view, how much of the names, paths, numbers and
/// instructions in it is kept in the summary or the kept messages, by sentence of the user, and what the summary does not
/// mention (a heuristic, not a proof).
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Undo the compaction that started or ended at EVENT: the next request carries the full messages again. Both
    /// stay in the log.
    #[arg(long, value_name = "EVENT", conflicts_with = "at")]
    undo: Option<u64>,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if let Some(seq) = args.undo {
        return undo(Seq(seq), args, cli).await;
    }
    let found = cli.target(&args.target).await?;
    let items = SessionAt::from(&found).compactions().await?;
    if cli.style.json {
        json::list(out, &items)?;
        return Ok(Verdict::Fine);
    }
    items.iter().try_for_each(|item| draw(item, &cli.style, out))?;
    if items.is_empty() {
        cli.remark("no compaction in this session");
    }
    Ok(Verdict::Fine)
}

/// Draws a compaction: what it removed, and what of it is kept.
///
/// # Errors
/// When the output fails.
pub fn draw(item: &ListedCompaction, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    let entry = &item.entry;
    let mut facts = vec![entry.reason.as_str().to_owned()];
    facts.push(match &entry.outcome {
        LedgerOutcome::Open => "not finished".to_owned(),
        LedgerOutcome::Completed => format!("completed at event {}", entry.ended.unwrap_or(entry.seq)),
        LedgerOutcome::Failed { kind } => format!("failed: {kind}"),
        LedgerOutcome::Undone { by } => format!("undone at event {by}"),
        LedgerOutcome::Reverted { by } => format!("reverted at event {by}"),
    });
    if entry.before > 0 || entry.after > 0 {
        facts.push(format!("{} → {} tokens", thousands(entry.before), thousands(entry.after)));
    }
    facts.extend(entry.model.as_ref().map(ToString::to_string));
    facts.extend((entry.cost > 0).then(|| money(entry.cost)));
    let head = style.paint(Emphasis::Strong, &format!("event {:>5}", entry.seq));
    let (time, facts) = (style.exact(entry.at), facts.join(", "));
    let is_wide = 15 + columns(&time) + columns(&facts) > style.width;
    let same_line = if is_wide { String::new() } else { format!("  {facts}") };
    writeln!(out, "{head}  {}{same_line}", style.paint(Emphasis::Dim, &time))?;
    let mut tell = |text: &str| -> Result<(), CliError> {
        for line in wrap(&plain(text), style.width.saturating_sub(11)) {
            writeln!(out, "           {line}")?;
        }
        Ok(())
    };
    if is_wide {
        tell(&facts)?;
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
        tell(&format!("replaced by the summary: {}{pinned}", left.join(", ")))?;
    }
    if let Some(request) = &entry.request {
        tell(&format!("request {}", request.short()))?;
    }
    if let Some(summary) = &item.summary {
        tell(&one_line(summary))?;
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
            tell(&format!("kept in summary or tail: {}% ({})", fidelity.percent, kinds.join(", ")))?;
        }
        for sentence in fidelity.sentences.iter().filter(|sentence| sentence.count.kept < sentence.count.of) {
            let (count, text) = (sentence.count, one_line(&sentence.text));
            tell(&format!("event {}, kept {} of {}: {text}", sentence.message, count.kept, count.of))?;
        }
    }
    for instruction in &item.unmentioned.instructions {
        tell(&format!("not in the summary: {instruction}"))?;
    }
    if !item.unmentioned.names.is_empty() {
        tell(&format!("names not in the summary: {}", item.unmentioned.names.join(", ")))?;
    }
    Ok(())
}

async fn undo(seq: Seq, args: &Args, cli: &CommandContext) -> Result<Verdict, CliError> {
    let reader = cli.store(OpenMode::Existing).await?;
    let named = cli.find_session(&reader, &args.target.session).await?;
    let session = editing::local_fork(&reader, named).await?.unwrap_or(named);
    let head = reader.head(session).await?;
    let seq = reader.session_at(session, head.next).undoable_compaction(seq).await?;
    let undone = CompactionUndone { compaction: seq }.into();
    let (session, at) = editing::append(cli, &reader, session, undone).await?;
    let fork = editing::in_fork(named, session);
    cli.remark(&format!("undone{fork} (event {at}); the next request carries the full messages again"));
    Ok(Verdict::Fine)
}
