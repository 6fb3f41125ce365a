//! The answer to one input (`docs/reference/inbox.md#answers`).

use super::{MessagePlace, NewInput, Session};
use crate::bus::{Listening, Notice};
use crate::coordinator::end_of;
use crate::outcome::{LogError, MissingItem, Outcome, Refusal, RunError};
use annals_core::event::{Failure, FilesEvent, Finish, InputEvent, StepEvent, ToolEvent};
use annals_core::{Blobs, Event, InputId, Record, Seq};
use std::sync::Arc;
use tokio::sync::Notify;

/// What a model answered to an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputAnswer {
    /// The text after the last tool call; empty when there is none.
    pub text: String,
    /// The assistant messages, in order, by the Seqs of the events that made them.
    pub messages: Vec<Seq>,
}

/// An input has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InputAnswerError {
    /// It was not admitted, or is not in the log.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It was withdrawn, or an undo removed it.
    #[error("input {0} was taken back")]
    TakenBack(InputId),
    /// The run that should have answered it failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An earlier run failed while it answered.
    #[error("the answer failed: {message}")]
    Failed {
        /// The kind of the failure (`docs/reference/turn.md#errors-of-a-run`).
        kind: String,
        /// What happened.
        message: String,
    },
    /// It was interrupted. [`Session::run`] continues it.
    #[error("the answer was interrupted; run the session to continue it")]
    Interrupted,
    /// It has an answer without text; only [`Session::ask`] counts that as an error.
    #[error("the answer has no text")]
    Empty,
}

impl From<LogError> for InputAnswerError {
    fn from(error: LogError) -> Self {
        Self::Refused(error.into())
    }
}

impl Session {
    /// Queues a prompt, lets the session run, and waits for the text of its answer.
    pub async fn ask(&self, text: impl Into<String>) -> Result<String, InputAnswerError> {
        let ports = &self.shared().ports;
        let input = ports.ids.input(ports.clock.now());
        self.admit(NewInput { id: Some(input.clone()), ..NewInput::queue(text) }).await?;
        let answer = self.answer(&input).await?;
        if answer.text.trim().is_empty() { Err(InputAnswerError::Empty) } else { Ok(answer.text) }
    }

    /// The answer to an admitted input: everything from the moment it joined to the first message after which the model waits for
    /// no result. Lets the session run while the input is pending, and waits; what is queued behind it is not waited for.
    /// Dropping the future cancels nothing.
    pub async fn answer(&self, input: &InputId) -> Result<InputAnswer, InputAnswerError> {
        let moved = Moved::of(self);
        let mut progress = AnswerProgress::of(self, input).await?;
        // A drain that is woken takes no turn unless something is pending.
        let ended = end_of(self.shared().coordinator.wake(&self.work(), self.id()));
        tokio::pin!(ended);
        loop {
            progress.catch_up(self).await?;
            if let Some(end) = progress.end() {
                return end;
            }
            tokio::select! {
                biased;
                ended = &mut ended => {
                    progress.catch_up(self).await?;
                    return match (progress.end(), ended) {
                        (Some(end), _) => end,
                        (None, Err(error)) => Err(error.into()),
                        (None, Ok(Outcome::Interrupted)) => Err(InputAnswerError::Interrupted),
                        (None, Ok(Outcome::Idle)) => progress.of_idle(),
                    };
                }
                () = moved.notify.notified() => {}
            }
        }
    }
}

impl Session {
    /// Waits until an input has joined, and pins its message. Gives whether that changed anything. Lets nothing run.
    pub async fn pin_input(&self, input: &InputId) -> Result<bool, InputAnswerError> {
        let moved = Moved::of(self);
        let mut progress = AnswerProgress::of(self, input).await?;
        loop {
            progress.catch_up(self).await?;
            match progress.state {
                AnswerState::Joined(seq) | AnswerState::Complete(seq) => {
                    return Ok(self.pin(MessagePlace::Seq(seq), true).await?);
                }
                AnswerState::TakenBack => return Err(InputAnswerError::TakenBack(input.clone())),
                AnswerState::Waiting => moved.notify.notified().await,
            }
        }
    }
}

/// Notified of each batch of a session.
struct Moved {
    notify: Arc<Notify>,
    _listening: Listening,
}

impl Moved {
    fn of(session: &Session) -> Self {
        let (id, notify) = (session.id(), Arc::new(Notify::new()));
        let notified = notify.clone();
        let _listening = session.runtime.bus().observe(move |notice: &Notice| {
            if matches!(notice, Notice::Committed(batch) if batch.session == id) {
                notified.notify_one();
            }
        });
        Self { notify, _listening }
    }
}

/// How far an answer is: a fold of the log from the admission of its input.
struct AnswerProgress {
    input: InputId,
    next: Seq,
    state: AnswerState,
    text: String,
    messages: Vec<Seq>,
    /// Kind and message of the failure that ended the last message.
    failure: Option<(String, String)>,
    /// Whether the last message calls tools of this machine.
    calls: bool,
    /// Whether the last message has an end.
    ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerState {
    Waiting,
    TakenBack,
    /// It joined at this Seq.
    Joined(Seq),
    /// It joined at this Seq, and its answer is whole.
    Complete(Seq),
}

impl AnswerProgress {
    async fn of(session: &Session, input: &InputId) -> Result<Self, InputAnswerError> {
        let view = session.view().await?;
        let unknown = || Refusal::NotFound(MissingItem::Input(input.clone()));
        let next = view.inbox.used.get(input).ok_or_else(unknown)?.seq;
        let (text, messages) = (String::new(), Vec::new());
        let (state, failure, calls, ended) = (AnswerState::Waiting, None, false, false);
        Ok(Self { input: input.clone(), next, state, text, messages, failure, calls, ended })
    }

    async fn catch_up(&mut self, session: &Session) -> Result<(), InputAnswerError> {
        let (log, blobs) = (&session.shared().ports.log, session.blobs());
        let mut pages = log.pages(session.id(), self.next..Seq(u64::MAX));
        while let Some(page) = pages.next_page().await.map_err(Refusal::from)? {
            for record in page.iter().flat_map(annals_store::Slice::records) {
                self.apply(&record, &*blobs);
                self.next = record.seq.plus(1);
            }
        }
        Ok(())
    }

    fn apply(&mut self, record: &Record<'_>, blobs: &dyn Blobs) {
        match (self.state, record.event) {
            (AnswerState::Waiting, Event::Input(InputEvent::Withdrawn(withdrawn))) if withdrawn.input == self.input => {
                self.state = AnswerState::TakenBack;
            }
            (AnswerState::Waiting, Event::Input(InputEvent::Promoted(promoted))) if promoted.input == self.input => {
                self.state = AnswerState::Joined(record.seq);
            }
            (AnswerState::Joined(joined), Event::Files(FilesEvent::RevertCommitted(undo)))
                if undo.first_removed <= joined =>
            {
                self.state = AnswerState::TakenBack;
            }
            (AnswerState::Joined(joined), Event::Step(event)) => self.step(joined, record.seq, event, blobs),
            (AnswerState::Joined(_), Event::Tool(ToolEvent::Called(called))) => self.calls |= !called.hosted,
            _ => {}
        }
    }

    fn step(&mut self, joined: Seq, seq: Seq, event: &StepEvent, blobs: &dyn Blobs) {
        match event {
            StepEvent::Started(_) => {
                self.messages.push(seq);
                // After a pause or a lost connection the next message continues the text.
                if std::mem::take(&mut self.calls) {
                    self.text.clear();
                }
                (self.failure, self.ended) = (None, false);
            }
            StepEvent::TextEnded(ended) => self.text.push_str(&ended.text.resolve(blobs)),
            StepEvent::Ended(ended) => {
                self.ended = true;
                if !self.calls && ended.finish != Finish::Paused {
                    self.state = AnswerState::Complete(joined);
                }
            }
            StepEvent::Failed(failed) => {
                let Failure { kind, message, .. } = &failed.error;
                self.failure = Some((kind.clone(), message.resolve(blobs).into_owned()));
            }
            _ => {}
        }
    }

    /// The end, as far as the log alone says it.
    fn end(&self) -> Option<Result<InputAnswer, InputAnswerError>> {
        match self.state {
            AnswerState::Complete(_) => Some(Ok(self.answer())),
            AnswerState::TakenBack => Some(Err(InputAnswerError::TakenBack(self.input.clone()))),
            AnswerState::Waiting | AnswerState::Joined(_) => None,
        }
    }

    /// The end of a session that does not run any more.
    fn of_idle(&self) -> Result<InputAnswer, InputAnswerError> {
        match (&self.failure, self.state) {
            (Some((kind, message)), _) => {
                Err(InputAnswerError::Failed { kind: kind.clone(), message: message.clone() })
            }
            // The last step that an agent may take ends with its calls.
            (None, AnswerState::Joined(_)) if self.ended => Ok(self.answer()),
            (None, _) => Err(InputAnswerError::Interrupted),
        }
    }

    fn answer(&self) -> InputAnswer {
        InputAnswer { text: self.text.clone(), messages: self.messages.clone() }
    }
}
