//! Choosing what retention rules erase: texts of a certain age, in all sessions.

use super::planning::{Choice, Planning, choose};
use super::{EraseError, ErasurePlan};
use crate::exchange::{WithholdRule, WithholdRules};
use crate::log::EventLog;
use annals_core::SessionId;
use std::collections::BTreeMap;

/// What rules erase in a store.
#[derive(Clone, Debug, Default)]
pub struct RetentionPlan {
    /// All of it.
    pub plan: ErasurePlan,
    /// What each session loses.
    pub sessions: BTreeMap<SessionId, RetainedSession>,
}

/// What a session loses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetainedSession {
    /// How many texts.
    pub texts: u64,
    /// Their characters.
    pub chars: u64,
    /// The rules that select texts of it, as indices.
    pub rules: Vec<usize>,
}

/// Chooses what rules erase in all sessions of a store: texts that are still there, each in the session that wrote it. Reads every
/// session twice.
///
/// # Errors
/// See [`EraseError`]; a rule may select nothing.
pub async fn plan_retention(log: &dyn EventLog, rules: Vec<WithholdRule>) -> Result<RetentionPlan, EraseError> {
    let rules = WithholdRules::Withhold(rules);
    let (mut all, mut sessions, mut any_profile) = (Planning::default(), BTreeMap::new(), false);
    for head in log.sessions().all().await? {
        let Choice { planning, matched, of_profile, .. } = choose(log, head.session, &rules, true).await?;
        let Planning { plan, first, .. } = planning;
        if plan.texts == 0 {
            continue;
        }
        let (texts, chars) = (plan.texts, plan.chars);
        sessions.insert(head.session, RetainedSession { texts, chars, rules: matched });
        all.plan.extend(plan);
        all.first.extend(first);
        any_profile |= of_profile;
    }
    if !sessions.is_empty() {
        all.taint(log, None, any_profile).await?;
    }
    Ok(RetentionPlan { plan: all.plan, sessions })
}
