//! Texts that the store was given without, from fuller exports.

use crate::command_context::CommandContext;
use crate::error::{CliError, ImportCommandError};
use crate::progress::Bar;
use annals_import::{FilledSession, ImportReport, collect_withheld};
use annals_store::disk::Tuning;
use annals_store::filling::{Filling, FillingError};
use annals_store::{DiskLog, OpenError, OpenMode, SharedError};
use std::path::PathBuf;

/// Fills in the texts that these exports have and the store was given without, and notes them in the report. Closes the store: every
/// copy of the log is written again. Returns whether it was done.
///
/// # Errors
/// When an export cannot be read any more, or the disk refuses.
pub async fn fill_in(exports: &[PathBuf], report: &mut ImportReport, cli: &CommandContext) -> Result<bool, CliError> {
    if exports.is_empty() {
        return Ok(true);
    }
    let failed = |error: FillingError| CliError::from(ImportCommandError::from(error));
    if cli.place.is_in_cluster() {
        cli.remark("texts that are withheld here were not filled in: a store in a cluster keeps a session as it was imported first");
        return Ok(false);
    }
    let Some(log) = cli.owned_log() else {
        cli.remark("texts that are withheld here were not filled in, since another process uses the store: end it, and import again");
        return Ok(false);
    };
    let mut filling = Filling::begin(&log).map_err(failed)?;
    for path in exports {
        collect_withheld(&mut filling, path).await.map_err(failed)?;
    }
    if !filling.commit().map_err(failed)? {
        return Ok(true);
    }
    drop(log);
    cli.close().await?;
    let (dir, bar) = (cli.place.dir().to_owned(), Bar::new(cli.shows_progress(), "filling in"));
    let progress = |done: usize, total: usize| bar.update(done as u64, Some(total as u64));
    let finished = DiskLog::finish_filling(&dir, Tuning::default(), &progress);
    bar.clear();
    let opened = match finished {
        Ok(opened) => opened,
        // A process that waited for the store has it now, and has finished this when it opened it.
        Err(OpenError::Locked { .. }) => {
            cli.remark("another process uses the store now; it fills in the texts");
            return Ok(true);
        }
        Err(error) => return Err(SharedError::from(error).into()),
    };
    cli.report_opening(&opened);
    // The index was removed with the saved views: it is made again when the store is closed.
    if let Err(error) = cli.store(OpenMode::Existing).await {
        tracing::debug!(%error, "the index is made again by the next command that writes");
    }
    let Some(filled) = opened.filled else { return Ok(false) };
    let sessions = filled.sessions.iter().map(|(session, texts)| (*session, *texts));
    let sessions =
        sessions.map(|(session, texts)| FilledSession { session, texts, key: filled.keys.contains(&session) });
    report.filled = sessions.filter(|filled| filled.texts > 0 || filled.key).collect();
    Ok(true)
}
