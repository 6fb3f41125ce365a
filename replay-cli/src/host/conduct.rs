//! A run in front of a person: notices are shown, questions answered, signals obeyed, until the Session is idle.

use super::held::Held;
use super::question::reply;
use super::{Host, HostError, Line, Lines, Manner, Question, Show, Signal, Signals};
use crate::error::CliError;
use annals_runtime::bus::{Listening, Notice};
use annals_runtime::permission::Answered;
use annals_runtime::{NewInput, Outcome, RunError, Session};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};

/// How often it is looked whether another process still runs the Session.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// How long what runs may take to be put away when the process is asked to end.
const PUT_AWAY: Duration = Duration::from_secs(5);

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// An answer to what waits.
    Answer,
    /// A summary in the place of the history.
    Compaction,
}

/// How long a title is waited for once the answer is there.
const TITLE: Duration = Duration::from_secs(15);

/// How a run ended.
#[derive(Debug)]
pub enum Ended {
    /// With an answer.
    Idle,
    /// Another process ran the Session, and what was asked for here with it.
    Elsewhere,
    /// The person interrupted it.
    Interrupted,
    /// A permission was declined, or the Session moved.
    Stopped,
    /// It failed.
    Failed(RunError),
    /// The person left before its end.
    Left,
}

/// Where a run is shown, and where people take part in it.
pub struct Stage {
    /// What is shown.
    pub show: Show,
    /// Who answers questions.
    pub manner: Manner,
    /// What a person types.
    pub lines: Lines,
    /// Whether what is typed meanwhile joins the turn.
    pub steers: bool,
    notices: mpsc::UnboundedReceiver<Notice>,
    questions: mpsc::UnboundedReceiver<Question>,
    signals: Signals,
    _listening: Listening,
}

impl Stage {
    /// A stage for the runs of a host, whose questions arrive at `questions`. Ctrl-C comes here from now on.
    ///
    /// # Errors
    /// When the system gives no signals.
    pub fn new(
        host: &Host,
        questions: mpsc::UnboundedReceiver<Question>,
        show: Show,
        manner: Manner,
        lines: Lines,
    ) -> Result<Self, CliError> {
        let (tell, notices) = mpsc::unbounded_channel();
        let listening = host.runtime.bus().observe(move |notice: &Notice| {
            // A stage that is gone is shown nothing.
            drop(tell.send(notice.clone()));
        });
        let signals = Signals::listen()?;
        Ok(Self { show, manner, lines, steers: false, notices, questions, signals, _listening: listening })
    }

    /// Waits for the title of a Session, if one is asked for, but not for long, and not for somebody who wants to go.
    pub async fn await_title(&mut self, session: &Session) {
        tokio::select! {
            () = session.title_settled() => {}
            _ = self.signals.next() => {}
            () = tokio::time::sleep(TITLE) => {}
        }
    }

    /// Waits for what a person types or signals while nothing runs.
    pub async fn typed(&mut self) -> Line {
        tokio::select! {
            line = self.lines.next() => line,
            signal = self.signals.next() => match signal {
                Signal::Interrupt => Line::Interrupt,
                Signal::End => Line::End,
            },
        }
    }
}

/// What happens next.
enum Happened {
    Signal(Signal),
    Withdrawn,
    Notice(Notice),
    Asked(Question),
    Typed(Line),
    RunsElsewhere,
    Ended(Ended),
}

/// Runs what waits in a Session, shows it, and gives how it ended. While another process runs the Session, what that one
/// records is shown, until it is done with it.
///
/// # Errors
/// When the output refuses, or the store's folder cannot be written. A run that fails is an answer.
pub async fn conduct(
    host: &Host,
    session: &Session,
    goal: Goal,
    stage: &mut Stage,
    out: &mut (dyn Write + Send),
) -> Result<Ended, CliError> {
    let elsewhere = Elsewhere::default();
    let running = run(host, session, goal, &elsewhere);
    tokio::pin!(running);
    let mut scene = Scene {
        host,
        session,
        stage,
        out,
        elsewhere: &elsewhere,
        open: None,
        held: Held::default(),
        interrupted: false,
        left: false,
    };
    let mut ended = None;
    while ended.is_none() && !scene.left {
        let happened = tokio::select! {
            biased;
            happened = scene.next() => happened,
            ended = &mut running => Happened::Ended(ended?),
        };
        match happened {
            Happened::Ended(how) => ended = Some(how),
            happened => scene.takes_in(happened).await?,
        }
    }
    scene.end(ended)
}

/// A run as it is shown.
struct Scene<'a> {
    host: &'a Host,
    session: &'a Session,
    stage: &'a mut Stage,
    out: &'a mut (dyn Write + Send),
    elsewhere: &'a Elsewhere,
    /// The question that waits for its answer.
    open: Option<Question>,
    /// What a person is not shown meanwhile: it would push the question away.
    held: Held,
    /// Whether a person interrupted it.
    interrupted: bool,
    /// Whether a person left it.
    left: bool,
}

impl Scene<'_> {
    async fn next(&mut self) -> Happened {
        let Stage { notices, questions, lines, signals, steers, .. } = &mut *self.stage;
        let (listens, types) = (self.open.is_none(), self.open.is_some() || *steers);
        let held = &mut self.held;
        tokio::select! {
            biased;
            signal = signals.next() => Happened::Signal(signal),
            () = withdrawn(&mut self.open) => Happened::Withdrawn,
            Some(notice) = async { held.next() }, if listens => Happened::Notice(notice),
            Some(notice) = notices.recv() => Happened::Notice(notice),
            Some(question) = questions.recv(), if listens => Happened::Asked(question),
            () = self.elsewhere.found.notified() => Happened::RunsElsewhere,
            line = lines.next(), if types => Happened::Typed(line),
        }
    }

    async fn takes_in(&mut self, happened: Happened) -> Result<(), CliError> {
        match happened {
            Happened::Signal(signal) => self.obey(signal).await?,
            Happened::Withdrawn => {
                self.open = None;
                self.stage.show.aside("the question was withdrawn", self.out)?;
            }
            Happened::Notice(notice) if self.open.is_some() && self.stage.show.waits_for_answers() => {
                self.held.keep(notice);
            }
            Happened::Notice(notice) => self.stage.show.notice(&notice, &*self.session.blobs(), self.out)?,
            Happened::Asked(question) => match self.stage.manner.answer() {
                Some(answered) => question.answer(answered),
                None => {
                    self.stage.show.question(&question.asked, self.out)?;
                    self.open = Some(question);
                }
            },
            Happened::RunsElsewhere => {
                let text =
                    "another process runs this Session: the prompt joins there, and what it records is shown here";
                self.stage.show.aside(text, self.out)?;
            }
            Happened::Typed(line) => self.typed(line).await?,
            Happened::Ended(_) => {}
        }
        Ok(())
    }

    async fn typed(&mut self, line: Line) -> Result<(), CliError> {
        match (line, self.open.take()) {
            (Line::Text(text), Some(question)) => match reply(&text) {
                Some(answer) => question.answer(Answered::by_user(answer)),
                None => {
                    self.stage.show.not_understood()?;
                    self.open = Some(question);
                }
            },
            (Line::Text(text), None) => self.steer(text.trim()).await?,
            (Line::Interrupt, question) => {
                self.open = question;
                self.obey(Signal::Interrupt).await?;
            }
            // Nobody is there any more to be asked, but the turn was asked for.
            (Line::End, Some(question)) if !self.stage.steers => {
                self.stage.manner = Manner::Nobody;
                if let Some(answered) = Manner::Nobody.answer() {
                    question.answer(answered);
                }
            }
            (Line::End, question) => {
                self.open = question;
                self.obey(Signal::End).await?;
            }
        }
        Ok(())
    }

    /// What is typed while the Session runs joins at the next boundary.
    async fn steer(&mut self, text: &str) -> Result<(), CliError> {
        if text.is_empty() {
            return Ok(());
        }
        self.session.admit(NewInput::steer(text)).await.map_err(HostError::from)?;
        Ok(self.stage.show.aside("joins at the next boundary", self.out)?)
    }

    async fn obey(&mut self, signal: Signal) -> Result<(), CliError> {
        let again = std::mem::replace(&mut self.interrupted, true);
        // What another process runs is not ours to interrupt.
        self.left = self.elsewhere.is_so() || again || signal == Signal::End;
        match signal {
            _ if self.elsewhere.is_so() => {}
            Signal::Interrupt if again => self.host.runtime.halt().await,
            Signal::Interrupt => {
                self.session.interrupt();
                self.stage.show.aside("interrupting; once more leaves at once", self.out)?;
            }
            Signal::End => {
                // Put away in order, unless something does not let itself be put away.
                if tokio::time::timeout(PUT_AWAY, self.host.runtime.shut_down()).await.is_err() {
                    self.host.runtime.halt().await;
                }
            }
        }
        Ok(())
    }

    /// Shows what is left to be shown.
    fn end(mut self, ended: Option<Ended>) -> Result<Ended, CliError> {
        let blobs = self.session.blobs();
        while let Some(notice) = self.held.next() {
            self.stage.show.notice(&notice, &*blobs, self.out)?;
        }
        while let Ok(notice) = self.stage.notices.try_recv() {
            self.stage.show.notice(&notice, &*blobs, self.out)?;
        }
        self.stage.show.finish(self.out)?;
        Ok(match ended {
            Some(Ended::Stopped) if self.interrupted => Ended::Interrupted,
            Some(ended) => ended,
            None => Ended::Left,
        })
    }
}

/// Whether another process runs the Session.
#[derive(Debug, Default)]
struct Elsewhere {
    runs: AtomicBool,
    found: Notify,
}

impl Elsewhere {
    fn is_so(&self) -> bool {
        self.runs.load(Ordering::Acquire)
    }

    fn set(&self, runs: bool) {
        if self.runs.swap(runs, Ordering::AcqRel) != runs && runs {
            self.found.notify_one();
        }
    }
}

/// Runs the Session once it is this process's to run.
async fn run(host: &Host, session: &Session, goal: Goal, elsewhere: &Elsewhere) -> Result<Ended, CliError> {
    loop {
        if let Some(_lease) = host.lease(session.id())? {
            if elsewhere.is_so() && goal == Goal::Answer {
                elsewhere.set(false);
                let view = session.view().await.map_err(HostError::from)?;
                if view.inbox.pending.is_empty() && !view.session.running {
                    return Ok(Ended::Elsewhere);
                }
            }
            let done = match goal {
                Goal::Answer => session.run().await,
                Goal::Compaction => session.compact().await,
            };
            return Ok(match done {
                Ok(Outcome::Idle) => Ended::Idle,
                Ok(Outcome::Interrupted) => Ended::Stopped,
                Err(error) => Ended::Failed(error),
            });
        }
        elsewhere.set(true);
        // Catching up tells this process's listeners what the other one recorded.
        session.view().await.map_err(HostError::from)?;
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn withdrawn(open: &mut Option<Question>) {
    match open {
        Some(question) => question.withdrawn().await,
        None => std::future::pending().await,
    }
}
