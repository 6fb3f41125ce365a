//! `annals rerun`

mod table;

use super::run::With;
use crate::command_context::CommandContext;
use crate::error::{CliError, RunCommandError, Verdict};
use crate::json;
use crate::layout::plain;
use crate::live::{Frontend, Interaction, Screen, TypedLines, run_interactive};
use crate::session_choice;
use crate::style::{Emphasis, counted};
use annals_core::event::Location;
use annals_core::{Seq, SessionId};
use annals_host::advice::advice;
use annals_host::{ApprovalMode, Chosen, ExistingSession, Host, RunOptions, configured, editing, short};
use annals_inspect::SessionAt;
use annals_inspect::reader::Reader;
use annals_inspect::reruns::{self, Reruns, RunSummary, ToolResults};
use annals_runtime::Session;
use annals_runtime::host::{QuestionSender, RunEnd};
use annals_runtime::rerun::{RecordedRun, RecordedWorld, UNBOUNDED, UserAction};
use annals_runtime::worktree::{Files, Tree};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Run a recorded session again in a fork, and compare the answers.
///
/// Repeats what the user did: prompts, switches of model and agent, compactions. Tools run for real, under the
/// permission rules, in the directory as it is now. With --recorded or --replay no tool runs: calls return their
/// recorded results, and the context is the recorded one. Exit status 1 if anything differs.
///
/// With -n each run is a fork of its own, and a table compares how they ended: calls, files, cost, the first difference from the
/// recorded session. Where tools run, the files are restored after each run.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last.
    #[arg(value_name = "SESSION")]
    session: String,
    /// Start at the first user message at EVENT or later (default: the first one).
    #[arg(long, visible_alias = "at", value_name = "EVENT")]
    from: Option<u64>,
    /// Run it COUNT times, each in a fork of its own, and compare the runs in a table.
    #[arg(short = 'n', long = "times", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    times: Option<u32>,
    /// Run no tool; use the recorded results and the recorded context.
    #[arg(long)]
    recorded: bool,
    /// Record the answers in DIR, or use the ones that are recorded there: no network, no key.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["record", "replay"])]
    cassette: Option<PathBuf>,
    #[command(flatten)]
    with: With,
}

/// What all runs of a session have in common.
struct PreparedRuns {
    recorded: RecordedRun,
    host: Host,
    original: Session,
    chosen: Chosen,
    options: RunOptions,
    interaction: Interaction,
    /// The recorded world, where no tool runs.
    world: Option<Arc<RecordedWorld>>,
    /// The model that the session had at the cut.
    model: annals_core::ModelName,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let Some(found) = session_choice::find(false, Some(&args.session), None, cli).await? else {
        return Err(RunCommandError::NoPrompt.into());
    };
    let (reader, of) = (found.reader.clone(), found.session);
    let mut prepared = prepare(args, found, cli).await?;
    match args.times {
        Some(times) => compare(&mut prepared, times, &reader, of, cli, out).await,
        None => once(&mut prepared, &reader, of, cli, out).await,
    }
}

async fn prepare(args: &Args, found: ExistingSession, cli: &CommandContext) -> Result<PreparedRuns, CliError> {
    let mut options = args.with.options();
    let frozen = args.recorded || options.replay.is_some();
    if let Some(cassette) = &args.cassette {
        let is_there = holds_answers(cassette);
        let slot = if is_there { &mut options.replay } else { &mut options.record };
        *slot = Some(cassette.clone());
        let what = if is_there { "answers come from" } else { "answers are recorded in" };
        cli.remark(&plain(&format!("{what} {}", cassette.display())));
    }
    let reader = found.reader.clone();
    let recorded = RecordedRun::read(reader.log(), found.session, args.from.map(Seq)).await?;
    let then = reader.bounded(found.session, recorded.cut).await?.session;
    let found = ExistingSession { agent: then.agent, model: then.model, ..found };
    let (put, questions) = QuestionSender::channel();
    let (mut parts, chosen) = configured(cli, &options, Some(&found), put)?;
    // Titles are requested in the background; the fork has one.
    parts.settings.title = None;
    let mut world = None;
    if frozen {
        let met = Arc::new(RecordedWorld::of(&recorded, reader.blobs()));
        parts.services_at = met.clone();
        parts.settings.output = UNBOUNDED;
        parts.subagents.agents.clear();
        world = Some(met);
    }
    let host = cli.open_host(reader, parts)?;
    let original = match frozen {
        true => host.runtime.session(found.session).await?,
        false => host.session(found.session).await?,
    };
    let person = io::stdin().is_terminal() && cli.shows_progress();
    let approval = if frozen { ApprovalMode::Recorded } else { args.with.approval(person) };
    let screen = Screen::new(cli.remarks.clone(), cli.style.clone(), false);
    let interaction = Interaction::new(
        &cli.terminal(),
        &host,
        questions,
        Frontend::Screen(Box::new(screen)),
        approval,
        TypedLines::of_stdin(),
    )?;
    Ok(PreparedRuns { recorded, host, original, chosen, options, interaction, world, model: found.model })
}

/// Whether a folder is a cassette with an answer in it.
fn holds_answers(folder: &std::path::Path) -> bool {
    let answer = |entry: io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.path().extension().is_some_and(|extension| extension == "jsonl"))
    };
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.any(answer))
}

impl PreparedRuns {
    /// Runs the session once, in a fork of its own.
    async fn again(&mut self, cli: &CommandContext) -> Result<(Session, RepeatEnd), CliError> {
        let session = self.original.fork_at(self.recorded.cut).await?;
        if let Some(agent) = &self.options.agent {
            session.switch_agent(agent.as_str()).await?;
        }
        if self.model != self.chosen.model {
            session.switch_model(self.chosen.model.clone()).await?;
        }
        self.interaction.show.begin(&*session.view().await?, &mut io::sink())?;
        let ended =
            repeat(&self.recorded.actions, &self.options.model, &self.host, &session, &mut self.interaction, cli)
                .await?;
        Ok((session, ended))
    }
}

async fn once(
    prepared: &mut PreparedRuns,
    reader: &Reader,
    of: SessionId,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let (session, ended) = prepared.again(cli).await?;
    let whole = ended.whole;
    let (one, other) = (past(of, reader).await?, past(session.id(), reader).await?);
    let differs = annals_inspect::diff::sessions(&one, &other).await?;
    let id = session.id();
    if cli.style.json {
        let answer = serde_json::json!({
            "session": id, "of": of, "cut": prepared.recorded.cut, "whole": whole, "diff": differs,
        });
        json::object(out, &answer)?;
    } else if differs.first.is_some() {
        crate::draw::diff::draw_sessions(&differs, false, &cli.style, out)?;
    } else {
        writeln!(out, "{} {} the same", cli.style.paint(Emphasis::Good, "✓"), counted(differs.same, "turn"))?;
    }
    let short = short(id);
    cli.remark(&format!("forked as session {short}; to compare again: annals diff {of} {short}"));
    Ok(Verdict::bad_if(differs.first.is_some() || !whole))
}

/// Runs the session several times and compares the runs with it.
async fn compare(
    prepared: &mut PreparedRuns,
    times: u32,
    reader: &Reader,
    of: SessionId,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let (pricing, cut) = (cli.pricing(), prepared.recorded.cut);
    let recorded = past(of, reader).await?;
    let summary = reruns::summary(&recorded, cut, ("recorded".to_owned(), None), &pricing, |_, _| true).await?;
    let tools = if prepared.world.is_some() { ToolResults::Recorded } else { ToolResults::Run };
    let files = FilesBefore::of(prepared, reader, cli).await?;
    let mut found = Reruns { of, cut, tools, recorded: summary, runs: Vec::new(), same: 0 };
    for run in 1..=times {
        if let Some(world) = &prepared.world {
            world.rewind();
        }
        if cli.shows_progress() {
            cli.remark(&format!("run {run} of {times}"));
        }
        let (session, ended) = prepared.again(cli).await?;
        if let Some(files) = &files {
            files.restore(cli).await;
        }
        let run = past(session.id(), reader).await?;
        let is_recorded = |tool: &str, input: &str| prepared.recorded.has_call(tool, input);
        let left = matches!(ended.outcome, "left" | "interrupted");
        let summary =
            reruns::summary(&run, cut, (ended.outcome.to_owned(), ended.error), &pricing, is_recorded).await?;
        let first = reruns::first_difference(&recorded, &run).await?;
        found.same += u64::from(first.is_none());
        found.runs.push(RunSummary { first, ..summary });
        if left {
            break;
        }
    }
    if cli.style.json {
        json::object(out, &found)?;
    } else {
        table::draw(&found, &cli.style, out)?;
        table::remarks(&found).iter().for_each(|remark| cli.remark(remark));
    }
    let whole = found.runs.len() == times as usize && found.same == found.runs.len() as u64;
    Ok(Verdict::bad_if(!whole))
}

/// The files of the project before the first run, to begin each run with the same ones.
struct FilesBefore {
    files: Arc<dyn Files>,
    before: Tree,
}

impl FilesBefore {
    /// `None` where no tool runs, and where files cannot be restored, which the user is warned of.
    async fn of(prepared: &PreparedRuns, reader: &Reader, cli: &CommandContext) -> Result<Option<Self>, CliError> {
        if prepared.world.is_some() {
            return Ok(None);
        }
        let directory = prepared.chosen.directory.clone();
        let files = editing::files_captured_in(reader.folder().clone())(&Location { directory, workspace: None });
        let why = match &files {
            Some(files) => files.conversation_only().map(str::to_owned),
            None => Some("they are not captured here".to_owned()),
        };
        match (files, why) {
            (Some(files), None) => match files.capture().await {
                Ok(capture) => return Ok(Some(Self { files, before: capture.tree })),
                Err(error) => cli.remarks.say(Emphasis::Warn, &not_restored(&error.to_string())),
            },
            (_, why) => cli.remarks.say(Emphasis::Warn, &not_restored(&why.unwrap_or_default())),
        }
        Ok(None)
    }

    /// Restores what a run changed. What cannot be restored is said, since the next run begins with it.
    async fn restore(&self, cli: &CommandContext) {
        let restored = async {
            let after = self.files.capture().await?.tree;
            if after == self.before {
                return Ok(());
            }
            let plan = self.files.plan_take_back(&self.before, &after).await?;
            self.files.restore(&plan).await
        };
        if let Err(error) = restored.await {
            cli.remarks.say(Emphasis::Warn, &not_restored(&error.to_string()));
        }
    }
}

fn not_restored(why: &str) -> String {
    plain(&format!("files are not restored between the runs, so each run finds what the one before left: {why}"))
}

/// How the repetition of the user's actions ended.
struct RepeatEnd {
    /// Whether all were repeated.
    whole: bool,
    outcome: &'static str,
    error: Option<String>,
}

/// Repeats the user's actions.
async fn repeat(
    actions: &[UserAction],
    model: &Option<String>,
    host: &Host,
    session: &Session,
    interaction: &mut Interaction,
    cli: &CommandContext,
) -> Result<RepeatEnd, CliError> {
    let mut last = RepeatEnd { whole: true, outcome: RunEnd::Idle.as_str(), error: None };
    for action in actions {
        // A model that was named for all of it stays.
        if model.is_some() && matches!(action, UserAction::Model(_)) {
            continue;
        }
        let Some(goal) = action.begin(session).await? else { continue };
        let ended = run_interactive(host, session, goal, interaction, &mut io::sink()).await?;
        last.outcome = ended.as_str();
        match ended {
            RunEnd::Idle | RunEnd::Elsewhere | RunEnd::Empty(_) | RunEnd::Stopped => {}
            RunEnd::Failed(error) => {
                let view = session.view().await?;
                cli.remarks.say(Emphasis::Bad, &advice(&error, &view));
                return Ok(RepeatEnd { whole: false, error: Some(error.to_string()), ..last });
            }
            RunEnd::Interrupted | RunEnd::Left => return Ok(RepeatEnd { whole: false, ..last }),
        }
    }
    Ok(last)
}

async fn past(session: SessionId, reader: &Reader) -> Result<SessionAt, CliError> {
    let until = reader.until(session, None).await?;
    Ok(SessionAt::new(reader.log().clone(), reader.saved().cloned(), session, until))
}
