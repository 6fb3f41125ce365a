//! `annals audit`

mod by_rules;
mod found;
mod listed;

use crate::command_context::CommandContext;
use crate::draw;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::time_arg::{TimeArg, time};
use annals_core::{SessionId, Time};
use annals_host::project::root;
use annals_inspect::reader::{FindError, Reader};
use annals_inspect::safety::{SafetyQuery, with_subagents};
use annals_projections::{Catalogue, CatalogueEntry};
use std::io::Write;
use std::path::{Path, PathBuf};

/// How many calls are listed without `--limit`.
const CALLS: usize = 100;

/// Show what was asked and allowed, or where rules find something.
///
/// Decisions on calls and the person or rule that made them, how commands ran (in the sandbox or not), files outside of the project,
/// replaced secrets, requests, and hosts that calls with a network named. Calls that were asked for, denied, let out of the sandbox, refused something by it, or that
/// named a file outside of the project are listed.
///
/// With SESSION, of these sessions and the sub-agents that they started. Without, of all sessions of this project; --all means those
/// of all projects. The log has no permissions of other agents' calls, and not what a command touched. A rule is shown where the
/// log has what is needed to know it.
///
/// With --where or --rules, lists the places where a rule holds instead, with the events that explain it. A rule is an expression over
/// facts and time (docs/rules.md): --where 'call { tool == "bash" } not after prompt'. With --deny the exit status is 1 if anything
/// is found; a wrong expression gives 2.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The sessions: ids, starts or ends of ids, words of titles, or @last; or FILES with them.
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
    /// Only sessions of the project in DIR (default: the current one), or of the project of this name.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".", conflicts_with = "sessions")]
    project: Option<String>,
    /// Only sessions that changed since this time: 7d, 12h, yesterday, 2026-11-21.
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "sessions")]
    since: Option<TimeArg>,
    /// Only sessions of this agent (opencode, codex, claude-code, or the name of an agent).
    #[arg(long, value_name = "NAME", conflicts_with = "sessions")]
    agent: Option<String>,
    /// List every call.
    #[arg(long, conflicts_with = "by_rules")]
    calls: bool,
    /// List at most COUNT: the last calls (default: 100), or the first findings (default: all).
    #[arg(long, short = 'n', value_name = "COUNT")]
    limit: Option<usize>,
    #[command(flatten)]
    rules: RuleArgs,
}

#[derive(Clone, Debug, clap::Args)]
#[group(id = "by_rules", multiple = true)]
struct RuleArgs {
    /// Find the facts for which EXPR holds (may be repeated).
    #[arg(long = "where", value_name = "EXPR", allow_hyphen_values = true)]
    expressions: Vec<String>,
    /// Use rules: files, folders with *.rule files, or names of rules of the program (default: all of these).
    #[arg(long, value_name = "FILE|DIR|NAME", num_args = 0..)]
    rules: Option<Vec<String>>,
    /// Give exit status 1 if a rule finds anything.
    #[arg(long)]
    deny: bool,
    /// Write the findings as SARIF 2.1.0 to FILE, or print them as that.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    sarif: Option<Option<PathBuf>>,
    /// Keep the state of the rules in DIR: the next audit with the same rules and DIR reads only new events.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// List the rules of the program, or those of --rules.
    #[arg(long)]
    list_rules: bool,
    /// List the kinds of facts and their fields.
    #[arg(long)]
    fields: bool,
}

/// Sessions of one log.
struct AuditedSessions {
    reader: Reader,
    catalogue: Catalogue,
    sessions: Vec<SessionId>,
    /// Whether they were named.
    named: bool,
}

/// The folder of the project that a directory belongs to.
fn project_of(directory: &str) -> PathBuf {
    root(Path::new(directory))
}

/// Runs the command.
///
/// # Errors
/// When no session has the name, a rule is wrong, or the log cannot be read.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let rules = &args.rules;
    if rules.fields {
        return listed::fields(cli, out);
    }
    if rules.list_rules {
        return listed::rules(rules.rules.as_deref().unwrap_or_default(), cli, out);
    }
    if rules.rules.is_some()
        || !rules.expressions.is_empty()
        || rules.deny
        || rules.sarif.is_some()
        || rules.state.is_some()
    {
        return by_rules::run(args, cli, out).await;
    }
    let audited = args.audited(&args.sessions, cli).await?;
    let mut verdict = Verdict::Fine;
    for AuditedSessions { reader, catalogue, sessions, named } in audited {
        let (limit, every_call) = (args.limit.unwrap_or(CALLS), args.calls);
        let query = SafetyQuery { sessions, limit, every_call, inherited: named, until: None };
        let found = reader.safety(&query, &project_of).await?;
        if cli.style.json {
            json::object(out, &found)?;
        } else {
            draw::audit::draw(&found, &catalogue, &cli.style, out)?;
        }
        for unreadable in &found.unreadable {
            let (session, seq, reason) = (unreadable.session, unreadable.seq, &unreadable.reason);
            cli.remark(&format!("session {session} is damaged at event {seq} and was read up to it: {reason}"));
            verdict = Verdict::BadNews;
        }
    }
    Ok(verdict)
}

impl Args {
    /// The sessions that are meant, by the log that they are in.
    async fn audited(&self, named: &[String], cli: &CommandContext) -> Result<Vec<AuditedSessions>, CliError> {
        if named.is_empty() {
            let reader = cli.reader().await?;
            let catalogue = reader.catalogue().await?;
            let sessions = self.selected(&catalogue, cli);
            return Ok(vec![AuditedSessions { reader, catalogue, sessions, named: false }]);
        }
        let mut audited: Vec<AuditedSessions> = Vec::new();
        for name in named {
            let (reader, found) = self.found(name, cli).await?;
            let catalogue = reader.catalogue().await?;
            let sessions = found.iter().flat_map(|session| with_subagents(&catalogue, *session));
            match audited.iter_mut().find(|known| known.reader.store() == reader.store()) {
                Some(known) => known.sessions.extend(sessions),
                None => {
                    let sessions = sessions.collect();
                    audited.push(AuditedSessions { reader, catalogue, sessions, named: true });
                }
            }
        }
        for AuditedSessions { sessions, .. } in &mut audited {
            let mut known = std::collections::BTreeSet::new();
            sessions.retain(|session| known.insert(*session));
        }
        Ok(audited)
    }

    /// The sessions of a name: one, or all of a file.
    async fn found(&self, name: &str, cli: &CommandContext) -> Result<(Reader, Vec<SessionId>), CliError> {
        let path = Path::new(name);
        if cli.file.is_none() && path.is_file() {
            let reader = cli.read_file(path).await?;
            let sessions = match reader.only().await {
                Ok(session) => vec![session],
                Err(FindError::Several { .. }) => {
                    let catalogue = reader.catalogue().await?;
                    let all = catalogue.sessions.iter();
                    all.filter(|(_, entry)| entry.parent.is_none()).map(|(id, _)| *id).collect()
                }
                Err(error) => return Err(error.into()),
            };
            return Ok((reader, sessions));
        }
        let (reader, session) = cli.find(name).await?;
        Ok((reader, vec![session]))
    }

    fn selected(&self, catalogue: &Catalogue, cli: &CommandContext) -> Vec<SessionId> {
        let scope = cli.project_scope(catalogue, self.project.as_deref());
        let since = self.since.map(|since| since.start(&cli.style));
        let is_of = |entry: &CatalogueEntry, agent: &String| {
            entry.agent.as_str() == agent || entry.origin.as_ref() == Some(agent)
        };
        let wanted = catalogue.sessions.iter().filter(|(_, entry)| {
            !entry.forgotten
                && scope.takes(&entry.directory)
                && since.is_none_or(|since| entry.updated >= since)
                && self.agent.as_ref().is_none_or(|agent| is_of(entry, agent))
        });
        let mut wanted: Vec<(Time, SessionId)> = wanted.map(|(id, entry)| (entry.created, *id)).collect();
        wanted.sort_unstable();
        wanted.into_iter().map(|(_, id)| id).collect()
    }
}
