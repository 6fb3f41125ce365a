//! `annals audit`

use crate::command_context::CommandContext;
use crate::draw;
use crate::error::{CliError, Verdict};
use crate::json;
use annals_core::Time;
use annals_host::project::root;
use annals_inspect::safety::{SafetyQuery, with_subagents};
use std::io::Write;
use std::path::Path;

/// Show what was asked, allowed and denied, and what ran confined.
///
/// Decisions on calls with who or which rule made them, how commands ran (in the sandbox or not), files outside of the project,
/// replaced secrets, requests, and hosts that calls with a network named. Calls that were asked for, denied, let out of the sandbox, refused something by it, or that
/// named a file outside of the project are listed.
///
/// With SESSION, of that session and the sub-agents that it started. Without, of all sessions of this project; --all means those
/// of all projects. The log has no permissions of other agents' calls, and not what a command touched. A rule is shown where the
/// log has what is needed to know it.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// One session: its id, the start or end of the id, words of its title, or @last; or a FILE with one.
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Only sessions of the project in DIR (default: the current one), or of the project of this name.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".", conflicts_with = "session")]
    project: Option<String>,
    /// List every call.
    #[arg(long)]
    calls: bool,
    /// List at most the last COUNT calls.
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 100)]
    limit: usize,
}

/// Runs the command.
///
/// # Errors
/// When no session has the name, or the log cannot be read.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (reader, session) = match &args.session {
        Some(name) => cli.find(name).await.map(|(reader, session)| (reader, Some(session)))?,
        None => (cli.reader().await?, None),
    };
    let catalogue = reader.catalogue().await?;
    let sessions = match session {
        Some(session) => with_subagents(&catalogue, session),
        None => {
            let scope = cli.project_scope(&catalogue, args.project.as_deref());
            let wanted =
                catalogue.sessions.iter().filter(|(_, entry)| !entry.forgotten && scope.takes(&entry.directory));
            let mut wanted: Vec<(Time, _)> = wanted.map(|(id, entry)| (entry.created, *id)).collect();
            wanted.sort_unstable();
            wanted.into_iter().map(|(_, id)| id).collect()
        }
    };
    let query =
        SafetyQuery { sessions, limit: args.limit, every_call: args.calls, inherited: session.is_some(), until: None };
    let found = reader.safety(&query, &|directory| root(Path::new(directory))).await?;
    if cli.style.json {
        json::object(out, &found)?;
    } else {
        draw::audit::draw(&found, &catalogue, &cli.style, out)?;
    }
    for unreadable in &found.unreadable {
        let (session, seq, reason) = (unreadable.session, unreadable.seq, &unreadable.reason);
        cli.remark(&format!("session {session} is damaged at event {seq} and was read up to it: {reason}"));
    }
    Ok(if found.unreadable.is_empty() { Verdict::Fine } else { Verdict::BadNews })
}
