//! The list of sessions: which of them, in which order, and what each cost.

use crate::pricing::{Cost, Pricing};
use annals_core::event::Parent;
use annals_core::{AgentName, ModelName, Seq, SessionId, Time};
use annals_projections::{Catalogue, CatalogueEntry, Fork};
use serde::Serialize;
use std::collections::BTreeSet;

/// Which sessions are listed. The default is every session that no other session started.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    /// Words that the title contains, all of them, in any case.
    pub words: Vec<String>,
    /// The agent that works in the session or recorded it.
    pub agent: Option<String>,
    /// A part of the name of the model.
    pub model: Option<String>,
    /// The directories of which the session works in one.
    pub directories: Option<BTreeSet<String>>,
    /// The git branch that was recorded last.
    pub branch: Option<String>,
    /// Only what changed at this time or later.
    pub since: Option<Time>,
    /// Whether sub-agents are listed too.
    pub children: bool,
}

impl SessionFilter {
    /// Whether a session is listed.
    pub fn takes(&self, entry: &CatalogueEntry) -> bool {
        let title = entry.title.to_lowercase();
        let agent = |agent: &String| entry.agent.as_str() == agent || entry.origin.as_ref() == Some(agent);
        self.words.iter().all(|word| title.contains(&word.to_lowercase()))
            && self.agent.as_ref().is_none_or(agent)
            && self.model.as_ref().is_none_or(|model| entry.model.as_str().contains(model))
            && self.directories.as_ref().is_none_or(|directories| directories.contains(&entry.directory))
            && (self.branch.is_none() || self.branch == entry.branch)
            && self.since.is_none_or(|since| entry.updated >= since)
            && !entry.forgotten
            && (self.children || entry.parent.is_none())
    }
}

/// An order of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionOrder {
    /// Most recently changed first.
    #[default]
    Updated,
    /// Newest first.
    Created,
    /// By title.
    Title,
    /// Most expensive first.
    Cost,
    /// Most turns first.
    Turns,
    /// Most events first.
    Events,
}

impl SessionOrder {
    /// Every order.
    pub const ALL: [Self; 6] = [Self::Updated, Self::Created, Self::Title, Self::Cost, Self::Turns, Self::Events];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Updated => "updated",
            Self::Created => "created",
            Self::Title => "title",
            Self::Cost => "cost",
            Self::Turns => "turns",
            Self::Events => "events",
        }
    }

    /// What comes first.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Updated => "Most recently changed first",
            Self::Created => "Newest first",
            Self::Title => "By title",
            Self::Cost => "Most expensive first",
            Self::Turns => "Most turns first",
            Self::Events => "Most events first",
        }
    }
}

/// A session in a list.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionOverview {
    /// The session.
    pub id: SessionId,
    /// Its title, or the beginning of its first input.
    pub title: String,
    /// Whether the title was given and not taken from an input.
    pub titled: bool,
    /// The selected agent.
    pub agent: AgentName,
    /// The selected model.
    pub model: ModelName,
    /// Where it works.
    pub directory: String,
    /// The git branch that was recorded last; `null` if none was.
    pub branch: Option<String>,
    /// The git commit that was recorded last; `null` if none was.
    pub commit: Option<String>,
    /// The agent that recorded it, for an imported session.
    pub origin: Option<String>,
    /// The session that started it, for a sub-agent.
    pub parent: Option<Parent>,
    /// Where a fork continues from.
    pub fork: Option<Fork>,
    /// Time of its first event.
    pub created: Time,
    /// Time of its last event.
    pub updated: Time,
    /// The Seq that the next event gets.
    pub next: Seq,
    /// How many inputs were promoted.
    pub turns: u64,
    /// What it cost, in nano-dollars, estimates included; `null` where nothing is known.
    pub cost: Option<u64>,
    /// The estimated part of the cost, in nano-dollars.
    pub estimated: u64,
    /// What it cost, and how far that is known.
    #[serde(skip)]
    pub known_cost: Cost,
}

impl SessionOverview {
    fn of(id: SessionId, entry: CatalogueEntry, pricing: &Pricing) -> Self {
        let known_cost = pricing.cost(entry.cost, &entry.unpriced.tokens);
        Self {
            id,
            title: entry.title,
            titled: entry.titled,
            agent: entry.agent,
            model: entry.model,
            directory: entry.directory,
            branch: entry.branch,
            commit: entry.commit,
            origin: entry.origin,
            parent: entry.parent,
            fork: entry.fork,
            created: entry.created,
            updated: entry.updated,
            next: entry.next,
            turns: entry.turns,
            cost: known_cost.in_json(),
            estimated: known_cost.estimated,
            known_cost,
        }
    }
}

/// The sessions of a catalogue that a filter takes, in an order; sessions that are equal in it by id.
pub fn list(
    catalogue: Catalogue,
    filter: &SessionFilter,
    order: SessionOrder,
    pricing: &Pricing,
) -> Vec<SessionOverview> {
    let taken = catalogue.sessions.into_iter().filter(|(_, entry)| filter.takes(entry));
    let mut list: Vec<SessionOverview> = taken.map(|(id, entry)| SessionOverview::of(id, entry, pricing)).collect();
    list.sort_by(|a, b| {
        let first = match order {
            SessionOrder::Updated => b.updated.cmp(&a.updated),
            SessionOrder::Created => b.created.cmp(&a.created),
            SessionOrder::Title => a.title.to_lowercase().cmp(&b.title.to_lowercase()),
            SessionOrder::Cost => b.known_cost.known().cmp(&a.known_cost.known()),
            SessionOrder::Turns => b.turns.cmp(&a.turns),
            SessionOrder::Events => b.next.cmp(&a.next),
        };
        first.then(a.id.cmp(&b.id))
    });
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_and_the_time_of_the_last_change_select_sessions() {
        let directories = Some(BTreeSet::from(["/work/app".to_owned()]));
        let filter = SessionFilter { directories, since: Some(Time(5)), ..SessionFilter::default() };
        let at = |directory: &str, updated| CatalogueEntry {
            directory: directory.into(),
            updated: Time(updated),
            ..CatalogueEntry::default()
        };
        assert!(filter.takes(&at("/work/app", 5)));
        assert!(!filter.takes(&at("/work/app", 4)) && !filter.takes(&at("/work", 9)));
    }

    #[test]
    fn equal_sessions_are_ordered_by_id_and_words_match_in_any_case() {
        let entry = |title: &str, turns| CatalogueEntry { title: title.into(), turns, ..CatalogueEntry::default() };
        let ids = [1, 2, 3].map(|n| SessionId::from_parts(n, 0));
        let sessions = [(ids[0], entry("Fix the Parser", 1)), (ids[1], entry("other", 9)), (ids[2], entry("fix", 2))];
        let catalogue = Catalogue { sessions: sessions.into_iter().collect(), ..Catalogue::default() };
        let pricing = Pricing::new(annals_providers::catalog::Catalog::built_in());
        let of = |words: &[&str], order| {
            let filter = SessionFilter {
                words: words.iter().map(|word| (*word).to_owned()).collect(),
                ..SessionFilter::default()
            };
            let listed = list(catalogue.clone(), &filter, order, &pricing);
            listed.into_iter().map(|one| one.id).collect::<Vec<_>>()
        };
        assert_eq!(of(&["FIX"], SessionOrder::Turns), [ids[2], ids[0]]);
        assert_eq!(of(&[], SessionOrder::Updated), ids);
    }
}
