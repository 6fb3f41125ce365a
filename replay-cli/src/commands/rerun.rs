//! `annals rerun`

use super::run::With;
use crate::command_context::CommandContext;
use crate::error::{CliError, RunCommandError, Verdict};
use crate::json;
use crate::live::{Frontend, Interaction, Screen, TypedLines, run_interactive};
use crate::session_choice;
use crate::style::{Emphasis, counted};
use annals_core::Seq;
use annals_host::advice::advice;
use annals_host::{ApprovalMode, ExistingSession, Host, configured, short};
use annals_inspect::SessionAt;
use annals_runtime::Session;
use annals_runtime::host::{QuestionSender, RunEnd};
use annals_runtime::rerun::{RecordedRun, RecordedWorld, UNBOUNDED, UserAction};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

/// Run a recorded session again in a fork, and compare the answers.
///
/// Repeats what the user did: prompts, switches of model and agent, compactions. Tools run for real, under the
/// permission rules, in the directory as it is now. With --recorded or --replay no tool runs: calls return their
/// recorded results, and the context is the recorded one. Exit status 1 if anything differs.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last.
    #[arg(value_name = "SESSION")]
    session: String,
    /// Start at the first user message at EVENT or later (default: the first one).
    #[arg(long, value_name = "EVENT")]
    from: Option<u64>,
    /// Run no tool; use the recorded results and the recorded context.
    #[arg(long)]
    recorded: bool,
    #[command(flatten)]
    with: With,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let options = args.with.options();
    let Some(found) = session_choice::find(false, Some(&args.session), None, cli).await? else {
        return Err(RunCommandError::NoPrompt.into());
    };
    let reader = found.reader.clone();
    let recorded = RecordedRun::read(reader.log(), found.session, args.from.map(Seq)).await?;
    let then = reader.bounded(found.session, recorded.cut).await?.session;
    let found = ExistingSession { agent: then.agent, model: then.model, ..found };
    let (put, questions) = QuestionSender::channel();
    let (mut parts, chosen) = configured(cli, &options, Some(&found), put)?;
    // Titles are requested in the background; the fork has one.
    parts.settings.title = None;
    let frozen = args.recorded || options.replay.is_some();
    if frozen {
        parts.services_at = Arc::new(RecordedWorld::of(&recorded, reader.blobs()));
        parts.settings.output = UNBOUNDED;
        parts.subagents.agents.clear();
    }
    let host = cli.open_host(reader.clone(), parts)?;
    let original = match frozen {
        true => host.runtime.session(found.session).await?,
        false => host.session(found.session).await?,
    };
    let session = original.fork_at(recorded.cut).await?;
    if let Some(agent) = &options.agent {
        session.switch_agent(agent.as_str()).await?;
    }
    if found.model != chosen.model {
        session.switch_model(chosen.model.clone()).await?;
    }
    let person = io::stdin().is_terminal() && cli.shows_progress();
    let approval = if frozen { ApprovalMode::Recorded } else { args.with.approval(person) };
    let screen = Screen::new(cli.remarks.clone(), cli.style.clone(), false);
    let mut interaction = Interaction::new(
        &cli.terminal(),
        &host,
        questions,
        Frontend::Screen(Box::new(screen)),
        approval,
        TypedLines::of_stdin(),
    )?;
    interaction.show.begin(&*session.view().await?, &mut io::sink())?;
    let whole = again(&recorded.actions, &options.model, &host, &session, &mut interaction, cli).await?;
    let (one, other) = (past(found.session, &reader).await?, past(session.id(), &reader).await?);
    let differs = annals_inspect::diff::sessions(&one, &other).await?;
    let id = session.id();
    if cli.style.json {
        let told = serde_json::json!({
            "session": id, "of": found.session, "cut": recorded.cut, "whole": whole, "diff": differs,
        });
        json::object(out, &told)?;
    } else if differs.first.is_some() {
        crate::draw::diff::draw_sessions(&differs, false, &cli.style, out)?;
    } else {
        writeln!(out, "{} {} the same", cli.style.paint(Emphasis::Good, "✓"), counted(differs.same, "turn"))?;
    }
    let short = short(id);
    cli.remark(&format!("forked as session {short}; to compare again: annals diff {} {short}", found.session));
    Ok(Verdict::bad_if(differs.first.is_some() || !whole))
}

/// Repeats the user's actions; returns whether all were repeated.
async fn again(
    actions: &[UserAction],
    model: &Option<String>,
    host: &Host,
    session: &Session,
    interaction: &mut Interaction,
    cli: &CommandContext,
) -> Result<bool, CliError> {
    for action in actions {
        // A model that was named for all of it stays.
        if model.is_some() && matches!(action, UserAction::Model(_)) {
            continue;
        }
        let Some(goal) = action.begin(session).await? else { continue };
        match run_interactive(host, session, goal, interaction, &mut io::sink()).await? {
            RunEnd::Idle | RunEnd::Elsewhere | RunEnd::Empty(_) | RunEnd::Stopped => {}
            RunEnd::Failed(error) => {
                let view = session.view().await?;
                cli.remarks.say(Emphasis::Bad, &advice(&error, &view));
                return Ok(false);
            }
            RunEnd::Interrupted | RunEnd::Left => return Ok(false),
        }
    }
    Ok(true)
}

async fn past(session: annals_core::SessionId, reader: &annals_inspect::reader::Reader) -> Result<SessionAt, CliError> {
    let until = reader.until(session, None).await?;
    Ok(SessionAt::new(reader.log().clone(), reader.saved().cloned(), session, until))
}
