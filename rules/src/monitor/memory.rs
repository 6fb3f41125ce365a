//! Earlier facts that an operator may need, by their keys.

use super::{StoredFact, is_within};
use crate::plan::{FactCondition, Truth};
use crate::syntax::Within;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// How many facts an operator remembers; the oldest quarter is then forgotten.
const REMEMBERED: usize = 8_192;
/// How many of one key, where more than the key relates two facts.
const OF_A_KEY: usize = 512;

/// Earlier facts, the newest of each key last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct FactMemory {
    facts: BTreeMap<String, VecDeque<RememberedFact>>,
    count: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RememberedFact {
    fact: StoredFact,
    bits: Vec<bool>,
}

impl FactMemory {
    /// Remembers a fact. With `enough`, so many of a key are all that can matter. Returns whether a fact that may matter was
    /// forgotten.
    pub(super) fn insert(&mut self, key: String, enough: Option<usize>, bits: Vec<bool>, fact: &StoredFact) -> bool {
        let of_key = self.facts.entry(key).or_default();
        of_key.push_back(RememberedFact { fact: fact.clone(), bits });
        self.count += 1;
        let mut forgot = false;
        while of_key.len() > enough.unwrap_or(OF_A_KEY).max(1) {
            of_key.pop_front();
            self.count -= 1;
            forgot |= enough.is_none();
        }
        if self.count > REMEMBERED {
            self.forget();
            forgot = true;
        }
        forgot
    }

    fn forget(&mut self) {
        let all = self.facts.values().flatten().map(|remembered| remembered.fact.place.order);
        let mut orders: Vec<u64> = all.collect();
        orders.sort_unstable();
        let Some(oldest) = orders.get(orders.len() / 4).copied() else { return };
        self.facts.retain(|_, facts| {
            facts.retain(|remembered| remembered.fact.place.order >= oldest);
            !facts.is_empty()
        });
        self.count = self.facts.values().map(VecDeque::len).sum();
    }

    /// The facts that a condition relates to `fact`, newest first.
    pub(super) fn related<'m>(
        &'m self,
        condition: &'m FactCondition,
        fact: &'m StoredFact,
        within: Option<Within>,
    ) -> impl Iterator<Item = &'m StoredFact> {
        let facts = condition.related_key(&fact.fields).and_then(|key| self.facts.get(&key));
        facts.into_iter().flat_map(|facts| facts.iter().rev()).filter_map(
            move |RememberedFact { fact: found, bits }| {
                let mut bit = |atom: usize| Truth::from(bits.get(atom).copied().unwrap_or_default());
                let is_related = condition.tree.truth(&mut bit, Some((&found.fields, &fact.fields))) == Truth::True;
                (is_within(within, &found.place, &fact.place) && is_related).then_some(found)
            },
        )
    }
}
