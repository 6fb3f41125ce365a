//! `annals compactions`

use crate::command_context::{CommandContext, FoundSession, Target};
use crate::editing;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{plain, wrap};
use crate::style::{Emphasis, Style, counted, money, thousands};
use annals_core::event::CompactionUndone;
use annals_core::{Blobs, Seq, SessionId};
use annals_inspect::timeline::one_line;
use annals_projections::{
    Body, Content, Ledger, LedgerEntry, LedgerOutcome, Message, Messages, SessionView, ToJson, estimate, unmentioned,
};
use annals_store::OpenMode;
use serde_json::json;
use std::io::Write;

/// List compactions and what each removed, or undo one.
///
/// For each compaction: tokens before and after, what left the model's view, and names and instructions that its
/// summary does not mention (a heuristic, not a proof).
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Undo the compaction that started or ended at EVENT: the next request carries the full messages again. Both
    /// stay in the log.
    #[arg(long, value_name = "EVENT", conflicts_with = "at")]
    undo: Option<u64>,
}

/// One compaction of the list: what the ledger has, and what its summary does not mention of what it covered.
struct ListedCompaction {
    entry: LedgerEntry,
    summary: Option<String>,
    names: Vec<String>,
    instructions: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// When the Session cannot be read, or there is nothing to undo at that place.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if let Some(seq) = args.undo {
        return undo(Seq(seq), args, cli).await;
    }
    let found = cli.target(&args.target).await?;
    let items = list(&found).await?;
    if cli.style.json {
        let mut list = json::List::begin(out)?;
        for item in &items {
            let mut json = json!(item.entry);
            json["summary"] = json!(item.summary);
            json["unmentioned"] = json!({"names": item.names, "instructions": item.instructions});
            list.item(&json)?;
        }
        list.end()?;
        return Ok(Verdict::Fine);
    }
    items.iter().try_for_each(|item| draw(item, &cli.style, out))?;
    if items.is_empty() {
        cli.remark("no compaction in this session");
    }
    Ok(Verdict::Fine)
}

async fn list(found: &FoundSession) -> Result<Vec<ListedCompaction>, CliError> {
    let ledger: Ledger = found.reader.fold(found.session, found.until).await?;
    let mut messages = Messages::default();
    found
        .reader
        .each(found.session, Seq::ZERO, found.until, |record| {
            messages.apply(record);
        })
        .await?;
    let blobs = found.reader.blobs();
    let items = ledger.entries.into_iter().map(|entry| {
        let summary = entry.ended.and_then(|seq| messages.get(seq)).and_then(|message| match &message.body {
            Body::Compaction { summary, .. } => Some(summary.resolve(blobs).into_owned()),
            _ => None,
        });
        let covered = entry.messages.iter().chain(&entry.context_messages).filter_map(|seq| messages.get(*seq));
        let covered: Vec<String> = covered.flat_map(|message| said(message, blobs)).collect();
        let (names, instructions) = match &summary {
            Some(summary) => unmentioned(&covered.join("\n"), summary),
            None => (Vec::new(), Vec::new()),
        };
        ListedCompaction { entry, summary, names, instructions }
    });
    Ok(items.collect())
}

/// What people and instructions said in a message: that is what a summary must carry. Tool outputs are not.
fn said(message: &Message, blobs: &dyn Blobs) -> Vec<String> {
    match &message.body {
        Body::User { text, .. } | Body::System { text, .. } | Body::Synthetic { text } => {
            vec![text.resolve(blobs).into_owned()]
        }
        Body::Compaction { summary, recent, .. } => {
            vec![summary.resolve(blobs).into_owned(), recent.resolve(blobs).into_owned()]
        }
        Body::Assistant(assistant) => assistant
            .content
            .iter()
            .filter_map(|content| match content {
                Content::Text { text, .. } => Some(text.resolve(blobs).into_owned()),
                Content::Reasoning { .. } | Content::Tool(_) => None,
            })
            .collect(),
        Body::Shell { .. } | Body::AgentSwitched { .. } | Body::ModelSwitched { .. } => Vec::new(),
    }
}

fn draw(item: &ListedCompaction, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
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
    writeln!(out, "{head}  {}  {}", style.paint(Emphasis::Dim, &style.exact(entry.at)), facts.join(", "))?;
    let mut tell = |text: &str| -> Result<(), CliError> {
        for line in wrap(&plain(text), style.width.saturating_sub(11)) {
            writeln!(out, "           {line}")?;
        }
        Ok(())
    };
    if item.summary.is_some() {
        let counts = [
            (entry.messages.len(), "message"),
            (entry.tool_outputs.len(), "tool output"),
            (entry.context_messages.len(), "context update"),
        ];
        let left: Vec<String> =
            counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, noun)| counted(n as u64, noun)).collect();
        let pinned = match entry.pinned.len() {
            0 => String::new(),
            n => format!("; {} kept", counted(n as u64, "pinned message")),
        };
        tell(&format!("replaced by the summary: {}{pinned}", left.join(", ")))?;
    }
    if let Some(request) = &entry.request {
        tell(&format!("request {}", request.short()))?;
    }
    if let Some(summary) = &item.summary {
        tell(&one_line(summary))?;
    }
    for instruction in &item.instructions {
        tell(&format!("not in the summary: {instruction}"))?;
    }
    if !item.names.is_empty() {
        tell(&format!("names not in the summary: {}", item.names.join(", ")))?;
    }
    Ok(())
}

async fn undo(seq: Seq, args: &Args, cli: &CommandContext) -> Result<Verdict, CliError> {
    let reader = cli.store(OpenMode::Existing).await?;
    let named = reader.find(&args.target.session).await?;
    let session = editing::local_fork(&reader, named).await?.unwrap_or(named);
    let head = reader.head(session).await?;
    let view = reader.view(session, head.next).await?;
    // A person may name it by its start, as the list does, or by its end, as the history does.
    let ledger: Ledger = reader.fold(session, head.next).await?;
    let meant = |entry: &&LedgerEntry| entry.seq == seq || entry.ended == Some(seq);
    let ended = ledger.entries.iter().find(meant).and_then(|entry| entry.ended);
    let Some(seq) = ended.filter(|ended| view.history.compactions().any(|standing| standing == *ended)) else {
        return Err(CliError::NoCompaction { session, seq });
    };
    fits_without(&view, session, seq, reader.blobs())?;
    let undone = CompactionUndone { compaction: seq }.into();
    let (session, at) = editing::append(&reader, cli.style.now, session, undone).await?;
    let fork = editing::in_fork(named, session);
    cli.remark(&format!("undone{fork} (event {at}); the next request carries the full messages again"));
    Ok(Verdict::Fine)
}

/// Refuses what the model could not take: the history without the compaction against the model's context limit.
fn fits_without(view: &SessionView, session: SessionId, seq: Seq, blobs: &dyn Blobs) -> Result<(), CliError> {
    let profiles = &view.profiles;
    let model = profiles.model.get(&view.session.model).and_then(|digest| profiles.models.get(digest));
    let limit = model.map_or(0, |model| model.context);
    let Some(history) = view.history.without(seq) else { return Ok(()) };
    let tokens = estimate(history.to_json(blobs).to_string().chars().count() as u64);
    if limit > 0 && tokens > limit {
        return Err(CliError::WouldNotFit { session, seq, tokens, limit });
    }
    Ok(())
}
