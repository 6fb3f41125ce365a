//! The views of a session in which some decisions were different.

use super::change::is_automatic;
use super::{CompactionOutcomeIf, CompactionRules, KnownModel, Measured, WhatIf, WhatIfChange, WhatIfCompaction};
use crate::IndexedRequest;
use annals_core::event::{
    CallsReduced, CompactionCompleted, CompactionEnded, CompactionEvent, CompactionReason, ContextEvent, EpochCause,
    EpochStarted, Location, ModelProfile, RequestSent,
};
use annals_core::{Blobs, Event, Record, Seq, Text};
use annals_projections::{
    BuildError, BuiltRequest, ContextLimits, RequestBuilder, SessionView, cut, estimate, plan, prune, shorten_unread,
};

/// How often a request is made smaller at most.
const ROUNDS: usize = 8;
/// What a summary that was not written is taken to have, in tokens, where no recorded one says it.
const SUMMARY: u64 = 1_000;

pub(super) struct Counterfactual<'a> {
    changes: &'a [WhatIfChange],
    /// Which changes concern something that the log contains. The texts of others are added to the system prompt.
    found: Vec<bool>,
    base: CompactionRules,
    rules: CompactionRules,
    known: KnownModel<'a>,
    view: SessionView,
    builder: RequestBuilder,
    /// How many leading messages each request that was built since the newest measured one had in common with the one before.
    same: usize,
    last: Option<RequestSent>,
    /// A recorded compaction that would not have happened is left out, with the epoch that it began.
    dropping: bool,
    drop_epoch: bool,
    summaries: Vec<u64>,
    compactions: Vec<WhatIfCompaction>,
}

impl<'a> Counterfactual<'a> {
    pub(super) fn new(question: &'a WhatIf, found: Vec<bool>, known: KnownModel<'a>) -> Self {
        let rules = question.changes.iter().rev().find_map(|change| match change {
            WhatIfChange::Compaction(rules) => Some(*rules),
            _ => None,
        });
        Self {
            changes: &question.changes,
            found,
            base: question.rules,
            rules: rules.unwrap_or(question.rules),
            known,
            view: SessionView::default(),
            builder: RequestBuilder::default(),
            same: usize::MAX,
            last: None,
            dropping: false,
            drop_epoch: false,
            summaries: Vec::new(),
            compactions: Vec::new(),
        }
    }

    /// The limits of a model under some rules.
    pub(super) fn limits(&self, rules: &CompactionRules, model: &ModelProfile) -> ContextLimits {
        let known = (self.known)(&model.model).filter(|_| model.context == 0);
        ContextLimits::of(known.as_ref().unwrap_or(model), rules.buffer, rules.keep_tokens)
    }

    pub(super) fn finish(self) -> (Vec<WhatIfCompaction>, Vec<String>) {
        let not_found = self.changes.iter().zip(&self.found).filter(|(_, found)| !**found);
        (self.compactions, not_found.filter_map(|(change, _)| change.found_nothing()).collect())
    }

    /// The request of a step as it would have been, after compactions that it would have needed.
    pub(super) fn request(
        &mut self,
        step: &IndexedRequest,
        sent: Option<&RequestSent>,
        was_too_large: bool,
        blobs: &dyn Blobs,
        measure: impl FnOnce(&BuiltRequest<'_>, Option<Seq>) -> Measured,
    ) -> Result<Measured, BuildError> {
        self.without_epoch(step);
        let (mut sent, _) = crate::request::shape(step, sent, &mut self.view);
        for (change, found) in self.changes.iter().zip(&mut self.found) {
            change.sent(&mut sent, &mut self.view, found);
        }
        self.last = Some(sent.clone());
        for _ in 0..ROUNDS {
            let built = self.builder.build(&self.view, &sent, blobs)?;
            self.same = self.same.min(built.same);
            let (chars, model) = (built.chars(), built.head.model.clone());
            let limits = self.limits(&self.rules, &model);
            // What the recorded rules would have done too was decided by the agent that recorded it.
            let due = self.rules.auto && limits.exceeded_by(chars) && !was_too_large;
            if !due || !self.smaller(step, &model, chars, limits, blobs) {
                break;
            }
        }
        let epoch = self.view.epochs.current.as_ref().map(|epoch| epoch.mark.seq);
        let mut built = self.builder.build(&self.view, &sent, blobs)?;
        built.same = built.same.min(std::mem::replace(&mut self.same, usize::MAX));
        Ok(measure(&built, epoch))
    }

    /// A session of which no system prompt was recorded gets one if a change adds to it.
    fn without_epoch(&mut self, step: &IndexedRequest) {
        let parts: Vec<_> = self.additions().collect();
        if parts.is_empty() || self.view.epochs.current.is_some() {
            return;
        }
        let info = &self.view.session;
        let location = info.location.clone().unwrap_or(Location { directory: String::new(), workspace: None });
        let started = EpochStarted {
            cause: EpochCause::FirstTurn,
            agent: step.agent.clone(),
            location,
            parts,
            entries: std::collections::BTreeMap::new(),
            known: false,
        };
        self.happen(step, &Event::from(started));
    }

    fn additions(&self) -> impl Iterator<Item = annals_core::event::Part> {
        let missing = self.changes.iter().zip(&self.found).filter(|(_, found)| !**found);
        missing.filter_map(|(change, _)| change.addition())
    }

    /// An event that was not recorded, just before a request.
    fn happen(&mut self, step: &IndexedRequest, event: &Event) {
        let Some(session) = self.view.session.id else { return };
        self.builder.apply_all(&mut self.view, &Record { session, seq: step.seq, at: step.at, event });
    }

    /// Makes a request smaller, as a runtime does before it is sent; returns whether something is smaller now.
    fn smaller(
        &mut self,
        step: &IndexedRequest,
        model: &ModelProfile,
        chars: u64,
        limits: ContextLimits,
        blobs: &dyn Blobs,
    ) -> bool {
        let history = &self.view.history;
        let pruned = if self.rules.prune { prune(history, model, &limits) } else { None };
        let outputs = pruned.or_else(|| shorten_unread(history, model, chars, &limits, blobs));
        let summary = match outputs {
            Some(_) => None,
            None => plan(history, model, &limits, CompactionReason::Auto, blobs).ok(),
        };
        let outputs = match (&outputs, &summary) {
            (None, None) => cut(history, model, chars, &limits, blobs),
            _ => outputs,
        };
        if let Some(outputs) = outputs {
            self.note(step.seq, "outputs", CompactionOutcomeIf::Added, outputs.tokens);
            self.happen(step, &Event::from(CallsReduced::from(outputs)));
            return true;
        }
        let Some(summary) = summary else { return false };
        let tokens = match self.summaries.len() as u64 {
            0 => SUMMARY.min(limits.summary),
            count => self.summaries.iter().sum::<u64>() / count,
        };
        let head = "[a summary that a model would write]";
        let text = format!("{head}{}", " ".repeat((tokens * 4).saturating_sub(head.len() as u64) as usize));
        let completed = CompactionCompleted {
            reason: CompactionReason::Auto,
            summary: Text::from(text),
            truncated: false,
            ends: 0,
            first_kept: summary.first_kept.unwrap_or(step.seq),
            replayed: summary.replayed,
            estimate: 0,
            usage: None,
            cost: 0,
        };
        self.note(step.seq, "summary", CompactionOutcomeIf::Added, estimate(chars));
        self.happen(step, &Event::from(completed));
        true
    }

    fn note(&mut self, seq: Seq, what: &'static str, outcome: CompactionOutcomeIf, tokens: u64) {
        self.compactions.push(WhatIfCompaction { seq, what, outcome, tokens });
    }

    /// Applies a recorded event as it would have been.
    pub(super) fn apply(&mut self, record: &Record<'_>, blobs: &dyn Blobs) {
        let mut event = Some(record.event.clone());
        for change in self.changes {
            event = event.and_then(|event| change.event(event, blobs, &mut false));
        }
        let Some(event) = event else { return };
        let event = match event {
            Event::Compaction(compaction) => self.compaction(record.seq, compaction, blobs),
            Event::Context(ContextEvent::EpochStarted(started))
                if started.cause == EpochCause::Compaction && std::mem::take(&mut self.drop_epoch) =>
            {
                None
            }
            Event::Context(ContextEvent::EpochStarted(mut started)) => {
                let added: Vec<_> = self.additions().collect();
                started.parts.extend(added);
                Some(Event::Context(ContextEvent::EpochStarted(started)))
            }
            other => Some(other),
        };
        if let Some(event) = event {
            let record = Record { session: record.session, seq: record.seq, at: record.at, event: &event };
            self.builder.apply_all(&mut self.view, &record);
        }
    }

    /// A recorded compaction as it would have been; `None` if it would not have happened.
    fn compaction(&mut self, seq: Seq, event: CompactionEvent, blobs: &dyn Blobs) -> Option<Event> {
        if let CompactionEvent::Started(_) = event {
            self.dropping = is_automatic(&event) && !self.still_happens(blobs);
        }
        match &event {
            CompactionEvent::ToolOutputsPruned(_)
            | CompactionEvent::ToolOutputsReduced(_)
            | CompactionEvent::CallsReduced(_) => {
                let kept = (self.rules.prune || !self.base.prune) && (self.rules.auto || !self.base.auto);
                let outcome = if kept { CompactionOutcomeIf::Same } else { CompactionOutcomeIf::Dropped };
                self.note(seq, "outputs", outcome, 0);
                return kept.then_some(Event::Compaction(event));
            }
            CompactionEvent::Ended(ended) => self.summaries.push(estimate(ended.summary.chars())),
            CompactionEvent::Completed(completed) => self.summaries.push(estimate(completed.summary.chars())),
            _ => return (!self.dropping).then_some(Event::Compaction(event)),
        }
        if self.dropping {
            (self.dropping, self.drop_epoch) = (false, true);
            self.note(seq, "summary", CompactionOutcomeIf::Dropped, 0);
            return None;
        }
        let changed = match self.rules.keep_tokens != self.base.keep_tokens {
            true => self.with_tail(seq, &event, blobs),
            false => None,
        };
        let outcome = if changed.is_some() { CompactionOutcomeIf::Changed } else { CompactionOutcomeIf::Same };
        self.note(seq, "summary", outcome, 0);
        Some(changed.unwrap_or(Event::Compaction(event)))
    }

    /// Whether a compaction that the recorded rules made due would be due under the changed ones.
    fn still_happens(&mut self, blobs: &dyn Blobs) -> bool {
        if !self.rules.auto {
            return !self.base.auto;
        }
        let Some(sent) = self.last.clone() else { return true };
        let Ok(built) = self.builder.build(&self.view, &sent, blobs) else { return true };
        self.same = self.same.min(built.same);
        let (chars, model) = (built.chars(), built.head.model.clone());
        let limits = self.limits(&self.rules, &model);
        let larger_window = self.changes.iter().any(|change| matches!(change, WhatIfChange::Model { .. }));
        let larger = larger_window || self.rules.buffer < self.base.buffer;
        match limits.request {
            Some(_) => !larger || limits.exceeded_by(chars),
            None => true,
        }
    }

    /// A summary that keeps another tail; `None` if the tail would be the same.
    fn with_tail(&self, seq: Seq, event: &CompactionEvent, blobs: &dyn Blobs) -> Option<Event> {
        if let (CompactionEvent::Ended(ended), 0) = (event, self.rules.keep_tokens) {
            let recorded = CompactionEnded { recent: Text::default(), ..ended.clone() };
            return (!ended.recent.is_empty()).then(|| Event::from(recorded));
        }
        let sent = self.last.as_ref()?;
        let model = self.view.profiles.models.get(&sent.model_profile)?;
        let planned = |rules: &CompactionRules| {
            plan(&self.view.history, model, &self.limits(rules, model), CompactionReason::Auto, blobs).ok()
        };
        let (base, changed) = (planned(&self.base)?, planned(&self.rules)?);
        if base.first_kept == changed.first_kept && base.replayed == changed.replayed {
            return None;
        }
        let (first_kept, replayed) = (changed.first_kept.unwrap_or(seq), changed.replayed);
        Some(Event::from(match event {
            CompactionEvent::Completed(completed) => CompactionCompleted { first_kept, replayed, ..completed.clone() },
            CompactionEvent::Ended(ended) => CompactionCompleted {
                reason: ended.reason,
                summary: ended.summary.clone(),
                truncated: false,
                ends: 0,
                first_kept,
                replayed,
                estimate: ended.estimate,
                usage: ended.usage,
                cost: ended.cost,
            },
            _ => return None,
        }))
    }
}
