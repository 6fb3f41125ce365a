//! `annals index`

use crate::command_context::CommandContext;
use crate::error::{CliError, EditError, Verdict};
use crate::json;
use crate::progress::Bar;
use crate::style::{counted, size};
use annals_index::{FillReport, IndexPlace, fill};
use annals_inspect::search::IndexStatus;
use annals_store::OpenMode;
use serde_json::json;
use std::io::Write;

/// Bring the index of search and sql up to date.
///
/// Commands that write to the store do this by themselves. The index is a cache: it is made from the log alone, and
/// removing it changes no answer.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Remove the index and make it again.
    #[arg(long)]
    rebuild: bool,
}

/// Runs the command.
///
/// # Errors
/// When there is no store, or the index cannot be written.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if let Some(file) = cli.file.clone() {
        return Err(EditError::OnlyInTheStore { file }.into());
    }
    let reader = cli.store(OpenMode::Existing).await?;
    let place = IndexPlace::in_store(cli.place.dir());
    if args.rebuild {
        place.remove()?;
    }
    let bar = Bar::new(cli.shows_progress(), "indexing");
    let filled = fill(&**reader.log(), &place, |done| bar.name(&counted(done, "event"))).await;
    bar.clear();
    let FillReport { added, events, .. } = filled?;
    let path = place.file();
    let bytes = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
    if cli.style.json {
        json::object(out, &json!(IndexStatus { path: path.display().to_string(), events, added, bytes }))?;
    } else {
        writeln!(out, "{}, {} new, {}", counted(events, "event"), added, size(bytes))?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(Verdict::Fine)
}
