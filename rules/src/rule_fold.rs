//! Several rules over one session as one fold.

use crate::fact::{FactField, FactKind};
use crate::facts::{FactFold, FactReading};
use crate::monitor::{RuleFinding, RuleMonitor};
use crate::rule::AuditRule;
use annals_core::{Blobs, Digest, NoBlobs, Record};
use annals_projections::Projection;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The state of rules over a session, to be saved.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RuleFoldState {
    /// Digest of the rules.
    rules: Option<Digest>,
    facts: FactFold,
    monitors: Vec<RuleMonitor>,
}

/// Rules, and what they need of facts.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompiledRules {
    rules: Vec<AuditRule>,
    needs: BTreeSet<FactField>,
}

impl CompiledRules {
    /// Applies a record. `root` gives the folder of the project that a directory belongs to.
    pub(crate) fn apply(
        &self,
        state: &mut RuleFoldState,
        record: &Record<'_>,
        blobs: &dyn Blobs,
        root: &dyn Fn(&str) -> PathBuf,
    ) {
        let reading = FactReading { blobs, root, needs: &self.needs };
        for fact in state.facts.facts(record, &reading) {
            for (rule, monitor) in self.rules.iter().zip(&mut state.monitors) {
                monitor.apply(&rule.plan, &fact);
            }
        }
    }
}

impl RuleFoldState {
    /// Whether a saved state is of the rules of this one.
    pub(crate) fn is_of_the_same_rules(&self, saved: &Self) -> bool {
        self.rules == saved.rules && self.monitors.len() == saved.monitors.len()
    }
}

/// Rules over one session: a projection whose view are the findings. Without rules it finds nothing.
///
/// Texts that are not inline are not seen by [`Projection::apply`]; [`RuleFold::apply_with`] reads those that a rule names.
#[derive(Clone, Debug, Default)]
pub struct RuleFold {
    rules: CompiledRules,
    state: RuleFoldState,
}

impl Projection for RuleFold {
    const NAME: &'static str = "rules";
    const VERSION: u32 = 1;

    fn apply(&mut self, record: &Record<'_>) {
        self.apply_with(record, &NoBlobs, &|directory| Path::new(directory).to_owned());
    }
}

impl RuleFold {
    /// Rules before the first event.
    pub fn new(rules: Vec<AuditRule>) -> Self {
        let needs = rules.iter().flat_map(|rule| rule.plan.needs.iter().copied()).collect();
        let monitors = vec![RuleMonitor::default(); rules.len()];
        let state = RuleFoldState { rules: Some(digest(&rules)), monitors, ..RuleFoldState::default() };
        Self { rules: CompiledRules { rules, needs }, state }
    }

    /// Rules where their state was saved; `None` if it is that of other rules.
    pub fn resumed(rules: Vec<AuditRule>, state: RuleFoldState) -> Option<Self> {
        let begun = Self::new(rules);
        begun.state.is_of_the_same_rules(&state).then(|| Self { state, ..begun })
    }

    /// The same rules with the state that they lead to later.
    pub(crate) fn continued(self, state: RuleFoldState) -> Self {
        Self { state, ..self }
    }

    pub(crate) fn rules(&self) -> &CompiledRules {
        &self.rules
    }

    /// The number that a saved state is found by: another one for other rules.
    pub fn version(rules: &[AuditRule]) -> u32 {
        let digest = digest(rules).to_string();
        u32::from_str_radix(digest.get(..8).unwrap_or_default(), 16).unwrap_or_default()
    }

    /// The state, to be saved.
    pub fn state(&self) -> &RuleFoldState {
        &self.state
    }

    /// Applies a record. `root` gives the folder of the project that a directory belongs to.
    pub fn apply_with(&mut self, record: &Record<'_>, blobs: &dyn Blobs, root: &dyn Fn(&str) -> PathBuf) {
        self.rules.apply(&mut self.state, record, blobs, root);
    }

    /// What each rule found so far, in order: the findings, how many more there are, and whether it had to forget facts.
    pub fn findings(&self) -> Vec<(&AuditRule, Vec<RuleFinding>, u64, bool)> {
        let each = self.rules.rules.iter().zip(&self.state.monitors).map(|(rule, monitor)| {
            let (findings, omitted) = monitor.at_the_end(&rule.plan);
            (rule, findings, omitted, monitor.forgot)
        });
        each.collect()
    }
}

/// What rules do, regardless of their words.
fn digest(rules: &[AuditRule]) -> Digest {
    let mut text = format!("{}\n", RuleFold::VERSION);
    for rule in rules {
        text.push_str(&format!("{}\n{}\n", rule.expression.len(), rule.expression));
    }
    // Another catalogue of facts gives other facts.
    FactKind::ALL.iter().for_each(|kind| text.push_str(kind.name()));
    Digest::of(text.as_bytes())
}
