//! Choosing what is erased: texts by rules, and every content hash that one of them may have gone into.

use super::{EraseError, ErasurePlan, ErasureScope};
use crate::exchange::{TextSelection, WithholdRules, Withholding, ancestors, texts_of};
use crate::log::{EventLog, ReadError, Slice};
use annals_core::event::{ChildEvent, SessionEvent, TextPlace};
use annals_core::{Blobs, Digest, Event, Seq, SessionId};
use std::collections::{BTreeMap, BTreeSet};

/// Chooses what is erased in a session: the texts that the rules select.
pub async fn plan(
    log: &dyn EventLog,
    session: SessionId,
    rules: &WithholdRules,
    scope: ErasureScope,
) -> Result<ErasurePlan, EraseError> {
    let Choice { mut planning, unmatched, of_profile, .. } = choose(log, session, rules, false).await?;
    if let Some(rule) = unmatched {
        return Err(EraseError::NoMatch { session, rule });
    }
    if planning.plan.texts == 0 {
        return Err(EraseError::NoMatch { session, rule: "this".to_owned() });
    }
    let inherited: Vec<_> = planning.first.iter().filter(|(owner, _)| **owner != session).collect();
    if !inherited.is_empty() && !scope.with_ancestors {
        let owners: BTreeSet<SessionId> = inherited.iter().map(|(owner, _)| **owner).collect();
        let texts = planning.inherited(session);
        return Err(EraseError::Inherited { session, texts, owners });
    }
    planning.plan.ancestors = inherited.into_iter().map(|(owner, _)| *owner).collect();
    if scope.everywhere {
        planning.everywhere(log).await?;
    }
    planning.taint(log, Some(session), of_profile).await?;
    Ok(planning.plan)
}

/// What rules select in a session.
pub(super) struct Choice {
    pub planning: Planning,
    /// The first rule that selects nothing.
    pub unmatched: Option<String>,
    /// The rules that select something, as indices.
    pub matched: Vec<usize>,
    /// Whether a text of a recorded profile is chosen.
    pub of_profile: bool,
}

/// Chooses texts of a session, and the hashes in it that one of them may have gone into. `own_only`: what it inherits is left alone.
pub(super) async fn choose(
    log: &dyn EventLog,
    session: SessionId,
    rules: &WithholdRules,
    own_only: bool,
) -> Result<Choice, EraseError> {
    let head = log.head(session).await?.ok_or(ReadError::NoSession(session))?;
    let blobs = log.blobs();
    let mut matches = TextSelection::new(rules);
    let mut pages = log.pages(session, Seq::ZERO..head.next);
    while let Some(page) = pages.next_page().await? {
        for slice in &page {
            matches.take(&slice.batch, &texts_of(&slice.batch, &*blobs)?);
        }
    }
    let (unmatched, matched) = (matches.unmatched().map(str::to_owned), matches.matched());
    let mut planning = Planning { own_only: own_only.then_some(session), ..Planning::default() };
    let mut withholding = Withholding::new(matches);
    let mut pages = log.pages(session, Seq::ZERO..head.next);
    // Without a match there is nothing to choose.
    while let Some(page) = pages.next_page().await?.filter(|_| !matched.is_empty() || unmatched.is_none()) {
        for slice in &page {
            planning.take(slice, &mut withholding, &*blobs)?;
        }
    }
    Ok(Choice { planning, unmatched, matched, of_profile: withholding.of_profile() })
}

/// A plan in the making.
#[derive(Debug, Default)]
pub(super) struct Planning {
    pub plan: ErasurePlan,
    /// The first chosen text of each session that holds one.
    pub first: BTreeMap<SessionId, Seq>,
    /// How many chosen texts each of them holds.
    held: BTreeMap<SessionId, u64>,
    /// The hashes of the chosen texts.
    digests: BTreeSet<Digest>,
    /// The session whose texts alone are chosen.
    own_only: Option<SessionId>,
}

impl Planning {
    fn take(&mut self, slice: &Slice, withholding: &mut Withholding<'_>, blobs: &dyn Blobs) -> Result<(), EraseError> {
        let batch = &slice.batch;
        for event in &batch.events {
            match event {
                Event::Session(SessionEvent::Created(created)) => {
                    self.plan.directories.insert(created.location.directory.clone());
                    let source = created.origin.as_ref().map(|origin| (origin.agent.clone(), origin.id.clone()));
                    self.plan.sources.extend(source);
                }
                Event::Session(SessionEvent::Moved(moved)) => {
                    self.plan.directories.insert(moved.location.directory.clone());
                }
                Event::Child(ChildEvent::Started(started)) => {
                    self.plan.children.insert(started.child);
                }
                _ => {}
            }
        }
        let texts = texts_of(batch, blobs)?;
        let decided = withholding.decide_kinds(slice, &texts);
        if self.own_only.is_some_and(|own| own != batch.session) {
            return Ok(());
        }
        for ((seq, place, text), decided) in texts.into_iter().zip(decided) {
            let Some(text) = text.filter(|_| seq < slice.until) else { continue };
            for name in output_files(&text) {
                *self.plan.outputs.entry(name.to_owned()).or_default() |= decided.is_some();
            }
            match decided {
                None => {}
                Some(true) => self.hash(batch.session, seq, place, text),
                Some(false) => self.text(batch.session, seq, place, text),
            }
        }
        Ok(())
    }

    fn text(&mut self, session: SessionId, seq: Seq, place: String, text: String) {
        if self.plan.what.entry(session).or_default().insert(TextPlace { seq, place }) {
            self.plan.texts += 1;
            self.plan.chars += text.chars().count() as u64;
            *self.held.entry(session).or_default() += 1;
            let first = self.first.entry(session).or_insert(seq);
            *first = (*first).min(seq);
            self.digests.insert(Digest::of(text.as_bytes()));
            self.plan.erased.insert(text);
        }
    }

    fn hash(&mut self, session: SessionId, seq: Seq, place: String, text: String) {
        if place == "/digest" {
            self.plan.requests.insert(text);
        }
        if self.plan.what.entry(session).or_default().insert(TextPlace { seq, place }) {
            self.plan.hashes += 1;
        }
    }

    fn inherited(&self, session: SessionId) -> u64 {
        self.held.iter().filter(|(owner, _)| **owner != session).map(|(_, texts)| texts).sum()
    }

    /// Adds the texts of other sessions that are the same blobs.
    async fn everywhere(&mut self, log: &dyn EventLog) -> Result<(), EraseError> {
        let blobs = log.blobs();
        for other in log.sessions().all().await? {
            let mut pages = log.pages(other.session, Seq::ZERO..other.head.next);
            while let Some(page) = pages.next_page().await? {
                for slice in page.iter().filter(|slice| slice.batch.session == other.session) {
                    let batch = &slice.batch;
                    if !batch.blobs().iter().any(|named| self.digests.contains(&named.blob)) {
                        continue;
                    }
                    for (seq, place, text) in texts_of(batch, &*blobs)? {
                        match text {
                            Some(text) if self.digests.contains(&Digest::of(text.as_bytes())) => {
                                self.text(other.session, seq, place, text);
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the hashes that a chosen text may have gone into: in the rest of each log that holds one, and in all that inherit it.
    /// `planned` is done already.
    pub async fn taint(
        &mut self,
        log: &dyn EventLog,
        planned: Option<SessionId>,
        of_profile: bool,
    ) -> Result<(), EraseError> {
        let blobs = log.blobs();
        for other in log.sessions().all().await? {
            let (session, end) = (other.session, other.head.next);
            let mut from = self.first.get(&session).copied();
            for ancestor in ancestors(log, session, end).await? {
                let inherits = self.first.get(&ancestor.session).filter(|first| **first < ancestor.cut);
                from = from.into_iter().chain(inherits.copied()).min();
            }
            let Some(from) = from.filter(|_| Some(session) != planned) else { continue };
            let mut withholding = Withholding::of_hashes(of_profile);
            let mut pages = log.pages(session, from..end);
            while let Some(page) = pages.next_page().await? {
                for slice in page.iter().filter(|slice| slice.batch.session == session) {
                    let texts = texts_of(&slice.batch, &*blobs)?;
                    let decided = withholding.decide_kinds(slice, &texts);
                    for ((seq, place, text), decided) in texts.into_iter().zip(decided) {
                        if let Some(text) = text.filter(|_| decided == Some(true) && seq >= from) {
                            self.hash(session, seq, place, text);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// The names of managed tool output files in a text: `tool_` and the 26 characters of a ULID.
fn output_files(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("tool_").filter_map(|(at, _)| {
        let name = text.get(at..at + "tool_".len() + 26)?;
        name.bytes().skip("tool_".len()).all(|byte| byte.is_ascii_alphanumeric()).then_some(name)
    })
}
