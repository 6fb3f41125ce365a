//! `annals chat`

use super::run::With;
use crate::command_context::CommandContext;
use crate::error::{CliError, RunCommandError, Verdict};
use crate::live::chat::{Chat, ChatInput};
use crate::session_choice;
use annals_host::{configured_asking, continued, open};
use annals_runtime::host::{PromptSender, QuestionSender};
use annals_runtime::prompt::UserPrompt;
use annals_store::OpenMode;
use std::io::{IsTerminal, Write};
use std::sync::Arc;

/// Work with a model in a conversation.
///
/// What you type while the model works is sent with its next request. End a line with a backslash to continue it on
/// the next one. `/help` lists commands: switch the model or agent, start a new session, undo and redo, compact, show
/// costs. Ctrl-C interrupts the model, Ctrl-D exits; the session is stored.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Continue the last session of this directory.
    #[arg(long = "continue", short = 'c', conflicts_with = "session")]
    go_on: bool,
    /// Continue this session: its id, the start of the id, words of its title, or @last.
    #[arg(long, short = 's', value_name = "SESSION")]
    session: Option<String>,
    #[command(flatten)]
    with: With,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let _indexed = cli.keep_indexed();
    let options = args.with.options();
    let directory = options.directory.as_deref();
    let found = match session_choice::find(args.go_on, args.session.as_deref(), directory, cli).await? {
        Some(found) => Some(continued(found).await?.in_directory(directory, cli)?),
        None => None,
    };
    let person = std::io::stdin().is_terminal() && cli.watched;
    let (put, questions) = QuestionSender::channel();
    let (ask, prompts) = PromptSender::channel();
    let user = person.then(|| Arc::new(ask) as Arc<dyn UserPrompt>);
    let (parts, chosen) = configured_asking(cli, &options, found.as_ref(), put, user)?;
    let definitions = parts.definitions.clone();
    let reader = match &found {
        Some(found) => found.reader.clone(),
        None => cli.store(OpenMode::Create).await?,
    };
    let host = cli.open_host(reader, parts)?.signing(&chosen.signing, cli);
    let session = match &found {
        Some(_) => Some(open(&host, found.as_ref(), &chosen).await?),
        // An empty conversation leaves nothing in the store.
        None => None,
    };
    let history = host.reader.folder().join("chat-history");
    let reading = match person {
        true => ChatInput::edited(history).map_err(RunCommandError::Editor)?,
        false => ChatInput::piped(),
    };
    let approval = args.with.approval(person);
    let mut chat = Chat::new(&cli.terminal(), &host, definitions, chosen, session, questions, approval, reading)?;
    chat.answers(prompts);
    chat.talk(out).await?;
    Ok(Verdict::Fine)
}
