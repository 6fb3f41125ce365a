//! What one rule remembers of the facts so far, and what it found. All of it is bounded, and can be saved.

mod memory;
#[cfg(test)]
mod tests;
mod waiting;

use crate::fact::{AuditFact, FactField, FactKind, FactPlace, FactValue};
use crate::plan::{FactCondition, FactFields, RulePlan, TemporalReach, Truth, TruthAtom, kept_fields};
use crate::syntax::Within;
use annals_core::{Seq, SessionId, Time};
use memory::FactMemory;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use waiting::WaitingFact;

/// How many findings of a rule are kept for a session; the rest is counted.
const FINDINGS: usize = 1_000;
/// How many facts of a rule may wait for later ones; the oldest are then decided as at the end of the session.
const WAITING: usize = 1_000;
/// How many related facts of a finding are kept.
const RELATED: usize = 8;

/// A fact that a finding refers to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RelatedFact {
    /// Its name in the rule, or its kind.
    pub name: String,
    /// Its kind.
    pub kind: FactKind,
    /// The session that recorded it.
    pub session: SessionId,
    /// Its event.
    pub seq: Seq,
    /// The number of the last prompt before it.
    pub turn: u64,
    /// Its time.
    pub at: Time,
    /// The id of its call.
    pub call: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// The file that it names.
    pub path: Option<String>,
    /// The beginning of the text that it concerns.
    pub excerpt: String,
}

/// A place where a rule holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleFinding {
    /// The fact that the rule is about.
    pub fact: RelatedFact,
    /// The facts that it is related to, oldest first.
    pub related: Vec<RelatedFact>,
    /// Whether it only holds because the session has no later facts yet.
    pub open: bool,
    /// Its number among all facts.
    pub(crate) order: u64,
}

/// A fact as it is remembered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoredFact {
    place: FactPlace,
    shown: RelatedFact,
    fields: FactFields,
}

impl StoredFact {
    fn new(fact: &AuditFact, plan: &RulePlan) -> Self {
        let text = |field: FactField| match fact.fields.get(&field) {
            Some(FactValue::Text(text)) => Some(crate::facts::beginning(text)),
            _ => None,
        };
        let FactPlace { session, seq, turn, at, .. } = fact.place;
        let shown = RelatedFact {
            name: fact.kind.name().to_owned(),
            kind: fact.kind,
            session,
            seq,
            turn,
            at,
            call: text(FactField::Id),
            tool: text(FactField::Tool),
            path: text(FactField::Path),
            excerpt: fact.excerpt.clone(),
        };
        Self { place: fact.place.clone(), shown, fields: kept_fields(fact, &plan.kept) }
    }

    fn named(&self, label: &str) -> RelatedFact {
        RelatedFact { name: label.to_owned(), ..self.shown.clone() }
    }
}

/// How many facts an operator found so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct FactCount {
    count: usize,
    facts: Vec<RelatedFact>,
    /// The fact since which they are counted.
    since: Option<RelatedFact>,
}

impl FactCount {
    fn add(&mut self, fact: RelatedFact) {
        self.count += 1;
        if self.facts.len() < RELATED {
            self.facts.push(fact);
        }
    }
}

/// Whether a fact is near enough to another.
fn is_within(within: Option<Within>, one: &FactPlace, other: &FactPlace) -> bool {
    match within {
        None => true,
        Some(Within::Events(count)) => one.seq.0.abs_diff(other.seq.0) <= count,
        Some(Within::Turns(count)) => one.turn.abs_diff(other.turn) <= count,
        Some(Within::Ms(ms)) => one.at.0.abs_diff(other.at.0) <= ms,
    }
}

/// The state of a rule over a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RuleMonitor {
    /// Two for each operator: for its body, and for the expression since which it counts.
    memories: Vec<(FactMemory, FactMemory)>,
    waiting: VecDeque<WaitingFact>,
    pub(crate) findings: Vec<RuleFinding>,
    pub(crate) omitted: u64,
    /// Whether something that the rule may have needed was forgotten.
    pub(crate) forgot: bool,
}

impl RuleMonitor {
    /// Applies a fact.
    pub(crate) fn apply(&mut self, plan: &RulePlan, fact: &AuditFact) {
        if self.waiting.is_empty() && !plan.kinds.iter().any(|kind| fact.is(*kind)) {
            return;
        }
        self.memories.resize_with(plan.temporal.len(), Default::default);
        let stored = StoredFact::new(fact, plan);
        let mut past = PastCounts::new(plan, &self.memories, &stored);
        let kept = remembered(plan, fact, &mut past);
        let root = truth(&plan.root, fact, &mut past);
        let mut decided = Vec::new();
        self.waiting.retain_mut(|waiting| match waiting.apply(plan, fact, &stored, &mut past) {
            Truth::Unknown => true,
            Truth::False => false,
            Truth::True => {
                decided.push(waiting.finding(plan, false));
                false
            }
        });
        if root != Truth::False {
            let waiting = WaitingFact::new(plan, fact, &stored, &mut past);
            match waiting.truth(plan) {
                Truth::True => decided.push(waiting.finding(plan, false)),
                Truth::False => {}
                Truth::Unknown => self.waiting.push_back(waiting),
            }
        }
        if self.waiting.len() > WAITING
            && let Some(oldest) = self.waiting.pop_front()
        {
            self.forgot = true;
            decided.extend(oldest.ended(plan));
        }
        decided.into_iter().for_each(|finding| self.found(finding));
        for (number, is_bound, bits, key) in kept {
            let (body, bound) = &mut self.memories[number];
            let temporal = &plan.temporal[number];
            let (memory, condition, least) = match (&temporal.reach, is_bound) {
                (TemporalReach::Since(condition), true) => (bound, condition, 1),
                _ => (body, &temporal.body, temporal.least),
            };
            self.forgot |= memory.insert(key, condition.only_key.then_some(least), bits, &stored);
        }
    }

    fn found(&mut self, finding: RuleFinding) {
        if self.findings.len() < FINDINGS {
            self.findings.push(finding);
        } else {
            self.omitted += 1;
        }
    }

    /// What was found, with what holds only because there are no later facts.
    pub(crate) fn at_the_end(&self, plan: &RulePlan) -> (Vec<RuleFinding>, u64) {
        let mut all = self.clone();
        for waiting in std::mem::take(&mut all.waiting) {
            waiting.ended(plan).into_iter().for_each(|finding| all.found(finding));
        }
        all.findings.sort_by_key(|finding| finding.order);
        (all.findings, all.omitted)
    }
}

/// A fact to remember: the operator, whether for its bound, the answers to its atoms, and its key.
type Remembered = (usize, bool, Vec<bool>, String);

/// Which operators must remember a fact.
fn remembered(plan: &RulePlan, fact: &AuditFact, past: &mut PastCounts<'_>) -> Vec<Remembered> {
    let mut kept = Vec::new();
    for (number, temporal) in plan.temporal.iter().enumerate().filter(|(_, temporal)| temporal.looks_back()) {
        let bound = match &temporal.reach {
            TemporalReach::Since(bound) => Some((bound, true)),
            _ => None,
        };
        for (condition, is_bound) in [(&temporal.body, false)].into_iter().chain(bound) {
            if truth(condition, fact, past) == Truth::False {
                continue;
            }
            // Without the fields of its key it is never equal.
            let Some(key) = condition.own_key(&past.fact.fields) else { continue };
            let bits = (0..condition.atoms.len()).map(|atom| atom_truth(condition, atom, fact, past) == Truth::True);
            kept.push((number, is_bound, bits.collect(), key));
        }
    }
    kept
}

/// The truth of a condition for a fact, without the one that it is related to.
fn truth(condition: &FactCondition, fact: &AuditFact, past: &mut PastCounts<'_>) -> Truth {
    condition.tree.truth(&mut |atom| atom_truth(condition, atom, fact, past), None)
}

fn atom_truth(condition: &FactCondition, atom: usize, fact: &AuditFact, past: &mut PastCounts<'_>) -> Truth {
    match condition.atoms.get(atom) {
        Some(TruthAtom::Kind(kind)) => fact.is(*kind).into(),
        Some(TruthAtom::Test(test)) => test.holds(&fact.fields, &FactFields::new()).into(),
        Some(TruthAtom::Temporal(number)) => past.truth(*number),
        None => Truth::False,
    }
}

/// What operators find before a fact; each is asked once.
struct PastCounts<'m> {
    plan: &'m RulePlan,
    memories: &'m [(FactMemory, FactMemory)],
    fact: &'m StoredFact,
    known: Vec<Option<FactCount>>,
}

impl<'m> PastCounts<'m> {
    fn new(plan: &'m RulePlan, memories: &'m [(FactMemory, FactMemory)], fact: &'m StoredFact) -> Self {
        Self { plan, memories, fact, known: vec![None; plan.temporal.len()] }
    }

    /// What an operator counts before the fact.
    fn count(&mut self, number: usize) -> FactCount {
        if let Some(Some(known)) = self.known.get(number) {
            return known.clone();
        }
        let found = self.search(number);
        if let Some(known) = self.known.get_mut(number) {
            *known = Some(found.clone());
        }
        found
    }

    fn search(&self, number: usize) -> FactCount {
        let mut found = FactCount::default();
        let (Some(temporal), Some((body, bound))) = (self.plan.temporal.get(number), self.memories.get(number)) else {
            return found;
        };
        if !temporal.looks_back() {
            return found;
        }
        let mut from = 0;
        if let TemporalReach::Since(condition) = &temporal.reach {
            let Some(since) = bound.related(condition, self.fact, temporal.within).next() else { return found };
            from = since.place.order + 1;
            found.since = Some(since.named(&condition.label));
        }
        let facts = body.related(&temporal.body, self.fact, temporal.within);
        for fact in facts.take_while(|fact| fact.place.order >= from).take(temporal.least) {
            found.add(fact.named(&temporal.body.label));
        }
        found
    }

    /// The truth of an operator, as far as earlier facts decide it.
    fn truth(&mut self, number: usize) -> Truth {
        let Some(temporal) = self.plan.temporal.get(number) else { return Truth::False };
        let found = self.count(number);
        temporal.truth(found.count, found.since.is_some(), !temporal.looks_ahead())
    }
}
