//! A run with a user interface: shows notices, asks questions, obeys signals, until the session is idle.

use super::interaction::{OpenPrompt, OpenQuestion};
use super::question::asks_for_details;
use super::typed_reply::{NoReply, TypedReply, chosen_option, reply};
use super::{ChatCommand, Interaction, TypedLine};
use crate::error::TerminalError;
use crate::layout::plain;
use crate::style::counted;
use annals_core::event::Rule;
use annals_host::{ApprovalMode, Host, Signal};
use annals_runtime::bus::Notice;
use annals_runtime::host::{Elsewhere, RunEnd, RunGoal, WaitingPrompt, WaitingQuestion, run_leased};
use annals_runtime::permission::Answered;
use annals_runtime::{NewInput, Session};
use std::io::Write;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// How long running work may take to stop when the process is asked to end.
const PUT_AWAY: Duration = Duration::from_secs(5);

/// What happens next.
pub(super) enum Happened {
    Signal(Signal),
    Withdrawn,
    Notice(Notice),
    Asked(WaitingQuestion),
    Prompted(WaitingPrompt),
    Reported(String),
    Typed(TypedLine),
    RunsElsewhere,
    Waits,
    Ended(RunEnd),
}

/// Runs what waits in a session, shows it, and gives how it ended. While another process runs the session, what that one
/// records is shown, until it is done with it.
///
/// # Errors
/// When the output refuses, or the store's folder cannot be written. A run that fails is an answer.
pub async fn run_interactive(
    host: &Host,
    session: &Session,
    goal: RunGoal,
    interaction: &mut Interaction,
    out: &mut (dyn Write + Send),
) -> Result<RunEnd, TerminalError> {
    let elsewhere = Elsewhere::default();
    let running = run_leased(&host.leases, session, goal, interaction.waits, &elsewhere);
    tokio::pin!(running);
    let mut active = ActiveRun { is_idle: false, ..ActiveRun::idle(host, session, interaction, out, &elsewhere) };
    active.ask_again()?;
    let mut ended = None;
    while ended.is_none() && !active.left {
        let happened = tokio::select! {
            biased;
            happened = active.next() => happened,
            ended = &mut running => {
                let (ended, lease) = ended?;
                active.interaction.lease = lease;
                Happened::Ended(ended)
            }
        };
        match happened {
            Happened::Ended(how) => ended = Some(how),
            happened => active.takes_in(happened).await?,
        }
    }
    active.end(ended)
}

/// A run as it is shown.
pub(super) struct ActiveRun<'a> {
    host: &'a Host,
    pub(super) session: &'a Session,
    pub(super) interaction: &'a mut Interaction,
    pub(super) out: &'a mut (dyn Write + Send),
    elsewhere: &'a Elsewhere,
    /// Whether it is shown between runs: then the caller takes every line.
    is_idle: bool,
    /// Whether the user interrupted it.
    interrupted: bool,
    /// Whether the user left it.
    left: bool,
}

impl<'a> ActiveRun<'a> {
    /// A Session between its runs.
    pub(super) fn idle(
        host: &'a Host,
        session: &'a Session,
        interaction: &'a mut Interaction,
        out: &'a mut (dyn Write + Send),
        elsewhere: &'a Elsewhere,
    ) -> Self {
        Self { host, session, interaction, out, elsewhere, is_idle: true, interrupted: false, left: false }
    }

    pub(super) async fn next(&mut self) -> Happened {
        let Interaction {
            notices, questions, prompts, lines, signals, steers, open, open_prompt, held, reports, ..
        } = &mut *self.interaction;
        let asks = open.is_some() || open_prompt.is_some();
        let (listens, types) = (!asks, asks || *steers || self.is_idle);
        tokio::select! {
            biased;
            signal = signals.next() => Happened::Signal(signal),
            () = withdrawn(open, open_prompt) => Happened::Withdrawn,
            Some(notice) = async { held.pop() }, if listens => Happened::Notice(notice),
            Some(notice) = notices.recv() => Happened::Notice(notice),
            Some(question) = questions.recv(), if listens => Happened::Asked(question),
            Some(prompt) = prompted(prompts), if listens => Happened::Prompted(prompt),
            Some(report) = reports.recv(), if listens => Happened::Reported(report),
            () = self.elsewhere.found() => Happened::RunsElsewhere,
            () = self.elsewhere.waits_for_background() => Happened::Waits,
            line = lines.next(), if types => Happened::Typed(line),
        }
    }

    pub(super) async fn takes_in(&mut self, happened: Happened) -> Result<(), TerminalError> {
        match happened {
            Happened::Signal(signal) => self.obey(signal).await?,
            Happened::Withdrawn => {
                self.interaction.open = None;
                self.interaction.open_prompt = None;
                self.interaction.show.settled();
                self.interaction.show.aside("the question was withdrawn", self.out)?;
            }
            Happened::Notice(notice) if self.asks() && self.interaction.show.waits_for_answers() => {
                self.interaction.held.keep(notice);
            }
            Happened::Notice(notice) => self.interaction.show.notice(&notice, &*self.session.blobs(), self.out)?,
            Happened::Asked(question) => match self.interaction.approval.answer() {
                Some(answered) => question.answer(answered),
                None => {
                    let waiting = self.interaction.questions.len();
                    let since = self.interaction.show.question(&question.asked, waiting, self.out)?;
                    self.interaction.open = Some(OpenQuestion::new(question, since));
                }
            },
            Happened::Prompted(prompt) => {
                self.interaction.show.prompt(&prompt.asked, self.out)?;
                self.interaction.open_prompt = Some(OpenPrompt::new(prompt));
            }
            Happened::RunsElsewhere => {
                let text = "another process runs this session; the prompt is added to it, and its output is shown here";
                self.interaction.show.aside(text, self.out)?;
            }
            Happened::Reported(report) => self.interaction.show.warning(&report, self.out)?,
            Happened::Waits => self.show_waiting_tasks().await?,
            Happened::Typed(line) => self.typed(line).await?,
            Happened::Ended(_) => {}
        }
        Ok(())
    }

    async fn typed(&mut self, line: TypedLine) -> Result<(), TerminalError> {
        match line {
            TypedLine::Text { text, begun } if self.is_meant_for_question(begun) => self.reply(&text).await?,
            TypedLine::Text { text, begun } if self.is_meant_for_prompt(begun) => self.answer(&text),
            // A word is for the chat, never for the model.
            TypedLine::Text { text, begun } if ChatCommand::of(&text).is_some() => {
                let remark = format!("{}: available when the turn is over; Ctrl-C interrupts it", plain(text.trim()));
                self.interaction.later.push_back(TypedLine::Text { text, begun });
                self.interaction.show.aside(&remark, self.out)?;
            }
            TypedLine::Text { text, .. } => {
                self.steer(text.trim()).await?;
                if self.interaction.open.is_some() {
                    self.interaction.show.not_understood()?;
                }
            }
            TypedLine::Reply(text) if self.interaction.open.is_some() => self.reply(&text).await?,
            TypedLine::Reply(text) => self.answer(&text),
            TypedLine::Interrupt => self.obey(Signal::Interrupt).await?,
            TypedLine::End if self.interaction.open_prompt.is_some() && !self.interaction.steers => {
                self.interaction.prompts = None;
                if let Some(open) = self.interaction.open_prompt.take() {
                    open.prompt.answer(None);
                }
            }
            // There is no user left to ask, but the turn was asked for.
            TypedLine::End if self.interaction.open.is_some() && !self.interaction.steers => {
                self.interaction.approval = ApprovalMode::Nobody;
                if let (Some(asked), Some(answered)) = (self.interaction.open.take(), ApprovalMode::Nobody.answer()) {
                    asked.question.answer(answered);
                }
            }
            TypedLine::End => self.obey(Signal::End).await?,
        }
        Ok(())
    }

    /// Whether a line that was begun then answers the open question.
    pub(super) fn is_meant_for_question(&self, begun: Option<Instant>) -> bool {
        self.interaction.open.as_ref().is_some_and(|asked| asked.is_meant_by(begun))
    }

    /// Whether the user is asked something.
    fn asks(&self) -> bool {
        self.interaction.open.is_some() || self.interaction.open_prompt.is_some()
    }

    /// Whether a line that was begun then answers the open question of a model.
    pub(super) fn is_meant_for_prompt(&self, begun: Option<Instant>) -> bool {
        self.interaction.open_prompt.as_ref().is_some_and(|open| open.is_meant_by(begun))
    }

    /// Answers the open question of a model: by the number of an option, or in other words.
    pub(super) fn answer(&mut self, text: &str) {
        if let Some(OpenPrompt { prompt, .. }) = self.interaction.open_prompt.take() {
            let answer = chosen_option(&prompt.asked, text);
            prompt.answer(Some(answer));
        }
    }

    /// Something else was typed than the answer to the open question: it is shown once more.
    fn ask_again(&mut self) -> Result<(), TerminalError> {
        if let Some(asked) = &self.interaction.open {
            let waiting = self.interaction.questions.len();
            self.interaction.show.question(&asked.question.asked, waiting, self.out)?;
        }
        if let Some(open) = &self.interaction.open_prompt {
            self.interaction.show.prompt(&open.prompt.asked, self.out)?;
        }
        Ok(())
    }

    /// Answers the open question, or asks again.
    pub(super) async fn reply(&mut self, text: &str) -> Result<(), TerminalError> {
        let Some(open) = &self.interaction.open else { return Ok(()) };
        if asks_for_details(text) {
            self.interaction.show.details(&open.question.asked, self.out)?;
            return Ok(());
        }
        match reply(text, &open.question.asked) {
            Ok(TypedReply { answer, write }) => {
                let asked = self.interaction.open.take();
                if !write.is_empty() {
                    self.write(&write).await?;
                }
                asked.into_iter().for_each(|asked| asked.question.answer(Answered::by_user(answer.clone())));
            }
            Err(NoReply::NotCovered(pattern)) => {
                let remark = format!("{pattern} does not cover what is asked for; nothing was answered");
                self.interaction.show.warning(&plain(&remark), self.out)?;
                self.not_understood()?;
            }
            Err(NoReply::NotUnderstood) => self.not_understood()?,
        }
        Ok(())
    }

    /// Asks again for the answer to the open question.
    fn not_understood(&mut self) -> Result<(), TerminalError> {
        match self.interaction.show.keeps_questions() {
            true => self.ask_again(),
            false => Ok(self.interaction.show.not_understood()?),
        }
    }

    /// Writes rules into the user's configuration, and says where. If that fails, they still hold in this session.
    async fn write(&mut self, rules: &[Rule]) -> Result<(), TerminalError> {
        let location = self.session.view().await?.session.location.clone();
        let directory = location.map(|location| location.directory).unwrap_or_default();
        match self.host.remember(&directory, rules) {
            Ok(kept) => {
                let (count, file) = (counted(kept.added as u64, "rule"), kept.file.display());
                self.interaction
                    .show
                    .aside(&plain(&format!("{count} for this project written to {file}")), self.out)?;
            }
            Err(error) => {
                let remark = format!("the rules hold in this session only: {error}");
                self.interaction.show.warning(&plain(&remark), self.out)?;
            }
        }
        Ok(())
    }

    /// The turn is over; which tasks in the background are waited for.
    async fn show_waiting_tasks(&mut self) -> Result<(), TerminalError> {
        let mut names = Vec::new();
        for child in self.session.background() {
            let child = self.host.runtime.session(child).await?;
            names.extend(child.view().await?.session.title.clone());
        }
        let count = counted(names.len() as u64, "background task");
        let text = format!("waiting for {count}: {} · Ctrl-C cancels", names.join(", "));
        Ok(self.interaction.show.aside(&plain(&text), self.out)?)
    }

    /// What is typed while the session runs sent while the model works (steer).
    async fn steer(&mut self, text: &str) -> Result<(), TerminalError> {
        if text.is_empty() {
            return Ok(());
        }
        self.session.admit(NewInput::steer(text)).await?;
        Ok(self.interaction.show.steered(self.out)?)
    }

    async fn obey(&mut self, signal: Signal) -> Result<(), TerminalError> {
        let again = std::mem::replace(&mut self.interrupted, true);
        // What another process runs is not ours to interrupt.
        self.left = self.elsewhere.is_so() || again || signal == Signal::End;
        match signal {
            _ if self.elsewhere.is_so() => {}
            Signal::Interrupt if again => self.host.runtime.halt().await,
            Signal::Interrupt => {
                self.session.interrupt();
                if self.interaction.waits {
                    self.session.cancel_background();
                }
                self.interaction.show.aside("interrupting; press Ctrl-C again to leave at once", self.out)?;
            }
            Signal::End => {
                // Stops in order, unless something does not stop in time.
                if tokio::time::timeout(PUT_AWAY, self.host.runtime.shut_down()).await.is_err() {
                    self.host.runtime.halt().await;
                }
            }
        }
        Ok(())
    }

    /// Shows what waits to be shown, unless it would push a question away.
    pub(super) fn flush(&mut self) -> Result<(), TerminalError> {
        if self.asks() && self.interaction.show.waits_for_answers() {
            return Ok(());
        }
        let blobs = self.session.blobs();
        while let Some(notice) = self.interaction.held.pop() {
            self.interaction.show.notice(&notice, &*blobs, self.out)?;
        }
        while let Ok(notice) = self.interaction.notices.try_recv() {
            self.interaction.show.notice(&notice, &*blobs, self.out)?;
        }
        while let Ok(report) = self.interaction.reports.try_recv() {
            self.interaction.show.warning(&report, self.out)?;
        }
        Ok(())
    }

    /// Shows what is left to be shown.
    fn end(mut self, ended: Option<RunEnd>) -> Result<RunEnd, TerminalError> {
        if self.left {
            self.interaction.open = None;
            self.interaction.open_prompt = None;
            self.interaction.show.settled();
        }
        self.flush()?;
        self.interaction.show.finish(self.out)?;
        Ok(match ended {
            Some(RunEnd::Stopped | RunEnd::Idle | RunEnd::Empty(_)) if self.interrupted => RunEnd::Interrupted,
            Some(ended) => ended,
            None => RunEnd::Left,
        })
    }
}

async fn withdrawn(open: &mut Option<OpenQuestion>, prompt: &mut Option<OpenPrompt>) {
    match (open, prompt) {
        (Some(asked), _) => asked.question.withdrawn().await,
        (None, Some(open)) => open.prompt.withdrawn().await,
        (None, None) => std::future::pending().await,
    }
}

async fn prompted(prompts: &mut Option<mpsc::UnboundedReceiver<WaitingPrompt>>) -> Option<WaitingPrompt> {
    match prompts {
        Some(prompts) => prompts.recv().await,
        None => std::future::pending().await,
    }
}
