//! Questions of models to the user on a channel, for hosts that answer them in another task.

use crate::Boxed;
use crate::prompt::{UserPrompt, UserQuestion};
use tokio::sync::{mpsc, oneshot};

/// Sends the questions of models to a channel.
#[derive(Clone, Debug)]
pub struct PromptSender(mpsc::UnboundedSender<WaitingPrompt>);

impl PromptSender {
    /// Asks the user, and where the questions arrive. When the receiver is gone, there is no user to ask.
    pub fn channel() -> (Self, mpsc::UnboundedReceiver<WaitingPrompt>) {
        let (put, arriving) = mpsc::unbounded_channel();
        (Self(put), arriving)
    }
}

impl UserPrompt for PromptSender {
    fn ask(&self, asked: UserQuestion) -> Boxed<'_, Option<String>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            self.0.send(WaitingPrompt { asked, reply }).ok()?;
            answer.await.ok().flatten()
        })
    }
}

/// One question that waits for its answer.
#[derive(Debug)]
pub struct WaitingPrompt {
    /// The question.
    pub asked: UserQuestion,
    reply: oneshot::Sender<Option<String>>,
}

impl WaitingPrompt {
    /// Answers it; `None` says that there is no user to ask. An answer without a receiver has no effect.
    pub fn answer(self, answer: Option<String>) {
        drop(self.reply.send(answer));
    }

    /// Waits until the answer is not needed any more, since the turn was interrupted.
    pub async fn withdrawn(&mut self) {
        self.reply.closed().await;
    }
}
