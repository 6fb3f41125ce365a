//! `annals acp`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use annals_acp as acp;
use annals_host::{ApprovalMode, RunOptions};
use annals_runtime::ports::SystemClock;
use annals_store::OpenMode;
use std::io::Write;
use std::sync::Arc;

/// Serve an editor over the Agent Client Protocol on stdin.
///
/// Editors (Zed, JetBrains, Neovim, ...) start this command; see docs/acp.md for their settings. Sessions work in the directories that the editor names, with
/// your configuration and in your store. Permission questions are asked in the editor.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Use this agent in new sessions.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Use this model (see annals models).
    #[arg(long, short = 'm', value_name = "MODEL")]
    model: Option<String>,
    /// End a prompt after N steps (requests to the model); 0 for no limit (default: `max_steps`, 200).
    #[arg(long, value_name = "N")]
    max_steps: Option<u32>,
    /// Allow everything that no rule denies, without asking.
    #[arg(long, short = 'y')]
    yes: bool,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let _indexed = cli.keep_indexed();
    let reader = cli.store(OpenMode::Create).await?;
    // What is recorded has the time at which it happens.
    let context = cli.host.clone().at(Arc::new(SystemClock::local()));
    let options = RunOptions {
        agent: args.agent.clone(),
        model: args.model.clone(),
        max_steps: args.max_steps,
        ..RunOptions::default()
    };
    let approval = if args.yes { ApprovalMode::Yes } else { ApprovalMode::Person };
    acp::serve(context, reader, options, approval, out).await?;
    Ok(Verdict::Fine)
}
