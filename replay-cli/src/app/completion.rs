//! Completion of command lines: words from the command itself, ids of sessions from the store.

use crate::command_context::CommandContext;
use crate::remarks::Remarks;
use crate::shown_title::without_keys;
use crate::style::Style;
use annals_host::{StoreChoice, VARIABLE};
use annals_inspect::pricing::Pricing;
use annals_inspect::reader::short_ids;
use annals_inspect::sessions::{SessionFilter, SessionOrder, SessionOverview, list};
use annals_projections::Catalogue;
use annals_providers::catalog::Catalog;
use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use std::ffi::OsStr;
use std::io;

/// The most sessions that are offered.
const OFFERED: usize = 100;

/// The command with the ids of sessions as values of its arguments, in all of its subcommands.
pub(super) fn with_sessions(command: Command) -> Command {
    command.mut_subcommands(|subcommand| {
        let names_session = |arg: &clap::Arg| {
            arg.get_value_names().is_some_and(|names| names.iter().any(|name| name.contains("SESSION")))
        };
        with_sessions(subcommand.mut_args(move |arg| match names_session(&arg) {
            true => arg.add(ArgValueCompleter::new(sessions)),
            false => arg,
        }))
    })
}

/// The sessions of the project whose ids begin with what was typed, or whose titles contain it; nothing when the store cannot
/// be read.
fn sessions(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let found = catalogue().map(|(catalogue, ids)| {
        let pricing = Pricing::new(Catalog::built_in());
        let filter = SessionFilter { children: true, ..SessionFilter::default() };
        let sessions = list(catalogue, &filter, SessionOrder::Updated, &pricing);
        let named = |one: &SessionOverview| one.id.to_string().starts_with(&typed.to_ascii_uppercase());
        let titled = |one: &SessionOverview| one.title.to_lowercase().contains(&typed.to_lowercase());
        let all: Vec<&SessionOverview> = match sessions.iter().any(named) {
            true => sessions.iter().filter(|one| named(one)).collect(),
            false => sessions.iter().filter(|one| titled(one)).collect(),
        };
        let candidate = |one: &&SessionOverview| {
            // At least as long as what was typed.
            let short = ids.get(&one.id).cloned().unwrap_or_default();
            let id = if short.len() > typed.len() { short } else { one.id.to_string() };
            let title: String = without_keys(&one.title).chars().filter(|c| !c.is_control()).collect();
            CompletionCandidate::new(id).help(Some(title.into()))
        };
        all.iter().take(OFFERED).map(candidate).collect()
    });
    let mut candidates: Vec<CompletionCandidate> = found.unwrap_or_default();
    if "@last".starts_with(&*typed) {
        candidates.push(CompletionCandidate::new("@last").help(Some("the session that changed last".into())));
    }
    candidates
}

/// The sessions of the project in the store that is named by the environment.
fn catalogue() -> Option<(Catalogue, std::collections::BTreeMap<annals_core::SessionId, String>)> {
    let place = StoreChoice::of(None, std::env::var_os(VARIABLE).as_deref()).ok()?;
    let style: Style = super::style(false);
    let remarks = Remarks::new(Box::new(io::sink()), style.clone(), false);
    let cli = CommandContext::new(place, None, None, style, remarks);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let mut catalogue = cli.reader().await.ok()?.catalogue().await.ok()?;
        let ids = short_ids(&catalogue.sessions.keys().copied().collect::<Vec<_>>());
        let scope = cli.project_scope(&catalogue, None);
        catalogue.sessions.retain(|_, entry| scope.takes(&entry.directory));
        Some((catalogue, ids))
    })
}
