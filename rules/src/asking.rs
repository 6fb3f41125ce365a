//! Rules asked of sessions. Resumed from saved states where a store keeps views.

use crate::answer::{AuditedRule, FoundByRule, RuleAudit, RuleLimit};
use crate::rule::AuditRule;
use crate::rule_fold::{RuleFold, RuleFoldState};
use annals_core::{Record, Seq, SessionId};
use annals_inspect::reader::{FindError, Reader};
use annals_inspect::safety::UnreadableSession;
use annals_projections::Projection;
use annals_store::ReadError;
use annals_store::cache::{FoldVersion, ViewCache};
use annals_store::views::{SavedFold, Views};
use std::path::PathBuf;
use std::sync::Arc;

/// With the views of a store, a state is saved again when this many events came since.
const WORTH_SAVING: u64 = 2_000;

/// What is asked.
#[derive(Clone, Debug)]
pub struct RuleQuery {
    /// The rules.
    pub rules: Vec<AuditRule>,
    /// The sessions, in the order in which they are read.
    pub sessions: Vec<SessionId>,
    /// Also report facts that a fork inherits from the session that it was forked from.
    pub inherited: bool,
    /// List at most this many findings.
    pub limit: usize,
    /// Where the states of the rules are found and saved; without it, with the saved views of the reader.
    pub states: Option<Arc<ViewCache>>,
}

/// Asks rules of sessions. `root` gives the folder of the project that a directory belongs to. A session that is damaged is read
/// up to the damage.
///
/// # Errors
/// When the log cannot be read for another reason.
pub async fn audit(reader: &Reader, query: &RuleQuery, root: &dyn Fn(&str) -> PathBuf) -> Result<RuleAudit, FindError> {
    let mut answer = RuleAudit { rules: query.rules.iter().map(AuditedRule::from).collect(), ..RuleAudit::default() };
    for session in &query.sessions {
        let (fold, events, damage) = folded(reader, query, *session, root).await?;
        answer.events += events;
        let mut found = Vec::new();
        for (number, (rule, findings, omitted, forgot)) in fold.findings().into_iter().enumerate() {
            let own = findings.into_iter().filter(|found| query.inherited || found.fact.session == *session);
            let before = found.len();
            found.extend(own.map(|finding| (finding.order, number, rule, finding)));
            let count = (found.len() - before) as u64 + omitted;
            answer.omitted += omitted;
            if let Some(rule) = answer.rules.get_mut(number) {
                rule.findings += count;
            }
            if forgot {
                answer.limits.push(RuleLimit { rule: rule.id.clone(), session: *session });
            }
        }
        found.sort_by_key(|(order, number, ..)| (*order, *number));
        for (_, _, rule, finding) in found {
            if answer.findings.len() >= query.limit {
                answer.omitted += 1;
                continue;
            }
            answer.findings.push(FoundByRule {
                rule: rule.id.clone(),
                level: rule.level,
                title: rule.title.clone(),
                session: *session,
                fact: finding.fact,
                related: finding.related,
                open: finding.open,
            });
        }
        answer.sessions += 1;
        answer.unreadable.extend(damage);
    }
    Ok(answer)
}

/// The rules at the end of a session, how many events were read for that, and the damage if there is some.
async fn folded(
    reader: &Reader,
    query: &RuleQuery,
    session: SessionId,
    root: &dyn Fn(&str) -> PathBuf,
) -> Result<(RuleFold, u64, Option<UnreadableSession>), FindError> {
    let begun = RuleFold::new(query.rules.clone());
    // A folder that is named for states gets each; in a store only what takes long to fold again is worth its place.
    let (cache, worth_saving) = match &query.states {
        Some(states) => (Some(states), 1),
        None => (reader.saved(), WORTH_SAVING),
    };
    let saved = SavedFold {
        fold: FoldVersion { name: RuleFold::NAME, version: RuleFold::version(&query.rules) },
        start: begun.state().clone(),
        is_current: RuleFoldState::is_of_the_same_rules,
        apply: |state: &mut RuleFoldState, record: &Record<'_>| {
            begun.rules().apply(state, record, reader.blobs(), root);
        },
        worth_saving,
    };
    let views: Views<RuleFoldState> = Views::of(reader.log().clone(), cache.cloned());
    let found = views.resumed(session, Seq(u64::MAX), saved).await?;
    let damage = match found.damage {
        None => None,
        Some(ReadError::Damaged { seq, reason, .. }) => Some(UnreadableSession { session, seq, reason }),
        Some(error) => return Err(error.into()),
    };
    Ok((begun.continued(Arc::unwrap_or_clone(found.view)), found.folded.records, damage))
}
