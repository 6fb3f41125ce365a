//! A conversation: prompts, and words to the chat itself, one after another.

mod printer;
mod reading;
mod undo;
mod words;

pub use printer::Printer;
pub use reading::ChatInput;
pub use words::{ChatCommand, WORDS};

use super::{Frontend, Interaction, Screen, TypedLine, closing, idle, leave, run_interactive};
use crate::Terminal;
use crate::error::TerminalError;
use crate::escape::{Escaping, EscapingWriter};
use crate::layout::plain;
use crate::remarks::Remarks;
use crate::style::{Emphasis, counted};
use annals_host::advice::{about_empty, advice};
use annals_host::{ApprovalMode, Chosen, ExpandedPrompt, Host, HostError, short};
use annals_runtime::host::{RunEnd, RunGoal, WaitingPrompt, WaitingQuestion};
use annals_runtime::ports::{Clock, Ids, SeededIds, SystemClock};
use annals_runtime::settings::Definitions;
use annals_runtime::{MessagePlace, NewInput, RunError, Session, next_undo};
use annals_tools::ExternalProgram;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a command of the user may take.
const SHELL: Duration = Duration::from_secs(600);

/// A conversation.
pub struct Chat<'a> {
    host: &'a Host,
    definitions: Arc<dyn Definitions>,
    chosen: Chosen,
    /// `None` before the first prompt.
    session: Option<Session>,
    interaction: Interaction,
    remarks: Remarks,
    ids: SeededIds,
    printer: Option<Printer>,
}

/// Whether a conversation continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    GoesOn,
    Ends,
}

impl<'a> Chat<'a> {
    /// A conversation in `session`, or in a new one that the first prompt begins.
    ///
    /// # Errors
    /// When the system gives no signals, or no entropy.
    #[expect(clippy::too_many_arguments, reason = "a conversation is where all of these meet")]
    pub fn new(
        terminal: &Terminal,
        host: &'a Host,
        definitions: Arc<dyn Definitions>,
        chosen: Chosen,
        session: Option<Session>,
        questions: mpsc::UnboundedReceiver<WaitingQuestion>,
        approval: ApprovalMode,
        reading: ChatInput,
    ) -> Result<Self, TerminalError> {
        let ChatInput { lines, printer } = reading;
        let printer = printer.map(|printer| printer.wide(terminal.style.width));
        let remarks = match &printer {
            Some(printer) => Remarks::new(Box::new(printer.clone()), terminal.remarks.style().clone(), true),
            None => terminal.remarks.clone(),
        };
        let screen = Screen::new(remarks.clone(), terminal.style.clone(), terminal.watched);
        let screen = match &printer {
            Some(printer) => screen.above_a_prompt(printer.clone()),
            None => screen,
        };
        let mut interaction =
            Interaction::new(terminal, host, questions, Frontend::Screen(Box::new(screen)), approval, lines)?;
        interaction.steers = printer.is_some();
        // A prompt accepts input meanwhile; a pipe ends with its last answer.
        interaction.waits = printer.is_none();
        let ids = SeededIds::from_entropy()?;
        Ok(Self { host, definitions, chosen, session, interaction, remarks, ids, printer })
    }

    /// Takes questions of models to the user.
    pub fn answers(&mut self, prompts: mpsc::UnboundedReceiver<WaitingPrompt>) {
        self.interaction.prompts = Some(prompts);
    }

    /// Converses until the user leaves.
    pub async fn talk(mut self, out: &mut (dyn Write + Send)) -> Result<(), TerminalError> {
        let mut above = self.printer.clone().map(|printer| EscapingWriter::new(printer, Escaping::Text));
        let out: &mut (dyn Write + Send) = match &mut above {
            Some(above) => above,
            None => out,
        };
        let Chosen { agent, model, directory, .. } = &self.chosen;
        self.aside(&format!("{agent} on {model} in {directory} · /help lists commands"));
        if let Some(session) = &self.session {
            self.interaction.show.begin(&*session.view().await?, out)?;
        }
        loop {
            let then = match idle(self.host, self.session.as_ref(), &mut self.interaction, out).await? {
                TypedLine::Text { text, .. } if text.trim().is_empty() => Then::GoesOn,
                TypedLine::Text { text, .. } if self.chosen.expander.is_template(&text) => {
                    self.prompt(text.trim(), out).await?
                }
                TypedLine::Text { text, .. } => match (ChatCommand::of(&text), text.trim().strip_prefix('!')) {
                    (Some(word), _) => self.word(word, out).await?,
                    (None, Some(command)) if !command.trim().is_empty() => self.shell(command.trim(), out).await?,
                    (None, _) => self.prompt(text.trim(), out).await?,
                },
                TypedLine::Interrupt => {
                    self.interrupt();
                    Then::GoesOn
                }
                TypedLine::End => Then::Ends,
            };
            if then == Then::Ends {
                break;
            }
        }
        if let Some(session) = &self.session {
            leave(self.host, session, &mut self.interaction, out).await?;
            self.interaction.await_title(session).await;
            self.sign().await;
            for command in self.chosen.commands.running() {
                self.aside(&format!("ended with the chat: {} ({})", plain(&command.command), command.id));
            }
            let view = session.view().await?;
            let id = short(session.id());
            self.aside(&format!("session {id} · {}", closing::used(&view)));
            self.aside(&format!("to continue: annals chat -s {id}"));
            self.aside(&format!("to verify: annals verify {id} --requests --wire"));
        }
        Ok(())
    }

    fn aside(&self, text: &str) {
        self.remarks.write(&format!("{}\n", self.remarks.style().paint(Emphasis::Dim, text)));
    }

    fn warn(&self, text: &str) {
        self.remarks.write(&format!("{}\n", self.remarks.style().paint(Emphasis::Warn, text)));
    }

    /// Ctrl-C while no prompt is answered: what runs by itself ends.
    fn interrupt(&self) {
        let Some(session) = &self.session else { return self.aside("nothing runs; Ctrl-D or /quit leaves") };
        let runs = session.is_running();
        session.interrupt();
        let tasks = session.cancel_background().len() as u64;
        match (runs, tasks) {
            (false, 0) => self.aside("nothing runs; Ctrl-D or /quit leaves"),
            (true, 0) => self.aside("interrupting"),
            (_, tasks) => self.aside(&format!("cancelling {}", counted(tasks, "background task"))),
        }
    }

    /// Lists what runs in the background.
    async fn tasks(&self, session: Option<&Session>) -> Result<(), TerminalError> {
        let mut lines = Vec::new();
        for child in session.map(Session::background).unwrap_or_default() {
            let view = self.host.runtime.session(child).await?.view().await?;
            let title = view.session.title.clone().unwrap_or_default();
            lines.push(format!("task {}: {}", short(child), plain(&title)));
        }
        for command in self.chosen.commands.running() {
            lines.push(format!("command {}: {}", command.id, plain(&command.command)));
        }
        if lines.is_empty() {
            lines.push("nothing runs in the background".into());
        }
        lines.iter().for_each(|line| self.aside(line));
        Ok(())
    }

    async fn begun(&mut self, out: &mut (dyn Write + Send)) -> Result<Session, TerminalError> {
        Ok(match &self.session {
            Some(session) => session.clone(),
            None => {
                let new = self.chosen.new_session();
                self.host.prepare(&new.location).await?;
                let session = self.host.runtime.create(new).await?;
                self.interaction.show.begin(&*session.view().await?, out)?;
                self.session.insert(session).clone()
            }
        })
    }

    /// Runs a command of the user, and records it for the model.
    async fn shell(&mut self, command: &str, out: &mut (dyn Write + Send)) -> Result<Then, TerminalError> {
        let session = self.begun(out).await?;
        let words = ["/bin/sh", "-c", command].map(str::to_owned).to_vec();
        let program = ExternalProgram { words, environment: Vec::new(), limit: SHELL };
        let ran = program.run(Path::new(&self.chosen.directory), "").await;
        let (output, exit) = match ran {
            Ok(ran) => (format!("{}{}", ran.stdout, ran.stderr), ran.exit),
            Err(error) => (error.to_string(), None),
        };
        for line in output.lines() {
            self.remarks.write(&format!("{}\n", plain(line)));
        }
        if exit != Some(0) {
            self.warn(&exit.map_or("the command was ended".to_owned(), |code| format!("exit status {code}")));
        }
        session.record_shell(command, &output, exit).await?;
        Ok(Then::GoesOn)
    }

    async fn prompt(&mut self, text: &str, out: &mut (dyn Write + Send)) -> Result<Then, TerminalError> {
        let profile = self.definitions.model(&self.chosen.model);
        let ExpandedPrompt { text, attachments, agent, model, remarks } =
            self.chosen.expander.expand(text, profile.as_ref()).await;
        for remark in remarks {
            self.warn(&plain(&remark));
        }
        let agent = agent.map(|agent| ChatCommand::Agent(Some(agent)));
        let model = model.map(|model| ChatCommand::Model(Some(model.to_string())));
        for word in agent.into_iter().chain(model) {
            self.word(word, out).await?;
        }
        let session = self.begun(out).await?;
        let input = self.ids.input(SystemClock::local().now());
        self.interaction.show.typed(input.clone());
        session.admit(NewInput { attachments, ..NewInput::steer(text).named(input.as_str()) }).await?;
        self.run(&session, RunGoal::Answer, out).await
    }

    /// Signs what was appended, if that is configured.
    async fn sign(&self) {
        if let Some(warning) = self.host.sign_changed().await {
            self.warn(&warning);
        }
    }

    async fn run(
        &mut self,
        session: &Session,
        goal: RunGoal,
        out: &mut (dyn Write + Send),
    ) -> Result<Then, TerminalError> {
        let mut goal = goal;
        loop {
            let ended = run_interactive(self.host, session, goal, &mut self.interaction, out).await?;
            match &ended {
                RunEnd::Idle | RunEnd::Elsewhere => {
                    // What was typed in the last moment is pending.
                    let view = session.view().await?;
                    if !view.inbox.pending.is_empty() {
                        goal = RunGoal::Answer;
                        continue;
                    }
                }
                RunEnd::Empty(silence) => self.warn(about_empty(*silence)),
                RunEnd::Interrupted => self.warn("interrupted; type what to do instead"),
                RunEnd::Stopped => self.warn("the turn ended: a permission was declined"),
                RunEnd::Failed(RunError::NothingToCompact(nothing)) => self.aside(&nothing.to_string()),
                RunEnd::Failed(error) => {
                    self.warn(&advice(error, &*session.view().await?));
                }
                RunEnd::Left => return Ok(Then::Ends),
            }
            self.sign().await;
            if let (true, Some(used)) = (self.printer.is_some(), self.interaction.show.window()) {
                self.aside(&format!("{} · {used}", plain(self.chosen.model.as_str())));
            }
            return Ok(Then::GoesOn);
        }
    }

    async fn word(&mut self, word: ChatCommand, out: &mut (dyn Write + Send)) -> Result<Then, TerminalError> {
        match (word, self.session.clone()) {
            (ChatCommand::Help, _) => {
                let widest = WORDS.iter().map(|(word, _)| word.len()).max().unwrap_or_default();
                WORDS.iter().for_each(|(word, does)| self.aside(&format!("{word:widest$}  {does}")));
                for (name, does) in self.chosen.expander.templates() {
                    self.aside(&format!("{:widest$}  {}", format!("/{}", plain(name)), plain(does)));
                }
            }
            (ChatCommand::Model(None), _) => {
                self.aside(&format!("{} answers; `annals models` lists others", self.chosen.model));
            }
            (ChatCommand::Model(Some(name)), session) => match self.definitions.model(&name.as_str().into()) {
                None => self.warn(&HostError::UnknownModel { name, meant: Vec::new() }.to_string()),
                Some(profile) => {
                    // Of a session the fact is shown.
                    match session {
                        Some(session) => session.switch_model(profile.model.clone()).await?,
                        None => self.aside(&format!("model {}", profile.model)),
                    }
                    self.chosen.model = profile.model;
                }
            },
            (ChatCommand::Agent(None), _) => self.aside(&format!("{} works", self.chosen.agent)),
            (ChatCommand::Agent(Some(name)), session) => {
                let found = self.chosen.agents.iter().find(|agent| agent.as_str() == name).cloned();
                match (found, session) {
                    (None, _) => self.warn(&format!("no agent of the name {name:?} can be selected")),
                    (Some(agent), session) => {
                        match session {
                            Some(session) => session.switch_agent(agent.clone()).await?,
                            None => self.aside(&format!("agent {agent}")),
                        }
                        self.chosen.agent = agent;
                    }
                }
            }
            (ChatCommand::New, session) => {
                if let Some(session) = session {
                    leave(self.host, &session, &mut self.interaction, out).await?;
                    let id = short(session.id());
                    self.sign().await;
                    self.aside(&format!("session {id} is kept; to continue: annals chat -s {id}"));
                }
                self.session = None;
            }
            (ChatCommand::Quit, _) => return Ok(Then::Ends),
            (ChatCommand::Tasks, session) => self.tasks(session.as_ref()).await?,
            (ChatCommand::Unknown(word), _) => {
                self.warn(&format!("{word} is not a command; /help lists commands"));
            }
            (_, None) => self.aside("nothing was said yet"),
            (ChatCommand::Compact, Some(session)) => return self.run(&session, RunGoal::Compaction, out).await,
            (word, Some(session)) => self.edit(word, &session).await?,
        }
        Ok(Then::GoesOn)
    }

    /// Commands about a session that has begun.
    async fn edit(&mut self, word: ChatCommand, session: &Session) -> Result<(), TerminalError> {
        match word {
            ChatCommand::Undo => self.undo(session).await?,
            ChatCommand::Redo => self.redo(session).await?,
            ChatCommand::Cost => self.aside(&closing::used(&*session.view().await?)),
            ChatCommand::Title(None) => match &session.view().await?.session.title {
                Some(title) => self.aside(&plain(title)),
                None => self.aside("the session has no title"),
            },
            ChatCommand::Title(Some(title)) => session.set_title(title).await?,
            ChatCommand::Pin => match next_undo(&*session.view().await?) {
                None => self.aside("there is no prompt to pin"),
                Some(prompt) => match session.pin(MessagePlace::Seq(prompt), true).await {
                    Ok(true) => self.aside("pinned; compactions keep the prompt word for word"),
                    Ok(false) => self.aside("the prompt is pinned already"),
                    Err(refusal) => self.warn(&refusal.to_string()),
                },
            },
            ChatCommand::Help
            | ChatCommand::Model(_)
            | ChatCommand::Agent(_)
            | ChatCommand::New
            | ChatCommand::Compact
            | ChatCommand::Tasks
            | ChatCommand::Quit
            | ChatCommand::Unknown(_) => {}
        }
        Ok(())
    }
}
