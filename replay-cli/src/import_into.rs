//! Imports that show their progress.

use crate::error::{CliError, ImportCommandError};
use crate::progress::Bar;
use crate::shown_title::without_keys;
use annals_import::{ImportOptions, ImportProgress, ImportReport, ImportSource, import};
use annals_store::EventLog;
use std::path::Path;
use std::sync::Arc;

/// Imports one source into a log.
///
/// # Errors
/// When the source or the log cannot be read, or an export does not verify: then nothing of it is appended.
pub async fn import_into(
    log: &Arc<dyn EventLog>,
    source: &ImportSource,
    options: &ImportOptions,
    bar: &Bar,
) -> Result<ImportReport, CliError> {
    Ok(import(log, source, options, &mut shown_by(bar)).await?)
}

/// Shows the progress of an import on a bar.
pub fn shown_by(bar: &Bar) -> impl FnMut(ImportProgress<'_>) + Send + use<> {
    let bar = bar.clone();
    move |progress| match progress {
        ImportProgress::Session(session) => {
            bar.name(&without_keys(session.title.as_deref().unwrap_or(&session.foreign)));
        }
        ImportProgress::Bytes { done, total } => bar.update(done, total),
        ImportProgress::Batch { .. } => {}
    }
}

/// Every source at a path. `remark` receives an error for each file of a folder that cannot be read.
///
/// # Errors
/// When the path is a file that is not recognised, or a folder without any source.
pub fn sources(path: &Path, mut remark: impl FnMut(&str)) -> Result<Vec<ImportSource>, CliError> {
    let (found, errors) = annals_import::sources(path)?;
    errors.iter().for_each(|error| remark(&error.to_string()));
    if found.is_empty() {
        return Err(ImportCommandError::NothingThere { path: path.to_owned() }.into());
    }
    Ok(found)
}
