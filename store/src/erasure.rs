//! Erasing texts: which ones, recorded in the log before they are removed (`docs/reference/erasure.md`).
//!
//! ```text
//! rules ─► plan (reads the log) ─► DiskLog::erase: texts.erased per session ─► closed ─► opened: every copy written again
//! ```
//! [`plan`] chooses texts of a session by rules, and with them every content hash that one of them may have gone into, in this
//! session and in all that inherit from it.

use crate::disk::DiskLog;
use crate::exchange::{ExportError, TextSelection, WithholdRules, Withholding, ancestors, texts_of};
use crate::log::{AppendError, Draft, EventLog, ReadError, Slice};
use annals_core::event::{ChildEvent, SessionEvent, SessionForgotten, TextPlace, TextsErased};
use annals_core::{BlobHash, Blobs, Digest, Event, Seq, SessionId, SessionKey, Time};
use std::collections::{BTreeMap, BTreeSet};

/// What is erased, and what that reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasurePlan {
    /// The places of texts and hashes, by the session whose log holds them.
    pub what: BTreeMap<SessionId, BTreeSet<TextPlace>>,
    /// How many of them are texts.
    pub texts: u64,
    /// Their characters.
    pub chars: u64,
    /// How many are hashes that a text may have gone into: such requests cannot be proved any more.
    pub hashes: u64,
    /// The chosen texts: to look for copies outside the log. Never recorded.
    pub erased: BTreeSet<String>,
    /// Names of tool output files in the texts of the session, and whether an erased text names it.
    pub outputs: BTreeMap<String, bool>,
    /// Digests of requests that an erased text may have gone into: cassettes name their answers so.
    pub requests: BTreeSet<String>,
    /// Directories of the session: files may have been captured there.
    pub directories: BTreeSet<String>,
    /// The agents, and their ids, that sessions of the plan were imported from: their own files still hold the texts.
    pub sources: BTreeSet<(String, String)>,
    /// Sessions that hold a chosen text of their own, inherited by this one.
    pub ancestors: BTreeSet<SessionId>,
    /// Child sessions of this one: they may hold the same words.
    pub children: BTreeSet<SessionId>,
}

/// What an erasure may reach beyond the session that is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErasureScope {
    /// Texts that the session inherits are erased in the session that wrote them.
    pub with_ancestors: bool,
    /// Blobs of erased texts are erased in all sessions of the store.
    pub everywhere: bool,
}

/// An erasure could not be planned; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// The log could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A text could not be read.
    #[error(transparent)]
    Text(#[from] ExportError),
    /// A rule selects nothing that is still there.
    #[error("session {session}: nothing to erase; no text that is still there matches {rule}")]
    NoMatch {
        /// The session.
        session: SessionId,
        /// The rule that selects nothing, or what was asked for.
        rule: String,
    },
    /// The session only inherits the texts.
    #[error(
        "session {session} inherits {texts} of these texts from {}; to erase them there: --with-ancestors",
        listed(owners)
    )]
    Inherited {
        /// The session.
        session: SessionId,
        /// How many.
        texts: u64,
        /// Who wrote them.
        owners: BTreeSet<SessionId>,
    },
}

fn listed(sessions: &BTreeSet<SessionId>) -> String {
    sessions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Chooses what is erased in a session: the texts that the rules select.
///
/// # Errors
/// See [`EraseError`].
pub async fn plan(
    log: &dyn EventLog,
    session: SessionId,
    rules: &WithholdRules,
    scope: ErasureScope,
) -> Result<ErasurePlan, EraseError> {
    let head = log.head(session).await?.ok_or(ReadError::NoSession(session))?;
    let blobs = log.blobs();
    let mut matches = TextSelection::new(rules);
    let mut pages = log.pages(session, Seq::ZERO..head.next);
    while let Some(page) = pages.next_page().await? {
        for slice in &page {
            matches.take(&slice.batch, &texts_of(&slice.batch, &*blobs)?);
        }
    }
    if let Some(rule) = matches.unmatched() {
        return Err(EraseError::NoMatch { session, rule: rule.to_owned() });
    }
    let mut planning = Planning::default();
    let mut withholding = Withholding::new(matches);
    let mut pages = log.pages(session, Seq::ZERO..head.next);
    while let Some(page) = pages.next_page().await? {
        for slice in &page {
            planning.take(slice, &mut withholding, &*blobs)?;
        }
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
    planning.taint(log, session, withholding.of_profile()).await?;
    Ok(planning.plan)
}

/// A plan in the making.
#[derive(Debug, Default)]
struct Planning {
    plan: ErasurePlan,
    /// The first chosen text of each session that holds one.
    first: BTreeMap<SessionId, Seq>,
    /// How many chosen texts each of them holds.
    held: BTreeMap<SessionId, u64>,
    /// The hashes of the chosen texts.
    digests: BTreeSet<Digest>,
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
        for other in log.sessions().await? {
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
    async fn taint(&mut self, log: &dyn EventLog, planned: SessionId, of_profile: bool) -> Result<(), EraseError> {
        let blobs = log.blobs();
        for other in log.sessions().await? {
            let (session, end) = (other.session, other.head.next);
            let mut from = self.first.get(&session).copied();
            for ancestor in ancestors(log, session, end).await? {
                let inherits = self.first.get(&ancestor.session).filter(|first| **first < ancestor.cut);
                from = from.into_iter().chain(inherits.copied()).min();
            }
            let Some(from) = from.filter(|_| session != planned) else { continue };
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

impl ErasurePlan {
    /// The blobs that erased texts may be.
    pub fn blobs(&self) -> BTreeSet<BlobHash> {
        self.erased.iter().map(|text| Digest::of(text.as_bytes())).collect()
    }

    /// The sessions that get a `texts.erased`.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.what.keys().copied()
    }
}

/// Who erases, why, and when.
#[derive(Clone, Debug)]
pub struct ErasureNote {
    /// Why.
    pub reason: String,
    /// Who asked for it.
    pub by: String,
    /// Now.
    pub at: Time,
    /// Whether lists leave this session out from now on.
    pub forgets: Option<SessionId>,
}

/// Records an erasure: each session of the plan gets its `texts.erased`. The texts are still there until the store is closed and
/// [`DiskLog::finish_erasure`] was called, or any process opened it again. `new_key` gives 32 random bytes at each call.
///
/// # Errors
/// When the disk refuses, or the log does: what was recorded before is erased all the same.
pub async fn record(
    log: &DiskLog,
    plan: &ErasurePlan,
    note: &ErasureNote,
    new_key: &(dyn Fn() -> SessionKey + Sync),
) -> Result<(), RecordErasureError> {
    log.begin_erasure(plan.sessions(), plan.blobs())?;
    for (session, what) in &plan.what {
        let mut expected = log.head(*session).await?.ok_or(ReadError::NoSession(*session))?.next;
        let mut drafts = Vec::new();
        for what in in_batches(what) {
            let (reason, by, key) = (note.reason.as_str().into(), note.by.clone(), new_key().into());
            let events = vec![TextsErased { what, reason, by, key }.into()];
            drafts.push(Draft { session: *session, expected, at: note.at, events, digest: None, states: Vec::new() });
            expected = expected.plus(1);
        }
        if let Some(last) = drafts.last_mut().filter(|_| note.forgets == Some(*session)) {
            last.events.push(SessionForgotten {}.into());
        }
        if let Some(refused) = log.append_all(drafts).await.refused {
            return Err(refused.into());
        }
    }
    Ok(())
}

/// How many bytes of places go into one event: a batch holds 64 KiB.
const PLACES: usize = 32 * 1024;

fn in_batches(what: &BTreeSet<TextPlace>) -> Vec<Vec<TextPlace>> {
    let (mut batches, mut bytes): (Vec<Vec<TextPlace>>, usize) = (Vec::new(), PLACES);
    for text in what {
        bytes += text.place.len() + 16;
        if bytes > PLACES {
            batches.push(Vec::new());
            bytes = text.place.len() + 16;
        }
        batches.last_mut().into_iter().for_each(|batch| batch.push(text.clone()));
    }
    batches
}

/// An erasure could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordErasureError {
    /// The log could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The log refused.
    #[error("the erasure could not be recorded: {0}")]
    Append(#[from] AppendError),
    /// The disk refused.
    #[error("the erasure could not be begun: {0}")]
    Io(#[from] std::io::Error),
}

/// The names of managed tool output files in a text: `tool_` and the 26 characters of a ULID.
fn output_files(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("tool_").filter_map(|(at, _)| {
        let name = text.get(at..at + "tool_".len() + 26)?;
        name.bytes().skip("tool_".len()).all(|byte| byte.is_ascii_alphanumeric()).then_some(name)
    })
}
