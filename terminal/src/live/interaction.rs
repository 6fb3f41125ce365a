//! Where runs are shown, and where people take part in them.

use super::{Frontend, TypedLine, TypedLines};
use crate::Terminal;
use crate::diagnostics::Redirected;
use crate::error::TerminalError;
use annals_host::{ApprovalMode, Host, Signal, Signals};
use annals_runtime::Session;
use annals_runtime::bus::{Listening, Notice};
use annals_runtime::host::{HeldNotices, Lease, WaitingPrompt, WaitingQuestion};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// How long a title is waited for once the answer is there.
const TITLE: Duration = Duration::from_secs(15);

/// Where a run is shown, and where people take part in it.
pub struct Interaction {
    /// What is shown.
    pub show: Frontend,
    /// Who answers questions.
    pub approval: ApprovalMode,
    /// The lines that the user types.
    pub lines: TypedLines,
    /// Whether what is typed meanwhile joins the turn.
    pub steers: bool,
    /// Whether a run lasts until the tasks in the background have ended; else they run on while the session is idle.
    pub waits: bool,
    pub(super) notices: mpsc::UnboundedReceiver<Notice>,
    pub(super) questions: mpsc::UnboundedReceiver<WaitingQuestion>,
    /// Questions of models to the user.
    pub prompts: Option<mpsc::UnboundedReceiver<WaitingPrompt>>,
    pub(super) signals: Signals,
    /// The question that waits for its answer.
    pub(super) open: Option<OpenQuestion>,
    /// The question of a model that waits for its answer.
    pub(super) open_prompt: Option<OpenPrompt>,
    /// Notices to show after the question, which they would push away.
    pub(super) held: HeldNotices,
    /// Words to the chat that were typed while a turn ran: they are for the time after it.
    pub(super) later: VecDeque<TypedLine>,
    /// The right to run the session, kept while tasks of it run in the background.
    pub(super) lease: Option<Arc<Lease>>,
    /// What the program reports of trouble, where it is shown among the rest.
    pub(super) reports: mpsc::UnboundedReceiver<String>,
    _redirected: Option<Redirected>,
    _listening: Listening,
}

/// A question that the user has seen.
pub(super) struct OpenQuestion {
    pub(super) question: WaitingQuestion,
    since: Instant,
}

/// A question of a model that the user has seen.
pub(super) struct OpenPrompt {
    pub(super) prompt: WaitingPrompt,
    since: Instant,
}

impl OpenPrompt {
    /// A question that is shown since now.
    pub(super) fn new(prompt: WaitingPrompt) -> Self {
        Self { prompt, since: Instant::now() }
    }

    /// Whether a line that was begun at `begun` can be meant for it.
    pub(super) fn is_meant_by(&self, begun: Option<Instant>) -> bool {
        begun.is_none_or(|begun| begun >= self.since)
    }
}

impl OpenQuestion {
    /// A question whose reply is expected since then.
    pub(super) fn new(question: WaitingQuestion, since: Instant) -> Self {
        Self { question, since }
    }

    /// Whether a line that was begun at `begun` can be meant for it. A line of which that is not known can.
    pub(super) fn is_meant_by(&self, begun: Option<Instant>) -> bool {
        begun.is_none_or(|begun| begun >= self.since)
    }
}

impl Interaction {
    /// An interaction for the runs of a host, whose questions arrive at `questions`. Ctrl-C comes here from now on.
    ///
    /// # Errors
    /// When the system gives no signals.
    pub fn new(
        terminal: &Terminal,
        host: &Host,
        questions: mpsc::UnboundedReceiver<WaitingQuestion>,
        show: Frontend,
        approval: ApprovalMode,
        lines: TypedLines,
    ) -> Result<Self, TerminalError> {
        let (sender, notices) = mpsc::unbounded_channel();
        let listening = host.runtime.bus().observe(move |notice: &Notice| {
            // The interaction has ended: no one reads it.
            drop(sender.send(notice.clone()));
        });
        let signals = Signals::listen()?;
        let (_redirected, reports) = match show.draws() {
            true => {
                let (redirected, reports) = terminal.diagnostics.redirect();
                (Some(redirected), reports)
            }
            // A separate line on stderr does no harm.
            false => (None, mpsc::unbounded_channel().1),
        };
        Ok(Self {
            show,
            approval,
            lines,
            steers: false,
            waits: true,
            notices,
            questions,
            signals,
            prompts: None,
            open: None,
            open_prompt: None,
            held: HeldNotices::default(),
            later: VecDeque::new(),
            lease: None,
            reports,
            _redirected,
            _listening: listening,
        })
    }

    /// Waits for the title of a session, if one is requested, but not for long, and not when the user wants to leave.
    pub async fn await_title(&mut self, session: &Session) {
        tokio::select! {
            () = session.title_settled() => {}
            _ = self.signals.next() => {}
            () = tokio::time::sleep(TITLE) => {}
        }
    }

    /// Waits until the user interrupts what runs, or leaves. Anything else that is said comes later.
    pub(super) async fn interrupted(&mut self) {
        loop {
            match self.typed().await {
                TypedLine::Interrupt => return,
                TypedLine::End => return self.later.push_back(TypedLine::End),
                line => self.later.push_back(line),
            }
        }
    }

    /// Waits for input or a signal of the user before there is a session.
    pub(super) async fn typed(&mut self) -> TypedLine {
        tokio::select! {
            line = self.lines.next() => line,
            signal = self.signals.next() => match signal {
                Signal::Interrupt => TypedLine::Interrupt,
                Signal::End => TypedLine::End,
            },
        }
    }
}
