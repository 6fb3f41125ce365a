//! Facts of turns: boundaries, answers, calls, compactions.

use super::super::run::{CallEnding, RecordedActivity, RecordedAttempt, RecordedCall, ending};
use super::super::{RecordError, RecordedEvent};
use super::ScriptBuilder;
use annals_core::event::{
    CompactionCompleted, CompactionEvent, CompactionReason, ContextEvent, EpochCause, Event, Failure, InputEvent,
    MessageEvent, ModelProfile, PermissionEvent, Purpose, Reply, RequestSent, StepEvent, ToolEvent, ToolSettled,
};
use annals_core::{Seq, Time};
use annals_projections::{CompactionPlan, ContextLimits, SessionView, estimate, plan, prune, rebuild};
use annals_runtime::settings::CompactionSettings;
use serde_json::{Value, json};
use std::collections::BTreeSet;

impl ScriptBuilder<'_> {
    /// Adds an event of a turn; false for other events.
    pub(super) fn turn_fact(&mut self, fact: &RecordedEvent) -> Result<bool, RecordError> {
        let recording = self.recording;
        let inexpressible = |what: &'static str| recording.inexpressible(fact.seq, what);
        match &fact.event {
            Event::Context(ContextEvent::EpochStarted(started)) => {
                let before = self.view.epochs.snapshot();
                let actions = self.sources.epoch(recording, started, &before).map_err(inexpressible)?;
                self.boundary(actions);
            }
            Event::Context(ContextEvent::Admitted(admitted)) => self.update = Some(admitted.clone()),
            Event::Context(ContextEvent::SnapshotAdvanced(advanced)) => {
                let admitted =
                    self.update.take().ok_or_else(|| inexpressible("a snapshot that advances inexpressible"))?;
                let before = self.view.epochs.snapshot();
                let actions = self.sources.message(recording, &admitted, advanced, &before).map_err(inexpressible)?;
                self.boundary(actions);
            }
            Event::Context(ContextEvent::EpochReplacementBlocked(blocked))
                if blocked.cause != EpochCause::Incompatible =>
            {
                self.boundary(blocked.keys.iter().map(|key| json!({ "unavailable": key })).collect());
            }
            Event::Context(ContextEvent::EpochReplacementBlocked(_)) => {
                return Err(inexpressible("which incompatible value waits for a source that is unavailable"));
            }
            Event::Input(InputEvent::Promoted(_)) => {
                self.boundary(Vec::new());
                self.run.iter_mut().for_each(|run| run.promoted = true);
            }
            Event::Compaction(CompactionEvent::ToolOutputsReduced(_) | CompactionEvent::CallsReduced(_)) => {
                if !self.refused() {
                    self.boundary(Vec::new());
                    self.limits.automatic = true;
                    self.unpruned.get_or_insert_with(|| self.view.clone());
                }
            }
            Event::Step(StepEvent::RequestSent(sent)) => self.sent(fact.seq, sent)?,
            Event::Step(StepEvent::Started(_)) => {
                if self.run.as_mut().is_none_or(|run| run.open().is_none()) {
                    // The failure of a request that was too large to be sent.
                    self.boundary(Vec::new());
                    self.limits.automatic = true;
                }
                self.attempt(|attempt| attempt.message = Some(fact.seq));
            }
            Event::Step(StepEvent::TextEnded(ended)) => {
                self.fragment(ended.text.resolve(recording.blobs.as_ref()).into_owned(), false);
            }
            Event::Step(StepEvent::ReasoningEnded(ended)) => {
                self.fragment(ended.text.resolve(recording.blobs.as_ref()).into_owned(), true);
            }
            Event::Tool(ToolEvent::Called(called)) if !called.hosted => {
                let input = called.input.value(recording.blobs.as_ref());
                let (call, tool) = (called.call.clone(), called.name.clone());
                let declared = self.tools.declared(&tool);
                let made = RecordedCall { call, tool, input, declared, ending: CallEnding::Open, during: Vec::new() };
                self.attempt(|attempt| attempt.calls.push(made));
            }
            Event::Permission(PermissionEvent::Replied(replied)) => {
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
            Event::Tool(ToolEvent::Settled(settled)) if settled.attachments.is_empty() => self.settled(settled),
            Event::Step(StepEvent::Ended(ended)) => {
                self.attempt(|attempt| (attempt.finish, attempt.usage) = (Some(ended.finish), ended.usage));
                let more = !self.view.inbox.pending.is_empty();
                self.end(|run| {
                    !stopped(run) && (more || run.attempts.last().is_some_and(|last| !last.calls.is_empty()))
                });
            }
            Event::Step(StepEvent::Failed(failed)) => {
                self.attempt(|attempt| attempt.usage = failed.usage);
                self.failed(fact.seq, &failed.error)?;
            }
            Event::Step(StepEvent::RetryScheduled(retry)) => {
                self.attempt(|attempt| attempt.usage = retry.usage);
                self.retried(fact.at, retry.at, &retry.error);
            }
            Event::Message(MessageEvent::SyntheticAdded(_)) if self.run.as_ref().is_some_and(broke_off) => {}
            Event::Compaction(CompactionEvent::Started(started)) => {
                match started.reason {
                    CompactionReason::Manual => self.close(),
                    CompactionReason::Auto | CompactionReason::Overflow | CompactionReason::Unknown => {
                        if !self.refused() {
                            self.boundary(Vec::new());
                        }
                        self.limits.automatic = true;
                        self.limits.unpruned |= self.could_prune(started.reason);
                    }
                }
                self.limits.started = fact.seq;
                if started.reason == CompactionReason::Auto {
                    self.due(started.estimate);
                }
            }
            Event::Compaction(CompactionEvent::Completed(completed)) => self.compacted(fact.seq, completed)?,
            Event::Compaction(CompactionEvent::Failed(failed)) => {
                let error = Failure { kind: "invalid-request".to_owned(), ..failed.error.clone() };
                let usage = failed.usage;
                let interrupted = failed.error.message.inline() == Some("Compaction interrupted");
                self.attempted(failed.reason);
                self.attempt(|attempt| match usage {
                    // Its process crashed; the next run recorded the failure.
                    None if interrupted && failed.reason == CompactionReason::Manual => {
                        (attempt.text, attempt.open) = (Some("what was lost".to_owned()), false);
                        attempt.during.push(json!({ "crash": { "at": "during-stream" } }));
                    }
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

    /// Adds actions at a boundary: to the open activity, or before a new one.
    fn boundary(&mut self, actions: Vec<Value>) {
        if self.run.as_ref().is_some_and(|run| !run.attempts.is_empty() && !run.continues) {
            self.close();
        }
        let run = self.run.get_or_insert_default();
        let gap = std::mem::take(&mut run.gap);
        run.meanwhile(gap.into_iter().chain(actions));
    }

    fn sent(&mut self, seq: Seq, sent: &RequestSent) -> Result<(), RecordError> {
        if matches!(sent.purpose, Purpose::Title | Purpose::Other) {
            return Ok(());
        }
        let own = sent.agent == self.view.session.agent && sent.model == self.view.session.model;
        if sent.purpose == Purpose::Turn && !own {
            return Err(self.recording.inexpressible(seq, "a switch while the sources were observed"));
        }
        // A request that nothing ended was lost with its process.
        let lost = self.run.as_mut().is_some_and(|run| run.open().is_some());
        if lost {
            self.close();
        }
        if sent.purpose == Purpose::Turn {
            let tools = sent.tools.and_then(|digest| self.view.profiles.tools.get(&digest));
            let names: BTreeSet<String> = tools.into_iter().flatten().map(|tool| tool.name.clone()).collect();
            // On the last step no tool is offered.
            let offer = if sent.last_step { Vec::new() } else { self.tools.offer(&names) };
            self.boundary(offer);
            self.limits.sent = self.limits.sent.max(self.tokens(&self.view, sent));
            if let Some(view) = self.unpruned.take() {
                let tokens = self.tokens(&view, sent);
                self.due(tokens);
            }
        }
        if sent.purpose == Purpose::Turn {
            self.limits.newest = self.chars(&self.view, sent);
        } else if sent.agent != self.view.session.agent {
            self.limits.agent = Some(sent.agent.clone());
        }
        self.run.get_or_insert_default().attempts.push(RecordedAttempt::new());
        Ok(())
    }

    /// The estimate of a request; 0 if the log does not contain its profiles.
    fn tokens(&self, view: &SessionView, sent: &RequestSent) -> u64 {
        estimate(self.chars(view, sent))
    }

    fn chars(&self, view: &SessionView, sent: &RequestSent) -> u64 {
        rebuild(view, sent, self.recording.blobs.as_ref()).map_or(0, |request| request.chars())
    }

    fn attempt(&mut self, change: impl FnOnce(&mut RecordedAttempt)) {
        if let Some(attempt) = self.run.as_mut().and_then(RecordedActivity::open) {
            change(attempt);
        }
    }

    fn fragment(&mut self, text: String, reasoning: bool) {
        let tolerances = &mut self.tolerances.content;
        let Some(attempt) = self.run.as_mut().and_then(RecordedActivity::open) else { return };
        let late = reasoning && attempt.text.is_some() || !attempt.calls.is_empty();
        let place = if reasoning { &mut attempt.reasoning } else { &mut attempt.text };
        if late || place.is_some() {
            tolerances.extend(attempt.message);
        }
        place.get_or_insert_default().push_str(&text);
    }

    fn settled(&mut self, settled: &ToolSettled) {
        let ending = ending(settled, self.recording.blobs.as_ref());
        let run = self.run.iter_mut();
        let made = run.flat_map(|run| &mut run.attempts).flat_map(|attempt| &mut attempt.calls);
        let Some(made) = made.filter(|made| made.call == settled.call && made.ending == CallEnding::Open).last() else {
            return;
        };
        made.ending = match (self.rejected.contains(&settled.call), ending) {
            (true, CallEnding::Interrupted) => CallEnding::Declined,
            (true, _) => CallEnding::Never,
            (false, ending) => ending,
        };
        let ran = !matches!(made.ending, CallEnding::Declined | CallEnding::Never);
        if ran && self.tools.is_asked(&made.tool) {
            self.run.iter_mut().for_each(|run| run.replies.push(json!("once")));
        }
    }

    fn end(&mut self, continues: impl FnOnce(&RecordedActivity) -> bool) {
        let Some(run) = &mut self.run else { return };
        run.attempts.iter_mut().for_each(|attempt| attempt.open = false);
        run.continues = continues(run) && !run.moved;
    }

    /// A request of this estimate was too large.
    fn due(&mut self, tokens: u64) {
        let profiles = &self.view.profiles;
        let digest = profiles.model.get(&self.view.session.model);
        let context = digest.and_then(|digest| profiles.models.get(digest)).map_or(0, |profile| profile.context);
        let due = self.limits.due.map_or(tokens, |(due, _)| due.min(tokens));
        self.limits.due = Some((due, context));
    }

    fn failed(&mut self, seq: Seq, error: &Failure) -> Result<(), RecordError> {
        if *error.message.resolve(self.recording.blobs.as_ref()) == *"Provider turn interrupted" {
            self.attempt(cut_off);
        } else if annals_runtime::ports::ProviderErrorKind::of(&error.kind).is_none() {
            return Err(self.recording.inexpressible(seq, format!("a failure of the kind `{}`", error.kind)));
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

    /// Whether the newest request was refused as too large: it is open where something is made smaller.
    fn refused(&mut self) -> bool {
        let refused = self.run.as_mut().is_some_and(|run| run.open().is_some());
        if refused {
            let overflow = Failure { kind: "overflow".to_owned(), message: "".into(), status: None };
            self.attempt(|attempt| attempt.fail(&overflow));
            self.run.iter_mut().for_each(|run| run.continues = true);
            self.limits.automatic = true;
        }
        refused
    }

    /// The model of the session and the limits of its requests, with the usual settings.
    fn limits(&self, reason: CompactionReason) -> Option<(&ModelProfile, ContextLimits)> {
        let profiles = &self.view.profiles;
        let model = profiles.models.get(profiles.model.get(&self.view.session.model)?)?;
        let CompactionSettings { buffer, keep_tokens, .. } = CompactionSettings::default();
        let limits = ContextLimits::of(model, buffer, keep_tokens);
        Some(match reason {
            CompactionReason::Overflow => (model, limits.after_refusal(self.limits.newest, keep_tokens)),
            CompactionReason::Auto | CompactionReason::Manual | CompactionReason::Unknown => (model, limits),
        })
    }

    fn could_prune(&self, reason: CompactionReason) -> bool {
        self.limits(reason).is_some_and(|(model, limits)| prune(&self.view.history, model, &limits).is_some())
    }

    /// Finds settings under which a summary that failed is asked for at all.
    fn attempted(&mut self, reason: CompactionReason) {
        let blobs = self.recording.blobs.as_ref();
        let Some((model, usual)) = self.limits(reason) else { return };
        let is_empty = |tail| plan(&self.view.history, model, &ContextLimits { tail, ..usual }, reason, blobs).is_err();
        if is_empty(usual.tail) {
            let most = least(usual.tail, is_empty).checked_sub(1);
            self.limits.asked = self.limits.asked.into_iter().chain(most).min();
        }
    }

    /// Finds settings that lead to the same compaction.
    fn compacted(&mut self, seq: Seq, completed: &CompactionCompleted) -> Result<(), RecordError> {
        let blobs = self.recording.blobs.as_ref();
        let other = || self.recording.inexpressible(seq, "a compaction that kept other messages than Annals would");
        let (model, usual) = self.limits(completed.reason).ok_or_else(other)?;
        let planned = |tail| plan(&self.view.history, model, &ContextLimits { tail, ..usual }, completed.reason, blobs);
        let first = |tail| planned(tail).map_or(Seq::ZERO, |plan| plan.first_kept.unwrap_or(self.limits.started));
        let same = |tail: &u64| {
            let same =
                |plan: &CompactionPlan| first(*tail) == completed.first_kept && plan.replayed == completed.replayed;
            planned(*tail).as_ref().is_ok_and(same)
        };
        if !same(&usual.tail) {
            // More tokens keep more messages: between these two the same ones are kept.
            let least = least(usual.tail, |tail| first(tail) <= completed.first_kept);
            let most = least.max(self::least(usual.tail, |tail| first(tail) < completed.first_kept).saturating_sub(1));
            let tail = [most, least].into_iter().find(same).ok_or_else(other)?;
            self.limits.keep_tokens = Some(self.limits.keep_tokens.map_or(tail, |other| other.max(tail)));
        }
        let (text, usage) = (completed.summary.resolve(blobs).into_owned(), completed.usage);
        self.attempt(|attempt| (attempt.text, attempt.usage, attempt.open) = (Some(text), usage, false));
        self.summarised(completed.reason, true);
        Ok(())
    }

    /// Ends a summary attempt.
    fn summarised(&mut self, reason: CompactionReason, completed: bool) {
        let Some(mut run) = self.run.take() else { return };
        if reason == CompactionReason::Manual {
            self.results(&run);
            self.script.extend(run.actions(json!({ "compact": {} })));
            return;
        }
        run.continues = completed;
        self.run = Some(run);
    }
}

/// The smallest number up to `most` that fulfils a condition which holds for all larger ones, else `most` + 1.
fn least(most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// An attempt whose step did not end: it was interrupted, or its process crashed.
fn cut_off(attempt: &mut RecordedAttempt) {
    let crash = |at: &str| json!({ "crash": { "at": at } });
    let interrupted = attempt.calls.iter().position(|made| made.ending == CallEnding::Interrupted);
    match (interrupted, attempt.calls.last_mut()) {
        (Some(first), _) => {
            let mut open = CallEnding::Open;
            for made in attempt.calls.iter_mut().skip(first) {
                made.ending = std::mem::replace(&mut open, CallEnding::Never);
            }
        }
        (None, Some(last)) => last.during.push(crash("after-append")),
        (None, None) if attempt.text.is_none() && attempt.reasoning.is_none() && attempt.message.is_some() => {
            attempt.text = Some("what was lost".to_owned());
            attempt.during.push(crash("during-stream"));
        }
        (None, None) => attempt.during.push(json!({ "interrupt": {} })),
    }
}

/// Whether the activity ended with its last attempt, independent of pending inputs.
fn stopped(run: &RecordedActivity) -> bool {
    let calls = run.attempts.last().into_iter().flat_map(|attempt| &attempt.calls);
    calls.into_iter().any(|made| matches!(made.ending, CallEnding::Declined | CallEnding::Interrupted))
}

/// Whether the stream of the last attempt was incomplete, so that the runtime asks the model to continue.
fn broke_off(run: &RecordedActivity) -> bool {
    let error = run.attempts.last().and_then(|attempt| attempt.error.as_ref());
    error.is_some_and(|error| error.get("kind").is_some_and(|kind| kind == "incomplete-stream"))
}
