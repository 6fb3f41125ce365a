//! A fact whose rule is decided by later ones.

use super::{FactCount, PastCounts, RELATED, RelatedFact, RuleFinding, StoredFact, atom_truth, is_within};
use crate::fact::AuditFact;
use crate::plan::{FactCondition, RulePlan, TemporalReach, Truth, TruthAtom, TruthTree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What an operator of a waiting fact found so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct OperatorState {
    found: FactCount,
    /// Whether nothing can be added.
    closed: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WaitingFact {
    fact: StoredFact,
    /// The answers of the fact alone, by atom.
    bits: Vec<bool>,
    /// By number of the operator.
    operators: BTreeMap<usize, OperatorState>,
}

impl WaitingFact {
    pub(super) fn new(plan: &RulePlan, fact: &AuditFact, stored: &StoredFact, past: &mut PastCounts<'_>) -> Self {
        let mut operators = BTreeMap::new();
        let mut bits = Vec::with_capacity(plan.root.atoms.len());
        for (number, atom) in plan.root.atoms.iter().enumerate() {
            let TruthAtom::Temporal(operator) = atom else {
                bits.push(atom_truth(&plan.root, number, fact, past) == Truth::True);
                continue;
            };
            bits.push(false);
            let Some(temporal) = plan.temporal.get(*operator) else { continue };
            let mut found = past.count(*operator);
            if matches!(temporal.reach, TemporalReach::Whole) && is_related(&temporal.body, fact, stored, stored, past)
            {
                found.add(stored.named(&temporal.body.label));
            }
            operators.insert(*operator, OperatorState { found, closed: !temporal.looks_ahead() });
        }
        Self { fact: stored.clone(), bits, operators }
    }

    /// Applies a later fact, and gives the truth of the rule for the waiting one.
    pub(super) fn apply(
        &mut self,
        plan: &RulePlan,
        fact: &AuditFact,
        stored: &StoredFact,
        past: &mut PastCounts<'_>,
    ) -> Truth {
        for (number, state) in self.operators.iter_mut().filter(|(_, state)| !state.closed) {
            let Some(temporal) = plan.temporal.get(*number) else { continue };
            if !is_within(temporal.within, &self.fact.place, &stored.place) {
                state.closed = true;
                continue;
            }
            if let TemporalReach::Until(bound) = &temporal.reach
                && is_related(bound, fact, stored, &self.fact, past)
            {
                state.closed = true;
                continue;
            }
            if is_related(&temporal.body, fact, stored, &self.fact, past) {
                state.found.add(stored.named(&temporal.body.label));
                state.closed = state.found.count >= temporal.least;
            }
        }
        self.truth(plan)
    }

    /// The truth of the rule, as far as it is known.
    pub(super) fn truth(&self, plan: &RulePlan) -> Truth {
        plan.root.tree.truth(&mut |atom| self.atom(plan, atom), None)
    }

    fn atom(&self, plan: &RulePlan, atom: usize) -> Truth {
        let Some(TruthAtom::Temporal(number)) = plan.root.atoms.get(atom) else {
            return self.bits.get(atom).copied().unwrap_or_default().into();
        };
        let (Some(state), Some(temporal)) = (self.operators.get(number), plan.temporal.get(*number)) else {
            return Truth::False;
        };
        temporal.truth(state.found.count, state.found.since.is_some(), state.closed)
    }

    /// The finding if nothing more comes.
    pub(super) fn ended(mut self, plan: &RulePlan) -> Option<RuleFinding> {
        self.operators.values_mut().for_each(|state| state.closed = true);
        (self.truth(plan) == Truth::True).then(|| self.finding(plan, true))
    }

    pub(super) fn finding(&self, plan: &RulePlan, open: bool) -> RuleFinding {
        let mut related = Vec::new();
        self.explain(plan, &plan.root.tree, true, &mut related);
        related.sort_by_key(|fact: &RelatedFact| fact.seq);
        related.dedup();
        related.truncate(RELATED);
        let fact = self.fact.named(&plan.root.label);
        RuleFinding { fact, related, open, order: self.fact.place.order }
    }

    /// Collects the facts that made a branch hold; `positive` is false below a `not`.
    fn explain(&self, plan: &RulePlan, tree: &TruthTree, positive: bool, found: &mut Vec<RelatedFact>) {
        match tree {
            TruthTree::Cross(_) => {}
            TruthTree::Not(inner) => self.explain(plan, inner, !positive, found),
            TruthTree::And(parts) => parts.iter().for_each(|part| self.explain(plan, part, positive, found)),
            TruthTree::Or(parts) => {
                let holds = |part: &TruthTree| part.truth(&mut |atom| self.atom(plan, atom), None) == Truth::True;
                for part in parts.iter().filter(|part| holds(part) == positive) {
                    self.explain(plan, part, positive, found);
                }
            }
            TruthTree::Atom(atom) => {
                let Some(TruthAtom::Temporal(number)) = plan.root.atoms.get(*atom) else { return };
                let Some(state) = self.operators.get(number) else { return };
                found.extend(state.found.since.clone());
                if positive {
                    found.extend(state.found.facts.iter().cloned());
                }
            }
        }
    }
}

/// Whether a condition relates a fact to another.
fn is_related(
    condition: &FactCondition,
    fact: &AuditFact,
    stored: &StoredFact,
    other: &StoredFact,
    past: &mut PastCounts<'_>,
) -> bool {
    let fields = Some((&stored.fields, &other.fields));
    condition.tree.truth(&mut |atom| atom_truth(condition, atom, fact, past), fields) == Truth::True
}
