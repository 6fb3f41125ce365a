//! `annals compactions`

use crate::desk::{Desk, Found, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::wrap;
use crate::look::{Look, Tone, money, thousands};
use crate::tale::one_line;
use annals_core::event::CompactionUndone;
use annals_core::{Event, Seq, Time};
use annals_projections::SessionView;
use annals_store::{Draft, OpenMode};
use serde_json::json;
use std::io::Write;

/// Lists the compactions of a Session, or undoes one: the history is then again what it was without it.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Undoes the compaction at SEQ. It stays in the log, and so does the undoing.
    #[arg(long, value_name = "SEQ", conflicts_with = "at")]
    undo: Option<u64>,
}

/// One compaction of the list.
struct Item {
    seq: Seq,
    at: Time,
    reason: &'static str,
    before: u64,
    after: u64,
    cost: u64,
    summary: String,
    standing: bool,
}

/// Runs the command.
///
/// # Errors
/// When the Session cannot be read, or there is nothing to undo at that place.
pub async fn run(args: &Args, desk: &Desk, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if let Some(seq) = args.undo {
        return undo(Seq(seq), args, desk).await;
    }
    let found = desk.target(&args.target).await?;
    let items = list(&found).await?;
    if desk.look.json {
        let mut list = json::List::begin(out)?;
        for item in &items {
            list.item(&json!({
                "seq": item.seq, "at": item.at, "reason": item.reason, "before": item.before, "after": item.after,
                "cost": item.cost, "summary": item.summary, "standing": item.standing,
            }))?;
        }
        list.end()?;
        return Ok(Verdict::Fine);
    }
    items.iter().try_for_each(|item| draw(item, &desk.look, out))?;
    if items.is_empty() {
        desk.remark("no compaction was completed in this Session");
    }
    Ok(Verdict::Fine)
}

async fn list(found: &Found) -> Result<Vec<Item>, CliError> {
    let view: SessionView = found.reader.view(found.session, found.until).await?;
    let mut estimate = 0;
    let mut items = Vec::new();
    let blobs = found.reader.blobs();
    let visit = |record: &annals_core::Record<'_>| match record.event {
        Event::CompactionStarted(started) => estimate = started.estimate,
        Event::CompactionEnded(ended) => items.push(Item {
            seq: record.seq,
            at: record.at,
            reason: ended.reason.as_str(),
            before: std::mem::take(&mut estimate),
            after: ended.estimate,
            cost: ended.cost,
            summary: ended.summary.resolve(blobs).into_owned(),
            standing: view.history.compactions().any(|seq| seq == record.seq),
        }),
        _ => {}
    };
    found.reader.each(found.session, Seq::ZERO, found.until, visit).await?;
    Ok(items)
}

fn draw(item: &Item, look: &Look, out: &mut dyn Write) -> Result<(), CliError> {
    let mut facts = vec![item.reason.to_owned()];
    if item.before > 0 || item.after > 0 {
        facts.push(format!("{} → {} tokens", thousands(item.before), thousands(item.after)));
    }
    facts.extend((item.cost > 0).then(|| money(item.cost)));
    facts.extend((!item.standing).then(|| "undone".to_owned()));
    writeln!(
        out,
        "{}  {}  {}",
        look.paint(Tone::Strong, &format!("seq {:>5}", item.seq)),
        look.paint(Tone::Dim, &look.exact(item.at)),
        facts.join(", ")
    )?;
    for line in wrap(&crate::layout::plain(&one_line(&item.summary)), look.width.saturating_sub(11)) {
        writeln!(out, "           {line}")?;
    }
    Ok(())
}

async fn undo(seq: Seq, args: &Args, desk: &Desk) -> Result<Verdict, CliError> {
    let reader = desk.store(OpenMode::Existing).await?;
    let session = reader.find(&args.target.session).await?;
    let head = reader.head(session).await?;
    let view = reader.view(session, head.next).await?;
    if !view.history.compactions().any(|standing| standing == seq) {
        return Err(CliError::NoCompaction { session, seq });
    }
    let events = vec![CompactionUndone { compaction: seq }.into()];
    let draft = Draft { session, expected: head.next, at: desk.look.now.max(head.at), events, digest: None };
    let committed = reader.log().append(draft).await?;
    desk.remark(&format!("undone, at seq {}; the next turn sees the history without it", committed.batch.first));
    Ok(Verdict::Fine)
}
