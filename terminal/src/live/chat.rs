//! A conversation: prompts, and words to the chat itself, one after another.

mod commands;
mod printer;
mod prompting;
mod reading;
mod undo;
mod words;

pub use printer::Printer;
pub use reading::ChatInput;
pub use words::{ChatCommand, WORDS};

use super::{Frontend, Interaction, Screen, TypedLine, closing, idle, leave, run_interactive};
use crate::Terminal;
use crate::chat_screen::ChatScreen;
use crate::error::TerminalError;
use crate::escape::{Escaping, EscapingWriter};
use crate::layout::plain;
use crate::remarks::Remarks;
use crate::style::{Emphasis, counted};
use annals_core::SessionId;
use annals_host::advice::{about_empty, advice};
use annals_host::{ApprovalMode, Chosen, Host, short};
use annals_runtime::host::{RunEnd, RunGoal, WaitingPrompt, WaitingQuestion};
use annals_runtime::ports::SeededIds;
use annals_runtime::settings::Definitions;
use annals_runtime::{RunError, Session};
use std::io::Write;
use std::sync::Arc;
use tokio::sync::mpsc;

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
    screen: Option<ChatScreen>,
}

/// How a conversation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatEnd {
    /// The user left.
    Left,
    /// The user wants to continue another session: the named one, or one that is picked.
    Resumes {
        /// The name, if one was given.
        session: Option<String>,
        /// The session that was left, if there was one.
        left: Option<SessionId>,
    },
}

/// Whether a conversation continues.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Then {
    GoesOn,
    Ends,
    Resumes(Option<String>),
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
        let ChatInput { lines, printer, screen: chat } = reading;
        let printer = printer.map(|printer| printer.wide(terminal.style.width));
        let above: Option<Box<dyn Write + Send>> = match (&chat, &printer) {
            (Some(chat), _) => Some(Box::new(chat.handle().writer())),
            (None, Some(printer)) => Some(Box::new(printer.clone())),
            (None, None) => None,
        };
        let remarks = match above {
            Some(above) => Remarks::new(above, terminal.remarks.style().clone(), true),
            None => terminal.remarks.clone(),
        };
        let screen = Screen::new(remarks.clone(), terminal.style.clone(), terminal.watched);
        let screen = match (&chat, &printer) {
            (Some(chat), _) => screen.on_screen(chat.handle().clone()),
            (None, Some(printer)) => screen.above_a_prompt(printer.clone()),
            (None, None) => screen,
        };
        let mut interaction =
            Interaction::new(terminal, host, questions, Frontend::Screen(Box::new(screen)), approval, lines)?;
        let edits = printer.is_some() || chat.is_some();
        interaction.steers = edits;
        // A prompt accepts input meanwhile; a pipe ends with its last answer.
        interaction.waits = !edits;
        let ids = SeededIds::from_entropy()?;
        Ok(Self { host, definitions, chosen, session, interaction, remarks, ids, printer, screen: chat })
    }

    /// Takes questions of models to the user.
    pub fn answers(&mut self, prompts: mpsc::UnboundedReceiver<WaitingPrompt>) {
        self.interaction.prompts = Some(prompts);
    }

    /// Converses until the user leaves.
    pub async fn talk(mut self, out: &mut (dyn Write + Send)) -> Result<ChatEnd, TerminalError> {
        let above: Option<Box<dyn Write + Send>> = match (&self.screen, &self.printer) {
            (Some(screen), _) => Some(Box::new(screen.handle().writer())),
            (None, Some(printer)) => Some(Box::new(printer.clone())),
            (None, None) => None,
        };
        let mut above = above.map(|above| EscapingWriter::new(above, Escaping::Text));
        let out: &mut (dyn Write + Send) = match &mut above {
            Some(above) => above,
            None => out,
        };
        let Chosen { agent, model, directory, .. } = &self.chosen;
        self.aside(&format!("{agent} on {model} in {directory} · /help lists commands"));
        self.shows_who_works();
        if let Some(session) = &self.session {
            let view = session.view().await?;
            self.interaction.show.begin(&view, out)?;
            if self.screen.is_some() {
                // Taken for a moment. Where that is not possible, the next prompt reports why.
                let runs = !matches!(self.host.leases.take(session.id()).await, Ok(Some(_)));
                self.interaction.show.last_exchange(&view, runs, &*session.blobs(), out)?;
            }
        }
        let end = loop {
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
                // The question is gone.
                TypedLine::Reply(_) => Then::GoesOn,
                TypedLine::Interrupt => {
                    self.interrupt();
                    Then::GoesOn
                }
                TypedLine::End => Then::Ends,
            };
            match then {
                Then::GoesOn => {}
                Then::Ends => break ChatEnd::Left,
                Then::Resumes(session) => {
                    let left = self.session.as_ref().map(|session| session.id());
                    break ChatEnd::Resumes { session, left };
                }
            }
        };
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
        Ok(end)
    }

    /// Shows the user's own message, which the screen does not keep.
    fn echo(&mut self, text: &str, out: &mut (dyn Write + Send)) -> Result<(), TerminalError> {
        match self.screen.is_some() {
            true => Ok(self.interaction.show.show_prompt(text, out)?),
            false => Ok(()),
        }
    }

    /// Shows which model and agent work, and who answers permission questions.
    fn shows_who_works(&mut self) {
        let mode = match (self.interaction.approval, self.chosen.approval.as_str()) {
            (ApprovalMode::Yes, _) => "allows all",
            (ApprovalMode::Person, "edits") => "asks, not for edits",
            (ApprovalMode::Person, "all") => "asks for nothing",
            (ApprovalMode::Person, _) => "asks",
            (ApprovalMode::Deny | ApprovalMode::Nobody | ApprovalMode::Recorded, _) => "rejects what no rule allows",
        };
        let (model, agent) = (self.chosen.model.to_string(), self.chosen.agent.to_string());
        self.interaction.show.works(&model, &agent, mode);
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
                self.host.check(&new.location)?;
                let session = self.host.runtime.create(new).await?;
                self.interaction.show.begin(&*session.view().await?, out)?;
                self.session.insert(session).clone()
            }
        })
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
            // The screen has a line for it.
            if let (true, Some(used)) = (self.printer.is_some(), self.interaction.show.window()) {
                self.aside(&format!("{} · {used}", plain(self.chosen.model.as_str())));
            }
            return Ok(Then::GoesOn);
        }
    }
}
