//! Facts of turns: boundaries, answers, calls, compactions.

use super::super::run::{Attempt, Made, Run, result};
use super::super::{Fact, RecordError};
use super::Walk;
use annals_core::event::{
    CompactionEnded, CompactionReason, EpochCause, Event, Failure, Purpose, Reply, RequestSent, ToolSettled,
};
use annals_core::{Seq, Time};
use annals_projections::{estimate, plan, rebuild};
use serde_json::{Value, json};
use std::collections::BTreeSet;

impl Walk<'_> {
    /// Takes in a fact of a turn; false when it is none.
    pub(super) fn turn_fact(&mut self, fact: &Fact) -> Result<bool, RecordError> {
        let recording = self.recording;
        let untold = |what: &'static str| recording.untold(fact.seq, what);
        match &fact.event {
            Event::EpochStarted(started) => {
                let before = self.view.epochs.snapshot();
                let actions = self.sources.epoch(recording, started, &before).map_err(untold)?;
                self.boundary(actions);
            }
            Event::ContextAdmitted(admitted) => self.told = Some(admitted.clone()),
            Event::SnapshotAdvanced(advanced) => {
                let admitted = self.told.take().ok_or_else(|| untold("a snapshot that advances untold"))?;
                let before = self.view.epochs.snapshot();
                let actions = self.sources.message(recording, &admitted, advanced, &before).map_err(untold)?;
                self.boundary(actions);
            }
            Event::EpochReplacementBlocked(blocked) if blocked.cause != EpochCause::Incompatible => {
                self.boundary(blocked.keys.iter().map(|key| json!({ "unavailable": key })).collect());
            }
            Event::InputPromoted(_) | Event::ToolOutputsPruned(_) => {
                self.limits.pruned |= matches!(fact.event, Event::ToolOutputsPruned(_));
                self.boundary(Vec::new());
            }
            Event::RequestSent(sent) => self.sent(sent)?,
            Event::StepStarted(_) => self.attempt(|attempt| attempt.message = Some(fact.seq)),
            Event::TextEnded(ended) => self.fragment(ended.text.resolve(recording.blobs.as_ref()).into_owned(), false),
            Event::ReasoningEnded(ended) => {
                self.fragment(ended.text.resolve(recording.blobs.as_ref()).into_owned(), true);
            }
            Event::ToolCalled(called) if !called.hosted => {
                let input = called.input.value(recording.blobs.as_ref());
                let (call, tool) = (called.call.clone(), called.name.clone());
                self.attempt(|attempt| attempt.calls.push(Made { call, tool, input, result: None, settled: false }));
            }
            Event::PermissionReplied(replied) => {
                let feedback = replied.feedback.as_ref().map(|feedback| feedback.resolve(recording.blobs.as_ref()));
                if replied.reply == Reply::Reject {
                    let question = self.view.permissions.waiting.get(&replied.permission);
                    self.rejected.extend(question.and_then(|question| question.call.clone()));
                }
                let reply = match (replied.reply, feedback) {
                    (Reply::Reject, Some(feedback)) => json!({ "reject": feedback }),
                    (Reply::Reject, None) => json!("reject"),
                    // Asked anew each time, since an approval may have been of other resources than `*`.
                    (Reply::Once | Reply::Always, _) => return Ok(true),
                };
                self.run.iter_mut().for_each(|run| run.replies.push(reply.clone()));
            }
            Event::ToolSettled(settled) if settled.attachments.is_empty() => self.settled(settled),
            Event::StepEnded(ended) => {
                self.attempt(|attempt| (attempt.finish, attempt.usage) = (Some(ended.finish), ended.usage));
                let more = !self.view.inbox.pending.is_empty();
                self.end(|run| more || run.attempts.last().is_some_and(goes_on));
            }
            Event::StepFailed(failed) => self.failed(fact.seq, &failed.error)?,
            Event::RetryScheduled(retry) => self.retried(fact.at, retry.at, &retry.error),
            Event::SyntheticAdded(_) if self.run.as_ref().is_some_and(broke_off) => {}
            Event::CompactionStarted(started) => {
                if started.reason == CompactionReason::Manual {
                    self.close();
                } else {
                    self.boundary(Vec::new());
                }
                self.limits.automatic |= started.reason == CompactionReason::Auto;
                self.limits.overflow |= started.reason == CompactionReason::Overflow;
                if started.reason == CompactionReason::Auto {
                    let context = self.context();
                    let due = self.limits.due.map_or(started.estimate, |(due, _)| due.min(started.estimate));
                    self.limits.due = Some((due, context));
                }
            }
            Event::CompactionEnded(ended) => self.compacted(fact.seq, ended)?,
            Event::CompactionFailed(failed) => {
                let error = Failure { kind: "invalid-request".to_owned(), ..failed.error.clone() };
                let usage = failed.usage;
                self.attempt(|attempt| match usage {
                    // An error attempt reports no usage: a blank summary fails, too, and does.
                    Some(_) => (attempt.text, attempt.usage, attempt.open) = (Some(String::new()), usage, false),
                    None => attempt.fail(&error),
                });
                self.summarised(failed.reason, false);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What happens at a boundary: as part of the activity that goes on, or before a new one.
    fn boundary(&mut self, actions: Vec<Value>) {
        if self.run.as_ref().is_some_and(|run| !run.attempts.is_empty() && !run.continues) {
            self.close();
        }
        let run = self.run.get_or_insert_default();
        let gap = std::mem::take(&mut run.gap);
        run.meanwhile(gap.into_iter().chain(actions));
    }

    fn sent(&mut self, sent: &RequestSent) -> Result<(), RecordError> {
        if sent.purpose == Purpose::Title {
            return Ok(());
        }
        // A request that nothing ended was lost with its process.
        let lost = self.run.as_mut().is_some_and(|run| run.open().is_some());
        if lost {
            self.close();
        }
        if sent.purpose == Purpose::Turn {
            let tools = sent.tools.and_then(|digest| self.view.profiles.tools.get(&digest));
            let names: BTreeSet<String> = tools.into_iter().flatten().map(|tool| tool.name.clone()).collect();
            // On the last step nothing is offered, whatever there is.
            let offer = if sent.last_step { Vec::new() } else { self.tools.offer(&names) };
            self.boundary(offer);
            if let Ok(request) = rebuild(&self.view, sent, self.recording.blobs.as_ref()) {
                self.limits.sent = self.limits.sent.max(estimate(request.chars()));
            }
        }
        self.run.get_or_insert_default().attempts.push(Attempt::new());
        Ok(())
    }

    fn attempt(&mut self, change: impl FnOnce(&mut Attempt)) {
        if let Some(attempt) = self.run.as_mut().and_then(Run::open) {
            change(attempt);
        }
    }

    fn fragment(&mut self, text: String, reasoning: bool) {
        let loose = &mut self.loose.content;
        let Some(attempt) = self.run.as_mut().and_then(Run::open) else { return };
        let late = reasoning && attempt.text.is_some() || !attempt.calls.is_empty();
        let place = if reasoning { &mut attempt.reasoning } else { &mut attempt.text };
        if late || place.is_some() {
            loose.extend(attempt.message);
        }
        place.get_or_insert_default().push_str(&text);
    }

    fn settled(&mut self, settled: &ToolSettled) {
        let gave = result(settled, self.recording.blobs.as_ref());
        let run = self.run.iter_mut();
        let made = run.flat_map(|run| &mut run.attempts).flat_map(|attempt| &mut attempt.calls);
        let Some(made) = made.filter(|made| made.call == settled.call && !made.settled).last() else { return };
        made.settled = true;
        let rejected = self.rejected.contains(&settled.call);
        made.result = gave.filter(|_| !rejected);
        if made.result.is_some() && self.tools.is_asked(&made.tool) {
            self.run.iter_mut().for_each(|run| run.replies.push(json!("once")));
        }
    }

    fn end(&mut self, continues: impl FnOnce(&Run) -> bool) {
        let Some(mut run) = self.run.take() else { return };
        self.end_attempt(&mut run);
        run.continues = continues(&run);
        self.run = Some(run);
    }

    fn failed(&mut self, seq: Seq, error: &Failure) -> Result<(), RecordError> {
        if *error.message.resolve(self.recording.blobs.as_ref()) == *"Provider turn interrupted" {
            self.attempt(|attempt| {
                // Tools that were interrupted say so themselves.
                if attempt.calls.is_empty() {
                    attempt.during.push(json!({ "interrupt": {} }));
                }
            });
        } else if crate::ports::ProviderErrorKind::of(&error.kind).is_none() {
            return Err(self.recording.untold(seq, format!("a failure of the kind `{}`", error.kind)));
        } else {
            self.attempt(|attempt| attempt.fail(error));
        }
        self.end(|_| false);
        Ok(())
    }

    fn retried(&mut self, now: Time, at: Time, error: &Failure) {
        self.attempt(|attempt| attempt.fail(error));
        let Some(run) = &mut self.run else { return };
        let wait = at.millis().saturating_sub(now.millis());
        if let Some(failed) = run.attempts.last_mut().and_then(|attempt| attempt.error.as_mut()) {
            failed.insert("retry_after_ms".to_owned(), json!(wait));
        }
        run.continues = true;
    }

    fn compacted(&mut self, seq: Seq, ended: &CompactionEnded) -> Result<(), RecordError> {
        let blobs = self.recording.blobs.as_ref();
        let recent = ended.recent.resolve(blobs);
        let kept = |tokens| plan(&self.view.history, tokens, blobs).map_or(usize::MAX, |plan| plan.recent.len());
        // What is kept grows with the tokens that it may take.
        let tokens = (0..=64).map(|bits| (1_u64 << bits.min(40)) - 1).find(|tokens| kept(*tokens) >= recent.len());
        let mut high = tokens.unwrap_or(0);
        let mut low = 0;
        while low < high {
            let middle = low + (high - low) / 2;
            if kept(middle) >= recent.len() { high = middle } else { low = middle + 1 }
        }
        self.limits.keep_tokens = self.limits.keep_tokens.max(high);
        if plan(&self.view.history, self.limits.keep_tokens, blobs).map_or(true, |plan| plan.recent != *recent) {
            return Err(self.recording.untold(seq, "a compaction that kept what ours would not keep"));
        }
        let (text, usage) = (ended.summary.resolve(blobs).into_owned(), ended.usage);
        self.attempt(|attempt| (attempt.text, attempt.usage, attempt.open) = (Some(text), usage, false));
        self.summarised(ended.reason, true);
        Ok(())
    }

    /// A summary attempt is over.
    fn summarised(&mut self, reason: CompactionReason, completed: bool) {
        let Some(mut run) = self.run.take() else { return };
        if reason == CompactionReason::Manual {
            self.script.extend(run.actions(json!({ "compact": {} })));
            return;
        }
        run.continues = completed;
        self.run = Some(run);
    }

    fn context(&self) -> u64 {
        let profiles = &self.view.profiles;
        let digest = profiles.model.get(&self.view.session.model);
        digest.and_then(|digest| profiles.models.get(digest)).map_or(0, |profile| profile.context)
    }
}

/// Whether another turn follows for the sake of the results.
fn goes_on(attempt: &Attempt) -> bool {
    !attempt.calls.is_empty() && attempt.calls.iter().any(|made| made.settled)
}

/// Whether the last attempt broke off, so that the runtime tells the model to go on.
fn broke_off(run: &Run) -> bool {
    let error = run.attempts.last().and_then(|attempt| attempt.error.as_ref());
    error.is_some_and(|error| error.get("kind").is_some_and(|kind| kind == "incomplete-stream"))
}
