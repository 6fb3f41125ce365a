//! `annals compactions`

use crate::command_context::{CommandContext, Target};
use crate::draw::compactions::draw;
use crate::error::{CliError, Verdict};
use crate::json;
use annals_core::Seq;
use annals_core::event::CompactionUndone;
use annals_host::editing;
use annals_inspect::SessionAt;
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
