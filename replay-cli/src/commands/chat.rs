//! `annals chat`

use super::run::With;
use crate::command_context::CommandContext;
use crate::error::{CliError, RunCommandError, Verdict};
use crate::live::chat::{Chat, ChatEnd, ChatInput, WORDS};
use crate::picker::{Picker, PickerAction};
use crate::session_choice;
use annals_core::AgentName;
use annals_host::asked::shared;
use annals_host::project::root;
use annals_host::{Chosen, configured_asking, continued, open};
use annals_inspect::sessions::{SessionFilter, SessionOrder, list};
use annals_runtime::host::{PromptSender, QuestionSender};
use annals_runtime::prompt::UserPrompt;
use annals_store::OpenMode;
use annals_store::disk::StorePath;
use annals_terminal::chat_screen::ScreenSettings;
use std::io::{IsTerminal, Write};
use std::sync::Arc;

/// Work with a model in a conversation.
///
/// What you type while the model works is sent with its next request. Alt-Enter, or a backslash at the end of a line,
/// begins another line. `/help` lists commands: switch the model or agent, resume or start a session, undo and redo,
/// compact, show costs. Esc interrupts the model, Ctrl-D exits; the session is stored. In a pipe each line is a prompt.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Continue the last session of this directory.
    #[arg(long = "continue", short = 'c', conflicts_with = "session")]
    go_on: bool,
    /// Continue this session: its id, the start of the id, words of its title, or @last.
    #[arg(long, short = 's', value_name = "SESSION")]
    session: Option<String>,
    /// Pick the session to continue.
    #[arg(long, short = 'r', conflicts_with_all = ["go_on", "session"])]
    resume: bool,
    /// Print lines above a prompt instead of drawing a screen, as where TERM is `dumb`.
    #[arg(long)]
    plain: bool,
    #[command(flatten)]
    with: With,
}

/// Where a conversation begins.
#[derive(Clone, Debug)]
enum ChatBeginning {
    /// In a new session.
    New,
    /// In the last session of the directory.
    Last,
    /// In this one.
    Named(String),
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let _indexed = cli.keep_indexed();
    let person = std::io::stdin().is_terminal() && cli.watched;
    let draws = person && !args.plain && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
    let mut beginning = match (&args.session, args.go_on) {
        (Some(session), _) => ChatBeginning::Named(session.clone()),
        (None, true) => ChatBeginning::Last,
        (None, false) => ChatBeginning::New,
    };
    if args.resume {
        if !person {
            return Err(CliError::NoTerminal { what: "chat --resume" });
        }
        match picked(cli).await? {
            Some(session) => beginning = ChatBeginning::Named(session),
            None => return Ok(Verdict::Fine),
        }
    }
    loop {
        let end = Box::pin(converse(args, &beginning, person, draws, cli, out)).await?;
        let ChatEnd::Resumes { session, left } = end else { return Ok(Verdict::Fine) };
        cli.close().await?;
        let session = match session {
            Some(session) => Some(session),
            None => picked(cli).await?,
        };
        // Without a choice the conversation continues where it was.
        beginning = match session.or_else(|| left.map(|left| left.to_string())) {
            Some(session) => ChatBeginning::Named(session),
            None => ChatBeginning::New,
        };
    }
}

/// One conversation, until the user leaves its session.
async fn converse(
    args: &Args,
    beginning: &ChatBeginning,
    person: bool,
    draws: bool,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<ChatEnd, CliError> {
    let options = args.with.options();
    let directory = options.directory.as_deref();
    let (last, named) = match beginning {
        ChatBeginning::New => (false, None),
        ChatBeginning::Last => (true, None),
        ChatBeginning::Named(session) => (false, Some(session.as_str())),
    };
    let found = match session_choice::find(last, named, directory, cli).await? {
        Some(found) => Some(continued(found).await?.in_directory(directory, cli)?),
        None => None,
    };
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
    let folder = host.reader.folder().clone();
    let history = folder.join("chat-history");
    let reading = match (person, draws) {
        (true, true) => {
            let settings = settings(&chosen, history, cli);
            ChatInput::on_screen(settings).map_err(CliError::from)?
        }
        (true, false) => ChatInput::edited(history).map_err(RunCommandError::Editor)?,
        (false, _) => ChatInput::piped(),
    };
    let approval = args.with.approval(person);
    let mut chat = Chat::new(&cli.terminal(), &host, definitions, chosen, session, questions, approval, reading)?;
    chat.answers(shared(prompts, &folder));
    Ok(chat.talk(out).await?)
}

/// What the screen begins with.
fn settings(chosen: &Chosen, history: StorePath, cli: &CommandContext) -> ScreenSettings {
    let words = WORDS.iter().filter(|(word, _)| word.starts_with('/'));
    let words = words.map(|(word, does)| (word.split(' ').next().unwrap_or(word).to_owned(), (*does).to_owned()));
    let templates = chosen.expander.templates().map(|(name, does)| (format!("/{name}"), does));
    let names = |agents: &[AgentName]| agents.iter().map(ToString::to_string).collect();
    ScreenSettings {
        style: cli.style.clone(),
        directory: chosen.directory.clone().into(),
        commands: words.chain(templates).collect(),
        subagents: names(&chosen.subagents),
        agents: names(&chosen.modes),
        history,
    }
}

/// The session that the user picks; `None` if the user leaves the list.
async fn picked(cli: &CommandContext) -> Result<Option<String>, CliError> {
    let reader = cli.reader().await?;
    let catalogue = reader.catalogue().await?;
    let sessions = list(catalogue, &SessionFilter::default(), SessionOrder::default(), &cli.pricing());
    let mut picker = Picker::new(sessions, &root(&cli.environment.directory), &cli.style);
    let action = picker.pick(&reader).await?;
    cli.close().await?;
    Ok(match action {
        PickerAction::Replay(session) | PickerAction::Continue(session) | PickerAction::Usage(session) => {
            Some(session.to_string())
        }
        PickerAction::Stay | PickerAction::Quit | PickerAction::Search(_) => None,
    })
}
