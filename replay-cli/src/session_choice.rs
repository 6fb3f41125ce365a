//! Which session a command continues: the last one here, or one that is named.

use crate::command_context::CommandContext;
use crate::error::{CliError, RunCommandError};
use annals_host::project::newest;
use annals_host::{ExistingSession, working_directory};
use annals_projections::CatalogueEntry;
use annals_store::OpenMode;
use std::path::Path;

/// The session that is named, or the last one of `directory`, or of this one; `None` for a new one.
pub async fn find(
    go_on: bool,
    name: Option<&str>,
    directory: Option<&Path>,
    cli: &CommandContext,
) -> Result<Option<ExistingSession>, CliError> {
    let (reader, session) = match (go_on, name) {
        (false, None) => return Ok(None),
        (_, Some(name)) => cli.change(name).await?,
        (true, None) => {
            let directory = working_directory(cli, directory)?;
            let nothing = || RunCommandError::NothingToContinue { directory: directory.clone().into() };
            let reader = match cli.store(OpenMode::Existing).await {
                Err(CliError::NoStore { .. }) => return Err(nothing().into()),
                reader => reader?,
            };
            let catalogue = reader.catalogue().await?;
            let scope = cli.scope_around(&catalogue, Path::new(&directory));
            let own = |entry: &CatalogueEntry| entry.parent.is_none() && entry.origin.is_none() && !entry.forgotten;
            let last = newest(&catalogue, |entry| own(entry) && scope.takes(&entry.directory));
            (reader, last.ok_or_else(nothing)?)
        }
    };
    Ok(Some(ExistingSession::of(reader, session).await?))
}

/// The session of this name.
///
/// # Errors
/// When there is none, or several.
pub async fn named(name: &str, cli: &CommandContext) -> Result<ExistingSession, CliError> {
    let (reader, session) = cli.change(name).await?;
    Ok(ExistingSession::of(reader, session).await?)
}
