//! `annals run`

mod prompt;

use crate::command_context::CommandContext;
use crate::error::{CliError, RunCommandError, Verdict};
use crate::layout::plain;
use crate::live::{Frontend, Interaction, Screen, TypedLines, closing, run_interactive};
use crate::session_choice;
use crate::style::Emphasis;
use annals_core::InputId;
use annals_core::event::{Attachment, ModelProfile};
use annals_host::advice::advice;
use annals_host::asked::shared;
use annals_host::{
    ApprovalMode, Chosen, ExpandedPrompt, Host, RunOptions, configured_asking, continued, open_to_prompt,
};
use annals_providers::wire::is_sent;
use annals_runtime::host::{JsonLines, PromptSender, QuestionSender, RunEnd, RunGoal, is_answered};
use annals_runtime::ports::{Ids, SeededIds};
use annals_runtime::prompt::UserPrompt;
use annals_runtime::{InputAnswerError, NewInput, Session};
use annals_store::OpenMode;
use annals_tools::attachment;
use prompt::prompt;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Send a prompt to a model with tools, and show the answer.
///
/// The tools work in this directory. On a terminal the answer streams, tools are shown as they run, and each change
/// asks for permission. Otherwise stdout gets the answer alone, and what no rule allows is rejected (--yes allows
/// it). Ctrl-C interrupts the turn; a second Ctrl-C exits. The session is stored: `annals run -c` continues it,
/// `annals replay` shows it. Exit status 0 for an answer, 1 for none, 2 for wrong use.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The prompt. Piped stdin is appended, or replaces a word that is `-`.
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
    /// Continue the last session of this directory; without a prompt, resume what was interrupted.
    #[arg(long = "continue", short = 'c', conflicts_with = "session")]
    go_on: bool,
    /// Continue this session: its id, the start of the id, words of its title, or @last.
    #[arg(long, short = 's', value_name = "SESSION")]
    session: Option<String>,
    /// Attach a file to the prompt: text, an image, a PDF or audio; may be repeated.
    #[arg(long = "file", short = 'f', value_name = "PATH")]
    files: Vec<PathBuf>,
    /// Pin the prompt: compactions keep it word for word.
    #[arg(long)]
    pin: bool,
    /// Add a system text for the turns that answer this prompt, after that of the agent.
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Offer only these tools in the turns that answer this prompt: names or patterns (`mcp__*`), separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tools: Option<Vec<String>>,
    /// Leave these tools out in the turns that answer this prompt.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    no_tools: Vec<String>,
    #[command(flatten)]
    with: With,
}

impl Args {
    /// Whether tools are offered, by name or pattern.
    fn chosen_tools(&self) -> BTreeMap<String, bool> {
        let names = |names: &[String], offered: bool| -> Vec<(String, bool)> {
            let names = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
            names.map(|name| (name.to_owned(), offered)).collect()
        };
        let only = self.tools.iter().flat_map(|only| [vec![("*".to_owned(), false)], names(only, true)].concat());
        only.chain(names(&self.no_tools, false)).collect()
    }
}

/// What a run works with.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct With {
    /// Work in DIR instead of the current directory; a session from elsewhere continues there.
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Use this agent.
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Use this model (see annals models).
    #[arg(long, short = 'm', value_name = "MODEL")]
    pub model: Option<String>,
    /// Record every answer of the model in DIR.
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Use the answers that --record stored in DIR: no network, no key.
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    pub replay: Option<PathBuf>,
    /// End a prompt after N steps (requests to the model); 0 for no limit (default: `max_steps`, 200).
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u32>,
    /// Allow everything that no rule denies.
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Reject everything that no rule allows, without asking.
    #[arg(long, conflicts_with = "yes")]
    pub deny: bool,
}

impl With {
    /// How permission questions are answered; `person`: whether the user could answer.
    pub fn approval(&self, person: bool) -> ApprovalMode {
        match (self.yes, self.deny, person) {
            (true, ..) => ApprovalMode::Yes,
            (_, true, _) => ApprovalMode::Deny,
            (_, _, true) => ApprovalMode::Person,
            (_, _, false) => ApprovalMode::Nobody,
        }
    }

    /// The options of the host.
    pub fn options(&self) -> RunOptions {
        RunOptions {
            agent: self.agent.clone(),
            model: self.model.clone(),
            record: self.record.clone(),
            replay: self.replay.clone(),
            directory: self.directory.clone(),
            max_steps: self.max_steps,
            ..RunOptions::default()
        }
    }
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let prompt = prompt(&args.prompt, cli)?;
    if prompt.is_none() && !args.go_on && args.session.is_none() {
        return Err(RunCommandError::NoPrompt.into());
    }
    if prompt.is_none() && !args.files.is_empty() {
        return Err(RunCommandError::FilesAlone.into());
    }
    if prompt.is_none() && (args.system.is_some() || args.tools.is_some() || !args.no_tools.is_empty()) {
        return Err(RunCommandError::SettingsAlone.into());
    }
    let options = args.with.options();
    let directory = options.directory.as_deref();
    let found = match session_choice::find(args.go_on, args.session.as_deref(), directory, cli).await? {
        Some(found) => Some(continued(found).await?.in_directory(directory, cli)?),
        None => None,
    };
    if let (None, Some(found)) = (&prompt, &found) {
        let until = found.reader.until(found.session, None).await?;
        if is_answered(&found.reader.view(found.session, until).await?) {
            return Err(RunCommandError::NothingWaits.into());
        }
    }
    let person = std::io::stdin().is_terminal() && cli.shows_progress();
    let (put, questions) = QuestionSender::channel();
    let (ask, prompts) = PromptSender::channel();
    let user = (person && !cli.style.json).then(|| Arc::new(ask) as Arc<dyn UserPrompt>);
    let (parts, mut chosen) = configured_asking(cli, &options, found.as_ref(), put, user)?;
    // Before anything is made.
    let profile = parts.definitions.model(&chosen.model);
    let mut attachments = attached(&args.files, &cli.environment.directory, &chosen, profile.as_ref())?;
    let mut expanded = match &prompt {
        Some(prompt) => chosen.expander.expand(prompt, profile.as_ref()).await,
        None => ExpandedPrompt::default(),
    };
    attachments.append(&mut expanded.attachments);
    for remark in std::mem::take(&mut expanded.remarks) {
        cli.remarks.say(Emphasis::Warn, &plain(&remark));
    }
    chosen.take_from(&expanded, args.with.agent.is_some(), args.with.model.is_some(), &*parts.definitions)?;
    let reader = match &found {
        Some(found) => found.reader.clone(),
        None => cli.store(OpenMode::Create).await?,
    };
    let host = cli.open_host(reader, parts)?.signing(&chosen.signing, cli);
    let session = open_to_prompt(&host, found.as_ref(), &chosen).await?;
    let before = session.view().await?;
    let (show, approval) = (frontend(cli), args.with.approval(person));
    let mut interaction = Interaction::new(&cli.terminal(), &host, questions, show, approval, TypedLines::of_stdin())?;
    interaction.prompts = Some(shared(prompts, host.reader.folder()));
    interaction.show.begin(&before, out)?;
    let mut pinning = None;
    if prompt.is_some() {
        let prompt = std::mem::take(&mut expanded.text);
        let input = SeededIds::from_entropy()?.input(cli.style.now);
        interaction.show.typed(input.clone());
        let (system, tools) = (args.system.clone(), args.chosen_tools());
        let new = NewInput { attachments, system, tools, ..NewInput::steer(prompt).named(input.as_str()) };
        session.admit(new).await?;
        pinning = args.pin.then(|| PinnedPrompt::begin(session.clone(), input));
    }
    host.prepare_for(&session).await?;
    let ended = run_interactive(&host, &session, RunGoal::Answer, &mut interaction, out).await?;
    if !matches!(ended, RunEnd::Left) {
        interaction.await_title(&session).await;
    }
    for command in chosen.commands.running() {
        cli.remark(&format!("ended with the run: {} ({})", plain(&command.command), command.id));
    }
    if let Some(pinning) = pinning {
        pinning.end(&session, cli).await?;
    }
    conclude(&host, &session, &ended, cli, out).await
}

/// How events are shown as they happen.
pub fn frontend(cli: &CommandContext) -> Frontend {
    match cli.style.json {
        true => Frontend::Json(JsonLines::default()),
        false => Frontend::Screen(Box::new(Screen::new(cli.remarks.clone(), cli.style.clone(), cli.watched))),
    }
}

/// Signs what was appended, if that is configured, and prints how a run ended.
pub async fn conclude(
    host: &Host,
    session: &Session,
    ended: &RunEnd,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    if let Some(warning) = host.sign_changed().await {
        cli.remarks.say(Emphasis::Warn, &plain(&warning));
    }
    let view = session.view().await?;
    if cli.style.json {
        closing::in_json(&view, ended, out)?;
    } else {
        closing::say(&view, ended, &cli.remarks);
    }
    if let RunEnd::Failed(error) = ended
        && !cli.style.json
    {
        cli.remarks.say(Emphasis::Bad, &advice(error, &view));
    }
    Ok(Verdict::bad_if(!matches!(ended, RunEnd::Idle | RunEnd::Elsewhere)))
}

/// A prompt that is pinned as soon as it has joined.
struct PinnedPrompt {
    input: InputId,
    task: JoinHandle<Result<bool, InputAnswerError>>,
}

impl PinnedPrompt {
    fn begin(session: Session, input: InputId) -> Self {
        let named = input.clone();
        Self { input, task: tokio::spawn(async move { session.pin_input(&named).await }) }
    }

    /// After the run: a prompt that still waits is not pinned.
    async fn end(self, session: &Session, cli: &CommandContext) -> Result<(), CliError> {
        if session.view().await?.inbox.pending.iter().any(|pending| pending.input == self.input) {
            self.task.abort();
            cli.remark("the prompt still waits and is not pinned; to pin it later: annals session pin");
            return Ok(());
        }
        if let Ok(Err(error)) = self.task.await {
            cli.remarks.say(Emphasis::Warn, &format!("the prompt is not pinned: {}", plain(&error.to_string())));
        }
        Ok(())
    }
}

/// The files that go with the prompt, each called as the model's tools would call it.
fn attached(
    files: &[PathBuf],
    here: &Path,
    chosen: &Chosen,
    model: Option<&ModelProfile>,
) -> Result<Vec<Attachment>, RunCommandError> {
    let attached = files.iter().map(|file| {
        let path = here.join(file);
        let within = path.canonicalize().ok();
        let within = within.as_deref().and_then(|real| real.strip_prefix(&chosen.directory).ok());
        let name = within.or(file.file_name().map(Path::new)).unwrap_or(file).to_string_lossy();
        let attached = attachment(&path, &name)?;
        match model.is_none_or(|model| is_sent(model, &attached.mime)) {
            true => Ok(attached),
            false => Err(RunCommandError::NotTaken {
                file: file.clone(),
                mime: attached.mime,
                model: chosen.model.to_string(),
            }),
        }
    });
    attached.collect()
}
