//! Which session a user refers to: by id, by the beginning or the end of one, by words of its title, or `@last`.

use super::{Candidate, FindError, Reader};
use annals_core::event::{Origin, SessionEvent};
use annals_core::{Event, Seq, SessionId};
use annals_projections::{Catalogue, CatalogueEntry};
use annals_store::SessionHead;
use std::collections::BTreeMap;

/// How many sessions are offered when a name fits none.
const OFFERED: usize = 3;
/// How many sessions are listed when a name fits several.
const CANDIDATES: usize = 10;
/// How like a title must be to be offered.
const ALIKE: f64 = 0.6;
/// How many letters the end of an id must have to name it.
const ENDING: usize = 4;

impl Reader {
    /// The session that `name` means.
    ///
    /// # Errors
    /// When none or several fit; both say which were perhaps meant.
    pub async fn find(&self, name: &str) -> Result<SessionId, FindError> {
        let name = name.trim();
        if let Ok(id) = name.to_ascii_uppercase().parse::<SessionId>()
            && self.log().head(id).await?.is_some()
        {
            return Ok(id);
        }
        let heads = self.log().sessions().all().await?;
        if heads.is_empty() {
            return Err(FindError::NoSessions { store: self.store().clone() });
        }
        if name == "@last" {
            let last = self.last(heads).await;
            return last.ok_or_else(|| FindError::NoSessions { store: self.store().clone() });
        }
        let ids: Vec<SessionId> = heads.iter().map(|head| head.session).collect();
        let upper = name.to_ascii_uppercase();
        let starts: Vec<SessionId> = ids.iter().copied().filter(|id| id.to_string().starts_with(&upper)).collect();
        let ends = |id: &SessionId| upper.len() >= ENDING && id.to_string().ends_with(&upper);
        let fitting = if starts.is_empty() { ids.iter().copied().filter(ends).collect() } else { starts };
        if let [one] = fitting.as_slice() {
            return Ok(*one);
        }
        let catalogue = self.catalogue().await?;
        if !fitting.is_empty() && !name.is_empty() {
            return Err(ambiguous(name, &fitting, &catalogue));
        }
        self.find_by_title(name, &catalogue)
    }

    /// The one session that a file holds: the only one, or the only one that no other began.
    ///
    /// # Errors
    /// When there are several.
    pub async fn only(&self) -> Result<SessionId, FindError> {
        if let [one] = self.subjects.as_slice() {
            return Ok(*one);
        }
        let mut catalogue = self.catalogue().await?;
        if !self.subjects.is_empty() {
            catalogue.sessions.retain(|id, _| self.subjects.contains(id));
        }
        let all: Vec<SessionId> = catalogue.sessions.keys().copied().collect();
        if let [one] = all.as_slice() {
            return Ok(*one);
        }
        let inside = |session: SessionId| catalogue.sessions.contains_key(&session);
        let own = |(_, entry): &(&SessionId, &CatalogueEntry)| {
            entry.parent.as_ref().is_none_or(|parent| !inside(parent.session))
                && entry.fork.as_ref().is_none_or(|fork| !inside(fork.parent))
        };
        let roots: Vec<SessionId> = catalogue.sessions.iter().filter(own).map(|(id, _)| *id).collect();
        match roots.as_slice() {
            [one] => Ok(*one),
            _ if all.is_empty() => Err(FindError::NoSessions { store: self.store().clone() }),
            _ => {
                let candidates = catalogue.sessions.iter().map(|(id, entry)| id_and_title(*id, Some(entry))).collect();
                Err(FindError::Several { file: self.store().clone(), sessions: candidates })
            }
        }
    }

    fn find_by_title(&self, name: &str, catalogue: &Catalogue) -> Result<SessionId, FindError> {
        let wanted = name.to_lowercase();
        let words: Vec<&str> = wanted.split_whitespace().collect();
        let titles: BTreeMap<SessionId, String> =
            catalogue.sessions.iter().map(|(id, entry)| (*id, entry.title.to_lowercase())).collect();
        let mut fitting: Vec<SessionId> = match words.is_empty() {
            true => Vec::new(),
            false => titles
                .iter()
                .filter(|(_, title)| words.iter().all(|word| title.contains(word)))
                .map(|(id, _)| *id)
                .collect(),
        };
        if fitting.len() > 1 {
            // A title said in full means that session, even if others contain it.
            let whole: Vec<SessionId> =
                fitting.iter().copied().filter(|id| titles.get(id).is_some_and(|title| *title == wanted)).collect();
            if whole.len() == 1 {
                fitting = whole;
            }
        }
        match fitting.as_slice() {
            [one] => Ok(*one),
            [] => match of_origin(name, catalogue) {
                Some(id) => Ok(id),
                None => Err(FindError::NoSession {
                    name: name.to_owned(),
                    store: self.store().clone(),
                    meant: alike(&wanted, &titles, catalogue),
                }),
            },
            several => Err(ambiguous(name, several, catalogue)),
        }
    }

    /// The session that changed last; a child session only if there is no other.
    async fn last(&self, mut heads: Vec<SessionHead>) -> Option<SessionId> {
        heads.sort_by_key(|head| std::cmp::Reverse((head.head.at, head.session)));
        for head in &heads {
            // A damaged session is reported when it is opened.
            let Ok(Some(first)) = self.log().batch_at(head.session, Seq::ZERO).await else { return Some(head.session) };
            match first.batch.events.first() {
                Some(Event::Session(SessionEvent::Created(created))) if created.parent.is_some() => {}
                _ => return Some(head.session),
            }
        }
        heads.first().map(|head| head.session)
    }
}

/// The session that another agent calls `name`; of a recording and a transcript the recording, which has more.
fn of_origin(name: &str, catalogue: &Catalogue) -> Option<SessionId> {
    let named = catalogue.sessions.iter().filter(|(_, entry)| entry.origin_id.as_deref() == Some(name));
    named.max_by_key(|(_, entry)| entry.origin_form.as_deref() == Some(Origin::WIRE)).map(|(id, _)| *id)
}

fn ambiguous(name: &str, fitting: &[SessionId], catalogue: &Catalogue) -> FindError {
    let candidate = |id: &SessionId| {
        let entry = catalogue.sessions.get(id).cloned().unwrap_or_default();
        Candidate { session: *id, title: entry.title, directory: entry.directory, updated: entry.updated }
    };
    let mut candidates: Vec<Candidate> = fitting.iter().map(candidate).collect();
    candidates.sort_by(|a, b| b.updated.cmp(&a.updated).then(a.session.cmp(&b.session)));
    candidates.truncate(CANDIDATES);
    FindError::Ambiguous { name: name.to_owned(), count: fitting.len() as u64, newest: candidates }
}

/// The sessions whose titles are most like what was asked for.
fn alike(wanted: &str, titles: &BTreeMap<SessionId, String>, catalogue: &Catalogue) -> Vec<String> {
    let mut scored: Vec<(f64, SessionId)> = titles
        .iter()
        .map(|(id, title)| {
            let words = title.split_whitespace().map(|word| strsim::normalized_damerau_levenshtein(wanted, word));
            let whole = strsim::normalized_damerau_levenshtein(wanted, title);
            (words.fold(whole, f64::max), *id)
        })
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().take(OFFERED).map(|(_, id)| id_and_title(id, catalogue.sessions.get(&id))).collect()
}

fn id_and_title(id: SessionId, entry: Option<&CatalogueEntry>) -> String {
    let title = entry.map(|entry| entry.title.as_str()).unwrap_or_default();
    if title.is_empty() { id.to_string() } else { format!("{id}  {title}") }
}

/// How much of each id names it among the others; at least ten letters (its time), all of the same length.
pub fn short_ids(ids: &[SessionId]) -> BTreeMap<SessionId, String> {
    let mut sorted: Vec<(String, SessionId)> = ids.iter().map(|id| (id.to_string(), *id)).collect();
    sorted.sort();
    let shared = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let needed = sorted.windows(2).map(|pair| match pair {
        [(a, _), (b, _)] => shared(a, b) + 1,
        _ => 0,
    });
    let length = needed.max().unwrap_or(0).max(10);
    sorted.into_iter().map(|(text, id)| (id, text.chars().take(length).collect())).collect()
}
