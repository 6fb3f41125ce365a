//! Whether a store continues what was signed.

use super::SignedError;
use super::answers::{SignedStore, VerifiedTree};
use annals_core::{Seq, SessionId};
use annals_store::EventLog;
use annals_store::disk::StorePath;
use annals_store::signing::checkpoint::SignedCheckpoint;
use annals_store::signing::continuity::discontinuity_of;
use annals_store::signing::folder::{SignedTree, TreeFolder};
use annals_store::signing::heads::SignedHead;
use annals_store::signing::signers::AllowedSigners;
use annals_store::signing::tree::root_of;
use std::collections::BTreeMap;

/// What is compared with what.
pub struct SignedCheck<'a> {
    /// The log.
    pub log: &'a dyn EventLog,
    /// The folder of the store.
    pub store: &'a StorePath,
    /// Only this session; `None` for all that were signed.
    pub session: Option<SessionId>,
    /// The keys that count; `None` for those that the store itself names.
    pub signers: Option<&'a AllowedSigners>,
    /// A checkpoint that was kept elsewhere, which the store must continue.
    pub kept: Option<&'a SignedCheckpoint>,
}

/// Verifies that checkpoints, heads and signatures agree with each other, and that each session continues what was signed of
/// it. Digests are compared, not recomputed: verify the store as well.
///
/// # Errors
/// When the log cannot be read. What does not hold is in the answer.
pub async fn verify_signed(check: SignedCheck<'_>) -> Result<SignedStore, SignedError> {
    let mut found = SignedStore { trusted: check.signers.is_some(), ..SignedStore::default() };
    let (mut by_session, mut is_kept_found): (BTreeMap<SessionId, Vec<SignedHead>>, _) = (BTreeMap::new(), false);
    for folder in TreeFolder::all(check.store)? {
        let tree = match folder.read() {
            Ok(tree) => tree,
            Err(error) => {
                found.problems.push(error.to_string());
                continue;
            }
        };
        if tree.checkpoints.is_empty() {
            continue;
        }
        is_kept_found |= check_tree(&check, &tree, &mut found);
        for head in tree.heads.heads().iter().filter(|head| check.session.is_none_or(|one| one == head.session)) {
            by_session.entry(head.session).or_default().push(head.clone());
        }
    }
    if let Some(kept) = check.kept.filter(|_| !is_kept_found) {
        let origin = &kept.head.origin;
        found
            .problems
            .push(format!("the checkpoint that you kept is of {origin}; this store has no tree of that name"));
    }
    if found.trees.is_empty() && found.problems.is_empty() {
        return Err(SignedError::NothingSigned);
    }
    if let Some(session) = check.session.filter(|session| !by_session.contains_key(session)) {
        found.problems.push(format!("session {session} was never signed"));
    }
    for (session, heads) in &mut by_session {
        // Trees of a store and of its copies: each has its own order.
        heads.sort_by_key(|head| head.seq);
        match discontinuity_of(check.log, *session, &heads.iter().collect::<Vec<_>>()).await? {
            None => found.sessions += 1,
            Some(broken) => found.problems.push(broken.to_string()),
        }
    }
    count_new(&check, &by_session, &mut found).await?;
    Ok(found)
}

/// Verifies signatures, and the checkpoint that was kept if it is of this tree; gives whether it is.
fn check_tree(check: &SignedCheck<'_>, tree: &SignedTree, found: &mut SignedStore) -> bool {
    let own = AllowedSigners::parse(&tree.signers);
    let signers = check.signers.unwrap_or(&own);
    let mut signatures = Vec::new();
    for checkpoint in &tree.checkpoints {
        match signers.verify(checkpoint) {
            Ok(valid) => signatures = valid.into_iter().map(Into::into).collect(),
            Err(error) => found.problems.push(error.to_string()),
        }
    }
    let origin = tree.checkpoints.last().map_or(String::new(), |newest| newest.head.origin.clone());
    let is_kept = check.kept.is_some_and(|kept| kept.head.origin == origin);
    if let Some(kept) = check.kept.filter(|_| is_kept) {
        found.problems.extend(signers.verify(kept).err().map(|error| error.to_string()));
        let hashes = tree.heads.hashes();
        let size = kept.head.size;
        match usize::try_from(size).ok().and_then(|size| hashes.get(..size)) {
            Some(hashes) if root_of(hashes) == kept.head.root => {}
            Some(_) => found.problems.push(format!(
                "checkpoint {size} of {origin} that you kept has another root than the store: what was signed was rewritten"
            )),
            None => found.problems.push(format!(
                "the checkpoint of {origin} that you kept has {size} heads, the store {}: signed heads are gone",
                hashes.len()
            )),
        }
    }
    let (checkpoints, heads) = (tree.checkpoints.len() as u64, tree.heads.heads().len() as u64);
    found.trees.push(VerifiedTree { origin, checkpoints, heads, signatures });
    is_kept
}

/// Counts what is not signed yet.
async fn count_new(
    check: &SignedCheck<'_>,
    by_session: &BTreeMap<SessionId, Vec<SignedHead>>,
    found: &mut SignedStore,
) -> Result<(), SignedError> {
    for now in check.log.sessions().all().await? {
        if check.session.is_some_and(|session| session != now.session) {
            continue;
        }
        let signed = by_session.get(&now.session).and_then(|heads| heads.last()).map(|head| head.seq.plus(1));
        let new = now.head.next.0.saturating_sub(signed.unwrap_or(Seq::ZERO).0);
        found.unsigned_sessions += u64::from(signed.is_none());
        found.grown_sessions += u64::from(signed.is_some() && new > 0);
        found.unsigned_events += new;
    }
    Ok(())
}
