//! Questions on a terminal first import what agents wrote since the last import (`docs/import.md#what-an-import-promises`).

use crate::command_context::CommandContext;
use crate::error::CliError;
use crate::import_into::shown_by;
use crate::import_secret;
use crate::progress::Bar;
use crate::style::{Emphasis, counted};
use annals_import::{ImportFollower, ImportOptions, ImportPlan, ImportState, Selection};
use annals_store::OpenMode;

/// Imports what changed, if something was imported from the agents on this machine before. A question is answered also when
/// this fails.
pub async fn run(cli: &CommandContext) {
    match refresh(cli).await {
        Ok(None) => {}
        Ok(Some(news)) => cli.remarks.say(Emphasis::Dim, &news),
        Err(error) => cli.remark(&format!("what agents wrote since the last import is not shown: {error}")),
    }
}

async fn refresh(cli: &CommandContext) -> Result<Option<String>, CliError> {
    let config = cli.environment.config(&cli.environment.directory);
    if config.is_ok_and(|config| !config.refresh()) {
        return Ok(None);
    }
    let cache = cli.place.cache(OpenMode::ReadOnly);
    let (homes, mut state) = (cli.homes(), ImportState::kept(&cache));
    if state.is_empty() || ImportPlan::of(&homes, &[], &Selection::default(), &mut state, false).sources.is_empty() {
        return Ok(None);
    }
    let reader = cli.store(OpenMode::Existing).await?;
    let state = ImportState::load(&cache, &**reader.log()).await?;
    let options =
        ImportOptions { follows: true, secret: import_secret::obtain(&cli.environment)?, ..ImportOptions::default() };
    let bar = Bar::new(cli.shows_progress(), "importing what is new");
    let (files, selection) = (Vec::new(), Selection::default());
    let mut follower = ImportFollower { homes, files, selection, options, state };
    let report = follower.round(reader.log(), &mut shown_by(&bar)).await;
    bar.clear();
    let report = report?;
    if let Err(error) = follower.state.save(&cli.place.cache(OpenMode::Existing)) {
        tracing::debug!(%error, "what was imported is not kept");
    }
    cli.close().await?;
    let (sessions, events) = report
        .sessions
        .iter()
        .filter(|it| it.new > 0)
        .fold((0, 0), |(sessions, events), it| (sessions + 1, events + it.events));
    let news = format!("imported {} of {}", counted(events, "new event"), counted(sessions, "session"));
    Ok((sessions > 0).then_some(news))
}
