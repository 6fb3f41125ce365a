//! Permission questions on a channel, for hosts that answer them in another task.

use crate::Boxed;
use crate::permission::{Answered, Approver, PermissionAnswer, PermissionQuestion};
use tokio::sync::{mpsc, oneshot};

/// Sends the questions of a runtime to a channel.
///
/// ```
/// use annals_runtime::host::QuestionSender;
/// let (approver, mut questions) = QuestionSender::channel();
/// assert!(questions.try_recv().is_err(), "nothing was asked yet");
/// # drop(approver);
/// ```
#[derive(Clone, Debug)]
pub struct QuestionSender(mpsc::UnboundedSender<WaitingQuestion>);

impl QuestionSender {
    /// The approver of a runtime, and where its questions arrive. When the receiver is gone, each is rejected.
    pub fn channel() -> (Self, mpsc::UnboundedReceiver<WaitingQuestion>) {
        let (put, arriving) = mpsc::unbounded_channel();
        (Self(put), arriving)
    }
}

impl Approver for QuestionSender {
    fn ask(&self, question: PermissionQuestion) -> Boxed<'_, Answered> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let put = self.0.send(WaitingQuestion { asked: question, reply });
            let answered = match put {
                Ok(()) => answer.await.ok(),
                Err(_) => None,
            };
            // The receiver is gone: the host is leaving.
            answered.unwrap_or_else(|| Answered {
                answer: PermissionAnswer::Reject { feedback: None },
                by: "annals".into(),
            })
        })
    }
}

/// One question that waits for its answer.
#[derive(Debug)]
pub struct WaitingQuestion {
    /// The question.
    pub asked: PermissionQuestion,
    reply: oneshot::Sender<Answered>,
}

impl WaitingQuestion {
    /// Answers it. An answer without a receiver has no effect.
    pub fn answer(self, answered: Answered) {
        drop(self.reply.send(answered));
    }

    /// Waits until the answer is not needed any more: the turn was interrupted, or a rule answers the question.
    pub async fn withdrawn(&mut self) {
        self.reply.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> PermissionQuestion {
        PermissionQuestion {
            session: annals_core::SessionId::from_parts(1, 1),
            permission: "p".into(),
            call: "c".into(),
            agent: "build".into(),
            tool: "bash".into(),
            input: "{}".into(),
            action: "bash".into(),
            resources: vec!["ls".into()],
        }
    }

    #[tokio::test]
    async fn an_answer_reaches_the_call_and_a_receiver_that_is_gone_rejects() {
        let (approver, mut arriving) = QuestionSender::channel();
        let answering = async {
            let waiting = arriving.recv().await.expect("it was asked");
            waiting.answer(Answered::by_user(PermissionAnswer::Once));
        };
        let (answered, ()) = tokio::join!(approver.ask(question()), answering);
        assert_eq!(answered, Answered::by_user(PermissionAnswer::Once));
        drop(arriving);
        let answered = approver.ask(question()).await;
        assert_eq!(answered.answer, PermissionAnswer::Reject { feedback: None });
    }

    #[tokio::test]
    async fn a_question_that_nobody_waits_for_is_withdrawn() {
        let (approver, mut arriving) = QuestionSender::channel();
        let asking = approver.ask(question());
        let mut waiting = tokio::select! {
            biased;
            _ = asking => panic!("nobody answered"),
            waiting = arriving.recv() => waiting.expect("it was asked"),
        };
        waiting.withdrawn().await;
    }
}
