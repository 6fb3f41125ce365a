//! The catalogue over all sessions of a store: what a list of sessions shows, without opening any.

use crate::Projection;
use crate::changed::ChangedFiles;
use crate::session::Fork;
use crate::usage::Unpriced;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::{
    ChildEvent, CompactionEvent, ErasureEvent, InputEvent, Parent, ProcessInfo, SessionEvent, StepEvent,
};
use annals_core::{AgentName, Event, ModelName, Record, Seq, SessionId, Text, Time, kinds};
use serde::{Deserialize, Serialize};

/// How many characters of the first input replace a missing title.
const OPENING: usize = 80;

/// One session in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogueEntry {
    /// Its title, or the beginning of its first input.
    pub title: String,
    /// Whether `title` was given and not taken from an input.
    pub titled: bool,
    /// The selected agent.
    pub agent: AgentName,
    /// The selected model.
    pub model: ModelName,
    /// Directory of its location.
    pub directory: String,
    /// The git branch that was recorded last.
    pub branch: Option<String>,
    /// The git commit that was recorded last.
    pub commit: Option<String>,
    /// The agent that recorded it, for an imported session.
    pub origin: Option<String>,
    /// What that agent calls it.
    pub origin_id: Option<String>,
    /// The form of the records that it was made from; `wire` for a recording.
    pub origin_form: Option<String>,
    /// The parent of a child session.
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
    /// Where: a fork inherits those before its cut.
    pub promoted: Vec<Seq>,
    /// What it cost as far as the log knows, in nano-dollars.
    pub cost: u64,
    /// Tokens whose cost the log does not know.
    pub unpriced: Unpriced,
    /// What it changed in its project's files.
    pub changed: ChangedFiles,
    /// Whether it was forgotten: lists leave it out.
    pub forgotten: bool,
}

/// Every session of a store. Fed with the records of all sessions, each session's in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalogue {
    /// By id.
    pub sessions: BTreeMap<SessionId, CatalogueEntry>,
    /// Who began a session that does not name its parent: one that was imported before its parent was known.
    pub began: BTreeMap<SessionId, Parent>,
}

impl Catalogue {
    /// Takes in one record of any session.
    pub fn apply(&mut self, record: &Record<'_>) {
        if let Event::Session(SessionEvent::Forked(forked)) = record.event {
            let mut inherited = self.sessions.get(&forked.parent).cloned().unwrap_or_default();
            inherited.promoted.retain(|seq| *seq < forked.cut);
            let entry = CatalogueEntry {
                title: forked.title.clone().unwrap_or(inherited.title),
                origin: forked.origin.as_ref().map(|origin| origin.agent.clone()),
                origin_id: forked.origin.as_ref().map(|origin| origin.id.clone()),
                origin_form: forked.origin.as_ref().map(|origin| origin.form.clone()),
                turns: inherited.promoted.len() as u64,
                fork: Some(Fork { parent: forked.parent, cut: forked.cut, parent_digest: forked.parent_digest }),
                created: record.at,
                parent: None,
                cost: 0,
                unpriced: Unpriced::default(),
                changed: ChangedFiles::default(),
                forgotten: false,
                ..inherited
            };
            self.sessions.insert(record.session, entry);
        }
        let entry = self.sessions.entry(record.session).or_default();
        entry.updated = record.at;
        entry.next = record.seq.plus(1);
        entry.changed.apply(record);
        entry.unpriced.apply(record);
        match record.event {
            Event::Session(SessionEvent::Created(created)) => {
                entry.created = record.at;
                entry.agent = created.agent.clone();
                entry.model = created.model.clone();
                entry.directory = created.location.directory.clone();
                if let Some(origin) = &created.origin {
                    entry.origin = Some(origin.agent.clone());
                    entry.origin_id = Some(origin.id.clone());
                    entry.origin_form = Some(origin.form.clone());
                }
                (entry.branch, entry.commit) = created.process.as_ref().map(git).unwrap_or_default();
                entry.parent = created.parent.clone().or_else(|| self.began.remove(&record.session));
                if let Some(title) = &created.title {
                    entry.title = title.clone();
                    entry.titled = true;
                }
            }
            Event::Session(SessionEvent::Titled(titled)) => {
                entry.title = titled.title.clone();
                entry.titled = true;
                entry.cost = entry.cost.saturating_add(titled.cost);
            }
            Event::Erasure(ErasureEvent::Forgotten(_)) => entry.forgotten = true,
            Event::Session(SessionEvent::TitleFailed(failed)) => entry.cost = entry.cost.saturating_add(failed.cost),
            Event::Session(SessionEvent::Moved(moved)) => {
                if entry.directory != moved.location.directory {
                    (entry.branch, entry.commit) = (None, None);
                }
                entry.directory = moved.location.directory.clone();
            }
            Event::Session(SessionEvent::AgentSwitched(switched)) => entry.agent = switched.agent.clone(),
            Event::Session(SessionEvent::ModelSwitched(switched)) => entry.model = switched.model.clone(),
            // Where the directory is not on this machine (an imported session), nothing is found and what is known stays.
            Event::Session(SessionEvent::ProcessAttached(attached)) if attached.process.git.is_some() => {
                (entry.branch, entry.commit) = git(&attached.process);
            }
            Event::Input(InputEvent::Admitted(admitted)) if entry.title.is_empty() => {
                entry.title = opening(&admitted.text);
            }
            Event::Input(InputEvent::Promoted(_)) => {
                entry.turns += 1;
                entry.promoted.push(record.seq);
            }
            Event::Step(StepEvent::Ended(ended)) => entry.cost = entry.cost.saturating_add(ended.cost),
            Event::Step(StepEvent::Failed(failed)) => entry.cost = entry.cost.saturating_add(failed.cost),
            Event::Step(StepEvent::RetryScheduled(retry)) => entry.cost = entry.cost.saturating_add(retry.cost),
            Event::Step(StepEvent::AnswerRecorded(answer)) => entry.cost = entry.cost.saturating_add(answer.cost),
            Event::Compaction(CompactionEvent::Ended(ended)) => entry.cost = entry.cost.saturating_add(ended.cost),
            Event::Compaction(CompactionEvent::Completed(ended)) => entry.cost = entry.cost.saturating_add(ended.cost),
            Event::Compaction(CompactionEvent::Failed(failed)) => entry.cost = entry.cost.saturating_add(failed.cost),
            kinds!(
                Session(Forked, ProcessAttached),
                Input(Admitted, Withdrawn, DeliveryChanged, Configured),
                Step(RequestSent, RequestRecorded, Started, TextEnded, ReasoningEnded),
                Compaction(Started, Undone, ToolOutputsPruned, ToolOutputsReduced, CallsReduced),
                Context,
                Profile,
                Tool,
                Permission,
                Message,
                Files,
                Child(Settled),
                Erasure(TextsErased)
            ) => {}
            Event::Child(ChildEvent::Started(started)) => {
                let parent = Parent { session: record.session, call: started.call.clone() };
                match self.sessions.get_mut(&started.child) {
                    Some(child) if child.parent.is_none() && child.fork.is_none() => child.parent = Some(parent),
                    Some(_) => {}
                    None => drop(self.began.insert(started.child, parent)),
                }
            }
        }
    }
}

/// The branch and the commit that a process found.
fn git(process: &ProcessInfo) -> (Option<String>, Option<String>) {
    process.git.as_ref().map(|git| (git.branch.clone(), git.commit.clone())).unwrap_or_default()
}

/// The start of the first line of an input that says something: what replaces a missing title.
pub fn opening(text: &Text) -> String {
    let line = text.inline().and_then(|text| text.lines().find(|line| !line.trim().is_empty())).unwrap_or_default();
    line.trim().chars().take(OPENING).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts;
    use alloc::vec;
    use annals_core::event::{ChildStarted, GitState, Location, ProcessAttached, SessionForked, SessionMoved, Switch};
    use annals_core::{Digest, SessionKey};

    fn attached(branch: Option<&str>) -> Event {
        let git =
            branch.map(|branch| GitState { branch: Some(branch.into()), commit: None, dirty: None, repository: None });
        let process = ProcessInfo { program: "annals".into(), version: None, build: None, host: None, user: None, git };
        ProcessAttached { process }.into()
    }

    /// The entry of the last session, of events of a session and then of its fork.
    fn listed(sessions: [(u128, u64, Vec<Event>); 2]) -> CatalogueEntry {
        let mut catalogue = Catalogue::default();
        let mut last = CatalogueEntry::default();
        for (id, first, events) in sessions {
            let session = SessionId::from_parts(1, id);
            for (seq, event) in (first..).zip(&events) {
                catalogue.apply(&Record { session, seq: Seq(seq), at: Time(seq), event });
            }
            last = catalogue.sessions.get(&session).cloned().unwrap_or_default();
        }
        last
    }

    #[test]
    fn a_child_that_names_no_parent_belongs_to_the_session_that_began_it() {
        let (parent, child) = (SessionId::from_parts(1, 1), SessionId::from_parts(1, 2));
        let began = ChildStarted { child, call: None, agent: AgentName("look".into()), background: false };
        let created = facts::created(Switch::Keep, Switch::Keep);
        let events = [(parent, 0, created.clone()), (parent, 1, began.into()), (child, 0, created)];
        for order in [[0, 1, 2], [2, 0, 1]] {
            let mut catalogue = Catalogue::default();
            for (session, seq, event) in order.map(|at| &events[at]) {
                catalogue.apply(&Record { session: *session, seq: Seq(*seq), at: Time(0), event });
            }
            assert_eq!(catalogue.sessions[&child].parent, Some(Parent { session: parent, call: None }), "{order:?}");
        }
    }

    #[test]
    fn a_fork_has_the_turns_before_its_cut_and_the_branch_that_is_known() {
        let mut parent = vec![facts::created(Switch::Keep, Switch::Keep), attached(Some("main"))];
        (0..3).for_each(|number| parent.extend(facts::user(&alloc::format!("in-{number}"))));
        let forked = |cut: u64| {
            let (parent, title, origin, parent_digest) = (SessionId::from_parts(1, 1), None, None, Digest([0; 32]));
            let key = SessionKey([0x0f; 32]).into();
            Event::from(SessionForked { parent, cut: Seq(cut), parent_digest, title, origin, key })
        };
        // After the first of three messages, on a machine that does not have the directory.
        let own = [vec![forked(4), attached(None)], facts::user("again")].concat();
        let fork = listed([(1, 0, parent.clone()), (2, 4, own)]);
        assert_eq!((fork.turns, fork.branch.as_deref()), (2, Some("main")));
        let location = Location { directory: "/elsewhere".into(), workspace: None };
        let own = vec![forked(8), SessionMoved { location }.into(), attached(None)];
        let moved = listed([(1, 0, parent), (2, 8, own)]);
        assert_eq!((moved.turns, moved.branch), (3, None));
    }
}
