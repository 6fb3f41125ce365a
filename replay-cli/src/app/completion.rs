//! Completion of command lines: words from the command itself, ids of sessions from the store.

use crate::command_context::CommandContext;
use crate::remarks::Remarks;
use crate::shown_title::without_keys;
use crate::style::Style;
use annals_core::SessionId;
use annals_host::{StoreChoice, VARIABLE};
use annals_inspect::pricing::Pricing;
use annals_inspect::reader::short_ids;
use annals_inspect::sessions::{SessionFilter, SessionOrder, SessionOverview, list};
use annals_projections::Catalogue;
use annals_providers::catalog::Catalog;
use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use std::collections::BTreeMap;
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

/// The sessions whose ids begin with what was typed, or whose titles contain it: those of the project, or of all where none of
/// the project does; nothing when the store cannot be read.
fn sessions(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let mut candidates = offered(&typed).unwrap_or_default();
    if "@last".starts_with(&*typed) {
        candidates.push(CompletionCandidate::new("@last").help(Some("the session that changed last".into())));
    }
    candidates
}

fn offered(typed: &str) -> Option<Vec<CompletionCandidate>> {
    let (all, project, ids) = catalogues()?;
    let pricing = Pricing::new(Catalog::built_in());
    let filter = SessionFilter { children: true, ..SessionFilter::default() };
    let mut matching = Vec::new();
    for catalogue in [project, all] {
        let sessions = list(catalogue, &filter, SessionOrder::Updated, &pricing);
        let (named, others): (Vec<SessionOverview>, Vec<SessionOverview>) =
            sessions.into_iter().partition(|one| one.id.to_string().starts_with(&typed.to_ascii_uppercase()));
        let titled = others.into_iter().filter(|one| one.title.to_lowercase().contains(&typed.to_lowercase()));
        matching = if named.is_empty() { titled.collect() } else { named };
        if !matching.is_empty() {
            break;
        }
    }
    let candidate = |one: &SessionOverview| {
        // At least as long as what was typed.
        let short = ids.get(&one.id).cloned().unwrap_or_default();
        let id = if short.len() > typed.len() { short } else { one.id.to_string() };
        let title: String = without_keys(&one.title).chars().filter(|c| !c.is_control()).collect();
        CompletionCandidate::new(id).help(Some(title.into()))
    };
    Some(matching.iter().take(OFFERED).map(candidate).collect())
}

/// All sessions of the store that is named by the environment, those of the project, and the short ids of all.
fn catalogues() -> Option<(Catalogue, Catalogue, BTreeMap<SessionId, String>)> {
    let place = StoreChoice::of(None, std::env::var_os(VARIABLE).as_deref()).ok()?;
    let style: Style = super::style(false);
    let remarks = Remarks::new(Box::new(io::sink()), style.clone(), false);
    let cli = CommandContext::new(place, None, None, style, remarks);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let all = cli.reader().await.ok()?.catalogue().await.ok()?;
        let ids = short_ids(&all.sessions.keys().copied().collect::<Vec<_>>());
        let (scope, mut project) = (cli.project_scope(&all, None), all.clone());
        project.sessions.retain(|_, entry| scope.takes(&entry.directory));
        Some((all, project, ids))
    })
}
