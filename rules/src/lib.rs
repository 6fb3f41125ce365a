//! Rules over sessions: a small typed language over facts and time, compiled to folds (`docs/rules.md`).
//!
//! ```text
//! expression ─► words ─► syntax ─► plan (kinds, names, types checked)
//!                                    │
//! Record ─► facts (what a call is about, what its result says) ─► monitors ─► findings ─► answer, SARIF
//! ```
//!
//! **Invariant**: no expression and no log makes it panic, and its memory is bounded by constants, not by the log. Where something
//! had to be forgotten, the answer says so.

mod answer;
mod asking;
mod compile;
mod fact;
mod facts;
mod monitor;
mod parser;
mod plan;
mod position;
mod rule;
mod rule_fold;
mod sarif;
#[cfg(feature = "schema")]
mod schema;
mod shipped;
mod syntax;
mod token;

pub use answer::{AuditedRule, FoundByRule, RuleAudit, RuleLimit};
pub use asking::{RuleQuery, audit};
pub use fact::{AuditFact, COMMON_FIELDS, FactField, FactKind, FactPlace, FactType, FactValue};
pub use monitor::{RelatedFact, RuleFinding};
pub use position::{ExprError, ExprSpan};
pub use rule::{AuditRule, RuleError, RuleLevel, shipped};
pub use rule_fold::{RuleFold, RuleFoldState};
pub use sarif::sarif;
#[cfg(feature = "schema")]
pub use schema::{RULE_ANSWERS, answer_schema};
pub use shipped::SHIPPED;
