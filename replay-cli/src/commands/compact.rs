//! `annals session compact`

use super::run::{conclude, frontend};
use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::live::{Interaction, TypedLines, run_interactive};
use crate::session_choice;
use annals_host::{ApprovalMode, RunOptions, configured, continued, open};
use annals_runtime::host::{QuestionSender, RunGoal};
use std::io::Write;

/// Replace the history by a summary that a model writes.
///
/// The next request begins with the summary; the log keeps everything, and `annals compactions` shows what left the
/// model's view and undoes it. Pinned messages stay word for word. Exit status 0 for a summary, 1 for none.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last.
    #[arg(value_name = "SESSION")]
    session: String,
    /// Use this model (see annals models); the session continues with it.
    #[arg(long, short = 'm', value_name = "MODEL")]
    model: Option<String>,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let options = RunOptions { model: args.model.clone(), ..RunOptions::default() };
    let found = session_choice::named(&args.session, cli).await?;
    let found = continued(found).await?.in_directory(None, cli)?;
    let (put, questions) = QuestionSender::channel();
    let (parts, chosen) = configured(cli, &options, Some(&found), put)?;
    let host = cli.open_host(found.reader.clone(), parts)?.signing(&chosen.signing, cli);
    let session = open(&host, Some(&found), &chosen).await?;
    let mut interaction = Interaction::new(
        &cli.terminal(),
        &host,
        questions,
        frontend(cli),
        ApprovalMode::Nobody,
        TypedLines::of_stdin(),
    )?;
    interaction.show.begin(&*session.view().await?, out)?;
    let ended = run_interactive(&host, &session, RunGoal::Compaction, &mut interaction, out).await?;
    conclude(&host, &session, &ended, cli, out).await
}
