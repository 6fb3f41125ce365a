//! Forks and sub-agents of a store as trees.

use crate::reader::{FindError, Reader};
use crate::recordings::recordings;
use annals_core::event::{ChildOutcome, Parent};
use annals_core::{AgentName, Seq, SessionId, Time};
use annals_projections::{Catalogue, CatalogueEntry, FileTotals, Fork};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// One session in a tree.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeSession {
    /// The session.
    pub id: SessionId,
    /// How many sessions are above it.
    pub depth: usize,
    /// Its title, or the beginning of its first input.
    pub title: String,
    /// The selected agent.
    pub agent: AgentName,
    /// Where a fork continues from.
    pub fork: Option<Fork>,
    /// The session that started a sub-agent.
    pub parent: Option<Parent>,
    /// The recording of the same session, for the transcript that its agent kept.
    pub recording: Option<SessionId>,
    /// How a sub-agent ended, as its parent recorded it.
    pub outcome: Option<ChildOutcome>,
    /// Time of its first event.
    pub created: Time,
    /// Time of its last event.
    pub updated: Time,
    /// The Seq that its next event gets.
    pub next: Seq,
    /// What it changed in its project's files, if anything is known.
    pub changed: Option<FileTotals>,
    /// Whether it is a sub-agent that its parent recorded no end of.
    #[serde(skip)]
    pub is_open: bool,
    /// Whether it is the last one below its parent, for each ancestor but the root and for it, the oldest first.
    #[serde(skip)]
    pub lasts: Vec<bool>,
}

/// The trees of a store, or one of them.
#[derive(Clone, Debug, Default)]
pub struct SessionTrees {
    /// Each session before those below it.
    pub sessions: Vec<TreeSession>,
    /// Roots that come from a session that is not in the store: the root and that session.
    pub from_outside: Vec<(SessionId, SessionId)>,
}

impl Reader {
    /// The tree that contains `session`; without one, every tree of more than one session.
    pub async fn trees(&self, session: Option<SessionId>) -> Result<SessionTrees, FindError> {
        let mut catalogue = self.catalogue().await?;
        catalogue.sessions.retain(|id, entry| !entry.forgotten || session == Some(*id));
        let relations = Relations::of(&catalogue);
        let order = relations.in_order(session);
        let outcomes = outcomes(self, &relations, &order).await?;
        let (mut sessions, mut from_outside) = (Vec::new(), Vec::new());
        for (id, lasts) in order {
            let Some(entry) = catalogue.sessions.get(&id) else { continue };
            let outside = relations.above(&id).filter(|parent| !catalogue.sessions.contains_key(parent));
            from_outside.extend(outside.filter(|_| lasts.is_empty()).map(|parent| (id, parent)));
            let child = outcomes.get(&id);
            sessions.push(TreeSession {
                id,
                depth: lasts.len(),
                title: entry.title.clone(),
                agent: entry.agent.clone(),
                fork: entry.fork,
                parent: entry.parent.clone(),
                recording: relations.recordings.get(&id).copied(),
                outcome: child.copied().flatten(),
                created: entry.created,
                updated: entry.updated,
                next: entry.next,
                changed: entry.changed.totals(),
                is_open: child == Some(&None),
                lasts,
            });
        }
        Ok(SessionTrees { sessions, from_outside })
    }
}

/// The session that another one is below, as it says itself.
fn above(entry: &CatalogueEntry) -> Option<SessionId> {
    entry.fork.map(|fork| fork.parent).or_else(|| entry.parent.as_ref().map(|parent| parent.session))
}

/// Which sessions are below which.
struct Relations<'c> {
    catalogue: &'c Catalogue,
    /// The recording that a transcript is shown below.
    recordings: BTreeMap<SessionId, SessionId>,
    below: BTreeMap<SessionId, Vec<SessionId>>,
}

impl<'c> Relations<'c> {
    fn of(catalogue: &'c Catalogue) -> Self {
        let mut recordings = recordings(catalogue);
        // A sub-agent is below the session that started it.
        recordings.retain(|id, _| catalogue.sessions.get(id).and_then(above).is_none());
        let mut relations = Self { catalogue, recordings, below: BTreeMap::new() };
        let mut below: BTreeMap<SessionId, Vec<SessionId>> = BTreeMap::new();
        for id in catalogue.sessions.keys() {
            if let Some(above) = relations.above(id).filter(|above| catalogue.sessions.contains_key(above)) {
                below.entry(above).or_default().push(*id);
            }
        }
        let created = |id: &SessionId| catalogue.sessions.get(id).map(|entry| entry.created);
        below.values_mut().for_each(|ids| ids.sort_by_key(|id| (created(id), *id)));
        relations.below = below;
        relations
    }

    /// The session that another one is below.
    fn above(&self, id: &SessionId) -> Option<SessionId> {
        let own = self.catalogue.sessions.get(id).and_then(above);
        own.or_else(|| self.recordings.get(id).copied())
    }

    /// The oldest ancestor. In a damaged log that runs in a circle it is the first one met twice.
    fn root(&self, session: SessionId) -> SessionId {
        let (mut root, mut seen) = (session, BTreeSet::from([session]));
        while let Some(next) = self.above(&root)
            && self.catalogue.sessions.contains_key(&next)
            && seen.insert(next)
        {
            root = next;
        }
        root
    }

    fn below(&self, session: SessionId) -> &[SessionId] {
        self.below.get(&session).map(Vec::as_slice).unwrap_or_default()
    }

    /// The trees in depth-first order, each session with [`TreeSession::lasts`].
    fn in_order(&self, session: Option<SessionId>) -> Vec<(SessionId, Vec<bool>)> {
        let roots: BTreeSet<SessionId> = match session {
            Some(session) => BTreeSet::from([self.root(session)]),
            // A session without relations does not make a tree.
            None => self.below.keys().map(|id| self.root(*id)).collect(),
        };
        let (mut order, mut visited) = (Vec::new(), BTreeSet::new());
        let mut left: Vec<(SessionId, Vec<bool>)> = roots.into_iter().rev().map(|id| (id, Vec::new())).collect();
        while let Some((id, lasts)) = left.pop() {
            if !self.catalogue.sessions.contains_key(&id) || !visited.insert(id) {
                continue;
            }
            let below = self.below(id);
            for (at, child) in below.iter().enumerate().rev() {
                let mut lasts = lasts.clone();
                lasts.push(at + 1 == below.len());
                left.push((*child, lasts));
            }
            order.push((id, lasts));
        }
        order
    }
}

/// How the children ended, as their parents recorded it; `None` for one without an end.
async fn outcomes(
    reader: &Reader,
    relations: &Relations<'_>,
    order: &[(SessionId, Vec<bool>)],
) -> Result<BTreeMap<SessionId, Option<ChildOutcome>>, FindError> {
    let mut outcomes = BTreeMap::new();
    let is_child = |id: &SessionId| {
        relations.catalogue.sessions.get(id).is_some_and(|entry| entry.fork.is_none() && entry.parent.is_some())
    };
    for (id, _) in order {
        if !relations.below(*id).iter().any(is_child) {
            continue;
        }
        let until = reader.until(*id, None).await?;
        let view = reader.bounded(*id, until).await?;
        outcomes.extend(view.session.children.iter().map(|child| (child.child, child.outcome)));
    }
    Ok(outcomes)
}
