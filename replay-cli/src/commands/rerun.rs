//! `annals rerun`

use super::run::With;
use crate::desk::Desk;
use crate::error::{CliError, Verdict};
use crate::host::rerun::{Deed, UNBOUNDED, World, recorded};
use crate::host::{
    Ended, Goal, Host, HostError, Lines, Manner, Questions, Screen, Show, Stage, advice, closing, conduct, configured,
    opening,
};
use crate::json;
use crate::look::{Tone, counted};
use annals_core::Seq;
use annals_inspect::SessionAt;
use annals_runtime::Session;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

/// Run a recorded session again in a fork, and show where the answers differ.
///
/// What a person did after that point is done again: inputs are given, models and agents switched, compactions asked for.
/// Tools run for real, under the permission rules, and context is what it is now; with --recorded, and with --replay,
/// nothing runs and nothing is looked at: calls give their recorded results, and each boundary finds the context that was
/// recorded there. Exit status 1 if anything differs.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The Session: its id, the beginning (or the end) of it, words of its title, or @last.
    #[arg(value_name = "SESSION")]
    session: String,
    /// From the first user message at SEQ or later; from the first one without it.
    #[arg(long, value_name = "SEQ")]
    from: Option<u64>,
    /// Runs no tool and looks at nothing: results and context are as recorded.
    #[arg(long)]
    recorded: bool,
    #[command(flatten)]
    with: With,
}

/// Runs the command.
///
/// # Errors
/// When there is no such Session or message, or no model to ask; when the store refuses.
pub async fn run(args: &Args, desk: &Desk, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let options = args.with.options();
    let Some(found) = opening::find(false, Some(&args.session), None, desk).await? else {
        return Err(HostError::NoPrompt.into());
    };
    let reader = found.reader.clone();
    let recorded = recorded(&reader, found.session, args.from.map(Seq)).await?;
    let then = reader.look(found.session, recorded.cut).await?.session;
    let found = opening::Found { agent: then.agent, model: then.model, ..found };
    let (mut equipment, chosen) = configured(desk, &options, Some(&found))?;
    // Titles are asked for beside the turns; the fork has one.
    equipment.settings.title = None;
    let frozen = args.recorded || options.replay.is_some();
    if frozen {
        equipment.at_place = Arc::new(World::of(&recorded, reader.blobs()));
        equipment.settings.output = UNBOUNDED;
        equipment.subagents.clear();
    }
    let (put, questions) = Questions::channel();
    let host = Host::open(desk, reader.clone(), equipment, put)?;
    let original = match frozen {
        true => host.runtime.session(found.session).await.map_err(HostError::from)?,
        false => host.session(found.session).await?,
    };
    let session = original.fork_at(recorded.cut).await.map_err(HostError::from)?;
    if let Some(agent) = &options.agent {
        session.switch_agent(agent.as_str()).await.map_err(HostError::from)?;
    }
    if found.model != chosen.model {
        session.switch_model(chosen.model.clone()).await.map_err(HostError::from)?;
    }
    let person = io::stdin().is_terminal() && desk.shows_progress();
    let manner = if frozen { Manner::Recorded } else { args.with.manner(person) };
    let screen = Screen::new(desk.remarks.clone(), desk.look.clone(), false);
    let mut stage = Stage::new(&host, questions, Show::Screen(Box::new(screen)), manner, Lines::of_stdin())?;
    stage.show.begin(&*session.view().await.map_err(HostError::from)?, &mut io::sink())?;
    let whole = again(&recorded.deeds, &options.model, &host, &session, &mut stage, desk).await?;
    let (one, other) = (past(found.session, &reader).await?, past(session.id(), &reader).await?);
    let differs = annals_inspect::diff::sessions(&one, &other).await?;
    let id = session.id();
    if desk.look.json {
        let told = serde_json::json!({
            "session": id, "of": found.session, "cut": recorded.cut, "whole": whole, "diff": differs,
        });
        json::object(out, &told)?;
    } else if differs.first.is_some() {
        crate::draw::diff::draw_sessions(&differs, false, &desk.look, out)?;
    } else {
        writeln!(out, "{} {} the same", desk.look.paint(Tone::Good, "✓"), counted(differs.same, "turn"))?;
    }
    let short = closing::short(id);
    desk.remark(&format!("Session {short} is the fork; `annals diff {} {short}` compares again", found.session));
    Ok(Verdict::bad_if(differs.first.is_some() || !whole))
}

/// Does again what a person did; gives whether all of it was done.
async fn again(
    deeds: &[Deed],
    model: &Option<String>,
    host: &Host,
    session: &Session,
    stage: &mut Stage,
    desk: &Desk,
) -> Result<bool, CliError> {
    for deed in deeds {
        let goal = match deed {
            Deed::Agent(agent) => {
                session.switch_agent(agent.clone()).await.map_err(HostError::from)?;
                continue;
            }
            // A model that was named for all of it stays.
            Deed::Model(_) if model.is_some() => continue,
            Deed::Model(model) => {
                session.switch_model(model.clone()).await.map_err(HostError::from)?;
                continue;
            }
            Deed::Gave(inputs) => {
                for input in inputs {
                    session.admit(input.clone()).await.map_err(HostError::from)?;
                }
                Goal::Answer
            }
            Deed::Compaction => Goal::Compaction,
        };
        match conduct(host, session, goal, stage, &mut io::sink()).await? {
            Ended::Idle | Ended::Elsewhere | Ended::Silent(_) | Ended::Stopped => {}
            Ended::Failed(error) => {
                let view = session.view().await.map_err(HostError::from)?;
                desk.remarks.say(Tone::Bad, &advice(&error, &view));
                return Ok(false);
            }
            Ended::Interrupted | Ended::Left => return Ok(false),
        }
    }
    Ok(true)
}

async fn past(session: annals_core::SessionId, reader: &crate::reader::Reader) -> Result<SessionAt, CliError> {
    let until = reader.until(session, None).await?;
    Ok(SessionAt::new(reader.log().clone(), reader.saved().cloned(), session, until))
}
