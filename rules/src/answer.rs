//! What an audit by rules answers.

use crate::monitor::RelatedFact;
use crate::rule::{AuditRule, RuleLevel};
use annals_core::SessionId;
use annals_inspect::safety::UnreadableSession;
use serde::Serialize;

/// What rules found in sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleAudit {
    /// How many sessions were read.
    pub sessions: u64,
    /// How many events were read: those since the saved states, where there are some.
    pub events: u64,
    /// The rules.
    pub rules: Vec<AuditedRule>,
    /// What they found: by session, then in the order of events.
    pub findings: Vec<FoundByRule>,
    /// How many more findings there are than listed.
    pub omitted: u64,
    /// Where a rule had to forget facts: findings may be missing or too many.
    pub limits: Vec<RuleLimit>,
    /// Sessions that cannot be read to their end.
    pub unreadable: Vec<UnreadableSession>,
}

/// A rule that was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditedRule {
    /// Its name.
    pub id: String,
    /// What a finding is.
    pub title: String,
    /// How much a finding matters.
    pub level: RuleLevel,
    /// What a finding means and what to do.
    pub help: String,
    /// The expression.
    pub expression: String,
    /// How many findings there are.
    pub findings: u64,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FoundByRule {
    /// The name of the rule.
    pub rule: String,
    /// How much it matters.
    pub level: RuleLevel,
    /// The title of the rule.
    pub title: String,
    /// The session that was asked.
    pub session: SessionId,
    /// The fact that the rule is about.
    pub fact: RelatedFact,
    /// The facts that it is related to, oldest first.
    pub related: Vec<RelatedFact>,
    /// Whether it only holds because the session has no later facts yet.
    pub open: bool,
}

/// A rule that had to forget facts of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleLimit {
    /// The name of the rule.
    pub rule: String,
    /// The session.
    pub session: SessionId,
}

impl From<&AuditRule> for AuditedRule {
    fn from(rule: &AuditRule) -> Self {
        Self {
            id: rule.id.clone(),
            title: rule.title.clone(),
            level: rule.level,
            help: rule.help.clone(),
            expression: rule.expression.clone(),
            findings: 0,
        }
    }
}

impl RuleAudit {
    /// The answer over the sessions of two logs, for the same rules.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if self.rules.is_empty() {
            return other;
        }
        self.sessions += other.sessions;
        self.events += other.events;
        for (rule, more) in self.rules.iter_mut().zip(&other.rules) {
            rule.findings += more.findings;
        }
        self.findings.extend(other.findings);
        self.omitted += other.omitted;
        self.limits.extend(other.limits);
        self.unreadable.extend(other.unreadable);
        self
    }
}
