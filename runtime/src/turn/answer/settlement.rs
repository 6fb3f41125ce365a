//! Settlement: each call of an answer ends once, durably (`docs/reference/turn.md#settlement`).

use super::super::calls::{CallEnd, CallUpdate};
use super::{AnswerRecorder, Stop};
use crate::lane::Decision;
use crate::tools::{CallError, ToolOutput};
use annals_core::event::{TodoUpdated, ToolSettled};
use annals_core::{CallId, Event};
use annals_guard::redaction::Redaction;

impl AnswerRecorder<'_> {
    /// Waits for the local calls and settles them; gives `false` when the run was interrupted or a call declined.
    pub(super) async fn settle_calls(&mut self) -> Result<bool, Stop> {
        if self.calls.any() {
            self.append_held().await?;
        }
        let cancellation = &self.runner.cancellation;
        loop {
            let update = tokio::select! {
                biased;
                () = cancellation.cancelled() => break,
                update = async { self.calls.proceed(); self.calls.next_update().await } => update,
            };
            match update {
                Some(update) => drop(self.apply_update(update).await?),
                None => return Ok(true),
            }
        }
        // Running calls see the same cancellation; a result that is ready already counts.
        for call in self.calls.take_waiting() {
            self.settle_call(call, Err(CallError::Interrupted)).await?;
        }
        while let Some(update) = self.calls.next_update().await {
            self.apply_update(update).await?;
        }
        Ok(false)
    }

    /// Records an update of a call; returns whether the call was declined.
    pub(super) async fn apply_update(&mut self, update: CallUpdate) -> Result<bool, Stop> {
        let (call, ended) = match update {
            CallUpdate::Progressed(progressed) => {
                let lane = &self.runner.lane;
                lane.decide(|view| {
                    let open = view.calls.is_open(&progressed.call);
                    let events = if open { vec![progressed.clone().into()] } else { Vec::new() };
                    Ok::<_, Stop>(Decision::append(events, ()))
                })
                .await?;
                return Ok(false);
            }
            CallUpdate::Ended(call, ended) => (call, ended),
        };
        let declined = matches!(ended, Err(CallEnd::Declined));
        if declined {
            self.runner.cancel.cancel();
        }
        let outcome = match ended {
            Ok(output) => Ok(output),
            Err(CallEnd::Error(error)) => Err(error),
            Err(CallEnd::Declined) => Err(CallError::Interrupted),
            Err(CallEnd::Log(error)) => return Err(error.into()),
        };
        self.settle_call(call, outcome).await?;
        Ok(declined)
    }

    /// Redacts, bounds and records the result of a call; an interruption does not stop it halfway.
    async fn settle_call(&mut self, call: CallId, mut outcome: Result<ToolOutput, CallError>) -> Result<(), Stop> {
        let mut redaction = Redaction::new(self.runner.shared.settings.redactor.as_ref());
        if let Ok(output) = &mut outcome {
            redact(&mut redaction, output);
        }
        let read = outcome.as_ref().map(|output| output.read.clone()).unwrap_or_default();
        let mut then = self.runner.discovered(&call, &read).await?;
        let todos = outcome.as_mut().ok().and_then(|output| output.todos.take());
        then.extend(todos.map(|items| TodoUpdated { items }.into()));
        then.extend(redaction.applied());
        let settled = self.bounding.settle(call, outcome).await;
        self.settle_with(settled, then).await
    }

    pub(super) async fn settle_hosted(&mut self, error: &CallError) -> Result<(), Stop> {
        if !self.hosted.is_empty() {
            self.append_held().await?;
        }
        for call in std::mem::take(&mut self.hosted).into_iter().map(|(_, ours)| ours) {
            let settled = self.bounding.settle(call, Err(error.clone())).await;
            self.settle(settled).await?;
        }
        Ok(())
    }

    /// Settles a call once: one that is settled, or that a revert removed, is left alone.
    pub(super) async fn settle(&self, settled: ToolSettled) -> Result<(), Stop> {
        self.settle_with(settled, Vec::new()).await
    }

    /// The same, followed by further events of the same batch.
    async fn settle_with(&self, settled: ToolSettled, then: Vec<Event>) -> Result<(), Stop> {
        self.runner
            .lane
            .decide(|view| {
                let mut events = Vec::new();
                if view.calls.is_open(&settled.call) {
                    events.push(settled.clone().into());
                    events.extend(then.iter().cloned());
                }
                Ok(Decision::append(events, ()))
            })
            .await
    }
}

/// Redacts the result of a tool before it is bounded, so that no cut leaves a part of a secret and no output file contains one.
fn redact(redaction: &mut Redaction, output: &mut ToolOutput) {
    let ToolOutput { text, structured, attachments, paths: _, read, shown, todos } = output;
    text.iter_mut().for_each(|text| redaction.lines_of(read.iter().chain(&*shown), text));
    structured.iter_mut().for_each(|value| redaction.json(value));
    attachments.iter_mut().for_each(|attachment| redaction.attachment(attachment));
    todos.iter_mut().flatten().for_each(|todo| redaction.string(&mut todo.content));
}
