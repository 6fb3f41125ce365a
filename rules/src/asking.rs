//! Rules asked of sessions. Resumed from saved states where a store keeps views.

use crate::answer::{AuditedRule, FoundByRule, RuleAudit, RuleLimit};
use crate::rule::AuditRule;
use crate::rule_fold::{RuleFold, RuleFoldState};
use annals_core::{Digest, Seq, SessionId};
use annals_inspect::reader::{FindError, Reader};
use annals_inspect::safety::UnreadableSession;
use annals_projections::Projection;
use annals_store::cache::{FoldVersion, Saved};
use annals_store::{ReadError, Slice};
use std::path::PathBuf;

/// A state is saved again when this many events came since.
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
}

/// Asks rules of sessions. `root` gives the folder of the project that a directory belongs to. A session that is damaged is read
/// up to the damage.
///
/// # Errors
/// When the log cannot be read for another reason.
pub async fn audit(reader: &Reader, query: &RuleQuery, root: &dyn Fn(&str) -> PathBuf) -> Result<RuleAudit, FindError> {
    let mut answer = RuleAudit { rules: query.rules.iter().map(AuditedRule::from).collect(), ..RuleAudit::default() };
    for session in &query.sessions {
        let (fold, damage) = folded(reader, &query.rules, *session, root).await?;
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

/// The rules at the end of a session, and the damage if there is some.
async fn folded(
    reader: &Reader,
    rules: &[AuditRule],
    session: SessionId,
    root: &dyn Fn(&str) -> PathBuf,
) -> Result<(RuleFold, Option<UnreadableSession>), FindError> {
    let version = FoldVersion { name: RuleFold::NAME, version: RuleFold::version(rules) };
    let until = reader.head(session).await?.next;
    let (mut fold, from) = match resumed(reader, rules, session, version, until).await {
        Some(found) => found,
        None => (RuleFold::new(rules.to_vec()), Seq::ZERO),
    };
    let mut end: Option<(Seq, Digest)> = None;
    let mut pages = reader.pages(session, from, until);
    let damage = loop {
        let slices = match pages.next_page().await {
            Ok(Some(slices)) => slices,
            Ok(None) => break None,
            Err(ReadError::Damaged { seq, reason, .. }) => break Some(UnreadableSession { session, seq, reason }),
            Err(error) => return Err(error.into()),
        };
        slices.iter().flat_map(Slice::records).for_each(|record| fold.apply_with(&record, reader.blobs(), root));
        // Only a whole batch has a digest to find it by.
        end = slices
            .last()
            .filter(|slice| slice.batch.next() == slice.until)
            .map(|slice| (slice.until, slice.batch.digest));
    };
    if let (Some(cache), Some((seq, digest)), None) = (reader.saved().filter(|cache| cache.keeps()), end, &damage)
        && seq.0.saturating_sub(from.0) >= WORTH_SAVING
        && let Ok(bytes) = serde_json::to_vec(fold.state())
    {
        // Without it the next audit folds again: slower, and equally right.
        drop(cache.put(session, version, &Saved { seq, digest, bytes }));
    }
    Ok((fold, damage))
}

async fn resumed(
    reader: &Reader,
    rules: &[AuditRule],
    session: SessionId,
    version: FoldVersion<'static>,
    until: Seq,
) -> Option<(RuleFold, Seq)> {
    let saved = reader.saved()?.nearest(session, version, until)?;
    let batch = reader.log().batch_at(session, Seq(saved.seq.0.checked_sub(1)?)).await.ok()??.batch;
    let state: RuleFoldState = serde_json::from_slice(&saved.bytes).ok()?;
    let sound = batch.next() == saved.seq && batch.digest == saved.digest;
    Some((RuleFold::resumed(rules.to_vec(), state).filter(|_| sound)?, saved.seq))
}
