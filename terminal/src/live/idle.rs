//! A Session between its runs: what wakes by itself is shown, and its questions are asked at once.

use super::run_loop::{ActiveRun, Happened};
use super::{ChatCommand, Interaction, TypedLine};
use crate::error::TerminalError;
use annals_host::advice::advice;
use annals_host::{Host, Signal};
use annals_runtime::bus::Notice;
use annals_runtime::host::Elsewhere;
use annals_runtime::{BackgroundEnded, Boxed, Outcome, Session};
use std::io::Write;
use std::time::Duration;

/// How long to wait for cancelled tasks when the user leaves.
const SETTLED: Duration = Duration::from_secs(5);

/// Waits for input and signals of the user while the session is idle, and follows it meanwhile: tasks in the background,
/// the turns that their results lead to, and the questions of both.
///
/// A line that was begun before a question appeared is given as any other; one that answers it is not.
pub async fn idle(
    host: &Host,
    session: Option<&Session>,
    interaction: &mut Interaction,
    out: &mut (dyn Write + Send),
) -> Result<TypedLine, TerminalError> {
    if let Some(line) = interaction.later.pop_front() {
        return Ok(line);
    }
    let Some(session) = session else { return Ok(interaction.typed().await) };
    let elsewhere = Elsewhere::default();
    let mut active = ActiveRun::idle(host, session, interaction, out, &elsewhere);
    let mut ended: Option<Boxed<'_, Option<BackgroundEnded>>> = None;
    loop {
        if session.background().is_empty() && !session.is_running() {
            active.interaction.lease = None;
        } else if ended.is_none() {
            ended = Some(Box::pin(session.background_ended()));
        }
        let happened = tokio::select! {
            biased;
            happened = active.next() => happened,
            how = background(&mut ended) => {
                ended = None;
                active.show_ended_task(how).await?;
                continue;
            }
        };
        match happened {
            Happened::Signal(Signal::Interrupt) => return Ok(TypedLine::Interrupt),
            Happened::Signal(Signal::End) => return Ok(TypedLine::End),
            Happened::Typed(line) => match active.is_answered_by(line).await? {
                None => {}
                Some(line) => return Ok(line),
            },
            Happened::Notice(notice @ Notice::Idle { .. }) => {
                active.takes_in(Happened::Notice(notice)).await?;
                active.interaction.show.finish(active.out)?;
            }
            happened => active.takes_in(happened).await?,
        }
    }
}

/// Cancels the tasks in the background and shows that they are settled, when the user leaves the session.
pub async fn leave(
    host: &Host,
    session: &Session,
    interaction: &mut Interaction,
    out: &mut (dyn Write + Send),
) -> Result<(), TerminalError> {
    if session.cancel_background().is_empty() && !session.is_running() {
        return Ok(());
    }
    session.interrupt();
    // A question of what ends is of no use any more.
    interaction.open = None;
    interaction.open_prompt = None;
    interaction.show.settled();
    let settled = async {
        while session.background_ended().await.is_some() {}
        session.idle().await;
    };
    if tokio::time::timeout(SETTLED, settled).await.is_err() {
        host.runtime.halt().await;
    }
    interaction.lease = None;
    let elsewhere = Elsewhere::default();
    ActiveRun::idle(host, session, interaction, out, &elsewhere).flush()
}

async fn background(ended: &mut Option<Boxed<'_, Option<BackgroundEnded>>>) -> Option<BackgroundEnded> {
    match ended {
        Some(ended) => ended.await,
        None => std::future::pending().await,
    }
}

impl ActiveRun<'_> {
    /// Shows that a turn after a result has failed or was stopped; nothing else shows it.
    async fn show_ended_task(&mut self, ended: Option<BackgroundEnded>) -> Result<(), TerminalError> {
        self.flush()?;
        let text = match ended.and_then(|ended| ended.turns) {
            None | Some(Ok(Outcome::Idle)) => return Ok(()),
            Some(Ok(Outcome::Interrupted)) => "the turn was interrupted".to_owned(),
            Some(Err(error)) => advice(&error, &*self.session.view().await?),
        };
        Ok(self.interaction.show.warning(&text, self.out)?)
    }

    /// Takes a line for the answer to the open question; gives it back when it is not meant for it.
    async fn is_answered_by(&mut self, line: TypedLine) -> Result<Option<TypedLine>, TerminalError> {
        match line {
            TypedLine::Text { text, begun }
                if self.is_meant_for_question(begun) && ChatCommand::of(&text).is_none() =>
            {
                self.reply(&text).await?;
                Ok(None)
            }
            TypedLine::Text { text, begun } if self.is_meant_for_prompt(begun) && ChatCommand::of(&text).is_none() => {
                self.answer(&text);
                Ok(None)
            }
            TypedLine::Reply(text) => {
                if self.interaction.open.is_some() {
                    self.reply(&text).await?;
                } else {
                    self.answer(&text);
                }
                Ok(None)
            }
            line => Ok(Some(line)),
        }
    }
}
